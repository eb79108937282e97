/**
 * Parses amounts that people type in the consoles and on the command line. Refuses ambiguous texts with the reason. The
 * text "12,500" is ambiguous: with a decimal comma it is twelve and a half, otherwise twelve thousand five hundred.
 */
import { grouped } from './text.js';
import { CREDITS_PER_USD } from './units.js';

/** A larger amount is not a JSON integer. */
const LARGEST = 2n ** 53n - 1n;
const DECIMALS_MAX = 7;
const LENGTH_MAX = 60;
/** Spaces that can only separate thousands. */
const SPACES = /(?<=\d)[ \u00a0\u2009\u202f_](?=\d{3}(?!\d))/g;

/** `value` if the text is one amount, else `fault`: a sentence for the person that typed it. */
export interface TypedAmount {
  readonly value?: bigint;
  readonly fault?: string;
}

const NO_DOLLARS = 'Enter dollars, such as 500 or 250.50.';
const NO_WHOLE = 'Enter a whole number, such as 131000.';

/** Parses dollars as credits. An empty text is not an amount. */
export function dollarsTyped(text: string): TypedAmount {
  const typed = text
    .trim()
    .replace(/^\$\s*/, '')
    .replaceAll(SPACES, '');
  if (typed.length > LENGTH_MAX || !/^\d[\d.,]*$/.test(typed)) return { fault: NO_DOLLARS };
  const fault = faultOfMarks(typed);
  if (fault !== undefined) return { fault };
  const [whole = '', decimals = ''] = typed.replaceAll(',', '').split('.');
  if (decimals.length > DECIMALS_MAX) return { fault: `Enter at most ${DECIMALS_MAX.toString()} decimals.` };
  const value = BigInt(whole) * CREDITS_PER_USD + BigInt(decimals.padEnd(DECIMALS_MAX, '0'));
  return value > LARGEST ? { fault: `Enter at most ${largestDollars}.` } : { value };
}

/**
 * Returns the fault if points and commas leave the amount ambiguous; undefined for one amount: 1234, 12.50, 1,234.50,
 * 1,234,567.
 */
function faultOfMarks(typed: string): string | undefined {
  const [points, commas] = [typed.split('.').length - 1, typed.split(',').length - 1];
  if (/^\d+$/.test(typed) || /^\d+\.\d+$/.test(typed)) return isGroup(typed) ? twoWays(typed) : undefined;
  if (points <= 1 && /^\d{1,3}(,\d{3})+(\.\d+)?$/.test(typed) && (points === 1 || commas > 1)) return undefined;
  if (isGroup(typed)) return twoWays(typed);
  if (commas === 1 && typed.lastIndexOf(',') > typed.lastIndexOf('.')) {
    const [whole = '', decimals = ''] = typed.split(',');
    return `Use a point before the decimals and no separator between thousands: ${whole.replaceAll('.', '')}.${decimals || '00'}`;
  }
  return `${NO_DOLLARS} Use a point before the decimals.`;
}

/**
 * One mark before exactly three digits: thousands for some readers, decimals for others. Unambiguous after a leading
 * zero.
 */
const isGroup = (typed: string): boolean => /^[1-9]\d{0,2}[.,]\d{3}$/.test(typed);

function twoWays(typed: string): string {
  const [whole = '', rest = ''] = typed.split(/[.,]/);
  return `This number is ambiguous. Write ${whole}${rest} for the larger amount, or ${whole}.${rest}0 for the smaller.`;
}

const largestDollars = '$900,719,925.47';

/**
 * Parses a whole number from 0 to `largest`. Spaces or commas may separate thousands: without decimals they are
 * unambiguous.
 */
export function wholeTyped(text: string, largest: bigint = LARGEST): TypedAmount {
  const typed = text.trim().replaceAll(SPACES, '');
  const digits = /^\d{1,3}(,\d{3})+$/.test(typed) ? typed.replaceAll(',', '') : typed;
  if (!/^\d{1,60}$/.test(digits)) {
    return { fault: /^\d[\d.,]*$/.test(typed) ? `${NO_WHOLE} Decimals are not accepted.` : NO_WHOLE };
  }
  const value = BigInt(digits);
  return value > largest ? { fault: `Enter at most ${grouped(largest, ',')}.` } : { value };
}

/** Formats credits as the text of a field that parses to the same credits. */
export function dollarsText(credits: bigint): string {
  const decimals = (credits % CREDITS_PER_USD).toString().padStart(DECIMALS_MAX, '0').replace(/0+$/, '');
  const shown = decimals.length === 3 ? `${decimals}0` : decimals.padEnd(2, '0');
  return `${(credits / CREDITS_PER_USD).toString()}.${shown}`;
}
