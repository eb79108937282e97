/**
 * Requests and answers of integrations (webhooks, events, refused requests, auto-delegations) and of the home page.
 * Types only, as in data-shapes.ts. Paths begin with `/api/projects/{project}`.
 */
import type { DeliveryStatusName, Money, OrderLine } from './data-shapes.js';

/** `GET /webhooks` → `{ items }`; `GET /webhooks/{id}`. */
export interface WebhookShape {
  readonly id: string;
  readonly url: string;
  /** Absent means every type. */
  readonly types?: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
  readonly disabled_reason?: 'owner' | 'gone' | 'failing';
  readonly disabled_at?: string;
  readonly failing_since?: string;
  readonly pending: number;
  readonly previous_secret_until?: string;
  readonly made_by_key?: { readonly id: string; readonly name: string };
  readonly created_at: string;
  readonly changed_at: string;
}

/** `POST /webhooks` → 201 `WebhookSecret`. */
export interface MakeWebhook {
  readonly url: string;
  readonly types?: readonly string[];
  readonly description?: string;
}

/** `POST /webhooks/{id}` → `WebhookShape`. */
export interface ChangeWebhook extends Partial<MakeWebhook> {
  readonly enabled?: boolean;
}

/** The secret is shown this once; also the answer of `POST /webhooks/{id}/rotate { expire_old_after_sec }`. */
export interface WebhookSecret {
  readonly webhook: WebhookShape;
  readonly secret: string;
}

/**
 * `GET /webhooks/{id}/deliveries?status=` → `Page<DeliveryShape>`. `POST /webhooks/{id}/test`, `POST
 * /webhooks/{id}/deliveries/{delivery}/resend` → one. `POST /webhooks/{id}/replay { after }` → `ReplayShape`. `POST
 * /webhooks/{id}/delete` → `{ done: true }`.
 */
export interface DeliveryShape {
  readonly id: number;
  readonly event_id: string;
  readonly type: string;
  readonly position?: number;
  readonly cause: 'event' | 'replay' | 'resend' | 'test';
  readonly status: DeliveryStatusName;
  readonly attempts: number;
  readonly created_at: string;
  readonly next_attempt_at?: string;
  readonly last_attempt_at?: string;
  readonly ended_at?: string;
  readonly last_status?: number;
  readonly last_error?: string;
  /** Only for owners. */
  readonly last_answer?: string;
  readonly last_duration_ms?: number;
}

/** `GET /webhooks/{id}/deliveries/{delivery}` */
export interface OneDelivery extends DeliveryShape {
  readonly order_key?: string;
  /** The JSON text that is sent; absent if the event is no longer kept. */
  readonly body?: string;
}

export interface ReplayShape {
  readonly events: number;
  readonly last_position: number;
}

/** `GET /events?types=&cursor=`, newest first → `Page<EventShape>`. */
export interface EventShape {
  readonly id: string;
  readonly type: string;
  readonly position: number;
  readonly timestamp: string;
  readonly chain_timestamp?: string;
  readonly test?: true;
  readonly data: Readonly<Record<string, unknown>>;
}

/** `GET /requests` → `Page<RefusedShape>`: requests refused (4xx) in the last seven days, with reasons. */
export interface RefusedShape {
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error: string;
  readonly reason: string;
  readonly source_address: string;
  readonly key?: string;
  /** Number of equal refusals that were omitted before it. */
  readonly omitted?: number;
}

/** `GET /settings`; also the answer of `POST /settings`. */
export interface ProjectSettings {
  readonly id: string;
  readonly name: string;
  readonly test?: true;
  readonly created_at: string;
  readonly is_postpaid: boolean;
  /** Absent: prepaid, or postpaid without a limit. */
  readonly debt_limit?: Money;
  readonly signature_schemes: 'md5' | 'hmac' | 'either';
  readonly require_idempotency_key: boolean;
  readonly require_quote: boolean;
  readonly daily_cap?: Money;
  readonly low_balance?: Money;
}

/** `POST /settings` → `ProjectSettings`. Absent members are not changed. */
export interface ChangeProject {
  readonly name?: string;
  readonly signature_schemes?: ProjectSettings['signature_schemes'];
  readonly require_idempotency_key?: boolean;
  readonly require_quote?: boolean;
  /** 0 allows no spending; `no_daily_cap` removes the cap. */
  readonly daily_cap_credits?: number;
  readonly no_daily_cap?: boolean;
  readonly low_balance_credits?: number;
  readonly no_low_balance?: boolean;
}

/** `POST /playground/quote` → `PlaygroundQuote`, from stored records. Needs no key, and holds no price. */
export interface TryQuote {
  readonly receive_address: string;
  readonly energy: number;
  readonly duration_sec?: number;
}

/** `POST /playground/extension` → `PlaygroundExtension`: the price of additional time for a running rental. */
export interface TryExtension {
  readonly order: string;
  readonly duration_sec: number;
}

export interface PlaygroundExtension extends PlaygroundCall {
  readonly duration_sec: number;
  readonly price: Money;
  readonly price_trx: string;
}

/** `POST /playground/simulation`, with the members of `POST /v1/simulate` → request code for the merchant's server. */
export interface PlaygroundCall {
  readonly curl: string;
  /** Code with the SDK. */
  readonly node: string;
}

export interface PlaygroundQuote extends PlaygroundCall {
  readonly energy: number;
  readonly duration_sec: number;
  readonly price_sun: number;
  readonly price_trx: string;
  readonly price: Money;
  readonly burning_trx: string;
  readonly burning: Money;
  readonly saving_trx: string;
  readonly saving: Money;
  readonly trx_usd: string;
}

/** `GET /auto-delegations?status=` → `Page<AutoDelegationShape>`. */
export interface AutoDelegationShape {
  readonly id: string;
  readonly address: string;
  readonly status: 'active' | 'asleep' | 'paused' | 'ended';
  readonly keep_energy: number;
  readonly refill_below: number;
  /** The transfer that sizes refills. */
  readonly transfer_to?: string;
  readonly transfer_amount?: string;
  readonly token?: string;
  readonly transfer_energy?: number;
  readonly duration_sec: number;
  /** True if the service chooses each duration, beginning with `duration_sec`. */
  readonly chooses_duration?: boolean;
  readonly measured_uses?: { readonly days: number; readonly used_days: number; readonly uses: number };
  readonly max_sun_per_energy?: number;
  /** Zero credits if an owner has paused it. */
  readonly daily_cap: Money;
  readonly spent_today: Money;
  readonly idle_after_sec: number;
  readonly until?: string;
  readonly pause?: { readonly reason: string; readonly since: string };
  readonly usable_energy?: number;
  readonly checked_at?: string;
  readonly used_at?: string;
  readonly purchases: number;
  readonly open_order?: string;
  /**
   * `order`: a purchase is in progress. `rental_ends`: by the chain's clock. `tries_again`: by ours. `use`: when less
   * than `refill_below` is left, or the address is used again. Absent if it has ended.
   */
  readonly next?: { readonly what: 'order' | 'rental_ends' | 'tries_again' | 'use'; readonly at?: string };
  readonly created_at: string;
  readonly changed_at: string;
}

/** The cost of keeping an address supplied, at today's prices. */
export interface KeepingCosts {
  /** For an address that is kept full and never used. */
  readonly idle_per_day: Money;
  readonly per_refill: Money;
}

/** `GET /auto-delegations/{address}`; also the answer of every act on one except `delete`. */
export interface OneAutoDelegation extends AutoDelegationShape {
  /** The key that its purchases are charged to. */
  readonly key: { readonly id: string; readonly name: string; readonly revoked: boolean };
  /** Absent if prices are unknown, or if nothing would be sold at them. */
  readonly costs?: KeepingCosts;
}

/**
 * `POST /auto-delegations/{address}` creates it or replaces all its terms. `POST /auto-delegations/preview` →
 * `KeepingPreview`, and changes nothing.
 */
export interface SetAutoDelegation {
  readonly keep_energy: number;
  readonly refill_below?: number;
  readonly duration_sec?: number;
  readonly max_sun_per_energy?: number;
  readonly daily_cap_credits: number;
  readonly idle_after_sec?: number;
  readonly until?: string;
  /** The transfer that sizes refills. */
  readonly transfer_to?: string;
  readonly transfer_amount?: string;
  readonly token?: string;
}

/** The terms with every default resolved. */
export interface KeepingPreview extends KeepingCosts {
  readonly keep_energy: number;
  readonly refill_below: number;
  readonly duration_sec: number;
  readonly daily_cap: Money;
  readonly balance: Money;
  /** Days that the balance lasts if each day's cap is spent; absent means for ever. */
  readonly days_by_cap?: number;
}

/** `POST /auto-delegations/{address}/cap`: 0 pauses it. `…/wake` and `…/delete` need no members. */
export interface SetCap {
  readonly daily_cap_credits: number;
}

/** `GET /audit` → `Page<AuditShape>`: acts on the project, and operators' looks at it. */
export interface AuditShape {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly reason?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export type NeedKind =
  | 'balance_low'
  | 'balance_out'
  | 'webhook_failing'
  | 'webhook_disabled'
  | 'auto_delegation_paused'
  | 'deposit_held'
  | 'frozen';

/** `GET /home` */
export interface MerchantHome {
  readonly checked_at: string;
  readonly balance: Money;
  readonly days_left?: number;
  /** Empty if there is no problem. */
  readonly needs_you: readonly {
    readonly kind: NeedKind;
    readonly says: string;
    readonly subject?: string;
    readonly since?: string;
  }[];
  readonly running: readonly {
    readonly order_key: string;
    readonly receive_address: string;
    readonly energy: number;
    readonly ends_at: string;
    /** By the chain's clock at `checked_at`, as the service estimates it. */
    readonly left_sec: number;
  }[];
  readonly running_more: boolean;
  /** Sums of the ledger's entries of the last 30 days. */
  readonly last_30_days: {
    /** Charges minus refunds and compensations, for orders, extensions and activations. */
    readonly spent: Money;
    /** Number of rentals, and their energy. */
    readonly orders: number;
    readonly energy: number;
    /** The oldest counted entry, if not all could be counted. */
    readonly since?: string;
    /** Energy that receivers used while their rentals ran, from final blocks; absent for test projects. */
    readonly used_energy?: number;
    /** Cost of burning TRX for `used_energy`; absent together with it. */
    readonly burning?: Money;
    /** `burning` minus the cost of rentals and extensions; may be negative. Activations burn no energy. */
    readonly saved?: Money;
    /** UTC days with any charge or refund, oldest first. The month's `spent` and `saved` are their sums. */
    readonly days: readonly { readonly day: string; readonly spent: Money; readonly saved?: Money }[];
  };
  readonly last_orders: readonly OrderLine[];
  readonly first_steps: {
    readonly topped_up: boolean;
    readonly key_used: boolean;
    readonly webhook_made: boolean;
    readonly order_delivered: boolean;
  };
}

/** `GET /go-live`: what to do before real money, by the project's records. */
export interface GoLive {
  readonly checked_at: string;
  /** A test project has only the steps that rehearse. */
  readonly is_test: boolean;
  readonly steps: readonly GoLiveStep[];
}

/** `low_balance` is absent where the balance has no limit. */
export interface GoLiveStep {
  readonly step:
    | 'key_used'
    | 'requests_limited'
    | 'webhook_accepts'
    | 'can_pay'
    | 'low_balance'
    | 'daily_cap'
    | 'people'
    | 'order_delivered';
  readonly is_done: boolean;
}
