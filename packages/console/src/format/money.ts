/** Money as text, computed from integers only: dollars first, credits second. */
import { decimal, usdBalanceOf, usdOfCredits } from '../../../../src/domain/conversion.js';
import { grouped as groupedBy } from '../../../../src/domain/text.js';
import { credits } from '../../../../src/domain/units.js';

/** An integer as JSON carries it. */
export type Whole = number | string | bigint;

/** The separator of thousands: a space, as in the documents and the command line, at which no line breaks. */
export const GAP = '\u00a0';

/** Separates thousands by spaces; leaves the fraction unchanged. */
export function grouped(value: Whole): string {
  return groupedBy(value, GAP);
}

/** Separates the thousands of the whole numbers of five or more digits in a sentence. */
export function groupedIn(text: string): string {
  return text.replace(/(?<![\w.,-])\d{5,}(?![\w-]|[.,]\d)/g, grouped);
}

/** Removes trailing zeros, but keeps two decimals. */
function trimmed(text: string): string {
  return text.replace(/(\.\d\d\d*?)0+$/, '$1');
}

function dollars(text: string): string {
  return text.startsWith('-') ? `−$${grouped(text.slice(1))}` : `$${grouped(text)}`;
}

/** Formats a balance in whole cents. */
export function usd(amount: Whole): string {
  return dollars(usdBalanceOf(credits(amount)));
}

/** Formats a price or charge in dollars with up to six decimals. */
export function usdExact(amount: Whole): string {
  return dollars(trimmed(usdOfCredits(credits(amount))));
}

export function creditsText(amount: Whole): string {
  return `${grouped(amount).replace('-', '−')} credits`;
}

/** Formats sun as TRX without trailing zeros. */
export function trx(sun: Whole): string {
  return `${grouped(trimmed(decimal(BigInt(sun), 6)))} TRX`;
}

/** Formats stakes and wallet balances, rounded down: whole TRX from 1 000 TRX on, hundredths below. */
export function trxRound(sun: Whole): string {
  const amount = BigInt(sun);
  return `${grouped(amount >= 1_000_000_000n ? amount / 1_000_000n : decimal(amount / 10_000n, 2))} TRX`;
}

/** Formats a decimal dollar amount in cents, truncated. */
export function usdCents(amount: string): string {
  const [whole = '0', fraction = ''] = amount.split('.');
  const cents = `${whole}.${fraction.padEnd(2, '0').slice(0, 2)}`;
  return dollars(cents === '-0.00' ? '0.00' : cents);
}

/** Formats a rate without trailing zeros. */
export const rateText = (rate: string): string => trimmed(rate);

/** Formats an asset amount that is already a decimal. */
export function assetText(amount: string, asset: string): string {
  return `${grouped(amount.includes('.') ? trimmed(amount) : amount)} ${asset}`;
}

/** Returns a share in per cent with one decimal, truncated. */
export function percent(part: bigint, whole: bigint): string {
  if (whole === 0n) return '–';
  const tenths = (part * 1000n) / whole;
  return `${grouped(tenths / 10n)}.${(tenths < 0n ? -tenths % 10n : tenths % 10n).toString()} %`;
}

/** Formats a large count compactly, for chart axes. */
export function shortly(value: number): string {
  return new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}
