// Extensions of a running rental of energy with bandwidth: both resources are priced, and kept until the new end.
import 'reflect-metadata';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { priceBandwidth } from '../../support/api/bandwidth-sale.js';
import { expectRefusal, withKey } from '../../support/api/order-fixture.js';
import { actAs } from '../../support/chain/order-chain.js';
import { ForeignUndelegations } from '../../../src/modules/reconciliation/foreign-undelegations.js';
import { SalesTerms } from '../../../src/modules/quotes/sales-terms.js';
import { until } from '../../../packages/local/src/wait.js';
import {
  bundleOf,
  buyBundle,
  delegatedOnChain,
  entriesOf,
  faults,
  legsOf,
  openBundleFixture,
  step,
} from '../../support/worker/bundle-fixture.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  mine,
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
/** 65 000 energy at 38 sun and 10 000 units at 700 sun, at 0.30 USD. */
const CREDITS = 28_410_000;

async function running(worker: SteppedWorker, receiver: string, durationSec: number): Promise<string> {
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, durationSec }, worker);
  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  return key;
}

let extended = 0;
async function extend(key: string, seconds: number): Promise<Answer> {
  const { merchant, apiKey } = customer;
  const caller = new HmacCustomer(api.baseUrl, merchant, apiKey);
  return caller.post(
    `/v1/orders/${key}/extensions`,
    { duration_sec: seconds },
    withKey(`more-${String((extended += 1))}`),
  );
}

it('costs the added time of both resources, which are reclaimed at the new end', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const receiver = receivers[0]!;
  const key = await running(worker, receiver, 120);
  const answer = await extend(key, 120);
  expect([answer.status, answer.body.extensions[0].credits]).toEqual([200, CREDITS]);
  expect(await entriesOf(key)).toEqual([`charge -${String(CREDITS)}`, `charge -${String(CREDITS)}`]);
  await mine(40);
  await worker.followChain();
  expect(await worker.reclaimEnded()).toBe(0);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active']);
  await mine(40);
  await worker.followChain();
  expect(await worker.reclaimEnded()).toBe(1);
  await step(worker, 2 * SOLID_LAG + 4);
  expect(await bundleOf(key)).toMatchObject({ reclaimed: true });
  expect([await delegatedOnChain(receiver, 'energy'), await delegatedOnChain(receiver, 'bandwidth')]).toEqual([0, 0]);
  await worker.poolSync().syncWallet(pool.address);
  expect(await faults()).toEqual([]);
});

it('ends no later than the longest rental of bandwidth on sale, although energy is sold for longer', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const key = await running(worker, receivers[1]!, 3000);
  expect((await extend(key, 300)).status).toBe(200);
  const refused = await extend(key, 600);
  expectRefusal(refused, 400, 'INVALID_REQUEST');
  expect(refused.body.msg).toContain('at most 3600 seconds from now');
  expect((await entriesOf(key)).length).toBe(2);
  await mine(1200);
  await worker.followChain();
});

it('is refused once its bandwidth is gone or no more on sale', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const [kept, taken] = [await running(worker, receivers[2]!, 600), await running(worker, receivers[3]!, 600)];
  const sun = await delegatedOnChain(receivers[3]!, 'bandwidth');
  const body = { owner_address: pool.address, receiver_address: receivers[3]!, balance: sun, resource: 'BANDWIDTH' };
  await actAs(devnet.fullUrl, pool, 'undelegateresource', body);
  await mine(SOLID_LAG + 2);
  await worker.followChain();
  await worker.search();
  await worker.part(ForeignUndelegations).closeLegs();
  expect(await legsOf(taken)).toEqual(['rental active', 'bandwidth reclaimed']);
  expectRefusal(await extend(taken, 300), 409, 'NOT_EXTENDABLE');
  await api.database.query(`UPDATE price_row SET sun_per_bandwidth = NULL`);
  const terms = api.app.get(SalesTerms, { strict: false });
  const isGone = () => terms.priceRows.every(({ sunPerBandwidth = null }) => sunPerBandwidth === null) || undefined;
  await until(isGone, START_LIMIT_MS, 'the prices without bandwidth');
  expectRefusal(await extend(kept, 300), 400, 'INVALID_REQUEST');
  await priceBandwidth(api);
  expect((await extend(kept, 300)).status).toBe(200);
  await mine(400);
  await worker.followChain();
});
