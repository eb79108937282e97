/** Lists a project's ledger, newest first, in pages. The cost of a page depends only on its length. */
import { Injectable } from '@nestjs/common';
import { cursorAt, placeIn, unknownCursor } from '../../domain/cursor.js';
import { cutPage, type ListPage } from '../../domain/page.js';
import { Replica } from '../../platform/database/replica.js';
import { entriesWhere, type EntryRow } from './entry-rows.js';
import { momentOf } from '../../domain/moment.js';

export interface LedgerFilter {
  /** Times in the format of `momentOf`: from the first inclusive, to the second exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The entry after which a page begins. */
interface Place {
  readonly at: string;
  readonly id: bigint;
}

/** One range of the index (project_id, created_at, id), read backwards. */
export const LEDGER_PAGE = {
  name: 'ledger_page',
  text: entriesWhere(
    `project_id = $1 AND created_at >= $2::timestamptz AND (created_at, id) < ($3::timestamptz, $4::bigint)
       ORDER BY created_at DESC, id DESC LIMIT $5`,
    'e.created_at DESC, e.id DESC',
  ),
};

@Injectable()
export class LedgerList {
  constructor(private readonly replica: Replica) {}

  /** Returns the project's newest entries after `cursor`. Throws 400 INVALID_REQUEST for an invalid cursor. */
  async page(
    projectId: string,
    { from, to }: LedgerFilter,
    limit: number,
    cursor: string | undefined,
  ): Promise<ListPage<EntryRow>> {
    const end: Place = { at: to ?? 'infinity', id: 0n };
    return this.replica.page(cursor, async (on, after) => {
      const place = after === undefined ? end : earlier(readCursor(after), end);
      const params = [projectId, from ?? '-infinity', place.at, place.id, limit + 1];
      const rows = await on.query<EntryRow>(LEDGER_PAGE, params);
      return cutPage(rows, limit, ({ at, id }) => cursorAt('l', `${at} ${id.toString()}`));
    });
  }
}

/** Compares as text: digits sort before letters, so every moment is before `infinity`. */
function earlier(one: Place, other: Place): Place {
  return one.at < other.at ? one : other;
}

function readCursor(cursor: string): Place {
  const [, at = '', id = '0'] = /^(\S+) ([1-9]\d{0,17})$/.exec(placeIn('l', cursor) ?? '') ?? [];
  if (momentOf(at) !== at) throw unknownCursor('the ledger');
  return { at, id: BigInt(id) };
}
