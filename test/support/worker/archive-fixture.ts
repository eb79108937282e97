// Ended orders on the fulfilment fixture, ready for the archive.
import { CostRecorder } from '../../../src/modules/costs/cost-recorder.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { OrderArchive } from '../../../src/modules/orders/order-archive.js';
import { openLog } from '../log.js';
import { api, mine, receivers, settledOrder, SOLID_LAG, type SteppedWorker } from './fulfilment-fixture.js';

export async function numberAll(): Promise<void> {
  const numberer = new Numberer(api.database, new Metrics(), openLog('silent'));
  while ((await numberer.numberBatch()) > 0);
}

/** Makes a rental that was reclaimed, has its events numbered and its costs recorded. Returns its key. */
export async function orderInTheEnd(worker: SteppedWorker, receiver = receivers[0]!): Promise<string> {
  const key = await settledOrder(worker, receiver);
  await mine(20);
  await worker.followChain();
  expect(await worker.reclaimEnded()).toBeGreaterThan(0);
  await mine();
  await worker.followChain();
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  await numberAll();
  await worker.part(CostRecorder).workBetweenBlocks(0n, 1_000_000);
  await judge(key);
  return key;
}

const shown = (time: string): string => `to_char((${time}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Dates the order two days back and marks it judged, as the reconciler does after a check without findings. */
export async function judge(key: string): Promise<void> {
  // The events hold the order's time and are append-only, so the triggers are disabled.
  await api.database.query(`ALTER TABLE event DISABLE TRIGGER USER`);
  await api.database.query(
    `UPDATE event e SET payload = replace(e.payload, ${shown('o.created_at')}, ${shown("o.created_at - interval '2 days'")})
       FROM orders o WHERE o.key = $1 AND e.order_id = o.id`,
    [key],
  );
  await api.database.query(`ALTER TABLE event ENABLE TRIGGER USER`);
  await api.database.query(`UPDATE orders SET created_at = created_at - interval '2 days' WHERE key = $1`, [key]);
  await api.database.query(`UPDATE orders SET judged = true WHERE key = $1`, [key]);
}

/** Archives all orders that may be archived. Returns their number. */
export async function archive(): Promise<number> {
  const archiving = new OrderArchive(api.database);
  let archived = 0;
  for (let isMore = true; isMore;) {
    const step = await archiving.step(0, 2);
    archived += step.archived;
    isMore = step.isMore;
  }
  return archived;
}
