// A rental of three days: its wallet spends all of its energy each day, beside a wallet that burns TRX for the same calls.
import 'reflect-metadata';
import type { Owner } from '../../support/chain/order-chain.js';
import {
  clearFixture,
  closeFixture,
  contract,
  customer,
  devnet,
  mine,
  nextCaller,
  openFixtureWithCalls,
  orderOf,
  START_LIMIT_MS,
  SteppedWorker,
  useEnergy,
} from '../../support/worker/fulfilment-fixture.js';
import { expectSoundRecords, goOnUntil } from '../../support/worker/usable-energy-fixture.js';

const DAYS = 3;
const DAY_MS = 86_400_000;
const STEPS = 10;

interface Receipt {
  readonly energy_fee?: number;
  readonly energy_usage?: number;
  readonly energy_usage_total: number;
  readonly result: string;
}

beforeAll(() => openFixtureWithCalls(), START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function spendAll(caller: Owner): Promise<Receipt> {
  const txid = await useEnergy(caller, STEPS);
  await mine();
  const asked = { method: 'POST', body: JSON.stringify({ value: txid }) };
  const answer = await fetch(`${devnet.fullUrl}/wallet/gettransactioninfobyid`, asked);
  return ((await answer.json()) as { receipt: Receipt }).receipt;
}

it('burns nothing and saves, to the sun, what a wallet without it burns beyond its price', async () => {
  const worker = await SteppedWorker.open();
  const [renter, twin] = [nextCaller(), nextCaller()];
  const outcome = await worker.chain().simulate({
    ownerAddress: renter.address,
    contractAddress: contract.address,
    functionSelector: 'heavy(uint256)',
    parameter: STEPS.toString(16).padStart(64, '0'),
  });
  const energy = outcome.kind === 'success' ? Number(outcome.energyUsed) : 0;
  const terms = { receive_address: renter.address, energy, duration_sec: (DAYS * DAY_MS) / 1000, expected_uses: DAYS };
  const { body: quote } = await customer.post('/v1/quotes', terms);
  const key = 'three-days';
  const order = await customer.post(
    '/v1/orders',
    { receive_address: renter.address, quote_ref: quote.ref },
    { 'Idempotency-Key': key },
  );
  expect(order.status).toBe(202);
  await goOnUntil(worker, 'a settled rental', async () => (await orderOf(key)).settled);

  let burntSun = 0;
  for (let day = 0; day < DAYS; day += 1) {
    const rented = await spendAll(renter);
    expect(rented).toMatchObject({ result: 'SUCCESS', energy_usage: energy, energy_usage_total: energy });
    expect(rented.energy_fee).toBeUndefined();
    const burning = await spendAll(twin);
    expect(burning).toMatchObject({ result: 'SUCCESS', energy_usage_total: energy });
    burntSun += burning.energy_fee!;
    const { timestampMs } = await worker.chain().head();
    await devnet.control('mine', { blocks: [{ timestamp: timestampMs + DAY_MS - 60_000 }] });
    await mine(20);
    await worker.followChain();
  }
  expect(quote.burn_price_sun).toBe(burntSun);
  expect(quote.saving_trx).toBe(((burntSun - quote.price_sun) / 1_000_000).toFixed(6));
  expect(burntSun).toBeGreaterThan(quote.price_sun);

  await goOnUntil(
    worker,
    'the reclaim',
    async () => (await customer.get(`/v1/orders/${key}`)).body.reclaimed_at !== null,
  );
  await expectSoundRecords();
});
