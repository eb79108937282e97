/** Lists the orders of one project, newest first, page by page. The cost of a page depends on its length alone. */
import { Injectable } from '@nestjs/common';
import { cursorAt, idIn, unknownCursor } from '../../domain/cursor.js';
import { invalidField } from '../../domain/errors.js';
import { momentOf } from '../../domain/moment.js';
import type { OrderStatus } from '../../domain/order-state.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import { Replica, type Reader } from '../../platform/database/replica.js';
import { FIND_PLACE, ORDER_LISTS, type OrderRow } from './order-rows.js';
import { orderBody, type OrderBody } from './orders.dto.js';

export interface OrderListFilter {
  readonly reference?: string | undefined;
  readonly receive_address?: string | undefined;
  readonly status?: OrderStatus | undefined;
  /** UTC days or times as `momentOf` reads them: `from` inclusive, `to` exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface OrderPage {
  readonly items: readonly OrderBody[];
  readonly next_cursor?: string;
}

/** The orders to read: those of a project between two moments, by one member of the filter. */
interface Wanted {
  readonly projectId: string;
  readonly filter: OrderListFilter;
  readonly from: string;
  readonly to: string;
  readonly limit: number;
}

/**
 * If the filter has several members, the index of the likely shortest list is read, and the rows are filtered by the
 * others.
 */
const LISTED_BY = ['reference', 'receive_address', 'status'] as const;

@Injectable()
export class OrderList {
  constructor(
    private readonly replica: Replica,
    private readonly listQueue: ListQueue,
  ) {}

  /**
   * Returns the newest orders that match the filter, after the page that `cursor` ended, by any filter. With several
   * members a page holds the matches among as many orders as its limit. So it may be short or empty before the last
   * page: a page never reads more. Throws 400 INVALID_REQUEST for an unknown cursor, or for a `from` that is not before
   * `to`.
   */
  async page(
    projectId: string,
    filter: OrderListFilter,
    limit: number,
    cursor: string | undefined,
  ): Promise<OrderPage> {
    const from = boundOf(filter.from, '-infinity');
    const to = boundOf(filter.to, 'infinity');
    if (filter.from !== undefined && filter.to !== undefined && from >= to)
      throw invalidField('from', 'must be before to');
    const wanted = { projectId, filter, from, to, limit };
    const page = await this.listQueue.run(projectId, async () =>
      this.replica.page(cursor, async (on, after) =>
        rowsOf(on, wanted, after === undefined ? undefined : idIn('o', after, 'orders')),
      ),
    );
    return {
      items: page.rows
        .filter((row) => LISTED_BY.every((name) => (filter[name] ?? row[name]) === row[name]))
        .map(orderBody),
      ...(page.nextCursor !== undefined && { next_cursor: page.nextCursor }),
    };
  }
}

async function rowsOf(
  on: Reader,
  { projectId, filter, from, to, limit }: Wanted,
  afterId: bigint | undefined,
): Promise<{ readonly rows: readonly OrderRow[]; readonly nextCursor: string | undefined }> {
  const by = LISTED_BY.find((name) => filter[name] !== undefined);
  const place = afterId === undefined ? { at: to, id: 0n } : await placeOf(on, afterId, projectId, to);
  const range = [projectId, place.at, place.id, from, limit + 1];
  const rows =
    by === undefined
      ? await on.query<OrderRow>(ORDER_LISTS.all, range)
      : await on.query<OrderRow>(ORDER_LISTS[by], [...range, filter[by]]);
  const last = rows[limit - 1];
  return { rows: rows.slice(0, limit), nextCursor: rows.length > limit && last ? cursorAt('o', last.id) : undefined };
}

async function placeOf(
  on: Reader,
  afterId: bigint,
  projectId: string,
  to: string,
): Promise<{ readonly at: string; readonly id: bigint }> {
  const [place] = await on.query<{ at: string; id: bigint }>(FIND_PLACE, [afterId, projectId, to]);
  if (place === undefined) throw unknownCursor('orders');
  return place;
}

const boundOf = (text: string | undefined, open: string): string =>
  (text === undefined ? open : momentOf(text)) ?? open;
