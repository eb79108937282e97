/**
 * Writes CSV (RFC 4180) that spreadsheet programs read as data: a text that they would take for a formula is marked as
 * text, also by a program that splits cells at semicolons or tabs, as it does where commas are decimal marks.
 */
import { invariant } from '../domain/errors.js';

/** A number with a fraction, or too large for `number`, as its digits. */
export interface CsvDecimal {
  readonly decimal: string;
}

/** Absent values are empty; times are UTC, to the millisecond; integers and decimals are never marked as text. */
export type CsvCell = string | number | bigint | boolean | Date | CsvDecimal | null | undefined;

/** What a spreadsheet program takes for the beginning of a formula, in both widths. */
const FORMULA = /^[=+\-@＝＋－＠\t\r]/;
/**
 * A formula behind what may end a cell. Quotes don't help there: such a program sees them in the middle of a cell, where
 * they are letters. So the text gets a mark at the place itself.
 */
const LATER_FORMULA = /([;\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])/g;
const MUST_QUOTE = /[",;\t\r\n]/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** One record with its end of line. A heading line is a record of texts. */
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

/** U+FEFF: by it a spreadsheet program knows UTF-8. A program that reads the file must skip it. */
const BYTE_ORDER_MARK = '\ufeff';

/** Returns the pages of a file that is downloaded and opened by hand: with a byte-order mark in front. */
export async function* forPeople(pages: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let mark = BYTE_ORDER_MARK;
  for await (const page of pages) {
    yield mark + page;
    mark = '';
  }
}

/** Returns a whole file that is downloaded and opened by hand. */
export const fileForPeople = (text: string): string => BYTE_ORDER_MARK + text;
