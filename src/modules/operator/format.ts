/** Formats answers for the operator: aligned plain-text tables and lists, numbers to the right. */
import { decimal } from '../../domain/conversion.js';
import { grouped, timeText, usdText } from '../../domain/text.js';
import type { Credits } from '../../domain/units.js';

type Cell = string | number | bigint | boolean | Date | null | undefined;

const COLUMNS_MAX = 80;
const INDENT = 4;
const GAP = '  ';

/**
 * Formats rows under headings. Rows too wide for 80 columns become entries, with the first column as their heading.
 * `empty`: the text if there are no rows.
 */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[], empty = 'None.'): string {
  if (rows.length === 0) return empty;
  const texts = rows.map((row) => row.map(cellText));
  const isNumeric = headings.map((_, column) => rows.every((row) => isNumber(row[column])));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...texts.map((row) => row[column]?.length ?? 0)),
  );
  if (totalOf(widths) > COLUMNS_MAX) return rows.map((row) => entryOf(headings, row)).join('\n\n');
  return aligned(headings, texts, widths, isNumeric);
}

/**
 * Formats rows of text as a table of at most 80 columns. Shortens the columns of `elastic` in the middle of their
 * texts, the widest first. `empty`: the text if there are no rows.
 */
export function fittedTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  elastic: readonly number[],
  empty = 'None.',
): string {
  if (rows.length === 0) return empty;
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const roomOf = (column: number): number => (widths[column] ?? 0) - (headings[column]?.length ?? 0);
  while (totalOf(widths) > COLUMNS_MAX) {
    const [widest] = elastic
      .filter((column) => roomOf(column) > 0)
      .sort((left, right) => (widths[right] ?? 0) - (widths[left] ?? 0));
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const texts = rows.map((row) => row.map((text, column) => shortened(text, widths[column] ?? 0)));
  return aligned(headings, texts, widths, []);
}

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);

/** Keeps both ends of a text: keys often begin alike and differ at their end. */
function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  const end = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - end)}…${end === 0 ? '' : text.slice(-end)}`;
}

function aligned(
  headings: readonly string[],
  texts: readonly (readonly string[])[],
  widths: readonly number[],
  isNumeric: readonly boolean[],
): string {
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        isNumeric[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join(GAP)
      .trimEnd();
  return [line(headings), line(widths.map((each) => '─'.repeat(each))), ...texts.map(line)].join('\n');
}

function entryOf([first = '', ...headings]: readonly string[], [name, ...cells]: readonly Cell[]): string {
  return entry(
    [`${first} ${cellText(name)}`],
    headings.map((heading, column) => [heading, cells[column]]),
  );
}

/** Formats names and values, one per line. Omits absent values. */
export function fields(pairs: readonly (readonly [string, Cell])[]): string {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}`).join('\n');
}

/**
 * Formats a heading line with names and values indented beneath it. Omits absent values. No line exceeds 80 columns,
 * and no value can begin a separate line: longer ones are broken, and control characters become spaces.
 */
export function entry(heading: readonly Cell[], pairs: readonly (readonly [string, Cell])[]): string {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null);
  const names = Math.max(0, ...shown.map(([name]) => name.length)) + 2;
  const lines = shown.flatMap(([name, value]) => {
    const width = COLUMNS_MAX - INDENT - names;
    const text = cellText(value);
    // An id too long to fit beside its name is printed whole below it.
    if (text.length > width && text.length <= COLUMNS_MAX - 2 * INDENT && !/[\p{Cc}\p{Cf}\s]/u.test(text)) {
      return [' '.repeat(INDENT) + name, ' '.repeat(2 * INDENT) + text];
    }
    return brokenAt(width, text).map(
      (line, index) => ' '.repeat(INDENT) + (index === 0 ? name : '').padEnd(names) + line,
    );
  });
  const [first = '', ...rest] = brokenAt(COLUMNS_MAX - INDENT, heading.map(cellText).join('  '));
  return [first, ...rest.map((line) => ' '.repeat(INDENT) + line), ...lines].join('\n');
}

/** Breaks `text` into lines of at most 80 columns, with later lines indented by the length of `before`. */
export function paragraph(before: string, text: string): string {
  return brokenAt(COLUMNS_MAX - before.length, text)
    .map((line, index) => (index === 0 ? before : ' '.repeat(before.length)) + line)
    .join('\n');
}

/** Breaks `text` into lines of at most `width`, between words if possible. */
function brokenAt(width: number, text: string): string[] {
  const lines: string[] = [''];
  for (const word of text.split(/[\p{Cc}\p{Cf}\s]+/u).flatMap((each) => piecesOf(each, width))) {
    const last = lines.at(-1) ?? '';
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function piecesOf(word: string, width: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < word.length; at += width) pieces.push(word.slice(at, at + width));
  return pieces;
}

function cellText(cell: Cell): string {
  if (cell === undefined || cell === null) return '–';
  if (cell instanceof Date) return timeText(cell);
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (typeof cell === 'bigint' || typeof cell === 'number') return grouped(BigInt(cell));
  return cell;
}

function isNumber(cell: Cell): boolean {
  if (typeof cell === 'bigint' || typeof cell === 'number') return true;
  return typeof cell === 'string' && /^[+-]?[\d ]+(\.\d+)?( [A-Z]+)?$/.test(cell);
}

/** Formats credits with their value in dollars. */
export function creditsText(amount: Credits): string {
  return `${grouped(amount)} (${usdText(amount)} USD)`;
}

/** Formats a share in percent with one decimal. */
export function percentText(part: bigint, whole: bigint): string {
  return whole <= 0n ? '–' : `${decimal((part * 1000n) / whole, 1)} %`;
}
