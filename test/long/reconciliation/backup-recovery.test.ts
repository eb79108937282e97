// Recovery of transactions that a backup holds as recorded and unsent, beside an equal act of the same wallet and
// receiver.
import { FulfilmentLoop } from '../../../src/modules/fulfilment/loop/fulfilment-loop.js';
import { until } from '../../../packages/local/src/wait.js';
import { namesOf, ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

let fixture: ReconciliationFixture;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
});

afterAll(() => fixture.close());

it('bytes on record stay with their own order, although an equal act of another order comes before them', async () => {
  const receiver = fixture.service.accounts[0]!.address;
  const first = (await fixture.rent(receiver, 65_000, 86_400)).toString();
  const second = (await fixture.rent(receiver, 65_000, 86_400)).toString();
  const both = `order_id IN (${first}, ${second})`;
  const acts = await fixture.database.query<{ wallet_id: number; amount_sun: bigint }>(
    `SELECT DISTINCT wallet_id, amount_sun FROM leg WHERE ${both}`,
  );
  expect(acts).toHaveLength(1);
  await fixture.pass();
  // The backup's state: the older order has signed bytes, which are second on chain; the younger order has none.
  await fixture.byHand(
    `DELETE FROM broadcast WHERE chain_tx_id IN (SELECT id FROM chain_tx WHERE ${both})`,
    `DELETE FROM chain_tx WHERE order_id = ${first}`,
    `UPDATE chain_tx SET order_id = ${first}, leg_id = (SELECT id FROM leg WHERE order_id = ${first}), status = 'signed',
        sends = 0, sent_at = NULL, block_number = NULL, block_id = NULL, block_at = NULL WHERE order_id = ${second}`,
    `UPDATE leg SET status = 'reserved', active_at = NULL, energy = NULL WHERE ${both}`,
    `DELETE FROM event WHERE ${both} AND type IS DISTINCT FROM 'order.created'`,
    `UPDATE orders SET status = 'reserved', settled = false, delivered_at = NULL, ends_at = NULL, delivered_energy = NULL,
        placed_at = NULL, lease_until = NULL, fence = fence + 1, next_run_at = clock_timestamp() + interval '1 minute'
      WHERE id IN (${first}, ${second})`,
    `UPDATE reconcile_state SET scanned_to = scanned_to - 300, fence = fence + 1`,
  );
  const over = async (): Promise<true | undefined> => {
    await fixture.pass();
    const open = await fixture.database.query(`SELECT FROM orders WHERE id IN (${first}, ${second}) AND NOT settled`);
    return open.length === 0 ? true : undefined;
  };
  await until(over, 20_000, 'both deliveries being remembered');
  expect(await fixture.database.query(`SELECT FROM orphan_tx`)).toEqual([]);
  expect(
    await fixture.database.query(`SELECT order_id::text, status FROM chain_tx WHERE ${both} ORDER BY order_id`),
  ).toEqual([
    { order_id: first, status: 'solid' },
    { order_id: second, status: 'solid' },
  ]);
  expect(namesOf(await fixture.verify())).toEqual([]);
});

it('a return also belongs to its order when the records only know that the delivery before it was sent', async () => {
  const receiver = fixture.service.accounts[1]!.address;
  const order = (await fixture.rent(receiver, 65_000, 60)).toString();
  const returned = async (): Promise<true | undefined> => {
    const open = await fixture.database.query(`SELECT FROM leg WHERE order_id = ${order} AND status <> 'reclaimed'`);
    return open.length === 0 ? true : undefined;
  };
  await until(returned, 30_000, 'the return');
  // From here on only the search reads the chain.
  await fixture.worker.get(FulfilmentLoop).stop();
  await fixture.pass();
  await fixture.byHand(
    `DELETE FROM broadcast WHERE chain_tx_id IN (SELECT id FROM chain_tx WHERE order_id = ${order} AND purpose = 'reclaim')`,
    `DELETE FROM chain_tx WHERE order_id = ${order} AND purpose = 'reclaim'`,
    `UPDATE chain_tx SET status = 'sending', block_number = NULL, block_id = NULL, block_at = NULL WHERE order_id = ${order}`,
    `UPDATE leg SET status = 'placed', active_at = NULL, energy = NULL WHERE order_id = ${order}`,
    `DELETE FROM event WHERE order_id = ${order} AND type <> 'order.created'`,
    `UPDATE orders SET status = 'placed', settled = false, delivered_at = NULL, ends_at = NULL, delivered_energy = NULL,
        reclaimed_at = NULL, lease_until = NULL, fence = fence + 1, next_run_at = clock_timestamp() + interval '1 hour'
      WHERE id = ${order}`,
    `UPDATE reconcile_state SET scanned_to = scanned_to - 300, fence = fence + 1`,
  );
  await until(
    async () => {
      await fixture.pass();
      return returned();
    },
    20_000,
    'the return being remembered',
  );
  expect(await fixture.database.query(`SELECT FROM orphan_tx`)).toEqual([]);
  expect(
    await fixture.database.query(`SELECT purpose, status FROM chain_tx WHERE order_id = ${order} ORDER BY purpose`),
  ).toEqual([
    { purpose: 'delegate', status: 'solid' },
    { purpose: 'reclaim', status: 'solid' },
  ]);
  expect(namesOf(await fixture.verify())).toEqual([]);
});
