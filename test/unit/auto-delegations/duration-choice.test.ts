// The duration of a refill by the measured uses of its address: pure rules and properties of its price.
import fc from 'fast-check';
import { chooseDuration, type DurationInput } from '../../../src/modules/auto-delegations/duration-choice.js';
import { measuredUses, usesExpected } from '../../../src/modules/auto-delegations/use-history.js';
import { ApiError } from '../../../src/domain/errors.js';
import { credits, sun } from '../../../src/domain/units.js';

const DAY_SEC = 86_400;
const ON_MS = Date.UTC(2026, 10, 20);
const HISTORY = { uses_on: '2026-11-20', daily_uses: [3, 0, 2] };
const TABLE = [
  [600, 38n],
  [3600, 45n],
  [DAY_SEC, 65n],
  [3 * DAY_SEC, 150n],
  [7 * DAY_SEC, 315n],
  [14 * DAY_SEC, 600n],
  [30 * DAY_SEC, 1200n],
] as const;
const daysOf = (counts: readonly number[]) =>
  measuredUses({ uses_on: '2026-11-20', daily_uses: [1, ...counts] }, ON_MS);

/** The choice for 100 000 energy at a burn price of 100 sun and three credits per sun. */
function chosen(more: Partial<DurationInput> & { readonly table?: readonly (readonly [number, bigint])[] }): number {
  const { table = TABLE, ...input } = more;
  const amount = 100_000n;
  const perEnergy = (durationSec: number) => table.find(([seconds]) => seconds >= durationSec)![1];
  return chooseDuration({
    priceRows: table.map(([durationMaxSec, sunPerEnergy]) => ({ durationMaxSec, sunPerEnergy })),
    measured: undefined,
    longestSec: Number.POSITIVE_INFINITY,
    creditsLeft: undefined,
    priceOf: (durationSec, uses) => {
      const price = amount * perEnergy(durationSec);
      if (price >= amount * 100n * BigInt(uses)) throw new ApiError('NOT_WORTH_RENTING', 'Not worth it.');
      return { priceSun: sun(price), credits: credits(price * 3n) };
    },
    ...input,
  });
}

describe('measured uses', () => {
  it('count the days that have ended, of which those without a use too', () => {
    expect(measuredUses(HISTORY, ON_MS)).toEqual({ days: 2, usedDays: 1, uses: 2, mostUses: 2 });
    expect(measuredUses(HISTORY, ON_MS + DAY_SEC * 1000)).toEqual({ days: 3, usedDays: 2, uses: 5, mostUses: 3 });
    expect(measuredUses(HISTORY, ON_MS + 3 * DAY_SEC * 1000)).toEqual({ days: 5, usedDays: 2, uses: 5, mostUses: 3 });
    expect(measuredUses(HISTORY, ON_MS + 90 * DAY_SEC * 1000)).toEqual({ days: 30, usedDays: 0, uses: 0, mostUses: 0 });
  });

  it('are unknown before a day has ended', () => {
    expect(measuredUses({}, ON_MS)).toBeUndefined();
    expect(measuredUses({ uses_on: null, daily_uses: null }, ON_MS)).toBeUndefined();
    expect(measuredUses({ uses_on: '2026-11-20', daily_uses: [9] }, ON_MS + DAY_SEC * 1000 - 1)).toBeUndefined();
    expect(measuredUses({ uses_on: '2026-11-20', daily_uses: [9] }, ON_MS + DAY_SEC * 1000)).toMatchObject({ days: 1 });
  });

  it('make a rental’s uses the days with one, at least one, and never more than its whole days', () => {
    expect(usesExpected(7 * DAY_SEC, undefined)).toBe(7);
    expect(usesExpected(7 * DAY_SEC, daysOf([5, 5, 5]))).toBe(7);
    expect(usesExpected(7 * DAY_SEC, daysOf([5, 0, 5]))).toBe(4);
    expect(usesExpected(7 * DAY_SEC, daysOf([0, 0, 0]))).toBe(1);
    expect(usesExpected(600, daysOf([200]))).toBe(1);
  });
});

describe('the chosen duration', () => {
  const daily = (days: number) => daysOf(Array.from({ length: days }, () => 4));

  it('is a day until uses were measured, or the longest on sale if that is shorter', () => {
    expect(chosen({})).toBe(DAY_SEC);
    expect(chosen({ table: TABLE.slice(0, 2) })).toBe(3600);
  });

  it('is the cheapest for each use, and never longer than the use was measured', () => {
    expect([1, 2, 3, 6, 7, 13, 14, 29, 30].map((days) => chosen({ measured: daily(days) }) / DAY_SEC)).toEqual([
      ...[1, 1, 3, 3, 7, 7, 14, 14, 30],
    ]);
  });

  it('stays short for an address that is rarely used', () => {
    expect(chosen({ measured: daysOf([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]) })).toBe(DAY_SEC);
    // Every other day: a week serves three uses at 105 sun each.
    expect(chosen({ measured: daysOf([1, 0, 1, 0, 1, 0, 1, 0]) })).toBe(DAY_SEC);
  });

  it('ends with the auto-delegation, and leaves the cap of the day to its other uses', () => {
    expect(chosen({ measured: daily(30), longestSec: 8 * DAY_SEC })).toBe(7 * DAY_SEC);
    const [day, week] = [100_000n * 65n * 3n, 100_000n * 315n * 3n];
    expect(chosen({ measured: daily(7), creditsLeft: week + 4n * day })).toBe(7 * DAY_SEC);
    expect(chosen({ measured: daily(7), creditsLeft: week + 4n * day - 1n })).toBe(3 * DAY_SEC);
    expect(chosen({ measured: daily(7), creditsLeft: 0n })).toBe(DAY_SEC);
  });

  it('is the shorter one of two whose uses cost the same', () => {
    const table = [
      [DAY_SEC, 65n],
      [3 * DAY_SEC, 3n * 65n],
    ] as const;
    expect(chosen({ measured: daily(3), table })).toBe(DAY_SEC);
  });

  it('is longer than a day if no day is sold, as when it costs as much as burning', () => {
    const table = [
      [DAY_SEC, 100n],
      [3 * DAY_SEC, 150n],
    ] as const;
    expect(chosen({ measured: daily(3), table })).toBe(3 * DAY_SEC);
  });

  it('costs no more for each use than any other duration that could be chosen, at any prices and uses', () => {
    const counts = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 30 });
    const prices = fc.array(fc.bigInt({ min: 1n, max: 3000n }), { minLength: 7, maxLength: 7 });
    fc.assert(
      fc.property(counts, prices, (uses, perEnergy) => {
        const table = TABLE.map(([seconds], index) => [seconds, perEnergy[index]!] as const);
        const measured = daysOf(uses)!;
        const durationSec = chosen({ measured, table });
        expect(durationSec).toBeGreaterThanOrEqual(DAY_SEC);
        expect(durationSec).toBeLessThanOrEqual(Math.max(DAY_SEC, uses.length * DAY_SEC));
        const costOf = (seconds: number) => {
          const times = BigInt(usesExpected(seconds, measured));
          const price = table.find(([most]) => most === seconds)![1];
          return { price, times, isSold: price < 100n * times };
        };
        const own = costOf(durationSec);
        for (const [seconds] of table) {
          if (seconds < DAY_SEC || seconds > uses.length * DAY_SEC) continue;
          const other = costOf(seconds);
          // Exact: the prices of a use are compared as fractions.
          if (other.isSold) expect(own.price * other.times <= other.price * own.times).toBe(true);
        }
      }),
    );
  });
});
