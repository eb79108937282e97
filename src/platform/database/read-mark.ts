/**
 * Read mark: the position in the server's log (LSN) that a caller has seen. A cursor carries it from the first page on.
 * A later page is read on a server that has reached this position, so that no row of that time is missing. Pure.
 */

/** A position in the log; a later one is greater. */
export type ReadMark = bigint;

/** Parses Postgres' notation: two hexadecimal halves, `16/B374D848`. */
export function markOf(lsn: string): ReadMark {
  const [high = '', low = ''] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

export function lsnOf(mark: ReadMark): string {
  return `${(mark >> 32n).toString(16)}/${(mark & 0xffff_ffffn).toString(16)}`;
}

/** Returns a list's cursor with the mark of its first page, or unchanged without a mark. */
export function markedCursor(cursor: string, mark: ReadMark | undefined): string {
  return mark === undefined ? cursor : `${cursor}.${mark.toString(16)}`;
}

/** Splits a cursor from its mark. Any other suffix stays in the cursor, which the list then refuses. */
export function cursorParts(text: string): { readonly cursor: string; readonly mark: ReadMark | undefined } {
  const [, cursor, mark] = /^([\w-]+)\.([1-9a-f][\da-f]{0,15})$/.exec(text) ?? [];
  return cursor === undefined || mark === undefined
    ? { cursor: text, mark: undefined }
    : { cursor, mark: BigInt(`0x${mark}`) };
}
