// `npm run upgrade`: while customers buy, processes of an earlier version are replaced one by one as in
// docs/operating/upgrades.md. Then they are rolled back on the new schema, and upgraded again. Each step is a round,
// judged after all orders are finished, by the records, the clients' answers and the chain. Exit code 1 on any violation.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { ChaosCluster } from '../chaos/cluster.js';
import { playRound } from '../chaos/round.js';
import { logFor } from '../chaos/workspace.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { openParts } from '../../../src/modules/operator/operator.module.js';
import { onEarlierSchema } from './early-schema.js';
import { buildsOfUpgrade } from './earlier-build.js';

const HELP = `npm run upgrade -- [--from REVISION] [--block-ms N]

  --from REVISION  the version before, of this repository's history (the last
                   commit before the newest migration came)
  --block-ms N     real time between blocks, 3 s of the chain's each (200)
`;

const LENGTH_MS = 30_000;
const LOAD_MS = 5_000;
/** More than a round sells. */
const WALLETS_TRX = [2_000_000, 2_000_000, 2_000_000];
const HEAL_LIMIT_MS = 600_000;
/** Time for a process to drain and for the next one to become ready. */
const REPLACE_LIMIT_MS = 60_000;

type Say = (line: string) => void;

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      from: { type: 'string' },
      'block-ms': { type: 'string', default: '200' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const blockMs = Number(values['block-ms']);
  if (!(blockMs >= 50 && blockMs <= 3000)) throw new Error(HELP);
  const { from, before, after, remove } = await buildsOfUpgrade(values.from);
  let failed = 0;
  try {
    console.log(`${new Date().toISOString()}  from ${from} to the version after it and back`);
    const log = await logFor('upgrade');
    const write = (who: string, line: string): void => log.write(who, line);
    const cluster = await ChaosCluster.open({
      build: before.root,
      blockMs,
      walletsTrx: WALLETS_TRX,
      openParts: async (env) => onEarlierSchema(env['DATABASE_URL'], () => openParts(env)),
      log: write,
    });
    const ways = [
      { name: 'up', build: after.root, migrates: true },
      { name: 'back', build: before.root, migrates: false },
      { name: 'up-again', build: after.root, migrates: false },
    ];
    try {
      for (const way of ways) failed += await play(cluster, way, write);
    } finally {
      await cluster.close();
      await log.close();
      if (failed > 0) console.log(`the log: ${log.path}`);
    }
  } finally {
    await remove();
  }
  console.log(`3 ways, ${failed.toString()} with violations; load of the machine ${loadavg()[0]?.toFixed(1) ?? ''}`);
  return failed === 0 ? 0 : 1;
}

interface Way {
  readonly name: string;
  readonly build: string;
  readonly migrates: boolean;
}

/** Plays one step and returns 1 after any violation. */
async function play(cluster: ChaosCluster, way: Way, log: (who: string, line: string) => void): Promise<0 | 1> {
  const lines: string[] = [];
  const beganAt = performance.now();
  const outcome = await playRound(cluster, {
    name: way.name,
    plan: [],
    lengthMs: LENGTH_MS,
    healLimitMs: HEAL_LIMIT_MS,
    beside: async (over) => exchange(cluster, way, over, (line) => void lines.push(line)),
    log,
  });
  console.log(
    `${way.name}  ${ms(performance.now() - beganAt)}, load ${loadavg()[0]?.toFixed(1) ?? ''}, ` +
      `${outcome.violations.length.toString()} violations`,
  );
  for (const line of lines) console.log(`  ${line}`);
  const orders = Object.entries(outcome.orders).map(([kind, count]) => `${count.toString()} ${kind}`);
  console.log(`  orders: ${orders.join(', ')}`);
  console.log(`  answers: ${[...outcome.answers].map(([kind, n]) => `${kind} ×${n.toString()}`).join(', ')}`);
  for (const violation of outcome.violations) {
    log('VIOLATION', violation);
    console.log(`  VIOLATION ${violation.slice(0, 1000)}`);
  }
  return outcome.violations.length > 0 ? 1 : 0;
}

/** Upgrades as an operator does: the schema first, then one process at a time, each after the previous one works. */
async function exchange(
  cluster: ChaosCluster,
  { build, migrates }: Way,
  over: AbortSignal,
  say: Say,
): Promise<string[]> {
  const wrong: string[] = [];
  await sleep(LOAD_MS, over);
  cluster.service.startFrom(build);
  if (migrates) {
    const startedAt = performance.now();
    await cluster.service.cli('migrate');
    say(`migrated in ${ms(performance.now() - startedAt)}`);
  }
  for (const actor of [...cluster.actors.api, ...cluster.actors.worker, ...cluster.actors.sender]) {
    const startedAt = performance.now();
    if (await actor.replace(REPLACE_LIMIT_MS)) say(`${actor.name} replaced in ${ms(performance.now() - startedAt)}`);
    else wrong.push(`${actor.name} does not come up as ${build}`);
  }
  return wrong;
}

function ms(duration: number): string {
  return `${Math.round(duration).toString()} ms`;
}
