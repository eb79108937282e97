/**
 * Lists in bounded time. A page is searched in a stretch of the newest rows. If a filter matches rarely, the page has
 * fewer rows and a cursor to continue. No list counts a table. The first page comes from the primary, later ones may
 * come from a replica.
 */
import { nowMs } from '../../platform/support/clock.js';
import { csvLine, type CsvCell } from '../../platform/support/csv.js';
import { cursorAt, placeIn, unknownCursor } from '../../domain/cursor.js';
import { ApiError, invalidField } from '../../domain/errors.js';
import { momentOf } from '../../domain/moment.js';
import { Parameter } from '../../platform/http/body/member-rules.js';
import { LIMIT_DEFAULT, PageQuery } from '../../platform/http/body/page-query.js';
import type { ReadMark } from '../../platform/database/read-mark.js';
import type { Reader, Replica } from '../../platform/database/replica.js';
import type { Page } from './data-shapes.js';

/** Rows that one page scans. */
export const STRETCH = 20_000;
const NEW_COUNT_MAX = 100;
const CSV_PAGE = 100;
/** Rows per export; beyond this the caller must narrow the filter. */
const CSV_ROWS_MAX = 100_000;
export const ID_MAX = 9_223_372_036_854_775_807n;

/** A row with the number that pages are cut at. */
export interface Numbered {
  readonly id: bigint;
}

/**
 * Up to `limit + 1` rows below `before`, newest first, out of a stretch. `endedAt` is the stretch's end, if rows
 * follow.
 */
export interface Stretch<Row extends Numbered> {
  readonly rows: readonly Row[];
  readonly endedAt: bigint | undefined;
}

export type ReadStretch<Row extends Numbered> = (before: bigint, limit: number) => Promise<Stretch<Row>>;

/** Reads from any server. */
export type ReadOn<Row extends Numbered> = (on: Reader, before: bigint, limit: number) => Promise<Stretch<Row>>;

export const limitOf = ({ limit }: { readonly limit?: string }): number => Number(limit ?? LIMIT_DEFAULT);

/** Throws 400 for a cursor that no page returned. */
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
  // Rows in order of time may not be in order of their numbers.
  const newest = shown.reduce((highest, { id }) => (id > highest ? id : highest), 0n);
  return {
    items: shown.map(show),
    ...(next !== undefined && { next_cursor: cursorAt('c', next) }),
    ...(query.cursor === undefined && { newest: cursorAt('c', newest) }),
  };
}

/** Like `pageOf`, for a list whose later pages may be read from a replica. */
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

/** Returns the number of newer rows, a hundred at most. */
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

/** Yields every row of the filter as CSV, page by page. */
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
        `The filter matches more than ${CSV_ROWS_MAX.toString()} rows. Choose a shorter time.`,
      );
    }
    yield text + page.map((row) => csvLine(cells(row))).join('');
    text = '';
    const next = rows.length > CSV_PAGE ? page.at(-1)?.id : endedAt;
    if (next === undefined) return;
    before = next;
  }
}

/** Returns a file name with the current UTC day. */
export const datedName = (name: string): string => `${name}-${new Date(nowMs()).toISOString().slice(0, 10)}`;

export const csvHeaders = (name: string): Record<string, string> => ({
  'Content-Type': 'text/csv; charset=utf-8; header=present',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
  'Cache-Control': 'no-store',
});

const ofTime = () =>
  Parameter({
    name: 'isMoment',
    faultOf: (value) =>
      momentOf(String(value)) === undefined ? 'must be a UTC day or time, such as 2026-11-01' : undefined,
    openApi: () => ({ type: 'string' }),
  });

export const AnyText = (maxLength: number) =>
  Parameter({
    name: 'isShort',
    faultOf: (value) =>
      String(value).length <= maxLength ? undefined : `must have at most ${maxLength.toString()} characters`,
    openApi: () => ({ type: 'string', maxLength }),
  });

/** Query of a list that can also count newer rows. */
export abstract class CountedQuery extends PageQuery {
  @AnyText(40)
  declare readonly since?: string;
}

/** Query of a list with a time range. */
export abstract class TimedQuery extends CountedQuery {
  @ofTime()
  declare readonly from?: string;

  @ofTime()
  declare readonly to?: string;
}
