// Ledger, quotes and orders against a model of a hundred lines, on real Postgres. Random command sequences; every
// outcome and every balance is compared. MODEL_RUNS and MODEL_SEED set the number of sequences and the seed.
import fc from 'fast-check';
import { credits, energy, rateE8, sun } from '../../../src/domain/units.js';
import { OrderAnswers } from '../../../src/modules/orders/order-answers.js';
import { OrdersService } from '../../../src/modules/orders/orders.service.js';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { sunForBandwidth } from '../../../src/modules/pool/bandwidth-stake.js';
import { sunForEnergy } from '../../../src/modules/pool/energy-ratio.js';
import { Market } from '../../../src/modules/quotes/market.js';
import { sealQuote } from '../../../src/modules/quotes/quote-token.js';
import { bandwidthRatioOf, QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { sellBandwidth } from '../../support/api/bandwidth-sale.js';
import { AUTHOR } from '../../support/api/factory.js';
import { commands, refundKnown, type Real } from './model-commands.js';
import { Model, type Taken } from './model.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';

const RUNS = Number(process.env['MODEL_RUNS'] ?? '60');
const SEED = process.env['MODEL_SEED'];
const COMMANDS_MAX = 60;

let fixture: OrderFixture;

beforeAll(async () => {
  // A single connection: code that takes a second one while holding the first would deadlock.
  fixture = await openOrderFixture({ MARKET_MAX_AGE_SEC: '3600', MARKET_REFRESH_SEC: '1', DATABASE_POOL_MAX: '1' });
  await sellBandwidth(fixture);
});

afterAll(() => fixture.close());

async function freeStake(): Promise<Taken> {
  const [row] = await fixture.api.database.query<{ energy: bigint; bandwidth: bigint }>(
    `SELECT sum(s.free_sun)::bigint AS energy, sum(s.free_bandwidth_sun)::bigint AS bandwidth
       FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id WHERE w.role = 'pool'`,
  );
  return { energySun: row!.energy, bandwidthSun: row!.bandwidth };
}

/** The part of bandwidth in a sealed quote; its price covers one leg. */
const partOf = (units: bigint) => ({ units, priceSun: sun(1_000_000n), credits: credits(3_000_000n) });

async function newProject(): Promise<{ model: Model; real: Real }> {
  const { api } = fixture;
  const { id } = await api.projects.create('model', { kind: 'prepaid' }, AUTHOR);
  const market = api.app.get(Market, { strict: false }).current();
  const { marginBps } = api.config.pool;
  const real: Real = {
    api,
    orders: api.app.get(OrdersService, { strict: false }),
    orderAnswers: api.app.get(OrderAnswers, { strict: false }),
    quotes: api.app.get(QuotesService, { strict: false }),
    projectId: id,
    receiver: fixture.receiver(),
    takenBy: (amount, bandwidth) => ({
      energySun: sunForEnergy(energy(amount), market.ratio, marginBps),
      bandwidthSun: bandwidth === 0n ? 0n : sunForBandwidth(bandwidth, bandwidthRatioOf(market), marginBps),
    }),
    seal: (quote) =>
      sealQuote(api.app.get(Sealers).quote, id, {
        id: quote.id,
        expiresAtMs: Date.now() + (quote.isExpired ? -60_000 : 60_000),
        receiveAddress: fixture.receiver(),
        energy: energy(quote.energy),
        bandwidth: quote.bandwidth === 0n ? undefined : partOf(quote.bandwidth),
        durationSec: 3600,
        priceSun: sun(quote.credits / 3n),
        credits: credits(quote.credits),
        rate: rateE8(30_000_000),
      }),
    refs: [],
  };
  return { model: new Model(await freeStake()), real };
}

/** Checks the records after a sequence, then releases its capacity for the next one. */
async function settleUp(model: Model, real: Real): Promise<void> {
  const [books] = await fixture.api.database.query(
    `SELECT (SELECT balance_credits FROM credit_account WHERE project_id = $1) AS balance,
            (SELECT coalesce(sum(credits), 0)::bigint FROM credit_entry WHERE project_id = $1) AS entries,
            (SELECT count(*)::int FROM credit_entry WHERE project_id = $1) AS count,
            (SELECT count(*)::int FROM orders WHERE project_id = $1) AS orders`,
    [real.projectId],
  );
  const orders = model.orders.size;
  expect(books).toEqual({ balance: model.balance, entries: model.balance, count: model.entries, orders });
  expect(await freeStake()).toEqual(model.free);
  for (const key of model.orders.keys()) await refundKeyless(model, real, key);
}

/** An order without a caller's key has one that only the service knows, so it keeps its capacity. */
async function refundKeyless(model: Model, real: Real, key: string): Promise<void> {
  if (key.length === 1) await refundKnown(model, real, key);
}

test('ledger, quotes and orders behave like the model', async () => {
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(commands(COMMANDS_MAX), async (sequence) => {
      const { model, real } = await newProject();
      await fc.asyncModelRun(() => ({ model, real }), sequence);
      steps += [...sequence].length;
      await settleUp(model, real);
    }),
    { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }), endOnFailure: false },
  );
  expect(steps).toBeGreaterThan(RUNS * 5);
}, 1_400_000);
