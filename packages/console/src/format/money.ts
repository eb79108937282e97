/** Money as text, from integers alone: dollars first, credits second. */
import { decimal, usdBalanceOf, usdOfCredits } from '../../../../src/domain/conversion.js';
import { credits } from '../../../../src/domain/units.js';

/** An integer as it comes in JSON. */
export type Whole = number | string | bigint;

/** Thousands apart; the fraction stays as it is. */
export function grouped(value: Whole): string {
  const [whole = '', fraction] = value.toString().split('.');
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? apart : `${apart}.${fraction}`;
}

/** Takes zeros off the end, but keeps two digits of cents. */
function trimmed(text: string): string {
  return text.replace(/(\.\d\d\d*?)0+$/, '$1');
}

function dollars(text: string): string {
  return text.startsWith('-') ? `−$${grouped(text.slice(1))}` : `$${grouped(text)}`;
}

/** A balance: whole cents. */
export function usd(amount: Whole): string {
  return dollars(usdBalanceOf(credits(amount)));
}

/** A price or a charge: to the sixth digit, where there is one. */
export function usdExact(amount: Whole): string {
  return dollars(trimmed(usdOfCredits(credits(amount))));
}

export function creditsText(amount: Whole): string {
  return `${grouped(amount).replace('-', '−')} credits`;
}

/** Sun as TRX, without zeros at the end. */
export function trx(sun: Whole): string {
  return `${grouped(trimmed(decimal(BigInt(sun), 6)))} TRX`;
}

/** Of stake and balances of wallets: whole TRX from a thousand on, hundredths below, rounded down. */
export function trxRound(sun: Whole): string {
  const amount = BigInt(sun);
  return `${grouped(amount >= 1_000_000_000n ? amount / 1_000_000n : decimal(amount / 10_000n, 2))} TRX`;
}

/** Dollars that come as a decimal, in cents, cut off. */
export function usdCents(amount: string): string {
  const [whole = '0', fraction = ''] = amount.split('.');
  const cents = `${whole}.${fraction.padEnd(2, '0').slice(0, 2)}`;
  return dollars(cents === '-0.00' ? '0.00' : cents);
}

/** A rate without zeros at its end. */
export const rateText = (rate: string): string => trimmed(rate);

/** An amount of an asset that comes as a decimal already. */
export function assetText(amount: string, asset: string): string {
  return `${grouped(amount.includes('.') ? trimmed(amount) : amount)} ${asset}`;
}

/** A part of a whole as per cent with one digit, rounded down. */
export function percent(part: bigint, whole: bigint): string {
  if (whole === 0n) return '–';
  const tenths = (part * 1000n) / whole;
  return `${(tenths / 10n).toString()}.${(tenths < 0n ? -tenths % 10n : tenths % 10n).toString()} %`;
}

/** A large count in few digits, for the scale of a drawing. */
export function shortly(value: number): string {
  return new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}
