// Terms, previews and limits of purchases in the console: pure rules.
import { obstacleOf, type PurchaseLimits } from '../../../src/modules/console/purchase-limits.js';
import { assertConfirmed, orderTermsOf, previewOf } from '../../../src/modules/console/purchase-prices.js';
import type { RecordedFigures } from '../../../src/modules/console/sale-records.js';
import { credits, energy, sun, type RateE8 } from '../../../src/domain/units.js';

const RATE = 30_000_000n as RateE8;
const DAY_SEC = 86_400;
const SETTINGS = { marginBps: 20, activationMarkupSun: 100_000 };
/** A delegation and its reclaim cost at least 620 400 sun. */
const FIGURES: RecordedFigures = {
  rules: { energyMin: 1000, energyMax: 100_000_000, durationMinSec: 300, priceFloorBps: 11_000 },
  priceRows: [
    { durationMaxSec: 3600, sunPerEnergy: 45n, sunPerBandwidth: 700n },
    { durationMaxSec: 3 * DAY_SEC, sunPerEnergy: 150n },
  ],
  fees: { energyFeeSun: 100n, transactionFeeSunPerByte: 1000n, maxFeeLimitSun: 15_000_000_000n },
  rate: RATE,
  ratio: { totalEnergyLimit: 180_000_000_000n, totalEnergyWeight: 19_000_000_000n },
  bandwidthRatio: { totalNetLimit: 43_200_000_000n, totalNetWeight: 27_000_000_000n },
  accountFeeSun: 1_000_000n,
};
const WANTED = { receive_address: 'T', energy: 65_000, duration_sec: 3600 };

const LIMITS: PurchaseLimits = {
  test: false,
  frozen: false,
  balance_credits: 1000n,
  floor_credits: 0n,
  project_left: null,
  console_cap: 1000n,
  console_left: 1000n,
};

it('each part has its own price, stake and number of legs', () => {
  const terms = orderTermsOf({ ...WANTED, bandwidth: 1000, activate: true }, FIGURES, SETTINGS);
  expect(terms).toMatchObject({
    ...{ priceSun: 2_925_000n + 700_000n + 1_100_000n, credits: 14_175_000n },
    // 65 001 energy at the ratio and a margin of 0.2 %, in whole TRX. The price pays for four legs.
    ...{ amountSun: 6_875_000_000n, legSlackSun: 105_556n, legsMax: 4n },
    bandwidth: {
      ...{ units: 1000n, priceSun: 700_000n, credits: 2_100_000n },
      ...{ amountSun: 627_000_000n, legSlackSun: 625_000n, legsMax: 1n },
    },
    // The markup is charged, and only the chain’s fee is spent.
    activation: { priceSun: 1_100_000n, credits: 3_300_000n, amountSun: 1_000_000n },
  });
});

it('the margin of the stake grows with each day', () => {
  const wanted = { ...WANTED, duration_sec: 3 * DAY_SEC, expected_uses: 3 };
  expect(orderTermsOf(wanted, FIGURES, SETTINGS)).toMatchObject({ priceSun: 9_750_000n, amountSun: 6_903_000_000n });
});

it('a part whose figure is unknown is refused, and is not missed where it is not wanted', () => {
  const unknown = { ...FIGURES, bandwidthRatio: undefined, accountFeeSun: undefined };
  const refusal = expect.objectContaining({ code: 'CHAIN_UNAVAILABLE' });
  expect(() => orderTermsOf({ ...WANTED, bandwidth: 1000 }, unknown, SETTINGS)).toThrow(refusal);
  expect(() => orderTermsOf({ ...WANTED, activate: true }, unknown, SETTINGS)).toThrow(refusal);
  expect(orderTermsOf({ ...WANTED, activate: false }, unknown, SETTINGS)).toMatchObject({ priceSun: 2_925_000n });
});

it('a preview compares with burning TRX for all parts, as often as they are used, and shows the balance that is left', () => {
  const priced = { receiver: 'T', amount: energy(65_000n), durationSec: 3600, uses: 2 };
  const price = { priceSun: sun(300n), credits: credits(900n), rate: RATE };
  const whole = previewOf({ ...priced, bandwidth: 1000n, accountFeeSun: 1_000_000n, price }, FIGURES.fees, LIMITS);
  expect(whole).toMatchObject({ burning_trx: '16.000000', burning: { credits: 48_000_000 }, price_trx: '0.000300' });
  expect(whole).toMatchObject({ price: { credits: 900 }, balance_after: { credits: 100 } });
  expect(previewOf({ ...priced, price }, FIGURES.fees, LIMITS)).toMatchObject({ burning_trx: '13.000000' });
});

it('a price is confirmed up to the confirmed one', () => {
  expect(() => assertConfirmed(900n, 900)).not.toThrow();
  expect(() => assertConfirmed(901n, 900)).toThrow(expect.objectContaining({ code: 'QUOTE_EXPIRED' }));
});

it('each limit allows exactly what it leaves, and names what that is', () => {
  const of = (change: Partial<PurchaseLimits>, price = 1000n) => obstacleOf({ ...LIMITS, ...change }, price);
  const project = { balance_credits: 5000n, console_left: 5000n };
  expect([of({}), of({ floor_credits: null, balance_credits: -5n })]).toEqual([undefined, undefined]);
  expect(of({ floor_credits: -5n, balance_credits: 995n })).toBeUndefined();
  expect(of({ floor_credits: -5n, balance_credits: 994n })).toMatch(/only \$0\.000100 can be spent\. Top up/);
  expect(of({ ...project, project_left: 1000n })).toBeUndefined();
  expect(of({ ...project, project_left: 999n })).toMatch(/the daily cap of the project leaves \$0\.000100/);
  expect(of({ balance_credits: 5000n }, 1001n)).toMatch(/purchases in the console leaves \$0\.000100/);
});

it('a limit that is exceeded already leaves nothing, and not less', () => {
  const rich = { ...LIMITS, balance_credits: 5000n };
  expect(obstacleOf({ ...LIMITS, balance_credits: -7n }, 1n)).toMatch(/only \$0\.000000 can be spent/);
  expect(obstacleOf({ ...rich, project_left: -7n }, 1n)).toMatch(/of the project leaves \$0\.000000/);
  expect(obstacleOf({ ...rich, console_left: -7n }, 1n)).toMatch(/in the console leaves \$0\.000000/);
});

it('a freeze comes before a missing cap, and that before every other limit', () => {
  const poor = { ...LIMITS, balance_credits: 0n, console_left: null };
  expect(obstacleOf({ ...poor, frozen: true }, 1n)).toMatch(/frozen/);
  expect(obstacleOf(poor, 1n)).toMatch(/An owner sets a daily cap/);
});
