// The whole machine for ten minutes: orders accepted, delegated, settled and reclaimed, everything on these cores.
import { readFile } from 'node:fs/promises';
import autocannon from 'autocannon';
import type { Row } from './measure.js';
import type { Stage } from './stage.js';

interface Counts {
  readonly accepted: bigint;
  readonly delivered: bigint;
  readonly settled: bigint;
  readonly reclaimed: bigint;
}

const COUNTS = `SELECT count(*) AS accepted, count(*) FILTER (WHERE status = 'delivered') AS delivered,
    count(*) FILTER (WHERE settled) AS settled, count(*) FILTER (WHERE reclaimed_at IS NOT NULL) AS reclaimed
    FROM orders`;
/** Sold and not yet found in a block; whoever waits has something due, which bounds the search. */
const WAITING = `SELECT count(*) AS waiting FROM orders
    WHERE next_run_at IS NOT NULL AND status IN ('reserved', 'placed')`;

/** Resident memory of a process, MiB. */
async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid.toString()}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** Short, so that what is reclaimed per second is seen for all of the ten minutes. */
export const RENTAL_SEC = 60;
/** A rental, its settling and its reclaim: from then on as many end as begin. */
const WARM_UP_SEC = 150;
const DRAIN_LIMIT_MS = 15 * 60_000;

export async function soak(stage: Stage, perSec: number, minutes: number): Promise<Row[]> {
  const worker = await stage.world.startWorker({ LOG_LEVEL: 'info' });
  const requests = stage.tenants.map((tenant) =>
    stage.request(tenant, 'POST', '/v1/orders', {
      receive_address: stage.sender,
      energy: 65_000,
      duration_sec: RENTAL_SEC,
    }),
  );
  const run = async (seconds: number): Promise<void> => {
    const load = { url: stage.apiUrl, connections: 16, duration: seconds, timeout: 20, overallRate: perSec, requests };
    const result = await autocannon(load);
    const wrong = result.non2xx + result.errors + result.timeouts;
    if (wrong > 0) throw new Error(`${wrong.toString()} orders were not accepted`);
  };
  await run(WARM_UP_SEC);
  const memory = [await memoryOf(stage.apiPid), await memoryOf(worker.pid)] as const;
  const [before] = await stage.database.query<Counts>(COUNTS);
  const startedAt = performance.now();
  const backlog: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    backlog.push(await waitingDuring(stage, run(60)));
    const [now] = await stage.database.query<Counts>(COUNTS);
    console.error(
      `  minute ${(minute + 1).toString()}: ${JSON.stringify(now, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))}`,
    );
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const [after] = await stage.database.query<Counts>(COUNTS);
  if (before === undefined || after === undefined) throw new Error('the orders could not be counted');
  const grown = [await memoryOf(stage.apiPid), await memoryOf(worker.pid)] as const;
  await drained(stage);
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
    ...(['API', 'worker'] as const).map((name, index) => ({
      what: `memory of the ${name} after that`,
      against: 'before',
      unit: 'MiB',
      ours: grown[index] ?? 0,
      limit: memory[index] ?? 0,
      ratio: (grown[index] ?? 0) / (memory[index] ?? 1),
      goal: '< 1.10',
      spread: [memory[index] ?? 0, grown[index] ?? 0] as const,
    })),
  ];
}

/** How many orders wait, on average over every second until `work` is done: blocks come in bursts. */
async function waitingDuring(stage: Stage, work: Promise<void>): Promise<number> {
  const seen: number[] = [];
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const [row] = await stage.database.query<{ waiting: bigint }>(WAITING);
      seen.push(Number(row?.waiting ?? 0n));
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  };
  await Promise.all([over, watch()]);
  return Math.round(seen.reduce((sum, value) => sum + value, 0) / seen.length);
}

/** Waits until every rental has ended and the books can be verified at rest. */
async function drained(stage: Stage): Promise<void> {
  const deadline = Date.now() + DRAIN_LIMIT_MS;
  for (;;) {
    const [row] = await stage.database.query<{ open: bigint }>(
      `SELECT count(*) AS open FROM orders WHERE status <> 'refunded' AND reclaimed_at IS NULL`,
    );
    if (row?.open === 0n) return;
    if (Date.now() > deadline) throw new Error(`${String(row?.open)} orders were not finished after the soak`);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}
