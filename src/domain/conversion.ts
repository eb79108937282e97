/** Every conversion and rounding of money, in one place. Integer arithmetic only, no floats. */
import {
  CREDITS_PER_USD,
  RATE_SCALE,
  SUN_PER_TRX,
  divCeil,
  divHalfUp,
  type Credits,
  type Energy,
  type RateE8,
  type Sun,
} from './units.js';

/**
 * Returns the cost of `price` in credits: ceil(sun × trx_usd × 10) (docs/interface.md §5). Rounds up by less than 1e-7
 * USD.
 */
export function creditsOf(price: Sun, rate: RateE8): Credits {
  return divCeil(price * rate * CREDITS_PER_USD, SUN_PER_TRX * RATE_SCALE) as Credits;
}

/** Returns `price` in dollars with six fraction digits, half up. */
export function usdOf(price: Sun, rate: RateE8): string {
  return decimal(usdMicros(price, rate), 6);
}

/** Returns `price` in micro-dollars, half up. */
export function usdMicros(price: Sun, rate: RateE8): bigint {
  return divHalfUp(price * rate, RATE_SCALE);
}

/** Returns the value of `amount` credits in dollars with six fraction digits, half up. */
export function usdOfCredits(amount: Credits): string {
  return decimal(divHalfUp(amount, 10n), 6);
}

/** Returns the value of `amount` credits in dollars with two fraction digits, half away from zero. */
export function usdBalanceOf(amount: Credits): string {
  return decimal(divHalfUp(amount, 100_000n), 2);
}

/** Returns `amount` in TRX with six fraction digits, exact. */
export function trxOf(amount: bigint): string {
  return decimal(amount, 6);
}

/** Returns a rate with its eight fraction digits. */
export function rateText(rate: RateE8): string {
  return decimal(rate, 8);
}

/** Parses a decimal rate with up to eight fraction digits. Returns undefined if it is invalid or not positive. */
export function parseRate(text: string): RateE8 | undefined {
  const match = /^(\d{1,9})(?:\.(\d{1,8}))?$/.exec(text);
  if (!match) return undefined;
  const value = BigInt(match[1] ?? '') * RATE_SCALE + BigInt((match[2] ?? '').padEnd(8, '0'));
  return value > 0n ? (value as RateE8) : undefined;
}

/** Returns the cost of burning `amount` energy `uses` times at `feeSun` sun per energy. */
export function burnPrice(amount: Energy, feeSun: bigint, uses = 1): Sun {
  return (amount * feeSun * BigInt(uses)) as Sun;
}

/** Returns `energy_needed` of a simulation: ceil(used × 1.10) (docs/interface.md §8). */
export function withMargin(used: Energy): Energy {
  return divCeil(used * 110n, 100n) as Energy;
}

/** Formats a scaled integer as a decimal with exactly `digits` fraction digits. */
export function decimal(scaled: bigint, digits: number): string {
  const sign = scaled < 0n ? '-' : '';
  const text = (scaled < 0n ? -scaled : scaled).toString().padStart(digits + 1, '0');
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
