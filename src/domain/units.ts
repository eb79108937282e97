/**
 * The units of the service as branded bigints, so that the compiler rejects mixing sun and credits. Also the only
 * conversions between them and JSON numbers.
 */
import { invariant } from './errors.js';

declare const unit: unique symbol;
/** TRON's smallest coin unit; 1 TRX = 1 000 000 sun. */
export type Sun = bigint & { readonly [unit]: 'sun' };
/** TRON's execution capacity for contract calls. */
export type Energy = bigint & { readonly [unit]: 'energy' };
/** A project's credits; 10 000 000 credits = 1 USD (docs/interface.md §5). */
export type Credits = bigint & { readonly [unit]: 'credits' };
/** Dollars per TRX, times 10^8. */
export type RateE8 = bigint & { readonly [unit]: 'usd-per-trx-e8' };

export const sun = (value: bigint | number | string): Sun => BigInt(value) as Sun;
export const energy = (value: bigint | number | string): Energy => BigInt(value) as Energy;
export const credits = (value: bigint | number | string): Credits => BigInt(value) as Credits;
export const rateE8 = (value: bigint | number | string): RateE8 => BigInt(value) as RateE8;

export const SUN_PER_TRX = 1_000_000n;
export const CREDITS_PER_USD = 10_000_000n;
export const RATE_SCALE = 100_000_000n;

/** Divides, rounding up. Both non-negative, the divisor positive. */
export function divCeil(dividend: bigint, divisor: bigint): bigint {
  invariant(dividend >= 0n && divisor > 0n, 'divCeil takes a non-negative dividend and a positive divisor');
  return (dividend + divisor - 1n) / divisor;
}

/** Divides, rounding half away from zero. The divisor is positive. */
export function divHalfUp(dividend: bigint, divisor: bigint): bigint {
  invariant(divisor > 0n, 'divHalfUp takes a positive divisor');
  const magnitude = ((dividend < 0n ? -dividend : dividend) * 2n + divisor) / (2n * divisor);
  return dividend < 0n ? -magnitude : magnitude;
}

/** Returns a JSON integer. Beyond 2^53−1 it is a bug, never a rounding (docs/interface.md §1). */
export function toJsonInteger(value: bigint): number {
  // oxlint-disable-next-line ban/float -- the one place where money becomes JSON, checked in the next line
  const number = Number(value);
  invariant(Number.isSafeInteger(number), 'an amount fits a JSON integer');
  return number;
}
