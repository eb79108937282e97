/**
 * Requests and answers of the routes for a project's data. Types only, so that the pages can import them. Members that
 * do not apply are absent, never null; times are ISO 8601 in UTC; amounts of TRX and USDT are decimal text. Names,
 * reasons and metadata are unescaped user data.
 *
 * Every path begins with `/api/projects/{project}`; a caller without a membership gets 404. Operators read the same
 * paths, and each of their looks is audited.
 */

import type { OrderItem } from '../../domain/order-items.js';
import type { Resource } from '../../domain/resource.js';

/** 10 000 000 credits are one dollar. */
export interface Money {
  readonly credits: number;
  /** Decimal text with its sign. */
  readonly usd: string;
}

/** Lists take `?limit=1–100&cursor=`. No list counts a whole table. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly next_cursor?: string;
  /** On the first page: the mark from which `GET …/new?since=` counts. */
  readonly newest?: string;
}

/** `GET {list}/new?since=` with the same filters: the number of newer items, at most 100. */
export interface NewCount {
  readonly count: number;
}

// — API keys ————————————————————————————————————————————————————————————————————————————————————————————————

export type KeyScope = 'read' | 'quote' | 'order' | 'manage';

/** `GET /keys` → `{ items: ApiKeyShape[] }`, the primary first; `?all=true` includes revoked ones. */
export interface ApiKeyShape {
  readonly id: string;
  readonly name: string;
  /** The primary key has all scopes, and only it verifies MD5. */
  readonly is_primary: boolean;
  /** It pays for purchases in the console and signs nothing. */
  readonly is_console?: true;
  readonly scopes: readonly KeyScope[];
  /** Addresses and CIDR ranges; empty means any. */
  readonly allowed_sources: readonly string[];
  readonly daily_cap?: Money;
  readonly spent_today: Money;
  readonly created_at: string;
  readonly last_used_at?: string;
  /** The time until which the secret before the last rotation still verifies. */
  readonly previous_until?: string;
  readonly revoked_at?: string;
}

/** `POST /keys` → 201 `KeySecret`. */
export interface MakeKey {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly allowed_sources?: readonly string[];
  readonly daily_cap_credits?: number;
}

/** `POST /keys/{id}` → `ApiKeyShape`. Absent members are not changed. */
export interface ChangeKey {
  readonly name?: string;
  readonly scopes?: readonly KeyScope[];
  readonly allowed_sources?: readonly string[];
  /** 0 allows no spending; `no_daily_cap` removes the cap. */
  readonly daily_cap_credits?: number;
  readonly no_daily_cap?: boolean;
}

/**
 * `GET /sources`; also the answer of `POST /sources`. A caller must be allowed by the project's list and by its key's.
 */
export interface SourcesShape {
  /** For the whole project; empty means any. */
  readonly allowed_sources: readonly string[];
  readonly keys: readonly { readonly id: string; readonly name: string; readonly allowed_sources: readonly string[] }[];
  /** Recent sources of accepted requests, newest first: at most twenty per key, with one-minute precision. */
  readonly callers: readonly RecentCaller[];
}

export interface RecentCaller {
  readonly address: string;
  readonly key: { readonly id: string; readonly name: string };
  readonly at: string;
  /** According to the present lists. */
  readonly allowed: boolean;
}

/** `POST /sources/check` → `SourcesCheck`, and changes nothing; `POST /sources` → `SourcesShape`. */
export interface SetSources {
  /** Empty means any. */
  readonly allowed_sources: readonly string[];
  /** The key to which the list belongs; absent for the project's list. */
  readonly key_id?: string;
}

export interface SourcesCheck {
  /** Callers that are allowed now and would no longer be. */
  readonly locked_out: readonly RecentCaller[];
  readonly still_allowed: number;
}

/** `POST /keys/{id}/rotate` → `KeySecret`. */
export interface RotateKey {
  /** Seconds for which both secrets verify: 0 to 604 800. */
  readonly overlap_sec: number;
}

/** `GET /keys/{id}/made`, and in the answers to rotating and revoking: objects that continue without a signature. */
export interface MadeByKey {
  /** URLs without their queries, which may hold a token of the receiver. */
  readonly webhooks: readonly { readonly id: string; readonly url: string }[];
  /** Addresses, the newest 100. */
  readonly auto_delegations: readonly string[];
  readonly auto_delegations_count: number;
}

/** The secret is shown this once. */
export interface KeySecret {
  readonly key: ApiKeyShape;
  readonly merchant_id: string;
  readonly secret: string;
  readonly made: MadeByKey;
}

/** `POST /keys/{id}/revoke` → */
export interface RevokedKey {
  readonly key: ApiKeyShape;
  /** The auto-delegations in it pause until another key sets them. */
  readonly made: MadeByKey;
}

// — Top up ——————————————————————————————————————————————————————————————————————————————————————————————————

/** `GET /balance` */
export interface BalanceShape {
  readonly balance: Money;
  /** Credits that may be spent, including a postpaid project's allowed debt. Absent means no limit. */
  readonly available?: Money;
  readonly is_postpaid: boolean;
  readonly frozen: boolean;
  readonly low_balance?: Money;
  readonly daily_cap?: Money;
  readonly spent_today: Money;
  /** Daily average over the last seven days, or since a younger project's first entry. */
  readonly spent_per_day: Money;
  /** Days at that rate, to a tenth; absent if nothing is spent or the credits are unlimited. */
  readonly days_left?: number;
}

/** `GET /deposit-address`; 404 if deposits are not in use here. */
export interface DepositAddressShape {
  readonly address: string;
  readonly network: string;
  readonly accepts: readonly {
    readonly asset: 'TRX' | 'USDT';
    readonly contract?: string;
    readonly minimum: string;
    /** For TRX: true if transfers by contracts are detected too. */
    readonly from_contracts?: boolean;
  }[];
  /** The time at which the address was derived again from the account's key; a mismatch is refused. */
  readonly checked_at: string;
}

export type DepositStatusName = 'pending' | 'credited' | 'held' | 'ignored' | 'dropped';

/** `GET /deposits?status=` → `Page<DepositShape>`; `GET /deposits.csv` with the same filters. */
export interface DepositShape {
  readonly id: string;
  readonly txid: string;
  readonly kind: 'native' | 'log' | 'internal';
  readonly asset: 'TRX' | 'USDT';
  readonly amount: string;
  readonly address: string;
  readonly from_address: string;
  readonly status: DepositStatusName;
  readonly reason?: string;
  /** A sentence on the status and the next step. */
  readonly says: string;
  readonly usd_rate?: string;
  readonly credited?: Money;
  readonly block_number: number;
  readonly block_timestamp: string;
  readonly seen_at: string;
  readonly changed_at: string;
}

/**
 * `GET /arrivals?after=`: events of the project after a position. Cheap enough to poll every few seconds. `after` is
 * the `position` of the previous answer; absent means from now.
 */
export interface Arrivals {
  readonly position: number;
  readonly events: readonly { readonly type: string; readonly position: number; readonly timestamp: string }[];
  readonly balance: Money;
}

// — Orders ——————————————————————————————————————————————————————————————————————————————————————————————————

export type OrderStatusName = 'reserved' | 'placed' | 'unresolved' | 'delivered' | 'refunded';
export type OrderKindName = 'rental' | 'activation';

/**
 * `GET /orders?status=&state=&kind=&receiver=&reference=&from=&to=` → `Page<OrderLine>`; `GET /orders.csv` with the same
 * filter. `state` is `running`, `ended` or `attention`.
 */
export interface OrderLine {
  readonly id: number;
  readonly key: string;
  readonly kind: OrderKindName;
  readonly status: OrderStatusName;
  readonly settled: boolean;
  readonly receive_address: string;
  readonly energy?: number;
  readonly bandwidth?: number;
  /** True for a rental with the activation of its receiver. */
  readonly activates?: true;
  readonly duration_sec?: number;
  readonly charged: Money;
  readonly created_at: string;
  readonly delivered_at?: string;
  readonly ends_at?: string;
  readonly reclaimed_at?: string;
  /** Time from acceptance to delivery, by the service's clock. */
  readonly delivered_in_ms?: number;
  readonly error_code?: string;
}

/** One moment of the timeline, by the chain's clock, by ours, or by both; the two are never compared. */
export interface OrderMoment {
  readonly what: string;
  readonly at?: string;
  readonly chain_at?: string;
  readonly txid?: string;
  readonly block_number?: number;
}

export interface OrderProof {
  readonly purpose: 'delegate' | 'reclaim' | 'activate';
  readonly txid: string;
  readonly owner_address: string;
  readonly receive_address: string;
  /** Absent for an activation. */
  readonly resource?: Resource;
  readonly energy?: number;
  readonly bandwidth?: number;
  readonly amount_sun?: number;
  readonly block_number?: number;
  readonly block_id?: string;
  readonly block_timestamp?: string;
  readonly explorer_url?: string;
  /** A command that queries any node of the reader's choice. */
  readonly check: string;
}

/** Usable energy of an address, from all sources. */
export interface EnergyReading {
  readonly energy: number;
  /** The newest known block when the node was read; the reading is of this block or a later one. */
  readonly block_number: number;
}

export interface OrderDelivery {
  readonly id: number;
  readonly webhook_id: string;
  readonly url: string;
  readonly event_id: string;
  readonly type: string;
  readonly status: DeliveryStatusName;
  readonly attempts: number;
  readonly last_status?: number;
  readonly last_error?: string;
  readonly last_attempt_at?: string;
  readonly next_attempt_at?: string;
}

/** One part of an order: energy, units of bandwidth, or one activation. */
export interface OrderItemShape {
  readonly kind: OrderItem['kind'];
  readonly amount: number;
  readonly price_sun: number;
  readonly charged: Money;
}

/** `GET /orders/{key}`: the details of one order with its proof. */
export interface OrderStory {
  /** `Delivered in 3.4 s; ends in 41 min`, by `read_at` and the chain's head. */
  readonly sentence: string;
  readonly read_at: string;
  readonly order: OrderLine;
  readonly actions: readonly ('extend' | 'resend' | 'top_up' | 'receipt')[];
  readonly timeline: readonly OrderMoment[];
  /** Blocks until the order's own block is final; absent if there is none, or if the number is unknown. */
  readonly blocks_to_final?: number;
  readonly money: {
    readonly quoted?: Money;
    readonly charged: Money;
    readonly price_sun: number;
    readonly price_trx: string;
    readonly trx_usd: string;
    /** The parts of an order of several; they add up to its price and its charge. */
    readonly items?: readonly OrderItemShape[];
    /** The price of the energy alone, for an order of several parts. */
    readonly energy_sun?: number;
    /** Cost of burning TRX for the same energy, at the fee of `burning_as_of`; absent if unknown. */
    readonly burning_sun?: number;
    readonly burning_trx?: string;
    /** 'order' if the energy fee of that time is known, 'now' if today's fee is used instead. */
    readonly burning_as_of?: 'order' | 'now';
    /** Of a delivered rental, from the final blocks read; absent for test orders and without an energy fee. */
    readonly measured?: {
      /** Energy that the receiver's calls took from stake while the rental ran. */
      readonly used_energy: number;
      readonly calls: number;
      /** The newest block with a use; absent without one. */
      readonly last_block?: number;
      /** The cost of burning `used_energy`, minus the price of the energy, extensions included; may be negative. */
      readonly saved_sun: number;
      readonly saved_trx: string;
    };
    readonly extensions: readonly {
      readonly key: string;
      readonly duration_sec: number;
      readonly charged: Money;
      readonly at: string;
    }[];
    readonly refunded?: Money;
    /** The part that a refund does not return: the chain has the activation. */
    readonly kept?: Money;
    readonly compensated?: Money;
    readonly entries: readonly LedgerLine[];
  };
  readonly proof: readonly OrderProof[];
  /** The receiver's energy before anything was sent, and after the order's block; each absent if it was not read. */
  readonly receiver_energy?: { readonly before?: EnergyReading; readonly after?: EnergyReading };
  readonly request: {
    readonly key_name?: string;
    readonly key_id?: string;
    readonly idempotency_key: string;
    /** True if the service chose it: `direct_…`, `nonce_…`, `auto_…`. */
    readonly is_own_key: boolean;
    /** Number of idempotent replays of this request; some seconds late. */
    readonly replays: number;
    readonly last_replayed_at?: string;
    readonly request_id?: string;
    /** The request after parsing. */
    readonly body: Readonly<Record<string, unknown>>;
  };
  readonly events: readonly {
    readonly id: string;
    readonly type: string;
    readonly position: number;
    readonly timestamp: string;
    readonly chain_timestamp?: string;
  }[];
  readonly deliveries: readonly OrderDelivery[];
  /** The order as the signed API answers it. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The request as a command that signs by HMAC with a secret from the environment. */
  readonly curl: string;
  readonly why_refunded?: RefundReason;
  readonly operator?: OperatorOrder;
}

/** The reason for a refund, in words; also `GET /orders/{key}/refund`. */
export interface RefundReason {
  readonly summary: string;
  readonly error_code: string;
  readonly refunded?: Money;
  readonly refunded_at?: string;
  /** Known facts with their sources, in order. */
  readonly evidence: readonly { readonly at?: string; readonly chain_at?: string; readonly says: string }[];
  /** Recommended action. */
  readonly advice: string;
}

/** Never sent to a merchant's session. */
export interface OperatorOrder {
  readonly standing: string;
  readonly needs_attention: boolean;
  readonly project: { readonly id: string; readonly name: string };
  readonly legs: readonly {
    readonly leg_no: number;
    readonly part: OrderItem['kind'];
    readonly wallet: string;
    readonly status: string;
    readonly amount_sun: number;
    readonly energy?: number;
    readonly bandwidth?: number;
    readonly active_at?: string;
    readonly closed_at?: string;
    readonly closed_reason?: string;
  }[];
  readonly attempts: readonly {
    readonly leg_no?: number;
    readonly purpose: string;
    readonly attempt: number;
    readonly status: string;
    readonly txid: string;
    readonly sends: number;
    readonly expires_at: string;
    readonly block_number?: number;
    readonly fee_sun?: number;
    /** Proof of inclusion, or proof of death. */
    readonly evidence?: Readonly<Record<string, unknown>>;
  }[];
  readonly broadcasts: readonly {
    readonly at: string;
    readonly txid?: string;
    readonly node: string;
    readonly answer: string;
    readonly message?: string;
  }[];
}

// — Ledger, statements, webhooks, events, requests ————————————————————————————————————————————————————————————

export type LedgerKind = 'charge' | 'refund' | 'compensation' | 'deposit' | 'topup' | 'adjustment';

/** `GET /ledger?from=&to=` → `Page<LedgerLine>`; `GET /ledger.csv`. */
export interface LedgerLine {
  readonly id: string;
  readonly kind: LedgerKind;
  readonly description: string;
  readonly amount: Money;
  readonly created_at: string;
  readonly order_key?: string;
  readonly deposit?: string;
  readonly asset?: 'TRX' | 'USDT';
  readonly asset_amount?: string;
  readonly usd_rate?: string;
  readonly txids?: readonly string[];
  readonly reference?: string;
}

/** `GET /statements` → `Page<StatementLine>`; `GET /statements/{number or open}.csv`. */
export interface StatementLine {
  readonly number: number;
  readonly month: string;
  readonly from: string;
  readonly to: string;
  readonly opening: Money;
  readonly closing: Money;
  readonly entries: number;
  readonly totals: Readonly<Record<LedgerKind, Money>>;
  readonly closed_at: string;
}

/**
 * `GET /statement/{number}`, and `GET /statement/open` for the entries that are in no statement yet: until `to`, which
 * is now. The open month has no number and is not closed; with more than 100 000 entries it has no sums.
 */
export interface OneStatement {
  readonly number?: number;
  readonly month: string;
  readonly from: string;
  readonly to: string;
  readonly opening: Money;
  readonly closing?: Money;
  readonly entries?: number;
  readonly totals?: Readonly<Record<LedgerKind, Money>>;
  readonly closed_at?: string;
  /** Oldest first; absent if there are more than 10 000. */
  readonly lines?: readonly StatementEntry[];
  /** Computed by the request, and no part of the statement; absent without a measured use. */
  readonly measured?: MeasuredSaving;
}

export interface StatementEntry {
  readonly id: string;
  readonly kind: LedgerKind;
  readonly description: string;
  readonly created_at: string;
  readonly order_key?: string;
  readonly reference?: string;
  readonly credits: number;
  /** After this entry. */
  readonly balance: number;
}

/** Of the orders and extensions charged in a month, less what these orders got back by now. */
export interface MeasuredSaving {
  /** Energy that receivers used by now. */
  readonly used_energy: number;
  /** Cost of burning TRX for `used_energy`. */
  readonly burning: Money;
  /** `burning` minus the cost of rentals and extensions; may be negative. */
  readonly saved: Money;
}

export type DeliveryStatusName = 'pending' | 'delivered' | 'failed' | 'dropped';
