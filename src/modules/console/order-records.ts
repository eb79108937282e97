/** Reads all parts of an order that its project may see, within its scope. Reads only. */
import { Injectable } from '@nestjs/common';
import { entriesWhere, type EntryRow } from '../statements/entry-rows.js';
import type { LegKind } from '../../domain/order-state.js';
import { Database } from '../../platform/database/database.js';
import type { OrderMetadata } from '../orders/order-labels.js';
import { MEASURED_USE, type MeasuredUseRow } from '../orders/measured-use.js';
import type { CompensationRow, ExtensionRow, LegRow } from '../orders/order-rows.js';
import { notFound } from './answers.js';
import { END_CLOCK } from './chain-time.js';
import { DELIVERED_IN, type OrderListRow } from './order-list.js';
import { integerOf, lastChainReading } from './sale-records.js';

export interface OrderRecord extends OrderListRow {
  readonly quote_id: string | null;
  readonly price_sun: bigint;
  readonly trx_usd_e8: bigint;
  readonly delivered_energy: bigint | null;
  readonly error: string | null;
  readonly request_id: string | null;
  readonly reference: string | null;
  readonly metadata: OrderMetadata | null;
  readonly test: boolean;
  readonly expected_uses: number | null;
  readonly energy_fee_sun: bigint | null;
  readonly max_fee_limit_sun: bigint | null;
  readonly bandwidth_price_sun: bigint | null;
  readonly bandwidth_credits: bigint | null;
  readonly activation_price_sun: bigint | null;
  readonly delivered_bandwidth: bigint | null;
  readonly kept_credits: bigint | null;
  /** Recorded number of idempotent replays; null if none is recorded. */
  readonly replays: bigint | null;
  readonly replayed_at: Date | null;
  /** The receiver's usable energy before anything was sent, and at the delivery's block or later; null if not read. */
  readonly before_energy: bigint | null;
  readonly before_block: bigint | null;
  readonly after_energy: bigint | null;
  readonly after_block: bigint | null;
  /** Energy that the receiver used while the rental ran; null if none was seen. */
  readonly used_energy: bigint | null;
  readonly used_calls: number | null;
  readonly used_block: bigint | null;
  /** The same as the API answers it. */
  readonly measured_use: MeasuredUseRow | null;
  readonly legs: readonly LegRow[] | null;
  readonly compensations: readonly CompensationRow[] | null;
  readonly read_at: Date;
  /** Time by the chain's clock, estimated from the blocks read; null if none were read recently. */
  readonly chain_at: Date | null;
  /** The newest final block read; null if none was read recently. */
  readonly final_block: bigint | null;
}

export interface TransactionRecord {
  readonly txid: string;
  readonly purpose: 'delegate' | 'reclaim' | 'activate';
  readonly status: string;
  readonly block_number: bigint | null;
  readonly block_id: string | null;
  readonly block_at: Date | null;
  readonly created_at: Date;
  readonly sent_at: Date | null;
  readonly expires_at: Date;
  /** The kind of its leg, and what that delegated. */
  readonly kind: LegKind;
  readonly energy: bigint | null;
  readonly bandwidth: bigint | null;
  readonly amount_sun: bigint;
}

export interface EventRecord {
  readonly id: bigint;
  readonly type: string;
  readonly at: Date;
  readonly chain_at: Date | null;
  readonly position: bigint | null;
  /** The event's public id; null if it is not numbered yet, or pruned. */
  readonly name: string | null;
}

export interface DeliveryRecord {
  readonly id: bigint;
  readonly webhook_id: string;
  readonly url: string;
  readonly event_key: string;
  readonly type: string;
  readonly status: 'pending' | 'delivered' | 'failed' | 'dropped';
  readonly attempts: number;
  readonly answer_status: number | null;
  readonly fault: string | null;
  readonly attempted_at: Date | null;
  readonly next_at: Date | null;
}

export interface OrderRecords {
  readonly order: OrderRecord;
  readonly transactions: readonly TransactionRecord[];
  readonly events: readonly EventRecord[];
  readonly deliveries: readonly DeliveryRecord[];
  readonly extensions: readonly ExtensionRow[];
  readonly entries: readonly EntryRow[];
  readonly key: { readonly id: string; readonly name: string } | undefined;
  readonly energyFeeSun: bigint | undefined;
}

const ORDER = `SELECT o.id, o.project_id, o.key, o.kind, o.status, o.settled, o.needs_attention, o.receive_address, o.energy,
    o.duration_sec, o.credits, o.created_at, o.delivered_at, o.ends_at, o.reclaimed_at, o.error_code, o.error, o.quote_id,
    o.price_sun, o.trx_usd_e8, o.delivered_energy, o.request_id, o.reference, o.metadata, o.test,
    o.bandwidth, o.bandwidth_price_sun, o.bandwidth_credits, o.activation_price_sun, o.activation_credits,
    o.delivered_bandwidth, o.kept_credits, o.expected_uses, o.energy_fee_sun, o.max_fee_limit_sun, r.replays, r.last_at AS replayed_at, u.before_energy, u.before_block, u.after_energy, u.after_block,
    s.energy AS used_energy, s.calls AS used_calls, s.last_block AS used_block, project_order_legs(o.id) AS legs,
    project_order_compensations(o.id) AS compensations, ${DELIVERED_IN},
    ${MEASURED_USE}, clock_timestamp() AS read_at,
    ${END_CLOCK} AS chain_at,
    (SELECT c.block_number FROM deposit_cursor c WHERE c.read_at > clock_timestamp() - interval '5 minutes') AS final_block
  FROM orders o LEFT JOIN order_replay r ON r.order_id = o.id
    LEFT JOIN receiver_energy u ON u.order_id = o.id
    LEFT JOIN rental_use s ON s.order_id = o.id
  WHERE o.project_id = $1`;

export const TRANSACTIONS = `SELECT encode(t.txid, 'hex') AS txid, t.purpose, t.status, t.block_number, encode(t.block_id, 'hex') AS block_id,
    t.block_at, t.created_at, t.sent_at, t.expires_at, l.kind, l.energy, l.bandwidth, l.amount_sun
  FROM chain_tx t JOIN leg l ON l.order_id = t.order_id AND l.id = t.leg_id WHERE t.order_id = $1 ORDER BY t.id LIMIT 500`;

const EVENTS = `SELECT e.id, e.type, e.at, e.chain_at, e.position, e.payload::json ->> 'id' AS name FROM event e
  WHERE e.order_id = $1 AND e.type IS NOT NULL AND e.project_id = $2 ORDER BY e.id LIMIT 500`;

const DELIVERIES = `SELECT d.id, d.endpoint_id AS webhook_id, w.url, d.event_key, d.type, d.status, d.attempts, d.answer_status,
    d.fault, d.attempted_at, d.next_at
  FROM webhook_delivery d JOIN webhook_endpoint w ON w.id = d.endpoint_id AND w.project_id = $2 AND w.deleted_at IS NULL
  WHERE d.event_id = ANY ($1::bigint[]) ORDER BY d.id LIMIT 200`;

const EXTENSIONS = `SELECT key, duration_sec, credits::float8 AS credits, created_at AS at, expected_uses,
    price_sun::float8 AS price_sun, fee_limit_sun::float8 AS fee_limit_sun, fee_limit_capped FROM order_extension
  WHERE order_id = $1 AND project_id = $2 ORDER BY number`;

/** Reads only columns that the project may see. */
export const ORDER_ENTRIES = entriesWhere(
  `project_id = $1 AND (entry_key = ANY ($2::text[]) OR kind = 'compensation' AND order_id = $3) LIMIT 500`,
  'e.id',
);

const PAYER = `SELECT k.id, k.name FROM credit_entry e JOIN api_key k ON k.id = coalesce(e.api_key_id, e.project_id)
  WHERE e.entry_key = $1 AND e.project_id = $2`;

@Injectable()
export class OrderRecordReader {
  constructor(private readonly database: Database) {}

  /** Finds an order by key or number. The key has priority, since a key may look like a number. */
  async find(projectId: string, keyOrNumber: string): Promise<OrderRecord | undefined> {
    const [byKey] = await this.database.query<OrderRecord>(`${ORDER} AND o.key = $2`, [projectId, keyOrNumber]);
    if (byKey !== undefined || !/^\d{1,18}$/.test(keyOrNumber)) return byKey;
    const [byNumber] = await this.database.query<OrderRecord>(`${ORDER} AND o.id = $2`, [projectId, keyOrNumber]);
    return byNumber;
  }

  /** Finds an order as `find` does. Throws NOT_FOUND without one. */
  async read(projectId: string, keyOrNumber: string): Promise<OrderRecord> {
    const order = await this.find(projectId, keyOrNumber);
    if (order === undefined) throw notFound('order');
    return order;
  }

  async load(order: OrderRecord): Promise<OrderRecords> {
    const { id, project_id: projectId } = order;
    const extensions = await this.database.query<ExtensionRow>(EXTENSIONS, [id, projectId]);
    const events = await this.database.query<EventRecord>(EVENTS, [id, projectId]);
    const charge = `charge:${id.toString()}`;
    const keys = [
      charge,
      `refund:${id.toString()}`,
      ...extensions.map((_, index) => `${charge}:ext:${(index + 1).toString()}`),
    ];
    const entries = await this.database.query<EntryRow>(ORDER_ENTRIES, [projectId, keys, id]);
    const eventIds = events.map((event) => event.id);
    const [key] = await this.database.query<{ id: string; name: string }>(PAYER, [charge, projectId]);
    return {
      order,
      extensions,
      events,
      entries,
      key,
      transactions: await this.database.query<TransactionRecord>(TRANSACTIONS, [id]),
      deliveries: await this.database.query<DeliveryRecord>(DELIVERIES, [eventIds, projectId]),
      energyFeeSun: await this.energyFee(),
    };
  }

  /** Returns the sun burnt per energy at the last reading; undefined before the first. */
  async energyFee(): Promise<bigint | undefined> {
    return integerOf((await lastChainReading(this.database))?.energy_fee);
  }
}
