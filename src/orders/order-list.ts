/** The orders of one project, newest first, page by page; what a page costs depends on its length alone. */
import { Injectable } from '@nestjs/common';
import { invalidField } from '../domain/errors.js';
import { momentOf } from '../domain/moment.js';
import type { OrderStatus } from '../domain/order-state.js';
import { ListQueue } from '../http/pipeline/list-queue.js';
import { Database } from '../store/database.js';
import { FIND_PLACE, ORDER_LISTS, type OrderRow } from './order-rows.js';
import { orderBody, type OrderBody } from './orders.dto.js';

export interface OrderListFilter {
  readonly reference?: string | undefined;
  readonly receive_address?: string | undefined;
  readonly status?: OrderStatus | undefined;
  /** UTC days or times of `momentOf`: from the first on, before the second. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface OrderPage {
  readonly items: readonly OrderBody[];
  readonly next_cursor?: string;
}

/** Which list is read where several members are named: the one that is likely the shortest. What else is named is sifted. */
const LISTED_BY = ['reference', 'receive_address', 'status'] as const;

@Injectable()
export class OrderList {
  constructor(
    private readonly database: Database,
    private readonly lists: ListQueue,
  ) {}

  /**
   * The newest that the filter names, after the page that `cursor` ended, by whatever filter. Of a filter of several members
   * a page has what is found in as many orders as it may have, and may be short of them or empty before the last one: a page
   * never reads more. Throws 400 INVALID_REQUEST for another cursor, and for a `from` that is not before `to`.
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
    const afterId = cursor === undefined ? undefined : readCursor(cursor);
    const by = LISTED_BY.find((name) => filter[name] !== undefined);
    const rows = await this.lists.run(projectId, async () => {
      const place = afterId === undefined ? { at: to, id: 0n } : await this.placeOf(afterId, projectId, to);
      const range = [projectId, place.at, place.id, from, limit + 1];
      return by === undefined
        ? this.database.query<OrderRow>(ORDER_LISTS.all, range)
        : this.database.query<OrderRow>(ORDER_LISTS[by], [...range, filter[by]]);
    });
    const read = rows.slice(0, limit);
    const last = read.at(-1);
    return {
      items: read.filter((row) => LISTED_BY.every((name) => (filter[name] ?? row[name]) === row[name])).map(orderBody),
      ...(rows.length > limit && last !== undefined && { next_cursor: cursorAfter(last.id) }),
    };
  }

  private async placeOf(
    afterId: bigint,
    projectId: string,
    to: string,
  ): Promise<{ readonly at: string; readonly id: bigint }> {
    const [place] = await this.database.query<{ at: string; id: bigint }>(FIND_PLACE, [afterId, projectId, to]);
    if (place === undefined) throw unknownCursor();
    return place;
  }
}

const boundOf = (text: string | undefined, open: string): string =>
  (text === undefined ? open : momentOf(text)) ?? open;

/** Opaque to callers; holds the last id shown. */
function cursorAfter(id: bigint): string {
  return Buffer.from(`o${id.toString()}`).toString('base64url');
}

/** The id behind a cursor. Throws 400 for one we never gave. */
function readCursor(cursor: string): bigint {
  const id = /^o([1-9]\d{0,17})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
  if (id === undefined) throw unknownCursor();
  return BigInt(id);
}

const unknownCursor = () => invalidField('cursor', 'is not one that a page of orders returned');
