// Orders under way whose rows other sessions hold, wake or claim at the same moment.
import 'reflect-metadata';
import { until } from '../../../packages/local/src/wait.js';
import { asAdmin } from '../../setup/admin.js';
import {
  api,
  clearFixture,
  closeFixture,
  dueAgain,
  fixtureDatabaseUrl,
  mine,
  openFixture,
  orderOf,
  pool,
  receivers,
  rent,
  settledOrder,
  START_LIMIT_MS,
  statusesOf,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(() => openFixture(), START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

/** Runs a statement with triggers off, as a manual change of the database would. */
async function byHand<R>(statement: string, values: unknown[]): Promise<R[]> {
  return asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('SET session_replication_role = replica');
    return (await client.query(statement, values)).rows as R[];
  });
}

/** Makes an order the purchase of an auto-delegation. Returns the order's new key and the auto-delegation's id. */
async function boughtByAuto(receiver: string): Promise<{ key: string; auto: string }> {
  const { id } = await orderOf(await rent(receiver));
  const [row] = await byHand<{ id: string }>(
    `INSERT INTO auto_delegation (project_id, api_key_id, address, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec)
      SELECT project_id, gen_random_uuid(), receive_address, 130000, 65000, 300, 0, 3600 FROM orders WHERE id = $1 RETURNING id`,
    [id],
  );
  const [auto, key] = [row!.id, `auto_${row!.id}_1`];
  await byHand('UPDATE orders SET key = $2 WHERE id = $1', [id, key]);
  return { key, auto };
}

it('transactions are sent in the same pass although recording it loses a deadlock over auto-delegations', async () => {
  const worker = await SteppedWorker.open();
  const [first, second] = [await boughtByAuto(receivers[0]!), await boughtByAuto(receivers[1]!)];
  await mine();
  await worker.followChain();
  await asAdmin(fixtureDatabaseUrl(), async (other) => {
    const hold = (id: string) => other.query('SELECT FROM auto_delegation WHERE id = $1 FOR UPDATE', [id]);
    await other.query('BEGIN');
    await hold(second.auto);
    const advanced = worker.advance();
    const isWaiting = async (): Promise<true | undefined> =>
      (
        await other.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
      ).rowCount === 1 || undefined;
    await until(isWaiting, 20_000, 'the worker waiting for a lock');
    await hold(first.auto);
    await other.query('COMMIT');
    await advanced;
  });
  expect([await statusesOf(first.key), await statusesOf(second.key)]).toEqual([['sending'], ['sending']]);
});

it('a reclaim that was claimed before its wallet signed again is due as soon as it is released', async () => {
  const worker = await SteppedWorker.open();
  const { id } = await orderOf(await settledOrder(worker));
  const [leg] = await byHand<{ wallet_id: number }>(
    `INSERT INTO chain_tx (order_id, leg_id, wallet_id, purpose, attempt, status, txid, raw_data, ref_block_number, expires_at)
      SELECT order_id, id, wallet_id, 'reclaim', 1, 'dropped', sha256('1'), '1', 1, clock_timestamp() FROM leg WHERE order_id = $1
      RETURNING wallet_id`,
    [id],
  );
  await byHand('UPDATE pool_wallet SET sign_failures = 1 WHERE address = $1', [pool.address]);
  const order = await dueAgain(worker, id);
  await worker.health().recordSigned([leg!.wallet_id]);
  await worker.orderClaims().release([{ order, delayMs: 30_000, isEnding: true }]);
  const [row] = await api.database.query<{ due: boolean }>(
    'SELECT next_run_at <= clock_timestamp() AS due FROM orders WHERE id = $1',
    [id],
  );
  expect(row).toEqual({ due: true });
  await byHand(`DELETE FROM chain_tx WHERE order_id = $1 AND purpose = 'reclaim'`, [id]);
});

it('a rental that gets no further top-up does not keep rentals of other receivers from theirs', async () => {
  const worker = await SteppedWorker.open();
  const orders = [
    await orderOf(await settledOrder(worker, receivers[0])),
    await orderOf(await settledOrder(worker, receivers[1])),
  ];
  await byHand(
    `INSERT INTO reclaim_usage (tx_id, order_id, receive_address, used_energy, limit_energy, pool_energy, sold_energy, taken_energy, read_block)
      SELECT t.id, l.order_id, l.receive_address, 1, 1, 1, 1, 1, 1 FROM chain_tx t JOIN leg l ON l.id = t.leg_id
       WHERE t.order_id = ANY ($1)`,
    [orders.map(({ id }) => id)],
  );
  for (const ended of orders) {
    // A foreign act ended one of its delegations.
    const [leg] = await byHand<{ id: string }>(
      `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
        SELECT order_id, 9, kind, wallet_id, receive_address, 1, 'reclaimed' FROM leg WHERE order_id = $1 RETURNING id`,
      [ended.id],
    );
    const claimed = await worker.orderClaims().claimWithLosses(1, 0);
    expect(claimed.map(({ id }) => id)).toEqual(orders.flatMap(({ id }) => (id === ended.id ? [] : id)));
    await byHand('DELETE FROM leg WHERE id = $1', [leg!.id]);
    await byHand('UPDATE orders SET lease_until = NULL', []);
  }
  await byHand('DELETE FROM reclaim_usage', []);
});

it('an order that a block delivers after it was claimed is not marked as being undone', async () => {
  const worker = await SteppedWorker.open();
  const key = await rent(receivers[0]!);
  await mine();
  await worker.followChain();
  await worker.advance();
  const { id } = await orderOf(key);
  const claimed = await dueAgain(worker, id);
  await mine();
  await worker.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered' });
  await worker.orderTermination().undo(claimed);
  const [order] = await api.database.query<{ undoing: boolean }>('SELECT undoing FROM orders WHERE id = $1', [id]);
  expect(order).toEqual({ undoing: false });
});
