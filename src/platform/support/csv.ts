/**
 * Writes CSV (RFC 4180) that spreadsheet programs read as data. Text that such a program would take for a formula is
 * marked as text. This also covers programs that split cells at semicolons or tabs, as they do where commas are decimal
 * marks.
 */
import { invariant } from '../../domain/errors.js';

/** A number with a fraction, or too large for `number`, as its digits. */
export interface CsvDecimal {
  readonly decimal: string;
}

/** Absent values are empty. Times are UTC, to the millisecond. Integers and decimals are never marked as text. */
export type CsvCell = string | number | bigint | boolean | Date | CsvDecimal | null | undefined;

/** Characters that begin a formula in spreadsheet programs, in both widths. */
const FORMULA = /^[=+\-@＝＋－＠\t\r]/;
/**
 * A formula after a character that may end a cell. Quoting does not help: such a program sees the quotes in the middle
 * of a cell, where they are ordinary characters. So the mark goes before the formula itself.
 */
const LATER_FORMULA = /([;\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])/g;
const MUST_QUOTE = /[",;\t\r\n]/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** Returns one record with its line end. A header line is a record of texts. */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: CsvCell): string {
  if (cell === undefined || cell === null) return '';
  if (typeof cell === 'string') return quoted(marked(cell));
  if (cell instanceof Date) return cell.toISOString();
  if (typeof cell !== 'object') return cell.toString();
  invariant(DECIMAL.test(cell.decimal), 'a decimal is digits');
  return cell.decimal;
}

function marked(text: string): string {
  const inner = text.replaceAll(LATER_FORMULA, "$1'");
  return FORMULA.test(inner) ? `'${inner}` : inner;
}

function quoted(text: string): string {
  return MUST_QUOTE.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** U+FEFF marks the file as UTF-8 for spreadsheet programs. Other programs that read the file must skip it. */
const BYTE_ORDER_MARK = '\ufeff';

/** Adds a byte-order mark to a file that is downloaded and opened by hand, and returns its pages. */
export async function* forPeople(pages: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let mark = BYTE_ORDER_MARK;
  for await (const page of pages) {
    yield mark + page;
    mark = '';
  }
}

/** Adds a byte-order mark to a whole file that is downloaded and opened by hand. */
export const fileForPeople = (text: string): string => BYTE_ORDER_MARK + text;
