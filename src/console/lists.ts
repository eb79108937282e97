/**
 * Lists in bounded time: a page is found in the newest rows of the project, a stretch of them at a time; where a filter
 * matches seldom, a page has fewer rows and a cursor to go on from. Nothing counts a table. The first page is the primary's,
 * later ones may be a replica's.
 */
import { csvLine, type CsvCell } from '../base/csv.js';
import { cursorAt, placeIn, unknownCursor } from '../domain/cursor.js';
import { ApiError, invalidField } from '../domain/errors.js';
import { momentOf } from '../domain/moment.js';
import { Parameter } from '../http/body/member-rules.js';
import { LIMIT_DEFAULT, PageQuery } from '../http/body/page-query.js';
import type { ReadMark } from '../store/read-mark.js';
import type { Reader, Replica } from '../store/replica.js';
import type { Page } from './data-shapes.js';

/** Rows that one page looks at. */
export const STRETCH = 20_000;
const NEW_COUNT_MAX = 100;
const CSV_PAGE = 100;
/** Beyond it a narrower filter is asked for. */
const CSV_ROWS_MAX = 100_000;
export const ID_MAX = 9_223_372_036_854_775_807n;

/** Of a row that a page is cut by. */
export interface Numbered {
  readonly id: bigint;
}

/** Up to `limit + 1` rows below `before`, newest first, out of a stretch; where the stretch ended, when it was cut. */
export interface Stretch<Row extends Numbered> {
  readonly rows: readonly Row[];
  readonly endedAt: bigint | undefined;
}

export type ReadStretch<Row extends Numbered> = (before: bigint, limit: number) => Promise<Stretch<Row>>;

/** By whichever server answers. */
export type ReadOn<Row extends Numbered> = (on: Reader, before: bigint, limit: number) => Promise<Stretch<Row>>;

export const limitOf = ({ limit }: { readonly limit?: string }): number => Number(limit ?? LIMIT_DEFAULT);

/** Throws 400 for a text that no page returned. */
function placeOf(cursor: string | undefined, field = 'cursor'): bigint {
  if (cursor === undefined) return ID_MAX;
  const id = /^(?:0|[1-9]\d{0,18})$/.exec(placeIn('c', cursor) ?? '')?.[0];
  if (id === undefined || BigInt(id) > ID_MAX) throw unknownCursor('this list', field);
  return BigInt(id);
}

export async function pageOf<Row extends Numbered, Item>(
  query: { readonly limit?: string; readonly cursor?: string },
  read: ReadStretch<Row>,
  show: (row: Row) => Item,
): Promise<Page<Item>> {
  const limit = limitOf(query);
  const { rows, endedAt } = await read(placeOf(query.cursor), limit);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? last.id : endedAt;
  const [first] = shown;
  return {
    items: shown.map(show),
    ...(next !== undefined && { next_cursor: cursorAt('c', next) }),
    ...(query.cursor === undefined && { newest: cursorAt('c', first?.id ?? 0n) }),
  };
}

/** The same, of a list whose later pages may be read at a replica. */
export async function pageFrom<Row extends Numbered, Item>(
  replica: Replica,
  query: { readonly limit?: string; readonly cursor?: string },
  read: ReadOn<Row>,
  show: (row: Row) => Item,
): Promise<Page<Item>> {
  const { limit, cursor } = query;
  const { page, nextCursor } = await replica.page(cursor, async (on, after) => {
    const terms = { ...(limit !== undefined && { limit }), ...(after !== undefined && { cursor: after }) };
    const found = await pageOf(terms, async (before, rowsMax) => read(on, before, rowsMax), show);
    return { page: found, nextCursor: found.next_cursor };
  });
  return { ...page, ...(nextCursor !== undefined && { next_cursor: nextCursor }) };
}

/** How many came since, a hundred at most. */
export async function newSince<Row extends Numbered>(
  replica: Replica,
  since: string | undefined,
  read: ReadOn<Row>,
): Promise<{ count: number }> {
  if (since === undefined) throw invalidField('since', 'is required');
  const after = placeOf(since, 'since');
  const { rows } = await replica.read(undefined, async (on) => read(on, ID_MAX, NEW_COUNT_MAX));
  return { count: rows.slice(0, NEW_COUNT_MAX).filter(({ id }) => id > after).length };
}

/** Every row of the filter as CSV, a page at a time. */
export async function* csvPages<Row extends Numbered>(
  replica: Replica,
  columns: readonly string[],
  read: ReadOn<Row>,
  cells: (row: Row) => readonly CsvCell[],
): AsyncGenerator<string, void, undefined> {
  let text = csvLine(columns);
  let before = ID_MAX;
  let mark: ReadMark | undefined;
  for (let written = 0; ;) {
    const { rows, endedAt } = await replica.read(mark, async (on) => read(on, before, CSV_PAGE));
    mark ??= await replica.mark();
    const page = rows.slice(0, CSV_PAGE);
    written += page.length;
    if (written > CSV_ROWS_MAX) {
      throw new ApiError(
        'INVALID_REQUEST',
        `The filter has more than ${CSV_ROWS_MAX.toString()} rows; narrow it by time.`,
      );
    }
    yield text + page.map((row) => csvLine(cells(row))).join('');
    text = '';
    const next = rows.length > CSV_PAGE ? page.at(-1)?.id : endedAt;
    if (next === undefined) return;
    before = next;
  }
}

export const csvHeaders = (name: string): Record<string, string> => ({
  'Content-Type': 'text/csv; charset=utf-8; header=present',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
  'Cache-Control': 'no-store',
});

const ofTime = () =>
  Parameter({
    name: 'isMoment',
    faultOf: (value) =>
      momentOf(String(value)) === undefined ? 'must be a UTC day or time, as 2026-11-01' : undefined,
    openApi: () => ({ type: 'string' }),
  });

/** One of those known. */
export const OneOf = (known: readonly string[]) =>
  Parameter({
    name: 'isOneOf',
    faultOf: (value) => (known.includes(String(value)) ? undefined : `must be one of ${known.join(', ')}`),
    openApi: () => ({ type: 'string', enum: known }),
  });

export const AnyText = (maxLength: number) =>
  Parameter({
    name: 'isShort',
    faultOf: (value) =>
      String(value).length <= maxLength ? undefined : `must have at most ${maxLength.toString()} characters`,
    openApi: () => ({ type: 'string', maxLength }),
  });

/** Of a list, with what a count of new ones is asked by. */
export abstract class CountedQuery extends PageQuery {
  @AnyText(40)
  declare readonly since?: string;
}

/** Of a list by time. */
export abstract class TimedQuery extends CountedQuery {
  @ofTime()
  declare readonly from?: string;

  @ofTime()
  declare readonly to?: string;
}
