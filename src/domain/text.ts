/** Formats amounts and times for the operator. */
import { trxOf, usdBalanceOf } from './conversion.js';
import type { Credits } from './units.js';

/** Formats sun as TRX. */
export function trxText(amount: bigint): string {
  return `${grouped(trxOf(amount))} TRX`;
}

/** Formats seconds in the largest unit that fits exactly: `10 min`, `1 h`, `3 d`. */
export function durationText(seconds: number): string {
  if (seconds % 86_400 === 0) return `${(seconds / 86_400).toString()} d`;
  if (seconds % 3600 === 0) return `${(seconds / 3600).toString()} h`;
  if (seconds % 60 === 0) return `${(seconds / 60).toString()} min`;
  return `${seconds.toString()} s`;
}

/** Formats a time in UTC, to the second. */
export function timeText(at: Date): string {
  return at
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
}

/** Formats a whole number or a decimal, with the digits before the point in groups of three. */
export function grouped(value: bigint | number | string, separator = ' '): string {
  const [whole = '', ...fraction] = value.toString().split('.');
  return [whole.replace(/\B(?=(\d{3})+$)/g, separator), ...fraction].join('.');
}

/** Formats a balance in dollars with two fraction digits, without their name. */
export function usdText(amount: Credits): string {
  return grouped(usdBalanceOf(amount));
}
