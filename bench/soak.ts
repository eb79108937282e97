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
  readonly waiting: bigint;
}

const COUNTS = `SELECT count(*) AS accepted, count(*) FILTER (WHERE status = 'delivered') AS delivered,
    count(*) FILTER (WHERE settled) AS settled, count(*) FILTER (WHERE reclaimed_at IS NOT NULL) AS reclaimed,
    count(*) FILTER (WHERE status IN ('reserved', 'placed')) AS waiting FROM orders`;

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
  const run = (seconds: number) =>
    autocannon({ url: stage.apiUrl, connections: 16, duration: seconds, timeout: 20, overallRate: perSec, requests });
  await run(WARM_UP_SEC);
  const memory = [await memoryOf(stage.apiPid), await memoryOf(worker.pid)] as const;
  const [before] = await stage.database.query<Counts>(COUNTS);
  const startedAt = performance.now();
  const backlog: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    await run(60);
    const [now] = await stage.database.query<Counts>(COUNTS);
    backlog.push(Number(now?.waiting ?? 0n));
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
      note: name === 'accepted' ? `waiting at each minute: ${backlog.join(' ')}` : '',
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
