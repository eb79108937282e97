// A merchant's waiting time for an order: on an idle system, and at fifty orders a second.
import { figure, percentile, type Row } from './measure.js';
import type { BenchCluster } from './cluster.js';

/** The default interval at which a service polls for a new block. */
const POLL_MS = 1000;
const BLOCK_WATCH_MS = 20;
const ANSWERED_WITHIN_MS = POLL_MS + 500;
/** Not measured: the worker and its connections are cold. */
const WARM_UP_MS = 10_000;
const WAITING = { Prefer: 'wait=30' };

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Sent {
  readonly key: string;
  /** From acceptance until a node has accepted the delegation, and until its bytes are recorded. */
  readonly sentMs: number;
  readonly recordedMs: number;
  /** Time of the delegation's block; null until it is found. */
  readonly blockAt: Date | null;
}

/** Returns the orders after this one, with times by the database's clock. */
async function sentAfter(cluster: BenchCluster, id: bigint): Promise<readonly Sent[]> {
  return cluster.database.query<Sent>(
    `SELECT o.key, t.*, extract(epoch FROM b.sent_at - o.created_at)::float8 * 1000 AS "sentMs",
            extract(epoch FROM t.created_at - o.created_at)::float8 * 1000 AS "recordedMs"
       FROM orders o CROSS JOIN LATERAL (
         SELECT min(created_at) AS created_at, max(block_at) AS "blockAt"
           FROM chain_tx WHERE order_id = o.id AND purpose = 'delegate') t
       CROSS JOIN LATERAL (
         SELECT min(b.sent_at) AS sent_at FROM chain_tx c JOIN broadcast b ON b.chain_tx_id = c.id
          WHERE c.order_id = o.id AND c.purpose = 'delegate') b
      WHERE o.id > $1`,
    [id],
  );
}

async function newestOrder(cluster: BenchCluster): Promise<bigint> {
  const [row] = await cluster.database.query<{ id: bigint }>('SELECT coalesce(max(id), 0)::bigint AS id FROM orders');
  return row?.id ?? 0n;
}

/** Records when each block became readable, by the time in its header, with a precision of some ms. */
async function watchBlocks(cluster: BenchCluster, stop: AbortSignal): Promise<ReadonlyMap<number, number>> {
  const seen = new Map<number, number>();
  while (!stop.aborted) {
    const time = await cluster.service.wallet.headTime();
    if (!seen.has(time)) seen.set(time, Date.now());
    await pause(BLOCK_WATCH_MS);
  }
  return seen;
}

/** Places an order and waits for the answer on delivery. */
async function buy(cluster: BenchCluster, index: number, key?: string): Promise<void> {
  const body = { receive_address: cluster.sender, energy: 65_000 };
  const request = cluster.request(cluster.tenant(index), 'POST', '/v1/orders', body);
  const headers = { ...request.headers, ...WAITING, ...(key === undefined ? {} : { 'Idempotency-Key': key }) };
  const { status, text } = await cluster.send({ ...request, headers });
  if (status !== 200) throw new Error(`an order was not delivered within 30 s: ${text}`);
}

const row = (what: string, against: string, goal: string, values: readonly number[]): Row => ({
  ...figure(what, against, 'ms', goal, values),
  p50Ms: percentile(values, 50),
  p99Ms: percentile(values, 99),
});

/**
 * Places one order at a time on an idle system with 3 s blocks. Broadcast is timed by the database's clock, delivery by
 * ours.
 */
export async function latencies(cluster: BenchCluster, count: number): Promise<Row[]> {
  const delivered: number[] = [];
  const before = await newestOrder(cluster);
  for (let index = 0; index < count; index += 1) {
    // Spread over the three seconds of a block, as customers' orders are.
    await pause(Math.random() * 3000);
    const startedAt = performance.now();
    await buy(cluster, index);
    delivered.push(performance.now() - startedAt);
  }
  const sent = await sentAfter(cluster, before);
  const recordedMs = percentile(
    sent.map((each) => each.recordedMs),
    50,
  );
  return [
    {
      ...row(
        'accept → answered broadcast, idle system',
        '–',
        'report',
        sent.map(({ sentMs }) => sentMs),
      ),
      note: `of it ${recordedMs.toFixed(0)} ms until the bytes are recorded`,
    },
    row('accept → delivered, 3 s blocks', 'block time', 'p50 ≤ 3 500, p99 ≤ 6 000', delivered),
  ];
}

/**
 * Places orders at a fixed rate; each buyer waits for the answer. Measures the first broadcast by the database's clock,
 * and the time from the readable block of the delegation until the buyer's answer.
 */
export async function latenciesAtRate(cluster: BenchCluster, perSec: number, seconds: number): Promise<Row[]> {
  const answeredAt = new Map<string, number>();
  const orders = new Set<Promise<void>>();
  let before = 0n;
  let isWarm = false;
  const over = new AbortController();
  const watched = watchBlocks(cluster, over.signal);
  const from = performance.now();
  for (let n = 0; n < perSec * (seconds + WARM_UP_MS / 1000); n += 1) {
    if (!isWarm && performance.now() - from >= WARM_UP_MS) {
      before = await newestOrder(cluster);
      isWarm = true;
    }
    const key = `at-rate-${n.toString()}`;
    const order = buy(cluster, n, key).then(() => {
      answeredAt.set(key, Date.now());
      orders.delete(order);
    });
    orders.add(order);
    await pause(Math.max(0, from + ((n + 1) * 1000) / perSec - performance.now()));
  }
  await Promise.all(orders);
  over.abort();
  const blocks = await watched;
  const sent = await sentAfter(cluster, before);
  const rate = `${perSec.toString()} orders a second`;
  return [
    row(
      `accept → answered broadcast, ${rate}`,
      '–',
      'p50 ≤ 40, p99 ≤ 250',
      sent.map(({ sentMs }) => sentMs),
    ),
    row(
      `block of the delegation to be read → its buyer has the answer, ${rate}`,
      `a look every ${POLL_MS.toString()} ms`,
      `p99 ≤ ${ANSWERED_WITHIN_MS.toString()}`,
      sent.map(({ key, blockAt }) => answeredAt.get(key)! - blocks.get(blockAt!.getTime())!),
    ),
  ];
}
