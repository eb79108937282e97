/**
 * SELECT statements of orders: one each, legs and transactions included. All are named, so each connection plans them
 * once.
 */
import { Injectable } from '@nestjs/common';
import type { BatchLoader } from '../../platform/support/batch-loader.js';
import { Database, type Statement } from '../../platform/database/database.js';
import { compensationsOf, extensionsOf, legsOf, type Kept } from '../../platform/database/order-details-sql.js';
import { rowsByKey } from '../../platform/database/rows-by-key.js';
import type { LegKind, OrderKind, OrderStatus } from '../../domain/order-state.js';
import { MEASURED_USE, type MeasuredUseRow } from './measured-use.js';
import type { OrderMetadata } from './order-labels.js';

/** One delegation, or the one action of an activation, as the database's JSON contains it. */
export interface LegRow {
  readonly owner: string;
  readonly txid: string;
  readonly energy: number | null;
  /** These are absent in snapshots from before they existed. */
  readonly kind?: LegKind;
  readonly bandwidth?: number | null;
  readonly amount_sun: number;
  readonly block_number: number | null;
  readonly reclaim_txid: string | null;
  /** The foreign act that ended it before the rental's end. */
  readonly ended_early_by: string | null;
}

/** Credits returned for an order that differed from the sold terms. */
export interface CompensationRow {
  readonly credits: number;
  readonly at: string;
  readonly reason: string;
}

/** Time bought while the rental ran. */
export interface ExtensionRow {
  readonly key: string;
  readonly duration_sec: number;
  readonly credits: number;
  readonly at: string;
  /** These are absent in snapshots from before they existed. */
  readonly expected_uses?: number | null;
  readonly price_sun?: number;
  readonly fee_limit_sun?: number | null;
  readonly fee_limit_capped?: boolean | null;
}

export interface OrderRow {
  readonly id: bigint;
  readonly key: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly receive_address: string;
  readonly energy: bigint | null;
  readonly duration_sec: number | null;
  readonly expected_uses: number | null;
  readonly energy_fee_sun: bigint | null;
  readonly max_fee_limit_sun: bigint | null;
  readonly bandwidth: bigint | null;
  readonly bandwidth_price_sun: bigint | null;
  readonly bandwidth_credits: bigint | null;
  readonly activation_price_sun: bigint | null;
  readonly activation_credits: bigint | null;
  readonly price_sun: bigint;
  readonly credits: bigint;
  readonly trx_usd_e8: bigint;
  readonly delivered_energy: bigint | null;
  readonly delivered_bandwidth: bigint | null;
  /** The share of an activation that a refund did not return. */
  readonly kept_credits: bigint | null;
  readonly settled: boolean;
  readonly needs_attention: boolean;
  readonly error_code: string | null;
  readonly error: string | null;
  readonly reference: string | null;
  readonly metadata: OrderMetadata | null;
  readonly created_at: Date;
  readonly delivered_at: Date | null;
  readonly ends_at: Date | null;
  readonly reclaimed_at: Date | null;
  readonly test: boolean;
  readonly legs: readonly LegRow[] | null;
  readonly compensations: readonly CompensationRow[] | null;
  readonly extensions: readonly ExtensionRow[] | null;
  /** Null in answers that are built without a read, and in events. */
  readonly measured_use: MeasuredUseRow | null;
}

/** A row found by its key, with the columns that a replay compares. */
export interface KeyedOrderRow extends OrderRow {
  readonly request_hash: Buffer;
  readonly request_id: string | null;
}

/**
 * Legs whose transaction may be on its way or in a block. A reserved order has none, and most reads directly after an
 * order find that status, so they skip the look-up.
 */
const legsIn = (kept: Kept): string => `CASE WHEN o.status <> 'reserved' THEN ${legsOf('o', kept)} END AS legs`;

/** Few orders have compensations, so the partial index answers quickly. A new order has none. */
const COMPENSATIONS = `CASE WHEN o.status NOT IN ('reserved', 'placed') THEN ${compensationsOf('o')} END AS compensations`;

/** The row counts its extensions, so that orders without any cost no look-up. */
const EXTENSIONS = `CASE WHEN o.extensions > 0 THEN ${extensionsOf('o')} END AS extensions`;

const columnsIn = (
  kept: Kept,
): string => `o.id, o.key, o.kind, o.status, o.receive_address, o.energy, o.duration_sec, o.expected_uses,
  o.energy_fee_sun, o.max_fee_limit_sun, o.price_sun, o.credits, o.bandwidth, o.bandwidth_price_sun, o.bandwidth_credits,
  o.activation_price_sun, o.activation_credits, o.delivered_bandwidth, o.kept_credits,
  o.trx_usd_e8, o.delivered_energy, o.settled, o.needs_attention, o.error_code, o.error, o.reference, o.metadata,
  o.created_at, o.delivered_at, o.ends_at, o.reclaimed_at, o.test, ${legsIn(kept)}, ${COMPENSATIONS}, ${EXTENSIONS},
  ${MEASURED_USE}`;

const OPEN_COLUMNS = columnsIn('open_');
const ARCHIVED_COLUMNS = columnsIn('archived_');
const COLUMNS = columnsIn('');

/**
 * $1 projects, $2 keys, of the same length. Uses index orders_key. `LIMIT` keeps each an index look-up regardless of
 * the planner's size estimates.
 */
const FIND_BY_KEYS: Statement = {
  name: 'orders-by-key',
  text: `SELECT wanted.place::int, found.*
           FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS wanted (project_id, key, place)
           CROSS JOIN LATERAL (
             SELECT ${OPEN_COLUMNS}, o.request_hash, o.request_id FROM open_orders o
              WHERE o.project_id = wanted.project_id AND o.key = wanted.key LIMIT 1) found`,
};

/** The same for an archived order. Its key gives the id, and the id gives the range of the archive. */
const FIND_ARCHIVED_BY_KEYS: Statement = {
  name: 'archived-orders-by-key',
  text: `SELECT wanted.place::int, found.*
           FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS wanted (project_id, key, place)
           CROSS JOIN LATERAL (
             SELECT ${ARCHIVED_COLUMNS}, o.request_hash, o.request_id
               FROM order_key k JOIN archived_orders o ON o.id = k.order_id
              WHERE k.project_id = wanted.project_id AND k.key = wanted.key AND k.extension IS NULL LIMIT 1) found`,
};

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Finds orders by their keys, in batches, for polls and replays. */
@Injectable()
export class OrdersByKey {
  private readonly open: BatchLoader<KeyedOrderRow>;
  private readonly archived: BatchLoader<KeyedOrderRow>;

  constructor(database: Database) {
    this.open = rowsByKey(database, FIND_BY_KEYS);
    this.archived = rowsByKey(database, FIND_ARCHIVED_BY_KEYS);
  }

  /** Returns the project's order of this key; undefined if none exists or another project has it. */
  async find(projectId: string, key: string): Promise<KeyedOrderRow | undefined> {
    // Skip text that cannot be a key: Postgres rejects some of it (U+0000) as invalid text.
    if (!KEY.test(key)) return undefined;
    return (await this.open.load(projectId, key)) ?? this.archived.load(projectId, key);
  }
}

/**
 * $1 project; $2 and $3 the time and id to read before; $4 the earliest time; $5 limit; and $6, except in the first
 * list, the filter's value. Reads one range of one index backwards. No condition may be null or behind an OR. In a
 * generic plan it would become a filter, and a late page would read all pages before it.
 */
const LISTED = `SELECT ${COLUMNS} FROM orders o WHERE o.project_id = $1`;
const PAGE = `AND (o.created_at, o.id) < ($2::timestamptz, $3::bigint) AND o.created_at >= $4::timestamptz
          ORDER BY o.created_at DESC, o.id DESC LIMIT $5`;

export const ORDER_LISTS = {
  /** Index orders_time. */
  all: { name: 'order-list', text: `${LISTED} ${PAGE}` },
  /** Index orders_status_time. */
  status: { name: 'order-list-status', text: `${LISTED} AND o.status = $6 ${PAGE}` },
  /** Index orders_receiver. */
  receive_address: { name: 'order-list-receiver', text: `${LISTED} AND o.receive_address = $6 ${PAGE}` },
  /** Index orders_reference. */
  reference: { name: 'order-list-reference', text: `${LISTED} AND o.reference = $6 ${PAGE}` },
} as const;

/**
 * $1 the last order of a page, $2 its project, $3 the end of the list's time range. Returns the earlier of the two
 * places.
 */
export const FIND_PLACE: Statement = {
  name: 'order-list-place',
  text: `SELECT least(created_at, $3::timestamptz)::text AS at, CASE WHEN created_at < $3::timestamptz THEN id ELSE 0 END AS id
           FROM orders WHERE id = $1 AND project_id = $2`,
};

/** $1 ids. Returns those that have reached a state that `Prefer: wait` waits for. */
export const FIND_ARRIVED: Statement = {
  name: 'orders-arrived',
  text: `SELECT id FROM open_orders WHERE id = ANY($1::bigint[]) AND status IN ('delivered', 'refunded')`,
};
