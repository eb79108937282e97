/**
 * Like data-shapes.ts, for routes of operators only. Paths begin with `/api/operator`; a merchants' console has none of
 * them.
 */
import type { DepositShape, Money, OrderLine } from './data-shapes.js';

// — Projects ————————————————————————————————————————————————————————————————————————————————————————————————

/**
 * `GET /projects?name=&state=live|test|frozen&limit=&cursor=` → `Page<ProjectLine>`, newest first; `name` is a prefix.
 * `GET /projects/{id}` → `ProjectLine`.
 */
export interface ProjectLine {
  readonly id: string;
  readonly name: string;
  readonly frozen: boolean;
  /** The act that froze it; absent in lists, and for a freeze from before the audit log. */
  readonly frozen_by?: { readonly actor: string; readonly reason: string; readonly at: string };
  readonly test?: true;
  readonly is_postpaid: boolean;
  readonly balance: Money;
  /** Absent: prepaid, or postpaid without a limit. */
  readonly debt_limit?: Money;
  readonly daily_cap?: Money;
  readonly signature_schemes: 'md5' | 'hmac' | 'either';
  readonly require_idempotency_key: boolean;
  readonly require_quote: boolean;
  readonly allowed_sources: readonly string[];
  readonly created_at: string;
}

/** `POST /projects` → 201 `MadeProject`. Its owner is invited by a separate request (`…/team/invitations`). */
export interface MakeProject {
  readonly name: string;
  readonly terms: 'prepaid' | 'postpaid';
  /** Required for a postpaid project. */
  readonly debt_limit_credits?: number;
  readonly reason: string;
}

export interface MadeProject {
  readonly project: ProjectLine;
  /** The primary key, shown this once. */
  readonly secret: string;
  /** Present if deposits are in use. */
  readonly deposit_address?: string;
}

// — Credits —————————————————————————————————————————————————————————————————————————————————————————————————

/**
 * `POST /projects/{id}/credits` → `BookedCredits`: booked immediately, or a request if the amount is above the limit.
 * `POST /credit-requests/{id}/approve` and `/reject` with a reason → `BookedCredits`, by an admin other than the
 * requester.
 */
export interface BookCredits {
  /** Idempotency key that the page chooses: the same id is the same booking. */
  readonly id: string;
  readonly kind: 'topup' | 'adjustment';
  readonly credits: number;
  /** For an adjustment: true subtracts from the balance. */
  readonly takes_off?: boolean;
  /** The payment's reference, booked once for ever; default: the id. */
  readonly reference?: string;
  readonly reason: string;
}

export interface DecideCredits {
  readonly reason: string;
}

export interface BookedCredits {
  /** `is_new` is false if the reference was booked before; nothing was added then. */
  readonly booked?: { readonly is_new: boolean; readonly balance: Money };
  readonly request?: CreditRequestLine;
}

/** `GET /credit-requests`: pending ones, oldest first, then decided ones, newest first; at most 100 of each. */
export interface CreditRequestList {
  /** Amounts above it wait for another admin. */
  readonly limit: Money;
  readonly items: readonly CreditRequestLine[];
}

export interface CreditRequestLine {
  readonly id: string;
  readonly project: { readonly id: string; readonly name: string };
  /** `deposit` credits a held deposit, `refusal` refuses it. */
  readonly kind: 'topup' | 'adjustment' | 'deposit' | 'refusal';
  /** The held deposit that a waiting request decides on. */
  readonly deposit?: OperatorDeposit;
  readonly amount: Money;
  /** The project's present balance. */
  readonly balance: Money;
  readonly reference: string;
  readonly reason: string;
  readonly asked_by: { readonly id: string; readonly email: string };
  readonly asked_at: string;
  readonly status: 'pending' | 'approved' | 'rejected';
  readonly decided_by?: string;
  readonly decided_at?: string;
  readonly decision_reason?: string;
}

// — Prices ——————————————————————————————————————————————————————————————————————————————————————————————————

/** `GET /prices` */
export interface PriceTable {
  readonly rows: readonly PriceLine[];
  readonly energy_fee_sun?: number;
  /** Sun burnt per unit of bandwidth. */
  readonly bandwidth_fee_sun?: number;
  /** The least cost of any delivery. */
  readonly floor_sun?: number;
  readonly trx_usd?: string;
}

export interface PriceLine {
  readonly duration_max_sec: number;
  readonly sun_per_energy: number;
  /** Absent where no bandwidth is sold. */
  readonly sun_per_bandwidth?: number;
  /** The least energy worth renting at this price; absent if there is none, or if the fee is unknown. */
  readonly least_energy?: number;
  /** Present if nothing can be sold at the present burn price; the other for bandwidth. */
  readonly warning?: string;
  readonly bandwidth_warning?: string;
}

/**
 * `POST /prices/preview` → `PricePreview`; `POST /prices` with `reason` (and `force` if the preview has doubts) →
 * `PriceTable`.
 */
export interface PriceChange {
  readonly duration_max_sec: number;
  /** Absent removes the row. */
  readonly sun_per_energy?: number;
  /** Absent leaves the price of bandwidth; 0 sells none. */
  readonly sun_per_bandwidth?: number;
}

export interface SavePrice extends PriceChange {
  readonly reason: string;
  /** Saves the price despite the preview's doubts. */
  readonly force?: boolean;
  /** The row's price in the preview; 409 if it has changed since. Absent means no row. */
  readonly before_sun_per_energy?: number;
  readonly before_sun_per_bandwidth?: number;
}

export interface PricePreview {
  readonly change: PriceChange;
  readonly before_sun_per_energy?: number;
  readonly before_sun_per_bandwidth?: number;
  /** Possible mistakes, one sentence each. */
  readonly doubts: readonly string[];
  readonly table_after: readonly PriceLine[];
  /** The sales of the last 30 days at the new prices, by duration. Bounded: see `covered`. */
  readonly effect: {
    readonly from: string;
    readonly to: string;
    readonly orders: number;
    readonly revenue: Money;
    readonly revenue_after: Money;
    readonly difference: Money;
    /** Orders that would have been refused with NOT_WORTH_RENTING. */
    readonly not_worth_renting: { readonly orders: number; readonly revenue: Money };
    /** Orders that no row covers: longer than the longest, or with bandwidth where none would be sold. */
    readonly too_long: { readonly orders: number; readonly revenue: Money };
    /** The projects that the change affects most, at most ten. */
    readonly projects: readonly {
      readonly id: string;
      readonly name: string;
      readonly before: Money;
      readonly after: Money;
    }[];
    /** Absent if all orders of the time are covered; otherwise only the newest are. */
    readonly covered?: { readonly orders: number; readonly since: string };
  };
  /** Durations for which the change moves the least energy worth renting. */
  readonly edges: readonly {
    readonly duration_max_sec: number;
    readonly least_energy_before?: number;
    readonly least_energy_after?: number;
  }[];
}

// — Operating ———————————————————————————————————————————————————————————————————————————————————————————————

export type Severity = 'fault' | 'warning' | 'notice';

/** `GET /inbox` → `{ items }`, the worst first. */
export interface InboxItem {
  readonly severity: Severity;
  readonly says: string;
  /** The command that remedies it. */
  readonly command?: string;
  readonly since?: string;
  /** The whole service is concerned: every page shows it. */
  readonly outage?: true;
  readonly subject?: {
    readonly kind: 'order' | 'project' | 'wallet' | 'deposit' | 'finding' | 'approval';
    readonly id: string;
  };
}

/** `GET /home` */
export interface OperatorHome {
  readonly checked_at: string;
  readonly inbox: readonly InboxItem[];
  readonly capacity: {
    /** Rented out, also by paused wallets: their rentals run on. The other figures are of the wallets that sell. */
    readonly sold_sun: number;
    readonly free_sun: number;
    readonly recovering_sun: number;
    readonly sold_energy?: number;
    readonly free_energy?: number;
    readonly recovering_energy?: number;
    /** Hours until sold out at the last day's rate, given returning stake; absent if not within a day. */
    readonly sold_out_in_hours?: number;
    readonly is_selling: boolean;
  };
  readonly last_day: ServiceFigures;
  readonly heads: readonly {
    readonly node: string;
    readonly block_number?: number;
    readonly age_sec?: number;
    readonly error?: string;
  }[];
  readonly energy_fee_sun?: number;
  readonly workers: { readonly claimed: number; readonly due: number; readonly oldest_due_sec?: number };
  readonly verify: { readonly passed_at?: string; readonly stopped: boolean; readonly reason?: string };
  readonly owed: Money;
}

/** Orders of the last 24 hours that have ended, without test orders, and requests refused in the last hour. */
export interface ServiceFigures {
  readonly delivered: number;
  readonly refunded: number;
  /** Seconds from acceptance to delivery, for half and for 95 % of the orders; absent without a delivery. */
  readonly p50_sec?: number;
  readonly p95_sec?: number;
  /** Present if there were more orders: those since this time are counted. */
  readonly since?: string;
  /** Requests refused (4xx). */
  readonly refused_in_hour: number;
}

/** `GET /days`: separate, because the sums of a week take longer than the whole home page. */
export interface OperatorDays {
  readonly today: DayFigures;
  /** The median of each figure over the seven whole days before. */
  readonly median: Omit<DayFigures, 'day'>;
}

export interface DayFigures {
  readonly day: string;
  readonly revenue: Money;
  readonly refunds: Money;
  readonly chain_cost: { readonly sun: number; readonly usd: string };
  readonly margin_usd: string;
}

/** `GET /pool` */
export interface PoolShape {
  readonly wallets: readonly {
    readonly address: string;
    readonly role: 'pool' | 'activation';
    readonly status: string;
    readonly pause_reason?: string;
    readonly staked_sun: number;
    readonly delegated_sun: number;
    readonly reserved_sun: number;
    readonly recovering_sun: number;
    readonly free_sun: number;
    readonly free_transactions: number;
    readonly balance_sun: number;
    /** Stake for bandwidth; absent without any. */
    readonly bandwidth?: {
      readonly staked_sun: number;
      readonly delegated_sun: number;
      readonly reserved_sun: number;
      readonly free_sun: number;
    };
    readonly read_at?: string;
  }[];
  readonly forecast: readonly {
    readonly hour: number;
    readonly at_least_sun: number;
    readonly at_most_sun: number;
    readonly transactions: number;
  }[];
}

/** `GET /deposits?status=&project=` → `Page<OperatorDeposit>`. */
export interface OperatorDeposit extends DepositShape {
  readonly project: { readonly id: string; readonly name: string };
  /** The token contract that was paid in; absent for TRX. */
  readonly contract?: string;
}

/** `GET /deposits/{id}`: a deposit with what a decision on it needs. */
export interface DepositEvidence {
  readonly deposit: OperatorDeposit;
  /** The credits for it and the small deposits held with it; absent without a rate of its minute. */
  readonly worth?: Money;
  /** The sum of the small deposits held with it, in the asset. */
  readonly small_amount?: string;
  /** The project's present balance. */
  readonly balance: Money;
  /** A decision on a greater worth waits for another admin. */
  readonly limit: Money;
}

/**
 * `POST /deposits/{id}/decide` → `DecidedDeposit`: carried out immediately, or a request if the worth is above the
 * limit. Admins decide on requests as on those for credits.
 */
export interface DecideDeposit {
  /** Idempotency key of the request that the page chooses. */
  readonly id: string;
  readonly decision: 'credit' | 'refuse';
  /** Required: the worth that the admin saw. A decision on another worth is refused. */
  readonly worth_credits: number;
  readonly reason: string;
}

export interface DecidedDeposit {
  readonly deposit: OperatorDeposit;
  readonly request?: CreditRequestLine;
}

/** `GET /orders?status=&project=&attention=&due=` → `Page<OperatorOrderLine>`. */
export interface OperatorOrderLine extends OrderLine {
  readonly project: { readonly id: string; readonly name: string };
  readonly needs_attention: boolean;
}

/** `GET /report?from=&to=&by=day|project|wallet`, and `/report.csv`. */
export interface ReportShape {
  readonly by: 'day' | 'project' | 'wallet';
  readonly rows: readonly ({ readonly key?: string; readonly name?: string } & ReportFigures)[];
  readonly total: ReportFigures;
  readonly owed: Money;
  readonly debts: Money;
  readonly held: readonly { readonly asset: 'TRX' | 'USDT'; readonly amount: string; readonly usd?: string }[];
}

export interface ReportFigures {
  readonly revenue: Money;
  readonly refunds: Money;
  readonly compensations: Money;
  readonly topups: Money;
  readonly adjustments: Money;
  readonly chain_cost_trx: string;
  readonly chain_cost_usd: string;
  readonly margin_usd: string;
  readonly transactions: number;
  readonly energy_hours: string;
  readonly bandwidth_hours: string;
  /** Energy and bandwidth delivered without charge to top up running rentals, and the TRX burnt for it. */
  readonly free_top_up_energy: string;
  readonly free_top_up_bandwidth: string;
  readonly free_top_up_cost_trx: string;
  readonly idle_energy_hours: string;
  readonly recovering_energy_hours: string;
}
