// A test chain whose time runs ahead of ours: deposits on it do not wait for our clock.
import {
  closeFixture,
  depositsOf,
  follow,
  openFixture,
  payTrx,
  settle,
  newDepositProject,
  START_LIMIT_MS,
} from '../../support/worker/deposit-fixture.js';

const AHEAD_MS = 3_600_000;

beforeAll(() => openFixture(Date.now() + AHEAD_MS), START_LIMIT_MS);
afterAll(closeFixture);

test('credits a deposit of a chain an hour ahead at the manual rate, once it is solid', async () => {
  const paid = await newDepositProject();
  await payTrx(paid, 20_000_000);
  await settle();
  await follow();
  expect(await depositsOf(paid)).toMatchObject([{ status: 'credited', asset: 'TRX', amount: '20000000' }]);
});
