// `npm run bench`: the service's main figures, each next to a reference of the same run. It asserts no times.
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { randomBytes } from 'node:crypto';
import { keepFigures, measuredCode, tableOf, type Figure } from './figures.js';
import type { Row } from './measure.js';
import { figure } from './measure.js';
import { autoDelegationRows, refillRow } from './rows-auto-delegations.js';
import { millionRows } from './million.js';
import { CONSOLE_CREDITS, consoleRows, FULL_PACE, QUICK_PACE } from './rows-consoles.js';
import { localDepositXpub } from '../../../packages/local/src/local-service.js';
import { eventRows } from './rows-events.js';
import { lifeRows } from './rows-life.js';
import { depositRows } from './rows-deposits.js';
import { followRows } from './rows-follow.js';
import { openBuild } from '../upgrade/earlier-build.js';
import { idleRow } from './rows-idle.js';
import { webhookOrderRows } from './rows-webhook-orders.js';
import { webhookRows } from './rows-webhooks.js';
import { HttpRows, type Pace } from './rows-http.js';
import { latencies, latenciesAtRate } from './rows-latency.js';
import { fairnessRows } from './rows-fairness.js';
import { migrationRows } from './rows-migration.js';
import { scaleRows, unnamedRow } from './rows-scale.js';
import { signatureRows } from './rows-signatures.js';
import { delegationsPerSec } from './rows-worker.js';
import { COLLECTING, RENTAL_SEC, soak } from './soak.js';
import { BenchCluster } from './cluster.js';
import { addressFromBytes } from '../../../src/platform/chain/address.js';

/** The final check requests every transaction of a soak again. */
const VERIFY_LIMIT_MS = 600_000;

const HELP = `npm run bench -- [--only REGEX] [--million] [--quick]
npm run bench -- --soak [--minutes N] [--rate N]

  --only REGEX  parts whose name matches: http, requests, signatures,
                fairness, worker, follow, events, life, receivers,
                webhook-orders, idle, scale, unnamed, webhooks, deposits,
                auto-delegations, refills, latency, consoles, migration
  --against REV the commit, or the folder of a build, that life, receivers,
                webhook-orders and idle measure beside this build; requests
                is measured only with it
  --million     two services in turn, one with 1 000 000 ended orders;
                --only history: the worker alone, --only none: no other part
  --ten-million the same with 10 000 000 of them, nine in the archive:
                half an hour, and 30 GB of disk
  --soak        ten minutes of the whole machine: --minutes N, --rate N a second
  --quick       fewer and shorter rounds, whose figures are kept nowhere
`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    million: { type: 'boolean', default: false },
    'ten-million': { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '110' },
    only: { type: 'string', default: '' },
    against: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
const pace: Pace = options.quick ? { rounds: 2, seconds: 2 } : { rounds: 5, seconds: 4 };
const only = new RegExp(options.only);
const figures: Figure[] = [];
const conditions = [
  new Date().toISOString().slice(0, 10),
  measuredCode(),
  `Node ${process.versions.node}, ${cpus().length.toString()} cores`,
  `load ${loadavg()[0]!.toFixed(1)} at the start`,
].join('; ');

/** Adds rows with the `npm run bench` options that measure them again. */
function add(command: string, ...rows: Row[]): void {
  const more = rows.map((row) => ({ ...row, command: `npm run bench -- ${command}`, conditions }));
  figures.push(...more);
  console.error(tableOf(more).split('\n').slice(2).join('\n'));
}

async function withCluster(
  name: string,
  open: Parameters<typeof BenchCluster.open>[0],
  work: (cluster: BenchCluster) => Promise<void>,
): Promise<void> {
  console.error(`\n${name}`);
  const cluster = await BenchCluster.open(open);
  try {
    await work(cluster);
  } finally {
    await cluster.close();
  }
}

async function httpRows(cluster: BenchCluster): Promise<void> {
  const http = await HttpRows.open(cluster, pace);
  add('--only http', ...(await http.quotes()));
  const receivers = Array.from({ length: options.quick ? 6000 : 30_000 }, () =>
    addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(20)])),
  );
  add('--only http', await http.uncachedQuotes(receivers));
  add('--only http', ...(await http.reads()));
  add('--only http', ...(await http.orders()));
  add('--only http', ...(await http.limitOfOrders()));
}

/** Measures this build and an earlier one in turn, each with its own database. */
async function requestsAgainst(against: string): Promise<void> {
  const pacing = { blockMs: 1000, solidLag: 4 };
  const earlier = await openBuild(against);
  try {
    await withCluster('requests', pacing, async (ours) => {
      await withCluster(
        `the same by ${against}`,
        { ...pacing, build: earlier.root, hasEarlierSchema: true },
        async (other) => {
          const [rows, others] = [await HttpRows.open(ours, pace), await HttpRows.open(other, pace)];
          add(`--only requests${ofAgainst}`, ...(await rows.requestsAgainst(others, `the build of ${against}`)));
        },
      );
    });
  } finally {
    await earlier.remove();
  }
}

async function startUps(cluster: BenchCluster): Promise<void> {
  const times: Record<'API' | 'worker', number[]> = { API: [], worker: [] };
  for (let index = 0; index < (options.quick ? 1 : 4); index += 1) {
    const api = performance.now();
    const started = await cluster.service.startApi(0, { LOG_LEVEL: 'info' });
    times.API.push(performance.now() - api);
    await started.process.stop();
    const worker = performance.now();
    const process = await cluster.service.startWorker({ LOG_LEVEL: 'info' });
    times.worker.push(performance.now() - worker);
    await process.stop();
  }
  for (const [name, values] of Object.entries(times))
    add('--only worker', figure(`start-up of the ${name}`, '–', 'ms', 'report', values));
}

const ofAgainst = options.against === undefined ? '' : ` --against ${options.against}`;
const startedAt = performance.now();
if (options.soak) {
  await withCluster(
    'soak',
    { blockMs: 3000, solidLag: 19, env: { ...COLLECTING, DURATION_MIN_SEC: RENTAL_SEC.toString() } },
    async (cluster) => {
      add('--soak', ...(await soak(cluster, Number(options.rate), Number(options.minutes))));
      // Throws unless the records are correct.
      const verified = await cluster.service.cliWithin(VERIFY_LIMIT_MS, 'verify', '--full');
      console.error(`verify: ${JSON.stringify(verified).slice(0, 200)}`);
    },
  );
} else {
  if (only.test('http')) await withCluster('requests', { blockMs: 1000, solidLag: 4 }, httpRows);
  if (only.test('requests') && options.against !== undefined) await requestsAgainst(options.against);
  if (only.test('signatures')) {
    await withCluster('signatures', { blockMs: 1000, solidLag: 4 }, async (cluster) => {
      add('--only signatures', ...(await signatureRows(cluster, pace)));
    });
  }
  if (only.test('fairness')) {
    await withCluster('fairness', { blockMs: 1000, solidLag: 4 }, async (cluster) => {
      add('--only fairness', ...(await fairnessRows(cluster, pace)));
    });
  }
  const historyAlone = options.only === 'history';
  for (const [name, orders, goal] of [
    ['million', 1_000_000, '≥ 0.90'],
    ['ten-million', 10_000_000, '≥ 0.80'],
  ] as const) {
    if (!options[name]) continue;
    console.error(`\n${orders.toString()} orders`);
    const rows = await millionRows({ blockMs: 1000, solidLag: 4 }, pace, { orders, goal, historyAlone });
    add(`--${name} --only history`, ...rows.history);
    add(`--${name} --only none`, ...rows.orders);
  }
  if (only.test('worker')) {
    await withCluster('worker', { blockMs: 1000, solidLag: 3 }, async (cluster) => {
      const orders = options.quick ? 400 : 4000;
      add('--only worker', await delegationsPerSec(cluster, options.quick ? 2 : 3, orders));
      await startUps(cluster);
    });
  }
  if (only.test('follow')) {
    console.error('\nfull blocks');
    add('--only follow', ...(await followRows(options.quick ? 30 : 90)));
  }
  if (only.test('events')) {
    console.error('\nwith events and without');
    const rounds = options.quick
      ? { lifeRounds: 1, seconds: 5, acceptRounds: 1, accepted: 300 }
      : { lifeRounds: 8, seconds: 30, acceptRounds: 12, accepted: 500 };
    add('--only events', ...(await eventRows(rounds)));
  }
  const lifePace = options.quick ? { lifeRounds: 1, seconds: 10 } : { lifeRounds: 5, seconds: 30 };
  if (only.test('life')) {
    console.error('\nan order’s life, step by step');
    const kept = { against: options.against, conditions, isKept: !options.quick };
    add(`--only life${ofAgainst}`, ...(await lifeRows(lifePace, kept)));
  }
  if (only.test('receivers')) {
    console.error('\nan order’s life, rentals of many receivers');
    const of = { against: options.against, conditions, receivers: 500, isKept: false };
    add(`--only receivers${ofAgainst}`, ...(await lifeRows(lifePace, of)));
  }
  if (only.test('webhook-orders')) {
    console.error('\nan order’s life with webhooks');
    const of = options.quick
      ? { rates: [3, 30], rounds: 1, seconds: 20 }
      : { rates: [3, 30, 100], rounds: 3, seconds: 20 };
    add(`--only webhook-orders${ofAgainst}`, ...(await webhookOrderRows(of, options.against)));
  }
  if (only.test('idle')) {
    console.error('\nnothing sold');
    add(`--only idle${ofAgainst}`, await idleRow(options.quick ? 1 : 4, options.against));
  }
  if (only.test('scale')) {
    for (const processes of options.quick ? [2] : [2, 4]) {
      console.error(`\n${processes.toString()} APIs and workers`);
      add('--only scale', ...(await scaleRows(processes, lifePace)));
    }
  }
  if (only.test('unnamed')) {
    console.error('\nstatements without names');
    add('--only unnamed', await unnamedRow(lifePace));
  }
  if (only.test('webhooks')) {
    console.error('\nwebhooks');
    add('--only webhooks', ...(await webhookRows({ blockMs: 1000, solidLag: 4 }, options.quick ? 10 : 60)));
  }
  if (only.test('deposits')) {
    await withCluster('deposits', { blockMs: 1000, solidLag: 3 }, async (cluster) => {
      add('--only deposits', ...(await depositRows(cluster, options.quick ? 200 : 1000)));
    });
  }
  if (only.test('auto-delegations')) {
    await withCluster('auto-delegations by their number', { blockMs: 3000, solidLag: 3 }, async (cluster) => {
      const [rounds, blocks] = options.quick ? [1, 3] : [2, 12];
      add('--only auto-delegations', ...(await autoDelegationRows(cluster, rounds, blocks)));
    });
  }
  if (only.test('refills')) {
    await withCluster('five hundred uses in a block', { blockMs: 3000, solidLag: 3 }, async (cluster) => {
      add('--only refills', await refillRow(cluster, options.quick ? 1 : 3));
    });
  }
  if (only.test('consoles')) {
    // The consoles' database logins are created only in a database of the bench's own.
    if (process.env['DATABASE_URL'] === undefined) {
      await withCluster(
        'the consoles',
        { blockMs: 3000, solidLag: 3, env: { DEPOSIT_XPUB: localDepositXpub() }, credits: CONSOLE_CREDITS },
        async (cluster) => {
          add('--only consoles', ...(await consoleRows(cluster, options.quick ? QUICK_PACE : FULL_PACE)));
        },
      );
    } else console.error('\nthe consoles: not with DATABASE_URL, which has no logins of theirs');
  }
  if (only.test('migration')) {
    console.error('\nthe newest migration');
    add('--only migration', ...(await migrationRows(options.quick ? 20_000 : 1_000_000, options.quick ? 1 : 3)));
  }
  if (only.test('latency')) {
    await withCluster('latency', { blockMs: 3000, solidLag: 3 }, async (cluster) => {
      await cluster.service.startWorker({ LOG_LEVEL: 'info' });
      add('--only latency', ...(await latencies(cluster, options.quick ? 5 : 40)));
      add('--only latency', ...(await latenciesAtRate(cluster, 50, options.quick ? 5 : 60)));
    });
  }
}

console.log(`\n${tableOf(figures)}\n\n${Math.round((performance.now() - startedAt) / 1000).toString()} s`);
if (!options.quick) keepFigures(figures);
