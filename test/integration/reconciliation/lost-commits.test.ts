// A server that may have lost commits, as after a failover: the worker does not act there on earlier claims.
import 'reflect-metadata';
import { byHand } from '../../support/worker/extension-records.js';
import { Database } from '../../../src/platform/database/database.js';
import {
  api,
  clearFixture,
  closeFixture,
  dueAgain,
  freeSun,
  SteppedWorker,
  mine,
  openFixture,
  orderOf,
  receivers,
  rent,
  settledOrder,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';

const setMark = (mark: string | null) => api.database.query('UPDATE reconcile_state SET server_mark = $1', [mark]);

beforeAll(openFixture, START_LIMIT_MS);
afterEach(async () => {
  await setMark(null);
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

it('builds and sends nothing for earlier claims', async () => {
  const worker = await SteppedWorker.open();
  const key = await rent(receivers[0]!);
  await mine();
  await worker.followChain();
  const claimed = await worker.orderClaims().claimDue(64);
  expect(claimed).toHaveLength(1);
  await setMark('another server');
  await worker.advancer().advance(claimed);
  expect(await statusesOf(key)).toEqual([]);
  await setMark(null);
  await worker.advance();
  expect(await statusesOf(key)).toEqual(['sending']);
});

it('sends nothing that was signed before, and gives nothing of it up', async () => {
  const worker = await SteppedWorker.open();
  const key = await rent(receivers[0]!);
  await mine();
  await worker.followChain();
  const database = worker.part(Database);
  const query: Database['query'] = database.query.bind(database);
  database.query = (async (statement, params) => {
    const rows = await query(statement, params);
    if (typeof statement !== 'string' && statement.name === 'record_signed') await setMark('another server');
    return rows;
  }) as Database['query'];
  const claimed = await worker.orderClaims().claimDue(64);
  await worker.advancer().advance(claimed);
  expect(await statusesOf(key)).toEqual(['signed']);
  const [order, [tx]] = [claimed[0]!, await txsOf(key)];
  await worker.transactionLog().recordDropped([{ id: tx!.id, orderId: order.id, fence: order.fence }]);
  expect(await statusesOf(key)).toEqual(['signed']);
  database.query = query;
  await setMark(null);
  await worker.advance();
  expect(await statusesOf(key)).toEqual(['sending']);
});

it('gives up and refunds nothing for earlier claims', async () => {
  const worker = await SteppedWorker.open();
  const key = await rent(receivers[0]!);
  await mine();
  await worker.followChain();
  const [order] = await worker.orderClaims().claimDue(64);
  const free = await freeSun();
  await setMark('another server');
  await worker.orderTermination().undo(order!);
  await worker.orderTermination().releaseLegs(order!, order!.legs);
  await worker.orderTermination().refund(order!, 'a reason');
  expect(await orderOf(key)).toMatchObject({ status: 'reserved', undoing: false });
  expect(await freeSun()).toBe(free);
  await setMark(null);
  await worker.orderTermination().releaseLegs(order!, order!.legs);
  await worker.orderTermination().refund(order!, 'a reason');
  expect(await orderOf(key)).toMatchObject({ status: 'refunded' });
  expect(await freeSun()).toBeGreaterThan(free);
});

/** Returns an order of which half arrived, being undone; its reclaim is in a final block. */
async function undoneOrder(worker: SteppedWorker): Promise<string> {
  const key = await settledOrder(worker, receivers[1]);
  await byHand(
    `UPDATE orders SET settled = false, created_at = '2019-12-31', energy = energy * 2, status = 'placed',
      delivered_at = NULL, ends_at = NULL, delivered_energy = NULL WHERE key = $1`,
    [key],
  );
  const { id } = await orderOf(key);
  await worker.orderTermination().undo(await dueAgain(worker, id));
  await worker.advancer().advance([await dueAgain(worker, id)]);
  expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  await mine(SOLID_LAG + 1);
  return key;
}

/** Removes the commits from the reclaim on, and with `undoing` false also the one that undid the order. */
async function loseReturn(key: string, undoing: boolean): Promise<void> {
  const ofOrder = `order_id = (SELECT id FROM orders WHERE key = $1)`;
  await byHand(`DELETE FROM chain_tx WHERE purpose = 'reclaim' AND ${ofOrder}`, [key]);
  await byHand(`UPDATE leg SET status = 'active' WHERE ${ofOrder}`, [key]);
  await byHand(`UPDATE orders SET undoing = $2, lease_until = NULL WHERE key = $1`, [key, undoing]);
}

async function isRecalled(isKnown: boolean): Promise<void> {
  const worker = await SteppedWorker.open();
  const key = await undoneOrder(worker);
  await loseReturn(key, isKnown);
  await worker.followChain();
  await worker.search();
  expect(await api.database.query('SELECT FROM orphan_tx')).toEqual([]);
  expect(await statusesOf(key, 'reclaim')).toEqual(['solid']);
  expect(await orderOf(key)).toMatchObject({ status: 'placed', undoing: true });
  await worker.advancer().advance([await dueAgain(worker, (await orderOf(key)).id)]);
  expect(await orderOf(key)).toMatchObject({ status: 'refunded' });
}

it('records the reclaim of an order known to be undone, and refunds the order', () => isRecalled(true));

it('records the reclaim of an order that a lost commit undid, and refunds the order', () => isRecalled(false));
