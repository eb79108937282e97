// The parts of an order: their prices, their shares of the one charge, and the quote that fixes them.
import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { creditsOf } from '../../../src/domain/conversion.js';
import { energyPartOf, itemsOf, sumOfParts } from '../../../src/domain/order-items.js';
import { credits, energy, rateE8, sun } from '../../../src/domain/units.js';
import { priceAddedTime, priceBandwidth } from '../../../src/modules/quotes/bandwidth-price.js';
import { openQuote, sealQuote, type OpenQuote } from '../../../src/modules/quotes/quote-token.js';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';

const price = fc.bigInt({ min: 1n, max: 10n ** 13n }).map(sun);
const parts = fc.record({
  energySun: price,
  bandwidth: fc.option(fc.record({ units: fc.bigInt({ min: 345n, max: 10n ** 9n }), priceSun: price }), {
    nil: undefined,
  }),
  activationSun: fc.option(price, { nil: undefined }),
});

test('the parts of an order add up to its price and its charge, whatever is rounded', () => {
  fc.assert(
    fc.property(parts, fc.bigInt({ min: 1n, max: 10n ** 11n }).map(rateE8), (priced, rate) => {
      const order = { energy: energy(65_000), ...sumOfParts(priced, rate) };
      const items = itemsOf(order);
      expect(order.credits).toBe(creditsOf(order.priceSun, rate));
      expect(items.reduce((sum, item) => sum + item.priceSun, 0n)).toBe(order.priceSun);
      expect(items.reduce((sum, item) => sum + item.credits, 0n)).toBe(order.credits);
      // No part costs more than alone, and none costs less than its exact value.
      for (const { priceSun, credits: charged } of items) {
        expect(charged).toBeLessThanOrEqual(creditsOf(priceSun, rate));
        expect(charged).toBeGreaterThanOrEqual(creditsOf(priceSun, rate) - 1n);
      }
      expect(energyPartOf(order)).toEqual({ priceSun: priced.energySun, credits: creditsOf(priced.energySun, rate) });
    }),
  );
});

test('an order lists its energy first, then the parts that were asked for', () => {
  const rate = rateE8(30_000_000);
  const kindsOf = (further: object) =>
    itemsOf({ energy: energy(1000), ...sumOfParts({ energySun: sun(1), ...further }, rate) }).map(({ kind }) => kind);
  expect(kindsOf({})).toEqual(['energy']);
  expect(kindsOf({ activationSun: sun(1_100_000) })).toEqual(['energy', 'activation']);
  expect(kindsOf({ bandwidth: { units: 700n, priceSun: sun(1) }, activationSun: sun(1) })).toEqual([
    'energy',
    'bandwidth',
    'activation',
  ]);
});

const RULES = { energyMin: 1000, energyMax: 100_000_000, durationMinSec: 300, priceFloorBps: 11_000 };
const FEES = { energyFeeSun: 100n, transactionFeeSunPerByte: 1000n, maxFeeLimitSun: undefined };
const ROWS = [
  { durationMaxSec: 600, sunPerEnergy: 38n, sunPerBandwidth: null },
  { durationMaxSec: 3600, sunPerEnergy: 45n, sunPerBandwidth: 700n },
  { durationMaxSec: 259_200, sunPerEnergy: 65n, sunPerBandwidth: 1500n },
  { durationMaxSec: 604_800, sunPerEnergy: 315n },
];
const figures = { rules: RULES, priceRows: ROWS, fees: FEES };
const priceOf = (units: bigint, durationSec = 3600, uses = 1) => priceBandwidth(figures, { units, durationSec, uses });

test('bandwidth has the price of the shortest row with one that covers the duration', () => {
  expect(priceOf(10_000n, 300)).toBe(7_000_000n);
  expect(priceOf(10_000n, 3600)).toBe(7_000_000n);
  expect(priceOf(10_000n, 86_400, 2)).toBe(15_000_000n);
  expect(() => priceOf(10_000n, 604_800)).toThrow(
    expect.objectContaining({ code: 'INVALID_REQUEST', message: expect.stringContaining('bandwidth') }),
  );
});

test('added time ends a rental within the longest sale of all that it has', () => {
  const rated = { ...figures, rate: rateE8(30_000_000) };
  const longest = (bandwidth: bigint | null) => priceAddedTime(rated, { energy: 65_000n, bandwidth }, 3600).longestSec;
  expect(longest(null)).toBe(604_800);
  expect(longest(10_000n)).toBe(259_200);
});

test('bandwidth costs at least the floor, and less than burning it', () => {
  // 564 bytes at 1 000 sun and 110 %.
  expect(priceOf(621n)).toBe(620_400n);
  expect(() => priceOf(620n)).toThrow(
    expect.objectContaining({ code: 'NOT_WORTH_RENTING', message: expect.stringContaining('is 621 units') }),
  );
  expect(priceOf(345n, 172_800, 2)).toBe(620_400n);
  expect(() => priceOf(10_000n, 172_800)).toThrow(
    expect.objectContaining({ message: expect.stringContaining('at least 2 times') }),
  );
});

describe('a quote', () => {
  const sealer = new Sealer({ current: sealKey(randomBytes(32), 'quote') });
  const project = randomUUID();
  const quote: OpenQuote = {
    id: randomUUID(),
    expiresAtMs: 1_795_000_000_123,
    receiveAddress: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
    energy: energy(65_000),
    durationSec: 3600,
    priceSun: sun(4_725_000),
    credits: credits(14_175_000),
    rate: rateE8(30_000_000),
  };
  const bandwidth = { units: 1000n, priceSun: sun(700_000), credits: credits(2_100_000) };
  const activation = { priceSun: sun(1_100_000), credits: credits(3_300_000) };

  test.each([
    ['bandwidth', { bandwidth }],
    ['an activation', { activation }],
    ['both', { bandwidth, activation }],
    ['both and expected uses', { bandwidth, activation, expectedUses: 2 }],
  ])('fixes %s until the charge', (_, further) => {
    const ref = sealQuote(sealer, project, { ...quote, ...further });
    expect(ref).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
    expect(openQuote(sealer, project, ref)).toEqual({ ...quote, ...further });
    expect(openQuote(sealer, randomUUID(), ref)).toBeUndefined();
  });

  test('without further parts can be opened by the release before', () => {
    const lengthOf = (changes: Partial<OpenQuote>) =>
      Buffer.from(sealQuote(sealer, project, { ...quote, ...changes }), 'base64url').length;
    expect(lengthOf({ expectedUses: 2 })).toBe(lengthOf({}) + 4);
    expect(lengthOf({ bandwidth })).toBe(lengthOf({}) + 44);
  });
});
