/**
 * Writes CSV (RFC 4180) that spreadsheet programs read as data: a text that they would take for a formula is marked as
 * text. The one writer of CSV.
 */
import { invariant } from '../domain/errors.js';

/** A number with a fraction, or too large for `number`, as its digits. */
export interface CsvDecimal {
  readonly decimal: string;
}

/** Absent values are empty; times are UTC, to the millisecond; integers and decimals are never marked as text. */
export type CsvCell = string | number | bigint | boolean | Date | CsvDecimal | null | undefined;

/** What a spreadsheet program takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const MUST_QUOTE = /[",\r\n]/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** One record with its end of line. A heading line is a record of texts. */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: CsvCell): string {
  if (cell === undefined || cell === null) return '';
  if (typeof cell === 'string') return quoted(FORMULA.test(cell) ? `'${cell}` : cell);
  if (cell instanceof Date) return cell.toISOString();
  if (typeof cell !== 'object') return cell.toString();
  invariant(DECIMAL.test(cell.decimal), 'a decimal is digits');
  return cell.decimal;
}

function quoted(text: string): string {
  return MUST_QUOTE.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
