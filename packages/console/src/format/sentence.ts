/** Sentences of the API, in the formats of the pages. */
import { toJsonInteger } from '../../../../src/domain/units.js';
import { GAP, groupedIn } from './money.js';
import { span } from './time.js';

/**
 * Writes durations in seconds by their largest units, UTC times with their zone, dollars and TRX without trailing
 * zeros, and large numbers in groups that no line breaks.
 */
export function sentenceText(text: string): string {
  return groupedIn(
    text
      .replace(/(?<=\b(?:for|by) )(\d{1,9}) s\b/g, (_, seconds: string) => span(toJsonInteger(BigInt(seconds))))
      .replace(/(?<![\w.,-])\d{1,3}(?: \d{3})+(?![\w-]|[.,]\d)/g, (number) => number.replaceAll(' ', GAP))
      .replace(/(?<=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)Z/g, ' UTC')
      .replace(/(?<=\$\d{1,12}\.\d\d\d*?)0+(?!\d)/g, '')
      .replace(/(?<=\d\.\d\d\d*?)0+(?= TRX\b)/g, ''),
  );
}
