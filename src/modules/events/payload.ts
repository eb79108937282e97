/**
 * Renders each event once, as callers read it (docs/interface.md §26), from the snapshot that the change wrote. Never
 * reads current state.
 */
import { createHash } from 'node:crypto';
import {
  autoDelegationBody,
  type AutoDelegationBody,
  type AutoDelegationJson,
} from '../auto-delegations/auto-delegations.dto.js';
import { usdBalanceOf } from '../../domain/conversion.js';
import type { EventType } from '../../domain/event-types.js';
import type { Scope } from '../../domain/scopes.js';
import { toJsonInteger, type Credits } from '../../domain/units.js';
import { depositBody, type DepositBody, type DepositJson } from '../deposits/deposits.dto.js';
import { orderBody, type OrderBody } from '../orders/orders.dto.js';
import { statementBody, type StatementBody, type StatementJson } from '../statements/statements.dto.js';
import type { OrderMetadata } from '../orders/order-labels.js';
import type { CompensationRow, ExtensionRow, LegRow, OrderRow } from '../orders/order-rows.js';

/** A row of `orders` in Postgres's JSON. Amounts are below 2^53 (docs/interface.md §1). */
type OrderJson = Readonly<Record<keyof OrderRow, unknown>> & {
  readonly kind: OrderRow['kind'];
  readonly status: OrderRow['status'];
};

/** The terms of an order, which never change. A snapshot has only the other members. */
export type OrderTerms = Partial<OrderJson>;

export interface OrderSnapshot {
  readonly order: OrderJson;
  readonly legs: readonly LegRow[] | null;
  readonly compensations: readonly CompensationRow[] | null;
  /** Absent in snapshots from before extensions existed. */
  readonly extensions?: readonly ExtensionRow[] | null;
}

export interface ProjectSnapshot {
  readonly project: { readonly id: string; readonly name: string; readonly frozen: boolean };
}

/** As the database writes it (src/platform/database/sql/functions/webhook_changed.sql). */
export interface WebhookSnapshot {
  readonly webhook: {
    readonly id: string;
    /** Without its path and query. */
    readonly url: string;
    readonly types: readonly string[] | null;
    readonly description: string;
    readonly enabled: boolean;
    readonly disabled_reason: string | null;
    readonly deleted: boolean;
  };
}

/** Members that do not apply are absent, never null. */
export interface WebhookBody {
  readonly id: string;
  readonly url: string;
  readonly types?: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
  readonly disabled_reason?: string;
  readonly deleted: boolean;
}

interface KeyJson {
  readonly id: string;
  readonly name: string;
  readonly is_primary: boolean;
  readonly scopes: readonly Scope[];
  readonly previous_until: string | null;
}

export interface KeySnapshot {
  readonly key: KeyJson;
}

/** An API key without its secret. */
export interface KeyBody extends Omit<KeyJson, 'previous_until'> {
  readonly previous_until?: string;
}

/** As the database writes it (src/platform/database/sql/functions/deposit_changed.sql). */
export interface DepositSnapshot {
  readonly deposit: DepositJson;
}

/** As the database writes it (src/platform/database/sql/functions/order_changed.sql). */
export interface BalanceSnapshot {
  readonly balance: { readonly credits: string; readonly low_balance_credits: string };
}

/** As the database writes it (src/platform/database/sql/functions/statement_closed.sql). */
export interface StatementSnapshot {
  readonly statement: StatementJson;
}

/** As the database writes it (src/platform/database/sql/functions/auto_delegation_changed.sql). */
export interface AutoDelegationSnapshot {
  readonly auto_delegation: AutoDelegationJson;
}

/** A balance that fell below its threshold. */
export interface LowBalanceBody {
  /** Negative in debt. */
  readonly credits_balance: number;
  readonly usd_balance: string;
  readonly low_balance_credits: number;
}

/** The object of an event in its state at that moment; empty for `log.restarted`. */
export interface EventData extends Partial<ProjectSnapshot> {
  readonly order?: OrderBody;
  readonly deposit?: DepositBody;
  readonly auto_delegation?: AutoDelegationBody;
  readonly balance?: LowBalanceBody;
  readonly statement?: StatementBody;
  readonly key?: KeyBody;
  readonly webhook?: WebhookBody;
}

/** An event that waits for its position. */
export interface WrittenEvent {
  readonly project_id: string;
  readonly type: EventType;
  readonly at: Date;
  readonly chain_at: Date | null;
  /** True if its project is a test project. */
  readonly test: boolean;
  readonly snapshot:
    | OrderSnapshot
    | DepositSnapshot
    | AutoDelegationSnapshot
    | BalanceSnapshot
    | StatementSnapshot
    | KeySnapshot
    | ProjectSnapshot
    | WebhookSnapshot
    | null;
}

export interface EventBody {
  readonly id: string;
  readonly type: EventType;
  readonly position: number;
  readonly timestamp: string;
  readonly chain_timestamp?: string;
  readonly test?: true;
  readonly data: EventData;
}

/**
 * Returns an id derived from project and position. A position is assigned once, even after lost commits, so the id
 * identifies this event alone. It contains no dot, as webhook ids require.
 */
function eventId(projectId: string, position: bigint): string {
  const hash = createHash('sha256').update(`${projectId}:${position.toString()}`).digest('hex');
  return `evt_${hash.slice(0, 32)}`;
}

const amount = (value: unknown): bigint => BigInt(value as number);
const amountOrNull = (value: unknown): bigint | null => (value === null ? null : amount(value));
const moment = (value: unknown): Date => new Date(value as string);
const momentOrNull = (value: unknown): Date | null => (value === null ? null : moment(value));

/** Returns the row that an answer at that moment would have been built from. */
function orderRow({ order, legs, compensations, extensions = null }: OrderSnapshot): OrderRow {
  return {
    id: amount(order.id),
    key: order.key as string,
    kind: order.kind,
    status: order.status,
    receive_address: order.receive_address as string,
    energy: amountOrNull(order.energy),
    duration_sec: order.duration_sec as number | null,
    // These are absent in snapshots from before they existed.
    expected_uses: (order.expected_uses ?? null) as number | null,
    energy_fee_sun: amountOrNull(order.energy_fee_sun ?? null),
    max_fee_limit_sun: amountOrNull(order.max_fee_limit_sun ?? null),
    bandwidth: amountOrNull(order.bandwidth ?? null),
    bandwidth_price_sun: amountOrNull(order.bandwidth_price_sun ?? null),
    bandwidth_credits: amountOrNull(order.bandwidth_credits ?? null),
    activation_price_sun: amountOrNull(order.activation_price_sun ?? null),
    activation_credits: amountOrNull(order.activation_credits ?? null),
    delivered_bandwidth: amountOrNull(order.delivered_bandwidth ?? null),
    kept_credits: amountOrNull(order.kept_credits ?? null),
    price_sun: amount(order.price_sun),
    credits: amount(order.credits),
    trx_usd_e8: amount(order.trx_usd_e8),
    delivered_energy: amountOrNull(order.delivered_energy),
    settled: order.settled as boolean,
    needs_attention: order.needs_attention as boolean,
    error_code: order.error_code as string | null,
    error: order.error as string | null,
    // Absent in snapshots from before labels existed.
    reference: (order.reference ?? null) as string | null,
    metadata: (order.metadata ?? null) as OrderMetadata | null,
    created_at: moment(order.created_at),
    delivered_at: momentOrNull(order.delivered_at),
    ends_at: momentOrNull(order.ends_at),
    reclaimed_at: momentOrNull(order.reclaimed_at),
    // Absent in snapshots from before test projects existed.
    test: order.test === true,
    legs: order.status === 'reserved' ? null : legs,
    compensations,
    extensions,
    // An event is the order at its moment; the use is read later.
    measured_use: null,
  };
}

function dataOf({ snapshot, at }: WrittenEvent): EventBody['data'] {
  if (snapshot === null) return {};
  if ('order' in snapshot) return { order: orderBody(orderRow(snapshot)) };
  if ('deposit' in snapshot) return { deposit: depositBody(snapshot.deposit) };
  if ('auto_delegation' in snapshot) return { auto_delegation: autoDelegationBody(snapshot.auto_delegation, { at }) };
  if ('statement' in snapshot) return { statement: statementBody(snapshot.statement) };
  if ('balance' in snapshot) return { balance: lowBalanceBody(snapshot) };
  if ('webhook' in snapshot) return { webhook: webhookBody(snapshot) };
  return 'key' in snapshot ? { key: keyBody(snapshot) } : { project: snapshot.project };
}

function lowBalanceBody({ balance }: BalanceSnapshot): LowBalanceBody {
  const amount = BigInt(balance.credits) as Credits;
  return {
    credits_balance: toJsonInteger(amount),
    usd_balance: usdBalanceOf(amount),
    low_balance_credits: toJsonInteger(BigInt(balance.low_balance_credits)),
  };
}

function keyBody({ key: { previous_until: until, ...key } }: KeySnapshot): KeyBody {
  return { ...key, ...(until !== null && { previous_until: moment(until).toISOString() }) };
}

function webhookBody({ webhook: { types, disabled_reason: reason, ...webhook } }: WebhookSnapshot): WebhookBody {
  return { ...webhook, ...(types !== null && { types }), ...(reason !== null && { disabled_reason: reason }) };
}

/** Returns the event at `position` of its project's log, as JSON. */
export function renderEvent(event: WrittenEvent, position: bigint): string {
  const body: EventBody = {
    id: eventId(event.project_id, position),
    type: event.type,
    position: Number(position),
    timestamp: event.at.toISOString(),
    ...(event.chain_at !== null && { chain_timestamp: event.chain_at.toISOString() }),
    ...(event.test && { test: true as const }),
    data: dataOf(event),
  };
  return JSON.stringify(body);
}
