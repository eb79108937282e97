/** Formats a finding for the operator: a mark, the check, the result, and below it the remedy. */
import { paragraph } from './format.js';

/** A longer name, such as an address, is on a separate line. */
const NAME_COLUMNS = 14;

interface Finding {
  readonly check: string;
  readonly says: string;
  readonly todo?: string;
}

/** `mark` begins the line. Marks of different lengths are padded to the longest by the caller. */
export function findingText(mark: string, { check, says, todo }: Finding): string {
  const before = `${mark} ${check.padEnd(NAME_COLUMNS)}  `;
  const indent = ' '.repeat(mark.length + NAME_COLUMNS + 3);
  const isLong = check.length > NAME_COLUMNS;
  const lines = isLong ? [`${mark} ${check}`, paragraph(indent, says)] : [paragraph(before, says)];
  if (todo !== undefined) lines.push(paragraph(`${indent}→ `, todo));
  return lines.join('\n');
}
