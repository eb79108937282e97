// A pool wallet with delegations of both resources is wound down: it sells nothing more, keeps what it sold, and has
// nothing delegated in the end.
import 'reflect-metadata';
import { checkWallets } from '../../../src/modules/diagnostics/doctor-chain.js';
import { ReconcilerGauges } from '../../../src/modules/reconciliation/reconciler-gauges.js';
import { Config } from '../../../src/platform/config/config.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { AUTHOR } from '../../support/api/factory.js';
import { walletsOn } from '../../support/api/services.js';
import { actAs, type Owner } from '../../support/chain/order-chain.js';
import {
  bundleOf,
  buyBundle,
  delegatedOnChain,
  faults,
  legsOf,
  openBundleFixtureWithTwoWallets,
  step,
  walletsOf,
} from '../../support/worker/bundle-fixture.js';
import {
  api,
  clearFixture,
  closeFixture,
  devnet,
  mine,
  pool,
  receivers,
  second,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

const SUN_PER_TRX = 1_000_000;
const BANDWIDTH = 10_000;
const DURATION_SEC = 600;

beforeAll(openBundleFixtureWithTwoWallets, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function syncBoth(worker: SteppedWorker): Promise<void> {
  for (const { address } of [pool, second]) await worker.poolSync().syncWallet(address);
}

const pause = async ({ address }: Owner): Promise<void> =>
  walletsOn(api.database, api.app).setStatus(address, 'paused', { ...AUTHOR, reason: 'wound down' });

async function act(wallet: Owner, operation: string, body: object): Promise<void> {
  await actAs(devnet.fullUrl, wallet, operation, { owner_address: wallet.address, resource: 'BANDWIDTH', ...body });
  await mine(SOLID_LAG + 2);
}

/** The doctor's worst state of a wallet, and true if the worker's gauges show the wallet. */
async function alarmsOf(worker: SteppedWorker, { address }: Owner): Promise<{ doctor: string; isShown: boolean }> {
  const wallets = (await walletsOn(api.database, api.app).listInUse()).filter((wallet) => wallet.address === address);
  const found = await checkWallets(worker.chain(), wallets, worker.part(Config));
  const states = found.filter(({ check }) => check === `wallet ${address}`).map(({ state }) => state);
  await worker.part(ReconcilerGauges).sample();
  const metrics = await worker.part(Metrics).registry.metrics();
  const doctor = ['fault', 'warning', 'ok'].find((state) => states.some((each) => each === state)) ?? 'none';
  return { doctor, isShown: metrics.includes(`wallet="${address}"`) };
}

/** Returns the label of the gauge that says who paused the wallet; undefined if it is not paused. */
async function pausedBy(worker: SteppedWorker, { address }: Owner): Promise<string | undefined> {
  await worker.part(ReconcilerGauges).sample();
  const metrics = await worker.part(Metrics).registry.metrics();
  return new RegExp(`^pool_wallet_paused\\{wallet="${address}",by="(\\w+)"\\} 1$`, 'm').exec(metrics)?.[1];
}

const standing = async (key: string): Promise<readonly string[]> => (await walletsOf(key)).map((leg) => leg.wallet);

it('sells nothing more, delivers and keeps both resources that it sold, and has nothing delegated in the end', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  await syncBoth(worker);
  const [first, next, last] = receivers as [string, string, string];
  const running = await buyBundle({ receiver: first, bandwidth: BANDWIDTH, durationSec: DURATION_SEC });
  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(running)).toMatchObject({ status: 'delivered', settled: true });
  expect(await standing(running)).toEqual([second.address, second.address]);

  const reserved = await buyBundle({ receiver: next, bandwidth: BANDWIDTH, durationSec: DURATION_SEC });
  expect(await standing(reserved)).toEqual([second.address, second.address]);
  await pause(second);
  const later = await buyBundle({ receiver: last, bandwidth: BANDWIDTH, durationSec: DURATION_SEC });
  expect(await standing(later)).toEqual([pool.address, pool.address]);

  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(reserved)).toMatchObject({ status: 'delivered', settled: true });
  expect(await standing(reserved)).toEqual([second.address, second.address]);

  // Its rentals keep what was sold: another wallet makes up for the growth of the network's stake.
  await act(pool, 'freezebalancev2', { frozen_balance: 5_000_000 * SUN_PER_TRX });
  await worker.followChain();
  await syncBoth(worker);
  expect(await worker.topUp()).toBe(3);
  await step(worker, SOLID_LAG + 2);
  for (const key of [running, reserved]) {
    expect(await standing(key)).toEqual([second.address, second.address, pool.address]);
    expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active', 'bandwidth active']);
  }

  await mine(DURATION_SEC / 3);
  await worker.followChain();
  await worker.reclaimEnded();
  await step(worker, 2 * SOLID_LAG + 4);
  for (const key of [running, reserved, later]) expect(await bundleOf(key)).toMatchObject({ reclaimed: true });
  for (const resource of ['energy', 'bandwidth'] as const)
    for (const receiver of [first, next, last]) expect(await delegatedOnChain(receiver, resource, second)).toBe(0);

  // Its owner can take the stake for bandwidth back as a whole.
  await act(second, 'unfreezebalancev2', { unfreeze_balance: 20_000_000 * SUN_PER_TRX });
  await syncBoth(worker);
  const wallet = await walletsOn(api.database, api.app).get(second.address);
  expect(wallet).toMatchObject({
    status: 'paused',
    retired: false,
    staked_bandwidth_sun: 0n,
    delegated_bandwidth_sun: 0n,
    reserved_bandwidth_sun: 0n,
    free_bandwidth_sun: 0n,
  });
  expect(await faults()).toEqual([]);
  expect(await alarmsOf(worker, second)).toEqual({ doctor: 'warning', isShown: true });
  expect([await pausedBy(worker, second), await pausedBy(worker, pool)]).toEqual(['operator', undefined]);
  const fault = async (words: string | null) =>
    api.database.query(`UPDATE pool_wallet SET books_fault = $1 WHERE address = ANY ($2)`, [
      ...[words, [second.address, pool.address]],
    ]);
  await fault('differs from the chain');
  expect([await pausedBy(worker, second), await pausedBy(worker, pool)]).toEqual(['fault', 'fault']);
  await fault(null);
});

it('raises no alarm for a wallet whose owner took back all stake and the key’s permission, until it is resumed', async () => {
  const worker = await SteppedWorker.open();
  const { staked_sun: staked } = await walletsOn(api.database, api.app).get(second.address);
  await act(second, 'unfreezebalancev2', { unfreeze_balance: Number(staked), resource: 'ENERGY' });
  const owner = { type: 0, permission_name: 'owner', threshold: 1, keys: [{ address: pool.address, weight: 1 }] };
  const active = { ...owner, type: 2, permission_name: 'mine', operations: `02${'0'.repeat(62)}` };
  await actAs(devnet.fullUrl, second, 'accountpermissionupdate', {
    owner_address: second.address,
    owner,
    actives: [active],
  });
  await mine(SOLID_LAG + 2);
  await syncBoth(worker);
  expect(await api.database.query(`SELECT wallet_fault FROM pool_wallet WHERE address = $1`, [second.address])).toEqual(
    [{ wallet_fault: expect.stringContaining('does not name the key') as string }],
  );
  expect(await walletsOn(api.database, api.app).get(second.address)).toMatchObject({ status: 'paused', retired: true });
  expect(await alarmsOf(worker, second)).toEqual({ doctor: 'none', isShown: false });
  expect(await alarmsOf(worker, pool)).toMatchObject({ isShown: true });

  await walletsOn(api.database, api.app).setStatus(second.address, 'active', AUTHOR);
  expect(await alarmsOf(worker, second)).toEqual({ doctor: 'fault', isShown: true });
});
