// Orders of several parts of which one fails, is in doubt, or is given up, while the others are on chain.
import 'reflect-metadata';
import { credits } from '../../../src/domain/units.js';
import { AUTHOR } from '../../support/api/factory.js';
import { newOwner } from '../../support/chain/order-chain.js';
import {
  balance,
  buyBundle,
  bundleOf,
  delegatedOnChain,
  entriesOf,
  faults,
  legsOf,
  openBundleFixture,
  step,
  transactionsOf,
} from '../../support/worker/bundle-fixture.js';
import {
  api,
  clearFixture,
  closeFixture,
  dueAgain,
  full,
  loseLeases,
  mine,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(openBundleFixture, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const BANDWIDTH = 10_000;
const SWALLOWED = { says: '{"result":true,"code":"SUCCESS"}' };

/** Lets the network drop broadcasts as of now, except for the first `kept`. */
function dropBroadcasts(kept = 0): void {
  let sent = 0;
  full.before = (path) => {
    if (path !== 'wallet/broadcasthex') return undefined;
    sent += 1;
    return sent > kept ? SWALLOWED : undefined;
  };
}

async function expectNoFaults(worker: SteppedWorker): Promise<void> {
  await worker.poolSync().syncWallet(pool.address);
  expect(await faults()).toEqual([]);
}

/** Buys an order with an activation whose bytes no node kept, and marks it unresolved, as after ten minutes. */
async function unresolved(worker: SteppedWorker, receiver: string): Promise<string> {
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, activate: true }, worker);
  dropBroadcasts();
  await worker.advance();
  await worker.orderTermination().markUnresolved(await dueAgain(worker, (await orderOf(key)).id));
  await loseLeases();
  expect(await bundleOf(key)).toMatchObject({ status: 'unresolved' });
  expect(await legsOf(key)).toEqual(['activation placed', 'rental reserved', 'bandwidth reserved']);
  return key;
}

it('is delivered once its activation, of which nothing was known, is in a block', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const receiver = newOwner().address;
  const key = await unresolved(worker, receiver);
  full.rest();
  await step(worker, SOLID_LAG + 6);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true, undoing: false });
  expect(await transactionsOf(key)).toEqual([
    'activate activation solid',
    'delegate rental solid',
    'delegate bandwidth solid',
  ]);
  await expectNoFaults(worker);
});

it('is returned as a whole if the activation of which nothing was known never came', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const before = await balance();
  const receiver = newOwner().address;
  const key = await unresolved(worker, receiver);
  await step(worker, PAST_VALIDITY + SOLID_LAG + 6);
  expect(await bundleOf(key)).toMatchObject({ status: 'refunded', kept_credits: null });
  expect(await balance()).toBe(before);
  await expectNoFaults(worker);
});

it('is reclaimed as a whole although one undelegation dies first, and ends only then', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const receiver = receivers[0]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH }, worker);
  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  await mine(20);
  await worker.followChain();
  dropBroadcasts(1);
  await worker.reclaimEnded();
  await step(worker, SOLID_LAG + 2);
  const left = [await delegatedOnChain(receiver, 'energy'), await delegatedOnChain(receiver, 'bandwidth')];
  expect(left.filter((sun) => sun === 0)).toHaveLength(1);
  expect((await legsOf(key)).map((leg) => leg.split(' ')[1]).sort()).toEqual(['reclaimed', 'reclaiming']);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', reclaimed: false });
  full.rest();
  await step(worker, PAST_VALIDITY + 2 * SOLID_LAG + 6);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', reclaimed: true });
  expect([await delegatedOnChain(receiver, 'energy'), await delegatedOnChain(receiver, 'bandwidth')]).toEqual([0, 0]);
  await expectNoFaults(worker);
});

it('keeps a delegation that is in a block from being the last word: the other one fails and both are returned', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const before = await balance();
  const receiver = receivers[1]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH }, worker);
  dropBroadcasts(1);
  await worker.advance();
  for (let round = 0; round < 4 && (await bundleOf(key)).status !== 'refunded'; round += 1) {
    await step(worker, PAST_VALIDITY);
  }
  full.rest();
  await step(worker, 2 * SOLID_LAG + 6);
  expect(await bundleOf(key)).toMatchObject({ status: 'refunded', kept_credits: null });
  expect([await delegatedOnChain(receiver, 'energy'), await delegatedOnChain(receiver, 'bandwidth')]).toEqual([0, 0]);
  expect(await balance()).toBe(before);
  await expectNoFaults(worker);
});

it('a kept activation may be given back once, as a compensation, and not more', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const before = await balance();
  const key = await buyBundle({ receiver: newOwner().address, bandwidth: BANDWIDTH, activate: true }, worker);
  await worker.advance();
  await mine();
  await worker.followChain();
  const { id } = await orderOf(key);
  await worker.orderTermination().undo(await dueAgain(worker, id));
  await loseLeases();
  await step(worker, SOLID_LAG + 3);
  const kept = (await bundleOf(key)).kept_credits!;
  expect(kept).toBeGreaterThan(0n);
  await expect(api.ledger.compensate(id, credits(kept + 1n), AUTHOR)).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
  });
  await api.ledger.compensate(id, credits(kept), AUTHOR);
  await expect(api.ledger.compensate(id, credits(1n), AUTHOR)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  expect(await balance()).toBe(before);
  expect((await entriesOf(key)).map((entry) => entry.split(' ')[0])).toEqual(['charge', 'refund', 'compensation']);
  await expectNoFaults(worker);
});
