/** Findings as the operator reads them: a mark, what was checked, what is so, and below it what to do. */
import { paragraph } from './format.js';

/** A longer name, an address in it, stands on a line of its own. */
const NAME_COLUMNS = 14;

interface Finding {
  readonly check: string;
  readonly says: string;
  readonly todo?: string;
}

/** `mark` begins the line; where marks differ in length, all are as long as the longest. */
export function findingText(mark: string, { check, says, todo }: Finding): string {
  const before = `${mark} ${check.padEnd(NAME_COLUMNS)}  `;
  const indent = ' '.repeat(mark.length + NAME_COLUMNS + 3);
  const isLong = check.length > NAME_COLUMNS;
  const lines = isLong ? [`${mark} ${check}`, paragraph(indent, says)] : [paragraph(before, says)];
  if (todo !== undefined) lines.push(paragraph(`${indent}→ `, todo));
  return lines.join('\n');
}
