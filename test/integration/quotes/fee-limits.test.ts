// The chain's highest fee limit bounds every fee limit that is answered, and an order keeps the one of its price.
import { jest } from '@jest/globals';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { put } from '../../support/api/auto-delegation-fixture.js';
import { withKey } from '../../support/api/order-fixture.js';
import { until } from '../../support/api/quote-fixture.js';
import { foundByVerify } from '../../support/worker/extension-records.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  contract,
  customer,
  devnet,
  openFixtureWithCalls,
  receivers,
  settledOrder,
  SteppedWorker,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';

jest.setTimeout(60_000);

const USUAL = 15_000_000_000;
/** 40 000 energy at 100 sun. */
const LOW = 4_000_000;
const capped = { fee_limit_sun: LOW, fee_limit_capped: true };

let merchant: HmacCustomer;

beforeAll(async () => {
  await openFixtureWithCalls({ DATABASE_POOL_MAX: '12', MARKET_REFRESH_SEC: '1' });
  merchant = new HmacCustomer(api.baseUrl, customer.merchant, customer.apiKey);
}, START_LIMIT_MS);
beforeEach(() => setHighest(LOW));
afterEach(async () => {
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const quote = (energy: number): Promise<Answer> =>
  merchant.post('/v1/quotes', { receive_address: receivers[0]!, energy, duration_sec: 3600 });

/** Sets the chain's highest fee limit, and waits until the service has read it. */
async function setHighest(highest: number): Promise<void> {
  await devnet.control('parameters', { getMaxFeeLimit: highest });
  await until(
    () => quote(100_000),
    ({ body }) => body.fee_limit_sun === Math.min(highest, 100_000 * 100),
  );
}

it('a quote says when the chain accepts no fee limit that is high enough', async () => {
  const { body: fits } = await quote(LOW / 100);
  expect(fits.fee_limit_sun).toBe(LOW);
  expect(fits).not.toHaveProperty('fee_limit_capped');
  expect((await quote(LOW / 100 + 1)).body).toMatchObject(capped);
});

it('an order answers the fee limit of its price for ever, whatever the chain accepts later', async () => {
  const request = { receive_address: receivers[1]!, energy: 50_000, duration_sec: 3600 };
  const limitsOf = ({ body }: Answer) => [body.fee_limit_sun, body.fee_limit_capped];
  const first = await merchant.post('/v1/orders', request, withKey('capped'));
  expect(first.body).toMatchObject(capped);
  await setHighest(USUAL);
  const later = await merchant.post('/v1/orders', request, withKey('uncapped'));
  expect(limitsOf(later)).toEqual([5_000_000, undefined]);
  expect(limitsOf(await merchant.post('/v1/orders', request, withKey('capped')))).toEqual(limitsOf(first));
  expect(limitsOf(await merchant.get('/v1/orders/capped'))).toEqual(limitsOf(first));
  await setHighest(LOW);
  expect(limitsOf(await merchant.post('/v1/orders', request, withKey('uncapped')))).toEqual(limitsOf(later));
});

it('an extension answers the fee limit of its own price', async () => {
  await setHighest(USUAL);
  const key = await settledOrder(await SteppedWorker.open());
  await setHighest(LOW);
  const extend = () => merchant.post(`/v1/orders/${key}/extensions`, { duration_sec: 3600 }, withKey('longer'));
  const { body } = await extend();
  expect(body.extensions).toMatchObject([capped]);
  expect([body.fee_limit_sun, body.fee_limit_capped]).toEqual([5_000_000, undefined]);
  await setHighest(USUAL);
  expect((await extend()).body).toEqual(body);
  expect(await foundByVerify()).toEqual([]);
});

it('a simulation and an auto-delegation are bounded too', async () => {
  const call = { owner_address: callers[0]!.address, contract_address: contract.address };
  const heavy = { function_selector: 'heavy(uint256)', parameter: '14'.padStart(64, '0') };
  const { body } = await merchant.post('/v1/simulate', { ...call, ...heavy });
  expect(body.energy_needed).toBeGreaterThan(LOW / 100);
  expect(body).toMatchObject(capped);
  const terms = { keep_energy: 65_000, daily_cap_credits: 0 };
  expect((await put(merchant, callers[0]!.address, terms)).body).toMatchObject(capped);
  await setHighest(USUAL);
  const { body: usual } = await put(merchant, callers[0]!.address, terms);
  expect([usual.fee_limit_sun, usual.fee_limit_capped]).toEqual([6_500_000, undefined]);
});
