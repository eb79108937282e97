// `npm run failover`: repeatedly kills the primary under load. Each round is judged after all orders are finished, by
// the records, the clients' answers and the chain. Exit code 1 on any violation.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { ChaosCluster } from '../chaos/cluster.js';
import { playRound, type RoundOutcome } from '../chaos/round.js';
import { copyOfBuild, logFor } from '../chaos/workspace.js';
import { failOver, LATE, type Kept } from './failover.js';
import { PatroniServers } from './patroni.js';
import { Servers } from './servers.js';
import { binaries } from './tools.js';

const HELP = `npm run failover -- [--rounds N] [--asynchronous | --patroni] [--block-ms N]

  --rounds N       failovers, one after the other, on the same processes (20)
  --asynchronous   the standby lags: each failover loses commits
  --patroni        Patroni promotes the standby, in its own time
  --block-ms N     real time between blocks, 3 s of the chain's each (200)

Two Postgres servers of this machine's own package; PG_BIN names another's bin.
Patroni and etcd must be installed for --patroni.
`;

const LENGTH_MS = 30_000;
/** More than a round sells, so that refusals can only result from the database. */
const WALLETS_TRX = [2_000_000, 2_000_000, 2_000_000];
const HEAL_LIMIT_MS = 600_000;

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '20' },
      asynchronous: { type: 'boolean', default: false },
      patroni: { type: 'boolean', default: false },
      'block-ms': { type: 'string', default: '200' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const [rounds, blockMs] = [Number(values.rounds), Number(values['block-ms'])];
  if (!(rounds >= 1 && rounds <= 1000 && blockMs >= 50 && blockMs <= 3000) || (values.patroni && values.asynchronous))
    throw new Error(HELP);
  const kind = values.asynchronous ? 'asynchronous' : values.patroni ? 'synchronous-patroni' : 'synchronous';
  console.log(`${new Date().toISOString()}  ${rounds.toString()} rounds, ${kind} standby, ${binaries()}`);
  const build = await copyOfBuild();
  const servers = values.patroni ? await PatroniServers.start() : await Servers.start(!values.asynchronous);
  let failed = 0;
  let played = 0;
  const startedAt = Date.now();
  try {
    const log = await logFor(`failover-${kind}`);
    const cluster = await ChaosCluster.open({
      build: build.root,
      blockMs,
      databaseUrl: servers.url,
      walletsTrx: WALLETS_TRX,
      log: (who, line) => log.write(who, line),
    });
    try {
      for (let round = 1; round <= rounds; round += 1) {
        const outcome = await play(cluster, servers, round, (who, line) => log.write(who, line));
        played += 1;
        if (outcome.violations.length > 0) failed += 1;
        if (outcome.violations.some((each) => !each.includes(LATE))) break;
      }
    } finally {
      await cluster.close();
      await log.close();
      if (failed > 0) console.log(`the log: ${log.path}`);
    }
  } finally {
    await servers.close();
    await build.remove();
  }
  console.log(
    `${((Date.now() - startedAt) / 1000).toFixed(0)} s; load of the machine ${loadavg()[0]?.toFixed(1) ?? ''}`,
  );
  console.log(`${played.toString()} rounds, ${failed.toString()} with violations`);
  return failed === 0 && played === rounds ? 0 : 1;
}

async function play(
  cluster: ChaosCluster,
  servers: Servers | PatroniServers,
  round: number,
  log: (who: string, line: string) => void,
): Promise<RoundOutcome> {
  const name = `f${round.toString()}`;
  const kept: Kept = { keys: [], lines: [] };
  const before = { payments: cluster.depositors.payments, events: cluster.receivers.count };
  const beganAt = performance.now();
  const outcome = await playRound(cluster, {
    name,
    plan: [],
    lengthMs: LENGTH_MS,
    healLimitMs: HEAL_LIMIT_MS,
    beside: async (over) => failOver({ cluster, servers, name, kept }, over),
    log,
  }).catch((error: unknown) => ({
    violations: [`the round could not be played: ${String(error)}`],
    fired: new Map(),
    byKind: new Map(),
    orders: {},
    answers: new Map<string, number>(),
    healedMs: 0,
  }));
  const there = await cluster.sql.query<{ key: string }>('SELECT key FROM orders WHERE key = ANY ($1)', [kept.keys]);
  const violations = [...outcome.violations];
  if (there.rows.length < kept.keys.length) violations.push('an order that was taken after the promotion is gone');
  const seconds = ((performance.now() - beganAt) / 1000).toFixed(0);
  console.log(
    `round ${round.toString()}  ${seconds} s, load ${loadavg()[0]?.toFixed(1) ?? ''}, ${violations.length.toString()} violations`,
  );
  for (const line of kept.lines) console.log(`  ${line}`);
  const orders = Object.entries(outcome.orders).map(([kind, count]) => `${count.toString()} ${kind}`);
  console.log(`  orders: ${orders.join(', ')}`);
  console.log(`  answers: ${[...outcome.answers].map(([kind, n]) => `${kind} ×${n.toString()}`).join(', ')}`);
  const paid = cluster.depositors.payments - before.payments;
  const events = cluster.receivers.count - before.events;
  console.log(`  ${paid.toString()} deposits paid, ${events.toString()} events at receivers`);
  for (const violation of violations) {
    log('VIOLATION', violation);
    console.log(`  VIOLATION ${violation.slice(0, 1000)}`);
  }
  return { ...outcome, violations };
}
