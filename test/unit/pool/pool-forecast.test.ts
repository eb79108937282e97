// The forecast of sales per hour: ends of rentals, and the day in which used energy recovers.
import { forecast, FORECAST_HOURS, soldOutAt } from '../../../src/modules/pool/forecast.js';

const HOUR = 24n * 1_000_000n;
const NO_TRANSACTIONS = { freeTransactions: 0n, recoveringTransactions: 0n };

it('shows the present and each of the next 24 hours', () => {
  const hours = forecast({ freeSun: 5n, recoveringSun: 0n, endingSun: new Map(), ...NO_TRANSACTIONS });
  expect(hours).toHaveLength(FORECAST_HOURS + 1);
  expect(hours.every(({ atLeastSun, atMostSun }) => atLeastSun === 5n && atMostSun === 5n)).toBe(true);
});

it('used energy recovers evenly over a day', () => {
  const hours = forecast({ freeSun: 0n, recoveringSun: HOUR, endingSun: new Map(), ...NO_TRANSACTIONS });
  expect(hours.map(({ atLeastSun }) => atLeastSun)).toEqual(hours.map(({ hour }) => BigInt(hour) * 1_000_000n));
});

it('a rental’s stake is free at its end if unused, and a day later if used', () => {
  const hours = forecast({ freeSun: 0n, recoveringSun: 0n, endingSun: new Map([[4, HOUR]]), ...NO_TRANSACTIONS });
  expect(hours[3]).toEqual({ hour: 3, atLeastSun: 0n, atMostSun: 0n, transactions: 0n });
  expect(hours[4]).toEqual({ hour: 4, atLeastSun: 0n, atMostSun: HOUR, transactions: 0n });
  expect(hours[16]).toEqual({ hour: 16, atLeastSun: HOUR / 2n, atMostSun: HOUR, transactions: 0n });
});

it('does not sell the energy of an ended rental that is not back yet', () => {
  const [now, next] = forecast({ freeSun: 1n, recoveringSun: 0n, endingSun: new Map([[0, HOUR]]), ...NO_TRANSACTIONS });
  expect(now).toEqual({ hour: 0, atLeastSun: 1n, atMostSun: 1n, transactions: 0n });
  expect(next).toEqual({ hour: 1, atLeastSun: 1_000_001n, atMostSun: HOUR + 1n, transactions: 0n });
});

it('used bandwidth recovers evenly over a day', () => {
  const standing = { freeSun: 0n, recoveringSun: 0n, endingSun: new Map<number, bigint>() };
  const hours = forecast({ ...standing, freeTransactions: 3n, recoveringTransactions: 48n });
  expect(hours.map(({ transactions }) => transactions)).toEqual(hours.map(({ hour }) => 3n + 2n * BigInt(hour)));
});

describe('the pool is sold out', () => {
  const standing = (freeSun: bigint, ending: readonly (readonly [number, bigint])[]) =>
    forecast({ freeSun, recoveringSun: 0n, endingSun: new Map(ending), ...NO_TRANSACTIONS });

  it('never, if one-hour rentals lend half of it all day', () => {
    expect(soldOutAt(standing(50n, [[1, 50n]]), new Map([[1, 1200n]]))).toBeUndefined();
  });

  it('in the first hour in which more is lent than exists, for rentals that do not end meanwhile', () => {
    expect(soldOutAt(standing(50n, [[24, 50n]]), new Map([[24, 240n]]))).toBe(6);
    expect(soldOutAt(standing(50n, [[3, 50n]]), new Map([[24, 240n]]))).toBe(11);
  });

  it('never, if nothing was sold, even with nothing free', () => {
    expect(soldOutAt(standing(0n, []), new Map())).toBeUndefined();
  });
});
