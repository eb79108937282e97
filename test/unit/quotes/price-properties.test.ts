// Properties of every price that is sold, over the first price table and random ones.
import fc from 'fast-check';
import { burnPrice } from '../../../src/domain/conversion.js';
import { ApiError } from '../../../src/domain/errors.js';
import { mostUses, type PriceRow } from '../../../src/domain/price.js';
import { energy, rateE8 } from '../../../src/domain/units.js';
import { leastEnergy, priceDirect, priceTime, type SaleFigures } from '../../../src/modules/quotes/direct-price.js';

/** sql/tables/price_row.sql. */
const FIRST_ROWS = [
  [600, 38],
  [3600, 45],
  [86_400, 65],
  [259_200, 150],
  [604_800, 315],
  [1_209_600, 600],
  [2_592_000, 1200],
] as const;
const LONGEST_SEC = 2_592_000;

const rowsOf = (pairs: readonly (readonly [number, number])[]): PriceRow[] =>
  pairs.map(([durationMaxSec, sunPerEnergy]) => ({ durationMaxSec, sunPerEnergy: BigInt(sunPerEnergy) }));

/** A table up to the longest duration, in which no longer row costs less. */
const tables = fc
  .array(fc.tuple(fc.integer({ min: 60, max: LONGEST_SEC - 1 }), fc.integer({ min: 0, max: 300 })), { maxLength: 6 })
  .map((steps) => {
    const sorted = [...new Map(steps)].sort(([a], [b]) => a - b);
    let price = 1;
    return rowsOf([...sorted, [LONGEST_SEC, 200] as const].map(([sec, dearer]) => [sec, (price += dearer)] as const));
  });
const priceTables = fc.oneof(fc.constant(rowsOf(FIRST_ROWS)), tables);
const amounts = fc.integer({ min: 1000, max: 100_000_000 });
const durations = fc.integer({ min: 60, max: LONGEST_SEC });

const figuresOf = (priceRows: readonly PriceRow[], energyFeeSun: bigint, priceFloorBps = 11_000): SaleFigures => ({
  rules: { energyMin: 1000, energyMax: 100_000_000, durationMinSec: 60, priceFloorBps },
  priceRows,
  fees: { energyFeeSun, maxFeeLimitSun: 15_000_000_000n, transactionFeeSunPerByte: 1000n },
  rate: rateE8(30_000_000n),
});

/** Undefined: not worth renting. */
function priceOf(...wanted: Parameters<typeof priceDirect>): bigint | undefined {
  try {
    return priceDirect(...wanted).priceSun;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_WORTH_RENTING') return undefined;
    throw error;
  }
}

/** Above every price, so that nothing is refused. */
const DEAR = 10n ** 9n;

test('more energy, or the same for longer, never costs less', () => {
  fc.assert(
    fc.property(priceTables, amounts, amounts, durations, durations, (rows, a, b, short, long) => {
      const figures = figuresOf(rows, DEAR);
      const [less, more] = [energy(Math.min(a, b)), energy(Math.max(a, b))];
      const [sooner, later] = [Math.min(short, long), Math.max(short, long)];
      const price = priceDirect(figures, less, sooner).priceSun;
      expect(priceDirect(figures, more, sooner).priceSun).toBeGreaterThanOrEqual(price);
      expect(priceDirect(figures, less, later).priceSun).toBeGreaterThanOrEqual(price);
    }),
  );
});

const fees = fc.bigInt({ min: 1n, max: 420n });
const uses = fc.integer({ min: 1, max: 31 });

test('a rental is sold below the burn of its expected uses and for no other price', () => {
  fc.assert(
    fc.property(priceTables, amounts, durations, fees, uses, (rows, amount, durationSec, fee, wanted) => {
      const expected = Math.min(wanted, mostUses(durationSec));
      const figures = figuresOf(rows, fee);
      const price = priceOf(figures, energy(amount), durationSec, expected);
      const asked = priceDirect(figuresOf(rows, DEAR), energy(amount), durationSec).priceSun;
      const isWorth = asked < burnPrice(energy(amount), fee, expected);
      expect(price).toBe(isWorth ? asked : undefined);
      // Time for a running rental has no floor, and the same bound.
      if (isWorth)
        expect(priceTime(figures, energy(amount), durationSec, expected).priceSun).toBeLessThanOrEqual(asked);
    }),
  );
});

test('price and charge are whole sun and credits, and a dearer rate never lowers the charge', () => {
  fc.assert(
    fc.property(priceTables, amounts, durations, fc.bigInt({ min: 1n, max: 10n ** 10n }), (rows, amount, sec, rate) => {
      const figures = { ...figuresOf(rows, DEAR), rate: rateE8(rate) };
      const { priceSun, credits } = priceDirect(figures, energy(amount), sec);
      expect([typeof priceSun, typeof credits]).toEqual(['bigint', 'bigint']);
      const dearer = priceDirect({ ...figures, rate: rateE8(rate + 1n) }, energy(amount), sec);
      expect(dearer.credits).toBeGreaterThanOrEqual(credits);
      expect(dearer.priceSun).toBe(priceSun);
    }),
  );
});

test('the least energy worth renting is sold, and one less is not', () => {
  fc.assert(
    fc.property(priceTables, durations, fees, uses, (rows, durationSec, fee, wanted) => {
      const expected = Math.min(wanted, mostUses(durationSec));
      const figures = figuresOf(rows, fee);
      let least: bigint;
      try {
        least = leastEnergy(figures, durationSec, expected);
      } catch (error) {
        expect(error).toMatchObject({ code: 'NOT_WORTH_RENTING' });
        expect(priceOf(figures, energy(100_000_000), durationSec, expected)).toBeUndefined();
        return;
      }
      expect(priceOf(figures, energy(least), durationSec, expected)).toBeDefined();
      if (least > BigInt(figures.rules.energyMin))
        expect(priceOf(figures, energy(least - 1n), durationSec, expected)).toBeUndefined();
    }),
  );
});
