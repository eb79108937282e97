// A server that may have lost commits, as after a failover: nothing is done there for what was claimed before.
import 'reflect-metadata';
import { Database } from '../../src/store/database.js';
import {
  api,
  clearStage,
  closeStage,
  freeSun,
  Hand,
  mine,
  openStage,
  orderOf,
  receivers,
  rent,
  START_LIMIT_MS,
  statusesOf,
  txsOf,
} from '../protocol-stage.js';

const setMark = (mark: string | null) => api.database.query('UPDATE reconcile_state SET server_mark = $1', [mark]);

beforeAll(openStage, START_LIMIT_MS);
afterEach(async () => {
  await setMark(null);
  await clearStage();
}, START_LIMIT_MS);
afterAll(closeStage, START_LIMIT_MS);

it('nothing is built or sent for what was claimed before', async () => {
  const hand = await Hand.open();
  const key = await rent(receivers[0]!);
  await mine();
  await hand.look();
  const claimed = await hand.work().claimDue(64);
  expect(claimed).toHaveLength(1);
  await setMark('another server');
  await hand.advancer().advance(claimed);
  expect(await statusesOf(key)).toEqual([]);
  await setMark(null);
  await hand.advance();
  expect(await statusesOf(key)).toEqual(['sending']);
});

it('nothing is sent that was signed before, and nothing of it is given up', async () => {
  const hand = await Hand.open();
  const key = await rent(receivers[0]!);
  await mine();
  await hand.look();
  const database = hand.part(Database);
  const query: Database['query'] = database.query.bind(database);
  database.query = (async (statement, params) => {
    const rows = await query(statement, params);
    if (typeof statement !== 'string' && statement.name === 'record_signed') await setMark('another server');
    return rows;
  }) as Database['query'];
  const claimed = await hand.work().claimDue(64);
  await hand.advancer().advance(claimed);
  expect(await statusesOf(key)).toEqual(['signed']);
  const [order, [tx]] = [claimed[0]!, await txsOf(key)];
  await hand.log().recordDropped([{ id: tx!.id, orderId: order.id, fence: order.fence }]);
  expect(await statusesOf(key)).toEqual(['signed']);
  database.query = query;
  await setMark(null);
  await hand.advance();
  expect(await statusesOf(key)).toEqual(['sending']);
});

it('nothing is given up or refunded for what was claimed before', async () => {
  const hand = await Hand.open();
  const key = await rent(receivers[0]!);
  await mine();
  await hand.look();
  const [order] = await hand.work().claimDue(64);
  const free = await freeSun();
  await setMark('another server');
  await hand.ending().undo(order!);
  await hand.ending().release(order!, order!.legs);
  await hand.ending().refund(order!, 'a reason');
  expect(await orderOf(key)).toMatchObject({ status: 'reserved', undoing: false });
  expect(await freeSun()).toBe(free);
  await setMark(null);
  await hand.ending().release(order!, order!.legs);
  await hand.ending().refund(order!, 'a reason');
  expect(await orderOf(key)).toMatchObject({ status: 'refunded' });
  expect(await freeSun()).toBeGreaterThan(free);
});
