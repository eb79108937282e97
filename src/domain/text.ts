/** Formats amounts and times for the operator. */
import { trxOf } from './conversion.js';

/** Formats sun as TRX. */
export function trxText(amount: bigint): string {
  return `${trxOf(amount)} TRX`;
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

/** Formats a whole number with its digits in groups of three. */
export function grouped(value: bigint, separator = ' '): string {
  return value.toString().replace(/\B(?=(\d{3})+$)/g, separator);
}
