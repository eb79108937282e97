// `verify` finds each false row in orders of energy with bandwidth and an activation, and nothing in the honest ones.
import 'reflect-metadata';
import { Market } from '../../../src/modules/quotes/market.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { until } from '../../../packages/local/src/wait.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { actAs, newOwner } from '../../support/chain/order-chain.js';
import { numberAll } from '../../support/worker/archive-fixture.js';
import { bundleOf, buyBundle, legsOf, openBundleFixture, step } from '../../support/worker/bundle-fixture.js';
import {
  api,
  closeFixture,
  customer,
  devnet,
  dueAgain,
  loseLeases,
  mine,
  orderOf,
  pool,
  receivers,
  second,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';
import { namesOf } from '../../support/worker/reconciliation-fixture.js';
import { planted } from './verify-history.js';
import { BUNDLED_LEGS, BUNDLED_ORDERS, BUNDLED_TRANSACTIONS, KEPT_ACTIVATIONS } from './verify-plants-bundles.js';

const BANDWIDTH = 40_000;
const RUNNING_SEC = 3600;
let names: Readonly<Record<string, string>>;
let worker: SteppedWorker;

beforeAll(async () => {
  await openBundleFixture();
  worker = await SteppedWorker.open();
  // Enough that the bandwidth of an order takes more than the least delegation.
  await stakeElsewhere(4_900_000);
  const running = await runningWithTopUp();
  const ended = await endedBundle();
  const refunded = await refundedExceptActivation();
  await worker.poolSync().syncWallet(pool.address);
  await numberAll();
  const idOf = async (key: string): Promise<string> => (await orderOf(key)).id.toString();
  names = {
    ':running': await idOf(running),
    ':ended': await idOf(ended),
    ':refunded': await idOf(refunded),
    ':project': customer.merchant,
  };
}, START_LIMIT_MS);
afterAll(async () => {
  await worker.close();
  await closeFixture();
}, START_LIMIT_MS);

/** Adds another party's stake for bandwidth. Returns once worker and API know the network's total. */
async function stakeElsewhere(trx: number): Promise<void> {
  const body = { owner_address: second.address, frozen_balance: trx * 1_000_000, resource: 'BANDWIDTH' };
  await actAs(devnet.fullUrl, second, 'freezebalancev2', body);
  await mine();
  await worker.followChain();
  const { totalNetWeight } = await api.app.get(TronClient).accountResources(receivers[0]!);
  const known = () => api.app.get(Market, { strict: false }).current().bandwidthRatio?.totalNetWeight;
  await until(() => known() === totalNetWeight || undefined, START_LIMIT_MS, 'the ratio of bandwidth');
}

/** A rental with an activation that runs, with one top-up of bandwidth. */
async function runningWithTopUp(): Promise<string> {
  const receiver = newOwner().address;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, activate: true, durationSec: RUNNING_SEC }, worker);
  await worker.advance();
  await step(worker, SOLID_LAG + 4);
  await stakeElsewhere(2_500_000);
  await worker.topUp();
  await step(worker, SOLID_LAG + 2);
  expect(await legsOf(key)).toEqual(['activation reclaimed', 'rental active', 'bandwidth active', 'bandwidth active']);
  return key;
}

async function endedBundle(): Promise<string> {
  const key = await buyBundle({ receiver: receivers[1]!, bandwidth: BANDWIDTH }, worker);
  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  await mine(20);
  await worker.followChain();
  await worker.reclaimEnded();
  await step(worker, 2 * SOLID_LAG + 4);
  expect(await bundleOf(key)).toMatchObject({ reclaimed: true });
  return key;
}

async function refundedExceptActivation(): Promise<string> {
  const key = await buyBundle({ receiver: newOwner().address, bandwidth: BANDWIDTH, activate: true }, worker);
  await worker.advance();
  await mine();
  await worker.followChain();
  await worker.orderTermination().undo(await dueAgain(worker, (await orderOf(key)).id));
  await loseLeases();
  await step(worker, SOLID_LAG + 3);
  expect((await bundleOf(key)).kept_credits).toBeGreaterThan(0n);
  return key;
}

const filled = (statement: string): string =>
  Object.entries(names).reduce((text, [name, value]) => text.replaceAll(name, value), statement);

it('finds nothing in honest orders', async () => {
  const { checks } = await verifyRecords(api.database);
  expect(checks.flatMap(({ findings }) => findings)).toEqual([]);
});

describe.each([
  ['an order', BUNDLED_ORDERS],
  ['a leg', BUNDLED_LEGS],
  ['a transaction', BUNDLED_TRANSACTIONS],
  ['an activation that stays charged', KEPT_ACTIVATIONS],
] as const)('a falsehood of %s', (_of, plants) => {
  const rows = plants.map(([what, ...plant]) => ({ what, plant }));
  it.each(rows)('$what', async ({ plant: [statements, checks, subject] }) => {
    const report = await planted(api.database, statements.map(filled));
    expect(report.unmade.filter(({ why }) => why !== 'the chain was not checked')).toEqual([]);
    expect(namesOf(report)).toEqual([...checks]);
    const first = findingsOf(report).find(({ check }) => check === checks[0]);
    expect(first?.subject).toMatch(subject);
  });
});
