// A pool wallet with delegations of both resources is wound down: it sells nothing more, keeps what it sold, and has
// nothing delegated in the end.
import 'reflect-metadata';
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
    staked_bandwidth_sun: 0n,
    delegated_bandwidth_sun: 0n,
    reserved_bandwidth_sun: 0n,
    free_bandwidth_sun: 0n,
  });
  expect(await faults()).toEqual([]);
});
