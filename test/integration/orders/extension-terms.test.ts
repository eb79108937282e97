// The terms that an extension was sold by: expected uses, the price of each, and the fee limit.
import { credits } from '../../../src/domain/units.js';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { AUTHOR } from '../../support/api/factory.js';
import { expectRefusal, withKey } from '../../support/api/order-fixture.js';
import { foundByVerify } from '../../support/worker/extension-records.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  openFixtureWith,
  settledOrder,
  SteppedWorker,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';

const DAY_SEC = 86_400;

beforeAll(() => openFixtureWith({ DATABASE_POOL_MAX: '12' }), START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const hmac = ({ merchant, apiKey } = customer): HmacCustomer => new HmacCustomer(api.baseUrl, merchant, apiKey);

interface Asked {
  readonly by: number;
  readonly uses: number;
  readonly under: string;
}

const extend = async (key: string, { by, uses, under }: Asked): Promise<Answer> =>
  hmac().post(`/v1/orders/${key}/extensions`, { duration_sec: by, expected_uses: uses }, withKey(under));

it('an extension tells what it was sold by, also to a replay', async () => {
  const key = await settledOrder(await SteppedWorker.open());
  const asked = { by: 3 * DAY_SEC, uses: 3, under: 'three-days' };
  const answer = await extend(key, asked);
  expect(answer.status).toBe(200);
  expect(answer.body.extensions).toEqual([
    {
      key: asked.under,
      duration_sec: 3 * DAY_SEC,
      expected_uses: 3,
      credits: 50_000 * 150 * 3,
      price_per_use_sun: 50_000 * 50,
      fee_limit_sun: 50_000 * 100,
      at: expect.stringMatching(/Z$/),
    },
  ]);
  const again = await extend(key, asked);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(again.body).toEqual(answer.body);
  expect((await hmac().get(`/v1/orders/${key}`)).body).toEqual(answer.body);
  expectRefusal(await extend(key, { ...asked, uses: 2 }), 422, 'IDEMPOTENCY_KEY_REUSED');
  expect(await foundByVerify()).toEqual([]);
});

it('an operator sees the charges of the order and of each extension', async () => {
  const key = await settledOrder(await SteppedWorker.open());
  await extend(key, { by: DAY_SEC, uses: 1, under: 'a-day' });
  const { body } = await extend(key, { by: DAY_SEC, uses: 1, under: 'another-day' });
  const { id, credits: paid, extensions } = body as { id: number; credits: number; extensions: { credits: number }[] };
  const shown = await api.ledger.entriesOf(BigInt(id), 2);
  expect(shown.map((entry) => Number(entry.credits))).toEqual([-paid, ...extensions.map((each) => -each.credits)]);
});

it('expected uses beyond any integer of the database are refused like the duration that allows them', async () => {
  const key = await settledOrder(await SteppedWorker.open());
  const refused = await extend(key, { by: Number.MAX_SAFE_INTEGER, uses: 2 ** 31, under: 'for-ever' });
  expectRefusal(refused, 400, 'INVALID_REQUEST');
});

it('a refused extension says which credits it needs, and which are left', async () => {
  const key = await settledOrder(await SteppedWorker.open());
  await api.ledger.setDailyCap(customer.merchant, credits(1), AUTHOR);
  const refused = await extend(key, { by: 3 * DAY_SEC, uses: 3, under: 'dear' });
  expectRefusal(refused, 402, 'SPEND_CAP_REACHED');
  expect(refused.body).toMatchObject({ needed_credits: 50_000 * 150 * 3, available_credits: 0 });
});
