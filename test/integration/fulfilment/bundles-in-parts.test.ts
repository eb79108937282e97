// The parts of an order on two wallets: a move to the other one, a split, and acts of other parties on one resource.
import 'reflect-metadata';
import { DelegationCheck } from '../../../src/modules/verify/delegation-check.js';
import type { OrderBody } from '../../../src/modules/orders/orders.dto.js';
import { DeliveryCheck } from '../../../src/modules/fulfilment/plan/delivery-check.js';
import { ForeignUndelegations } from '../../../src/modules/reconciliation/foreign-undelegations.js';
import type { WalletRow } from '../../../src/modules/pool/shortfall.js';
import { addressToHex } from '../../../src/platform/chain/address.js';
import { asAdmin } from '../../setup/admin.js';
import { actAs, newOwner } from '../../support/chain/order-chain.js';
import {
  balance,
  bundleOf,
  buyBundle,
  delegatedOnChain,
  faults,
  legsOf,
  openBundleFixtureWithTwoWallets,
  step,
  transactionsOf,
  walletsOf,
} from '../../support/worker/bundle-fixture.js';
import { archive, judge, numberAll } from '../../support/worker/archive-fixture.js';
import { CostRecorder } from '../../../src/modules/costs/cost-recorder.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  dueAgain,
  fixtureDatabaseUrl,
  full,
  loseLeases,
  mine,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  second,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(openBundleFixtureWithTwoWallets, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const BANDWIDTH = 10_000;
const SWALLOWED = { says: '{"result":true,"code":"SUCCESS"}' };
const OWNERS = [pool, second];

async function openWorker(): Promise<SteppedWorker> {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  await syncBoth(worker);
  return worker;
}

async function syncBoth(worker: SteppedWorker): Promise<void> {
  for (const { address } of OWNERS) await worker.poolSync().syncWallet(address);
}

/** The wallets of an order's legs that were not released, as `kind wallet`. */
const placesOf = async (key: string): Promise<string[]> =>
  (await walletsOf(key)).map(({ kind, wallet }) => `${kind} ${wallet === pool.address ? 'first' : 'second'}`);

const totalOnChain = async (receiver: string, resource: 'energy' | 'bandwidth'): Promise<number> =>
  (await delegatedOnChain(receiver, resource)) + (await delegatedOnChain(receiver, resource, second));

async function settle(worker: SteppedWorker, key: string): Promise<void> {
  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
}

/** The acts of the owner use the service's own key, so an operator would have to explain them. */
const unexplained = async (): Promise<readonly string[]> =>
  (await faults()).filter((fault) => !fault.startsWith('orphan-transactions: '));

/** Mines until the rental has ended, and reclaims it. */
async function runOut(worker: SteppedWorker, key: string, receiver: string, durationSec = 60): Promise<void> {
  await mine(durationSec / 3);
  await worker.followChain();
  await worker.reclaimEnded();
  await step(worker, 2 * SOLID_LAG + 4);
  expect(await bundleOf(key)).toMatchObject({ reclaimed: true });
  expect([await totalOnChain(receiver, 'energy'), await totalOnChain(receiver, 'bandwidth')]).toEqual([0, 0]);
  await syncBoth(worker);
  expect(await unexplained()).toEqual([]);
}

/** Returns the disagreements of records and chain, as check reports them. */
async function mismatches(worker: SteppedWorker) {
  const wallets = await api.database.query<WalletRow>(`SELECT id, address FROM pool_wallet WHERE role = 'pool'`);
  return new DelegationCheck(api.database, worker.chain(), 'suspicious', 100, 100).run(wallets);
}

/** An act of a wallet's owner that the service does not know of, in a solid block. */
async function actOfOwner(owner: typeof pool, operation: string, receiver: string, body: object): Promise<void> {
  const parties = { owner_address: owner.address, receiver_address: receiver };
  await actAs(devnet.fullUrl, owner, operation, { ...parties, ...body });
  await mine(SOLID_LAG + 2);
}

it('moves the unsent parts of a wallet whose key fails to the other wallet', async () => {
  const worker = await openWorker();
  const [row] = await api.database.query<{ key_sealed: Buffer }>(
    `SELECT key_sealed FROM pool_wallet WHERE address = $1`,
    [second.address],
  );
  const key = await buyBundle({ receiver: receivers[0]!, bandwidth: BANDWIDTH });
  expect(await placesOf(key)).toEqual(['rental second', 'bandwidth second']);
  await api.database.query(`UPDATE pool_wallet SET key_sealed = NULL WHERE address = $1`, [second.address]);
  for (let round = 0; round < 6; round += 1) await worker.advance();
  await api.database.query(`UPDATE pool_wallet SET key_sealed = $2 WHERE address = $1`, [
    second.address,
    row!.key_sealed,
  ]);
  expect(await placesOf(key)).toEqual(['rental first', 'bandwidth first']);
  await settle(worker, key);
  await runOut(worker, key, receivers[0]!);
  await worker.health().resumeWallets();
});

it('delivers bandwidth of two wallets, and goes back for the one part whose block is reverted', async () => {
  const worker = await openWorker();
  const receiver = receivers[1]!;
  const probe = await buyBundle({ receiver: receivers[2]!, bandwidth: BANDWIDTH });
  const [needed] = await api.database.query<{ sun: bigint }>(
    `SELECT amount_sun AS sun FROM leg WHERE kind = 'bandwidth' AND order_id = $1`,
    [(await orderOf(probe)).id],
  );
  await api.database.query(
    `UPDATE pool_slot s SET free_bandwidth_sun = CASE slot_no
        WHEN (SELECT min(slot_no) FROM pool_slot WHERE wallet_id = s.wallet_id) THEN $1::bigint ELSE 0 END
      WHERE wallet_id IN (SELECT id FROM pool_wallet WHERE role = 'pool')`,
    [(needed!.sun * 6n) / 10n],
  );
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH });
  expect((await placesOf(key)).sort()).toEqual(['bandwidth first', 'bandwidth second', 'rental second']);
  full.before = (path, body) =>
    path === 'wallet/broadcasthex' && body.includes(addressToHex(pool.address)) ? SWALLOWED : undefined;
  await worker.advance();
  await step(worker);
  expect((await legsOf(key)).filter((leg) => leg.endsWith('active')).length).toBe(2);
  expect(await bundleOf(key)).toMatchObject({ status: 'placed', delivered_bandwidth: null });
  full.rest();
  for (let tries = 0; tries < 2 * PAST_VALIDITY && (await bundleOf(key)).status !== 'delivered'; tries += 1) {
    await step(worker);
  }
  const delivered = await bundleOf(key);
  expect(delivered.status).toBe('delivered');
  expect(delivered.delivered_bandwidth).toBeGreaterThanOrEqual(10_000n);
  await devnet.control('fork', { depth: 1, drop: true });
  await mine(1);
  await worker.followChain();
  expect(await bundleOf(key)).toMatchObject({ status: 'placed', delivered_energy: null, delivered_bandwidth: null });
  expect((await legsOf(key)).filter((leg) => leg.endsWith('active')).length).toBe(2);
  await step(worker, SOLID_LAG + 4);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  expect((await transactionsOf(key)).filter((tx) => tx.endsWith('solid')).length).toBe(3);
  await runOut(worker, key, receiver);
});

it('gets the bandwidth that it lacks, however many legs it has had', async () => {
  const worker = await openWorker();
  const receiver = receivers[0]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH });
  // As if its legs had been moved often: both parts may have twenty legs, and each move as many again.
  await api.database.query(`UPDATE leg SET leg_no = leg_no + 60 WHERE order_id = $1`, [(await orderOf(key)).id]);
  const stake = { owner_address: pool.address, frozen_balance: 9_000_000_000_000, resource: 'BANDWIDTH' };
  await actAs(devnet.fullUrl, pool, 'freezebalancev2', stake);
  await mine();
  await worker.followChain();
  // No slot holds the missing stake, so that several slots and wallets must give it.
  await api.database.query(`UPDATE pool_slot SET free_bandwidth_sun = least(free_bandwidth_sun, 1000000)`);
  await worker.advance();
  await step(worker, SOLID_LAG + 5);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  expect((await placesOf(key)).filter((place) => place.startsWith('bandwidth')).length).toBeGreaterThan(1);
  await runOut(worker, key, receiver);
});

it('keeps its energy when the owner takes the bandwidth back, and is reclaimed without it', async () => {
  const worker = await openWorker();
  const receiver = receivers[2]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH });
  await settle(worker, key);
  const owner = (await delegatedOnChain(receiver, 'bandwidth')) > 0 ? pool : second;
  await actOfOwner(owner, 'undelegateresource', receiver, {
    balance: await delegatedOnChain(receiver, 'bandwidth', owner),
    resource: 'BANDWIDTH',
  });
  await worker.search();
  await worker.part(ForeignUndelegations).closeLegs();
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth reclaimed']);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true, reclaimed: false });
  expect(await totalOnChain(receiver, 'energy')).toBeGreaterThan(0);
  expect((await mismatches(worker)).findings).toEqual([]);
  await runOut(worker, key, receiver);
});

it('tells a mismatch of bandwidth from one of energy, and reclaims the owner’s delegations of both', async () => {
  const worker = await openWorker();
  const receiver = receivers[3]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, durationSec: 600 });
  await settle(worker, key);
  const held = [await totalOnChain(receiver, 'energy'), await totalOnChain(receiver, 'bandwidth')];
  for (const resource of ['ENERGY', 'BANDWIDTH']) {
    await actOfOwner(pool, 'delegateresource', receiver, { balance: 7_000_000, resource });
  }
  await worker.followChain();
  const { findings } = await mismatches(worker);
  const said = findings.map(({ subject, facts }) => [subject, facts['resource'], facts['excess_sun']]);
  expect(said.sort()).toEqual([
    [`${pool.address} → ${receiver} (bandwidth)`, 'BANDWIDTH', '7000000'],
    [`${pool.address} → ${receiver}`, 'ENERGY', '7000000'],
  ]);
  expect(new Set(findings.map(({ fingerprint }) => fingerprint)).size).toBe(2);
  await worker.search();
  await api.database.query(`UPDATE orphan_tx SET seen_at = seen_at - interval '1 day'`);
  await worker.reclaims().reclaim();
  const adopted = await api.database.query(
    `SELECT l.kind, l.energy, l.bandwidth, o.delivered_bandwidth FROM leg l JOIN orders o ON o.id = l.order_id
      WHERE o.key LIKE 'orphan:%' ORDER BY l.kind`,
  );
  // An adopted delegation counts in no sum of the other resource.
  expect(adopted).toEqual([
    { kind: 'bandwidth', energy: null, bandwidth: 1n, delivered_bandwidth: 1n },
    { kind: 'rental', energy: 1n, bandwidth: null, delivered_bandwidth: null },
  ]);
  await syncBoth(worker);
  expect(await unexplained()).toEqual([]);
  expect(await worker.reclaimEnded()).toBe(2);
  await step(worker, 3 * SOLID_LAG);
  expect([await totalOnChain(receiver, 'energy'), await totalOnChain(receiver, 'bandwidth')]).toEqual(held);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active']);
  expect((await mismatches(worker)).findings).toEqual([]);
  await runOut(worker, key, receiver, 600);
});

it('reads no pair again because its receiver has only the other resource', async () => {
  const worker = await openWorker();
  const keys = [];
  for (const receiver of receivers.slice(0, 3)) keys.push(await buyBundle({ receiver }));
  keys.push(await buyBundle({ receiver: receivers[3]!, bandwidth: BANDWIDTH }));
  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  for (const key of keys) expect(await bundleOf(key)).toMatchObject({ settled: true });
  expect((await mismatches(worker)).covered).toMatch(/ 0 of \d+ pairs/);
});

it('finds a delivery of bandwidth again that a restored backup lacks, and delivers it once', async () => {
  const worker = await openWorker();
  const receiver = receivers[0]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH });
  await settle(worker, key);
  const { id } = await orderOf(key);
  const legs = `SELECT id FROM leg WHERE order_id = ${id.toString()} AND kind = 'bandwidth'`;
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    for (const statement of [
      'SET session_replication_role = replica',
      `DELETE FROM broadcast WHERE chain_tx_id IN (SELECT id FROM chain_tx WHERE leg_id IN (${legs}))`,
      `DELETE FROM chain_tx WHERE leg_id IN (${legs})`,
      `UPDATE leg SET status = 'reserved', active_at = NULL, bandwidth = NULL WHERE id IN (${legs})`,
      `DELETE FROM event WHERE order_id = ${id.toString()} AND type IN ('order.delivered', 'order.settled')`,
      `UPDATE orders SET status = 'placed', settled = false, delivered_at = NULL, ends_at = NULL, delivered_energy = NULL,
          delivered_bandwidth = NULL, next_run_at = clock_timestamp() + interval '1 hour',
          created_at = created_at - interval '20 years' WHERE id = ${id.toString()}`,
    ]) {
      await client.query(statement);
    }
  });
  // The chain of the fixture is years behind the database's clock, and an order is older than its acts.
  await worker.search();
  await api.database.query(`UPDATE orders SET created_at = created_at + interval '20 years' WHERE id = $1`, [id]);
  await loseLeases();
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  expect([...(await transactionsOf(key))].sort()).toEqual(['delegate bandwidth solid', 'delegate rental solid']);
  await runOut(worker, key, receiver);
});

it('says of an activation that another wallet took over that it was made', async () => {
  const worker = await openWorker();
  const before = await balance();
  const key = await buyBundle({ receiver: newOwner().address, bandwidth: BANDWIDTH, activate: true });
  await worker.advance();
  await mine();
  await worker.followChain();
  const order = await dueAgain(worker, (await orderOf(key)).id);
  const activation = order.legs.find(({ kind }) => kind === 'activation')!;
  const moved = { ...activation, status: 'released' as const, txs: [] };
  const taken = { ...order, legs: [moved, ...order.legs] };
  expect(await worker.part(DeliveryCheck).findRefundReason(taken)).toContain('except for the activation');
  await worker.orderTermination().undo(order);
  await loseLeases();
  await step(worker, SOLID_LAG + 4);
  expect(await bundleOf(key)).toMatchObject({ status: 'refunded', kept_credits: 3_600_000n });
  expect(before - (await balance())).toBe(3_600_000n);
});

it('reads the same from the archive', async () => {
  const worker = await openWorker();
  const receiver = receivers[1]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH });
  await settle(worker, key);
  await runOut(worker, key, receiver);
  await numberAll();
  // A round looks up a few receipts only.
  for (let round = 0; round < 20; round += 1) await worker.part(CostRecorder).workBetweenBlocks(0n, 1_000_000);
  await judge(key);
  // The archive begins with the oldest order and stops at the first recent one.
  await api.database.query(`UPDATE orders SET created_at = created_at - interval '2 days' WHERE key <> $1`, [key]);
  const row = async () =>
    api.database.query(`SELECT to_jsonb(o) - 'archived' AS o FROM orders o WHERE key = $1`, [key]);
  const [answer, record] = [(await customer.get(`/v1/orders/${key}`)).body as OrderBody, await row()];
  expect(await archive()).toBeGreaterThanOrEqual(1);
  expect(await api.database.query(`SELECT archived FROM orders WHERE key = $1`, [key])).toEqual([{ archived: true }]);
  expect((await customer.get(`/v1/orders/${key}`)).body).toEqual(answer);
  expect(await row()).toEqual(record);
});
