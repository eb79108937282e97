/**
 * How much of the database a caller has been shown, as a position in the server's log (LSN). A cursor carries it from the
 * first page on: a later page is read where all of it has arrived, so that none of its rows is missed. Pure.
 */

/** A position in the log; a later one is greater. */
export type ReadMark = bigint;

/** As Postgres writes it: two hexadecimal halves, `16/B374D848`. */
export function markOf(lsn: string): ReadMark {
  const [high = '', low = ''] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

export function lsnOf(mark: ReadMark): string {
  return `${(mark >> 32n).toString(16)}/${(mark & 0xffff_ffffn).toString(16)}`;
}

/** The cursor of a list with the mark of its first page; as it is without one. */
export function markedCursor(cursor: string, mark: ReadMark | undefined): string {
  return mark === undefined ? cursor : `${cursor}.${mark.toString(16)}`;
}

/** Both parts; what is no mark of ours stays in the cursor, which its list then refuses. */
export function cursorParts(text: string): { readonly cursor: string; readonly mark: ReadMark | undefined } {
  const [, cursor, mark] = /^([\w-]+)\.([1-9a-f][\da-f]{0,15})$/.exec(text) ?? [];
  return cursor === undefined || mark === undefined
    ? { cursor: text, mark: undefined }
    : { cursor, mark: BigInt(`0x${mark}`) };
}
