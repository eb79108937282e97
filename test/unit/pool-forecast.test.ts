// What could be sold in each of the next hours: ends of rentals, and the day that used energy takes to recover.
import { forecast, FORECAST_HOURS } from '../../src/pool/forecast.js';

const HOUR = 24n * 1_000_000n;

it('tells now and each of the next 24 hours', () => {
  const hours = forecast({ freeSun: 5n, recoveringSun: 0n, endingSun: new Map() });
  expect(hours).toHaveLength(FORECAST_HOURS + 1);
  expect(hours.every(({ atLeastSun, atMostSun }) => atLeastSun === 5n && atMostSun === 5n)).toBe(true);
});

it('used energy comes back evenly over a day', () => {
  const hours = forecast({ freeSun: 0n, recoveringSun: HOUR, endingSun: new Map() });
  expect(hours.map(({ atLeastSun }) => atLeastSun)).toEqual(hours.map(({ hour }) => BigInt(hour) * 1_000_000n));
});

it('a rental’s stake is back at its end if it was not used, and a day later if it was', () => {
  const hours = forecast({ freeSun: 0n, recoveringSun: 0n, endingSun: new Map([[4, HOUR]]) });
  expect(hours[3]).toEqual({ hour: 3, atLeastSun: 0n, atMostSun: 0n });
  expect(hours[4]).toEqual({ hour: 4, atLeastSun: 0n, atMostSun: HOUR });
  expect(hours[16]).toEqual({ hour: 16, atLeastSun: HOUR / 2n, atMostSun: HOUR });
});

it('what has ended but is not back yet is not sold now', () => {
  const [now, next] = forecast({ freeSun: 1n, recoveringSun: 0n, endingSun: new Map([[0, HOUR]]) });
  expect(now).toEqual({ hour: 0, atLeastSun: 1n, atMostSun: 1n });
  expect(next).toEqual({ hour: 1, atLeastSun: 1_000_001n, atMostSun: HOUR + 1n });
});
