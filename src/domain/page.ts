/** Pages of lists, as services return them and as answers show them. */

export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined;
}

export interface PageBody<Body> {
  readonly items: readonly Body[];
  /** Absent on the last page. */
  readonly next_cursor?: string;
}

/** Returns the first `limit` rows as a page. `rows` must have one more row if the list goes on. */
export function cutPage<Row>(rows: readonly Row[], limit: number, cursorAfter: (last: Row) => string): ListPage<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorAfter(last) : undefined };
}

/** Returns the answer for a page, with each item as `show` returns it. */
export function pageBody<Item, Body>(
  { items, nextCursor }: ListPage<Item>,
  show: (item: Item) => Body,
): PageBody<Body> {
  return { items: items.map((item) => show(item)), ...(nextCursor !== undefined && { next_cursor: nextCursor }) };
}
