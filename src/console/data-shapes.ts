/**
 * What the browser asks of a project's data and what it is answered: types only, so that the pages build against them.
 * What does not apply is absent, never null; times are ISO 8601 in UTC; amounts of TRX and USDT are decimal texts; names,
 * reasons and metadata are data and come as they were given. Every path begins with `/api/projects/{project}`; a caller
 * without a membership gets 404. Operators read the same paths, and each of their looks is audited.
 */

/** 10 000 000 credits are one dollar. */
export interface Money {
  readonly credits: number;
  /** As a decimal text, with its sign. */
  readonly usd: string;
}

/** Lists: `?limit=1–100&cursor=`; nothing counts a whole table. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly next_cursor?: string;
  /** Of the first page: what `GET …/new?since=` counts from. */
  readonly newest?: string;
}

/** `GET {list}/new?since=` with the same filters: how many came since, at most 100. */
export interface NewCount {
  readonly count: number;
}

// — API keys ————————————————————————————————————————————————————————————————————————————————————————————————

export type KeyScope = 'read' | 'quote' | 'order' | 'manage';

/** `GET /keys` → `{ items: ApiKeyShape[] }`, the primary first; `?all=true`: the revoked ones too. */
export interface ApiKeyShape {
  readonly id: string;
  readonly name: string;
  /** It alone verifies MD5, and has all scopes. */
  readonly is_primary: boolean;
  readonly scopes: readonly KeyScope[];
  /** Addresses and CIDR ranges; empty: any. */
  readonly allowed_sources: readonly string[];
  readonly daily_cap?: Money;
  readonly spent_today: Money;
  readonly created_at: string;
  readonly last_used_at?: string;
  /** Until when the secret before the last rotation still verifies. */
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

/** `POST /keys/{id}` → `ApiKeyShape`. What is absent stays. */
export interface ChangeKey {
  readonly name?: string;
  readonly scopes?: readonly KeyScope[];
  readonly allowed_sources?: readonly string[];
  /** 0 lets it spend nothing; to lift it, `no_daily_cap`. */
  readonly daily_cap_credits?: number;
  readonly no_daily_cap?: boolean;
}

/** `GET /sources`; also of `POST /sources`. A caller must be allowed by the project's list and by its key's. */
export interface SourcesShape {
  /** Of the whole project; empty: any. */
  readonly allowed_sources: readonly string[];
  readonly keys: readonly { readonly id: string; readonly name: string; readonly allowed_sources: readonly string[] }[];
  /** Whose requests were taken lately, the newest first: at most twenty of a key, to the minute. */
  readonly callers: readonly RecentCaller[];
}

export interface RecentCaller {
  readonly address: string;
  readonly key: { readonly id: string; readonly name: string };
  readonly at: string;
  /** By the lists as they are now. */
  readonly allowed: boolean;
}

/** `POST /sources/check` → `SourcesCheck`, and changes nothing; `POST /sources` → `SourcesShape`. */
export interface SetSources {
  /** Empty: any. */
  readonly allowed_sources: readonly string[];
  /** The key whose list it is; absent: the project's. */
  readonly key_id?: string;
}

export interface SourcesCheck {
  /** Who is allowed now and would not be. */
  readonly locked_out: readonly RecentCaller[];
  readonly still_allowed: number;
}

/** `POST /keys/{id}/rotate` → `KeySecret`. */
export interface RotateKey {
  /** Both secrets verify meanwhile: 0 to 604 800. */
  readonly overlap_sec: number;
}

/** `GET /keys/{id}/made`, and in the answers to rotating and revoking: what goes on without a signature. */
export interface MadeByKey {
  /** URLs without their queries, which may hold a token of the receiver's. */
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
  /** Auto-delegations among it pause until another key sets them. */
  readonly made: MadeByKey;
}

// — Top up ——————————————————————————————————————————————————————————————————————————————————————————————————

/** `GET /balance` */
export interface BalanceShape {
  readonly balance: Money;
  /** What may be spent: with the debt that a postpaid project may make. Absent: without a limit. */
  readonly available?: Money;
  readonly is_postpaid: boolean;
  readonly frozen: boolean;
  readonly low_balance?: Money;
  readonly daily_cap?: Money;
  readonly spent_today: Money;
  /** Of the last seven whole days, a day. */
  readonly spent_per_day: Money;
  /** At that rate; absent while nothing is spent, or nothing ends. */
  readonly days_left?: number;
}

/** `GET /deposit-address`; 404 while deposits are not in use here. */
export interface DepositAddressShape {
  readonly address: string;
  readonly network: string;
  readonly accepts: readonly {
    readonly asset: 'TRX' | 'USDT';
    readonly contract?: string;
    readonly minimum: string;
    /** Of TRX: whether what contracts send is seen too. */
    readonly from_contracts?: boolean;
  }[];
  /** The account's key gives this very address again; otherwise the answer is a refusal. */
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
  /** What the status means and what comes next, in a sentence. */
  readonly says: string;
  readonly usd_rate?: string;
  readonly credited?: Money;
  readonly block_number: number;
  readonly block_timestamp: string;
  readonly seen_at: string;
  readonly changed_at: string;
}

/**
 * `GET /arrivals?after=`: what of the project came after a position: deposits, orders' moves, anything that has an event.
 * Cheap, to be asked every few seconds; `after` is the `position` of the answer before, absent: from now.
 */
export interface Arrivals {
  readonly position: number;
  readonly events: readonly { readonly type: string; readonly position: number; readonly timestamp: string }[];
  readonly balance: Money;
}

// — Orders ——————————————————————————————————————————————————————————————————————————————————————————————————

export type OrderStatusName = 'reserved' | 'placed' | 'unresolved' | 'delivered' | 'refunded';
export type OrderKindName = 'rental' | 'activation';

/** `GET /orders?status=&kind=&receiver=&reference=&from=&to=` → `Page<OrderLine>`; `GET /orders.csv` of the same filter. */
export interface OrderLine {
  readonly id: number;
  readonly key: string;
  readonly kind: OrderKindName;
  readonly status: OrderStatusName;
  readonly settled: boolean;
  readonly receive_address: string;
  readonly energy?: number;
  readonly duration_sec?: number;
  readonly charged: Money;
  readonly created_at: string;
  readonly delivered_at?: string;
  readonly ends_at?: string;
  readonly reclaimed_at?: string;
  /** From its request to its delivery, by the service's own clock. */
  readonly delivered_in_ms?: number;
  readonly error_code?: string;
}

/** One moment of the timeline: by the chain's clock, by ours, or both; the two are never compared. */
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
  readonly energy?: number;
  readonly amount_sun?: number;
  readonly block_number?: number;
  readonly block_id?: string;
  readonly block_timestamp?: string;
  readonly explorer_url?: string;
  /** A command that asks a node of one's own choice. */
  readonly check: string;
}

/** What an address could use of energy, from wherever it has it. */
export interface EnergyReading {
  readonly energy: number;
  /** The newest block that was known as the node was asked: it is of this block, or of a later one. */
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

/** `GET /orders/{key}`: the story of one order with its proof. */
export interface OrderStory {
  /** `Delivered in 3.4 s; ends in 41 min`, by `read_at` and the chain's head. */
  readonly sentence: string;
  readonly read_at: string;
  readonly order: OrderLine;
  readonly actions: readonly ('extend' | 'resend' | 'top_up' | 'receipt')[];
  readonly timeline: readonly OrderMoment[];
  /** How many blocks until its own cannot leave the chain any more; absent: it is in none, or that is not known. */
  readonly blocks_to_final?: number;
  readonly money: {
    readonly quoted?: Money;
    readonly charged: Money;
    readonly price_sun: number;
    readonly price_trx: string;
    readonly trx_usd: string;
    /** What burning TRX for the same energy would have cost then; absent while not known. */
    readonly burning_sun?: number;
    readonly burning_trx?: string;
    /** 'order' where the energy fee of that time is known, 'now' where today's stands in for it. */
    readonly burning_as_of?: 'order' | 'now';
    readonly extensions: readonly {
      readonly key: string;
      readonly duration_sec: number;
      readonly charged: Money;
      readonly at: string;
    }[];
    readonly refunded?: Money;
    readonly compensated?: Money;
    readonly entries: readonly LedgerLine[];
  };
  readonly proof: readonly OrderProof[];
  /** Of the receiver, before anything of the order was sent, and once its block was there; each absent where it was not read. */
  readonly receiver_energy?: { readonly before?: EnergyReading; readonly after?: EnergyReading };
  readonly request: {
    readonly key_name?: string;
    readonly key_id?: string;
    readonly idempotency_key: string;
    /** Chosen by the service: `direct_…`, `nonce_…`, `auto_…`. */
    readonly is_own_key: boolean;
    /** How often the same request came again and was answered with this order, some seconds late. */
    readonly replays: number;
    readonly last_replayed_at?: string;
    readonly request_id?: string;
    /** As the service understood it. */
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
  /** The request as a command that signs by HMAC with a secret of the environment. */
  readonly curl: string;
  readonly why_refunded?: RefundReason;
  readonly operator?: OperatorOrder;
}

/** Why an order was refunded, in words; also `GET /orders/{key}/refund`. */
export interface RefundReason {
  readonly summary: string;
  readonly error_code: string;
  readonly refunded?: Money;
  readonly refunded_at?: string;
  /** What is known and from where, in order. */
  readonly evidence: readonly { readonly at?: string; readonly chain_at?: string; readonly says: string }[];
  /** What to do about it. */
  readonly advice: string;
}

/** Never sent to a merchant's session. */
export interface OperatorOrder {
  readonly standing: string;
  readonly needs_attention: boolean;
  readonly project: { readonly id: string; readonly name: string };
  readonly legs: readonly {
    readonly leg_no: number;
    readonly wallet: string;
    readonly status: string;
    readonly amount_sun: number;
    readonly energy?: number;
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
    /** What proved it, or proved that it can never happen. */
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

/** `GET /statements` → `Page<StatementLine>`; `GET /statements/{number}.csv`. */
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

export type DeliveryStatusName = 'pending' | 'delivered' | 'failed' | 'dropped';
