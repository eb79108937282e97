// Full load for ten minutes or a given time: orders are accepted, delegated, settled and reclaimed, all on this
// machine.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import type { Row } from './measure.js';
import type { BenchCluster } from './cluster.js';

interface Counts {
  readonly accepted: bigint;
  readonly delivered: bigint;
  readonly settled: bigint;
  readonly reclaimed: bigint;
}

const COUNTS = `SELECT count(*) AS accepted, count(*) FILTER (WHERE status = 'delivered') AS delivered,
    count(*) FILTER (WHERE settled) AS settled, count(*) FILTER (WHERE reclaimed_at IS NOT NULL) AS reclaimed
    FROM orders`;
/** Orders sold and not yet found in a block. A waiting order has a due time, which bounds the search. */
const WAITING = `SELECT count(*) AS waiting FROM orders
    WHERE next_run_at IS NOT NULL AND status IN ('reserved', 'placed')`;

/** Returns the resident memory of a process, MiB. */
async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid.toString()}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** Settings of API and worker that let `minute` collect their garbage. */
export const COLLECTING = {
  NODE_OPTIONS: `--require ${fileURLToPath(new URL('collect-garbage.cjs', import.meta.url))}`,
};

/** Short, so that reclaims per second show for the whole ten minutes. */
export const RENTAL_SEC = 60;
/** Time for a rental, its settlement and its reclaim: after it, as many orders end as begin. */
const WARM_UP_SEC = 150;
/** A soak of at least twice this length compares memory from this minute on. */
const SETTLED_MINUTE = 10;
const DRAIN_LIMIT_MS = 15 * 60_000;

export async function soak(cluster: BenchCluster, perSec: number, minutes: number): Promise<Row[]> {
  const worker = await cluster.service.startWorker({ LOG_LEVEL: 'info' });
  const requests = cluster.tenants.map((tenant) =>
    cluster.request(tenant, 'POST', '/v1/orders', {
      receive_address: cluster.sender,
      energy: 65_000,
      duration_sec: RENTAL_SEC,
    }),
  );
  const run = async (seconds: number): Promise<void> => {
    const load = {
      url: cluster.apiUrl,
      connections: 16,
      duration: seconds,
      timeout: 20,
      overallRate: perSec,
      requests,
    };
    const result = await autocannon(load);
    const wrong = result.non2xx + result.errors + result.timeouts;
    if (wrong > 0) throw new Error(`${wrong.toString()} orders were not accepted`);
  };
  const watched = async (): Promise<Minute> => minute(cluster, worker.pid, run(60));
  await run(WARM_UP_SEC - 60);
  const { memory } = await watched();
  const memories = [memory];
  const [before] = await cluster.database.query<Counts>(COUNTS);
  const startedAt = performance.now();
  const backlog: number[] = [];
  for (let count = 1; count <= minutes; count += 1) {
    const seen = await watched();
    backlog.push(seen.waiting);
    memories.push(seen.memory);
    const [now] = await cluster.database.query<Counts>(COUNTS);
    console.error(
      `  minute ${count.toString()}: ${JSON.stringify(now, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))}`,
    );
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const [after] = await cluster.database.query<Counts>(COUNTS);
  if (before === undefined || after === undefined) throw new Error('the orders could not be counted');
  await drained(cluster);
  const rate = (name: 'accepted' | 'delivered' | 'settled' | 'reclaimed') =>
    Number(after[name] - before[name]) / seconds;
  const alone = { against: '29/s, all USDT transfers on TRON', unit: '/s', limit: 29, goal: '≥ 100/s' };
  return [
    ...(['accepted', 'delivered', 'settled', 'reclaimed'] as const).map((name) => ({
      ...alone,
      what: `whole machine, ${minutes.toString()} min: ${name}`,
      ours: rate(name),
      ratio: rate(name) / 29,
      spread: [rate(name), rate(name)] as const,
      note: name === 'accepted' ? `waiting, mean of each minute: ${backlog.join(' ')}` : '',
    })),
    ...(['API', 'worker'] as const).map((name, index) => {
      const lowest = memories.map((each) => each[index]!);
      // In a long soak the warm-up of the first minutes is excluded.
      const from = minutes >= 2 * SETTLED_MINUTE ? SETTLED_MINUTE : 0;
      const ratios = lowest.slice(from).map((each) => each / lowest[from]!);
      return {
        what: `memory of the ${name} ${from === 0 ? 'meanwhile' : 'after that'}`,
        against: `${from === 0 ? 'before' : `minute ${from.toString()}`}; the lowest of a minute in which garbage was collected, under load`,
        unit: 'MiB',
        ours: lowest.at(-1)!,
        limit: lowest[from]!,
        ratio: ratios.at(-1)!,
        // Memory first grows: the blocks of five minutes are cached.
        goal: from === 0 ? 'report' : '≤ 1.10',
        spread: [Math.min(...ratios), Math.max(...ratios)] as const,
        note: `minute by minute: ${lowest.map((each) => each.toFixed(0)).join(' ')}`,
      };
    }),
  ];
}

interface Minute {
  /** Waiting orders, averaged over every second: blocks come in bursts. */
  readonly waiting: number;
  /** Resident memory of API and worker after garbage collection, the lowest of all seconds, MiB. */
  readonly memory: readonly [number, number];
}

/** Observes the service until `work` is done. Collects garbage first: its amount is random. */
async function minute(cluster: BenchCluster, workerPid: number, work: Promise<void>): Promise<Minute> {
  for (const pid of [cluster.apiPid, workerPid]) process.kill(pid, 'SIGUSR2');
  const seen: number[] = [];
  let memory: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const [row] = await cluster.database.query<{ waiting: bigint }>(WAITING);
      seen.push(Number(row?.waiting ?? 0n));
      const [api, worker] = [await memoryOf(cluster.apiPid), await memoryOf(workerPid)];
      memory = [Math.min(memory[0], api), Math.min(memory[1], worker)];
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  };
  await Promise.all([over, watch()]);
  return { waiting: Math.round(seen.reduce((sum, value) => sum + value, 0) / seen.length), memory };
}

/** Waits until every rental has ended, so that the records can be verified at rest. */
async function drained(cluster: BenchCluster): Promise<void> {
  const deadline = Date.now() + DRAIN_LIMIT_MS;
  for (;;) {
    const [row] = await cluster.database.query<{ open: bigint }>(
      `SELECT count(*) AS open FROM orders WHERE status <> 'refunded' AND reclaimed_at IS NULL`,
    );
    if (row?.open === 0n) return;
    if (Date.now() > deadline) throw new Error(`${String(row?.open)} orders were not finished after the soak`);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}
