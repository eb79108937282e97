// Made of openapi.json, which test/unit/sdk/sdk.test.ts compares. Integers are whole numbers up to 2^53 - 1; times are ISO 8601 in UTC.

export interface ActivationRequest {
  /** The address to activate. */
  readonly address: string;
  /**
   * Your label, to list orders by. Printable characters, with spaces only between others. Several orders may share
   * one. A repetition may send another; the first one stays.
   */
  readonly reference?: string | null | undefined;
  /**
   * Your named texts, shown with the order. Names have printable characters; values have no control characters.
   * Only in requests signed by HMAC. A repetition may send others; the first ones stay.
   */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
}

export interface AutoDelegation {
  /** The ID. The keys of its orders are this ID, _ and a number. */
  readonly id: string;
  /** The address that is kept supplied. */
  readonly address: string;
  /**
   * active: kept supplied. asleep: unused for a long time; waits for its next use. paused: energy cannot be bought
   * now; retried. ended: `until` has passed.
   */
  readonly status: 'active' | 'asleep' | 'paused' | 'ended';
  /** Energy that a refill restores. */
  readonly keep_energy: number;
  /** A refill is bought below this. */
  readonly refill_below: number;
  /** Recipient of the transfer that sizes each refill, as sent. */
  readonly transfer_to?: string | undefined;
  /** Its amount in the token’s smallest unit. */
  readonly transfer_amount?: string | undefined;
  /** The contract of its token. Absent for the reference token. */
  readonly token?: string | undefined;
  /** Energy that the transfer needed when it was last simulated. The levels above are at least this. */
  readonly transfer_energy?: number | undefined;
  /** Duration of each rental, in seconds. */
  readonly duration_sec: number;
  /** Buys nothing above this price. */
  readonly max_sun_per_energy?: number | undefined;
  /** Spending limit for a UTC day. */
  readonly daily_cap_credits: number;
  /** Seconds without use after which it sleeps. */
  readonly idle_after_sec: number;
  /** Chain time after which nothing is bought. */
  readonly until?: string | undefined;
  readonly pause?: {
    /** The error code of the refused purchase, or PRICE_ABOVE_MAX, DURATION_NOT_SOLD or API_KEY_REVOKED. */
    readonly reason: string;
    /** Start of the pause, by the service's clock. */
    readonly since: string;
  } | undefined;
  /** Usable energy at the last check, including deliveries in progress. */
  readonly usable_energy?: number | undefined;
  /** Time of the last check. */
  readonly checked_at?: string | undefined;
  /** Start of the time without use, in chain time. */
  readonly used_at?: string | undefined;
  /** Uses of the address by chain time. Absent before the first such day has ended. */
  readonly measured_uses?: {
    /** UTC days that have ended since the first counted use, at most 30. */
    readonly days: number;
    /** Those of them with a use. */
    readonly used_days: number;
    /** Blocks on these days in which the address called a contract. */
    readonly uses: number;
  } | undefined;
  /** Number of purchases: orders and extensions. */
  readonly purchases: number;
  /** Credits spent on this UTC day. */
  readonly spent_today_credits: number;
  /** Key of a purchase that is not delivered yet. */
  readonly open_order?: string | undefined;
  /** Time of creation. */
  readonly created_at: string;
  /** Time of the last change of settings. */
  readonly changed_at: string;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export type AutoDelegationActRequest = Readonly<Record<string, never>>;

export interface AutoDelegationPage {
  readonly items: readonly AutoDelegation[];
  /** The cursor of the next page. Absent on the last page. */
  readonly next_cursor?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface AutoDelegationRequest {
  /**
   * Energy to keep on the address, from any source. A refill restores this amount, or what transfer_to needs if
   * that is more.
   */
  readonly keep_energy: number;
  /** Buys a refill when less than this is usable. At most `keep_energy`; default 80 % of it. */
  readonly refill_below?: number | undefined;
  /**
   * Seconds of each rental, at most the longest duration on sale. If absent, the service begins with the default
   * and chooses a longer one once the measured uses of the address make that cheaper for each use.
   */
  readonly duration_sec?: number | undefined;
  /** Highest price to pay, in sun per energy. */
  readonly max_sun_per_energy?: number | undefined;
  /** Most credits to spend in a UTC day; 0 buys nothing. */
  readonly daily_cap_credits: number;
  /** Seconds without use after which it lets its rentals end and sleeps. Default 86 400. */
  readonly idle_after_sec?: number | undefined;
  /** Chain time after which nothing is bought. Without end if absent. */
  readonly until?: string | null | undefined;
  /**
   * Recipient of the upcoming token transfer. The rental is sized by simulating exactly this transfer, and refused
   * with the reason when it would fail. Not together with energy.
   */
  readonly transfer_to?: string | null | undefined;
  /** With transfer_to: the amount in the token’s smallest unit, as text. One unit when absent. */
  readonly transfer_amount?: string | null | undefined;
  /** With transfer_to: the contract of the token. The reference token when absent. */
  readonly token?: string | null | undefined;
}

export interface Balance {
  /** The balance in credits; negative in debt. */
  readonly credits_balance: number;
  /** Value in dollars. */
  readonly usd_balance: string;
  /** True if the balance may be negative. */
  readonly is_postpaid: boolean;
  /** Credits that the balance may fall below zero: 0 for prepaid, absent without a limit. */
  readonly debt_limit_credits?: number | undefined;
  /** Credits that can still be spent; absent without a limit. */
  readonly available_credits?: number | undefined;
  /** Time of the reading. */
  readonly timestamp: string;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface CreditsBalance {
  /** The balance in credits; negative in debt. */
  readonly credits_balance: number;
  /** Value in dollars. */
  readonly usd_balance: string;
  /** True if the balance may be negative. */
  readonly is_postpaid: boolean;
  /** Credits that the balance may fall below zero: 0 for prepaid, 9007199254740991 without a limit. */
  readonly debt_limit_credits: number;
  /** True if gas_ops_min_credits can still be spent. */
  readonly can_execute_gas_operations: boolean;
  /** Least credits for an attempt to order. The order itself needs its price. */
  readonly gas_ops_min_credits: number;
  /** Time of the reading. */
  readonly timestamp: string;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export type CreditsBalanceRequest = Readonly<Record<string, never>>;

export interface DepositAddress {
  /** The address to pay to. */
  readonly address: string;
  /** The only accepted network. */
  readonly network: string;
  readonly accepts: readonly {
    /** Accepted asset. */
    readonly asset: 'TRX' | 'USDT';
    /** The only accepted token contract. */
    readonly contract?: string | undefined;
    /** Minimum of a payment. Smaller payments wait until their sum reaches it. */
    readonly minimum: string;
    /**
     * For TRX: true if payments from contracts are detected. While false, pay from an ordinary account: payments
     * of an exchange or wallet by contract are not detected.
     */
    readonly from_contracts?: boolean | undefined;
  }[];
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface DepositPage {
  readonly items: readonly {
    /** The deposit. */
    readonly id: string;
    /** The transaction that paid. */
    readonly txid: string;
    /** A transfer of TRX, an event of the token, or TRX that a contract sent. */
    readonly kind: 'native' | 'log' | 'internal';
    /** Index among the payments of its kind in the transaction's receipt, from 0. */
    readonly position: number;
    /** Asset of the payment. */
    readonly asset: 'TRX' | 'USDT';
    /** Amount in whole units with six digits. */
    readonly amount: string;
    /** Your deposit address. */
    readonly address: string;
    /** Address of the payer. */
    readonly from_address: string;
    /** pending: not credited yet. held: the operator will decide. credited and ignored are final. */
    readonly status: 'pending' | 'held' | 'credited' | 'ignored' | 'dropped';
    /** Reason why it is pending, held or ignored. */
    readonly reason?: string | undefined;
    /** Dollars for one whole unit, in the minute of its block. */
    readonly usd_rate?: string | undefined;
    /** Credited amount, including smaller payments that were credited together with it. */
    readonly credits?: number | undefined;
    /** Block of the payment. */
    readonly block_number: number;
    /** The time of that block. */
    readonly block_timestamp: string;
  }[];
  /** The cursor of the next page. Absent on the last page. */
  readonly next_cursor?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface EnergyOrder {
  /** The number of the order. */
  readonly id: number;
  /** The Idempotency-Key it was bought with. */
  readonly idempotency_key: string;
  /**
   * delivered: the energy arrived. refused: it will never arrive, and the charge was refunded. unresolved:
   * charged, outcome unknown; repeat with the same Idempotency-Key, never with another.
   */
  readonly status: 'delivered' | 'unresolved' | 'refused';
  /** Receiver of the energy. */
  readonly receive_address: string;
  /** Energy bought. */
  readonly energy: number;
  /** Units of bandwidth bought beside the energy. Absent without. */
  readonly bandwidth?: number | undefined;
  /** Seconds of rental. */
  readonly duration_sec: number;
  /** Price in sun. */
  readonly price_sun: number;
  /** The same in TRX. */
  readonly price_trx: string;
  /** Value of the credits in dollars. Absent for a refused order. */
  readonly price_usd?: string | undefined;
  /** Credits charged. Absent for a refused order. */
  readonly credits?: number | undefined;
  /** Dollars per TRX used for the price. Absent for a refused order. */
  readonly trx_usd?: string | undefined;
  /**
   * The parts of the price: kind, amount, price_sun and credits of each, which add up to those of the whole.
   * Absent for energy alone.
   */
  readonly items?: readonly OrderItem[] | undefined;
  /** Energy at delivery; never less than energy. */
  readonly delivered_energy?: number | undefined;
  /** Units of bandwidth in the delivering block; never less than bandwidth. */
  readonly delivered_bandwidth?: number | undefined;
  /** Credits of a refunded order that were not returned: its activation was made and is final. Otherwise absent. */
  readonly kept_credits?: number | undefined;
  /** As sent, as in the quote, or as a refill counts them. Otherwise absent. */
  readonly expected_uses?: number | undefined;
  /** Price divided by expected_uses, in sun, rounded up. Absent without them. */
  readonly price_per_use_sun?: number | undefined;
  /**
   * The least fee_limit of a transaction that spends all of the energy, at the energy price of the order. The
   * chain stops a call at its fee_limit, even when rented energy is left.
   */
  readonly fee_limit_sun?: number | undefined;
  /**
   * Present when spending all of the energy in one transaction needs a higher fee_limit than the chain accepts
   * (getMaxFeeLimit). fee_limit_sun is then the chain's highest, and the energy takes several transactions.
   */
  readonly fee_limit_capped?: true | undefined;
  /** True if the outcome is final: solid on chain, or refused. */
  readonly settled: boolean;
  /** True if the outcome is unknown or the operator should check the order. */
  readonly needs_attention: boolean;
  /** Reason of a refused or unresolved order. */
  readonly error?: string | undefined;
  /** Code of error: SUPPLIER_REFUSED or SUPPLIER_UNKNOWN. */
  readonly error_code?: string | undefined;
  /** Time of the charge, by the service's clock. */
  readonly created_at: string;
  /** Time of the delivering block, by the chain's clock. */
  readonly delivered_at?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface EnergyOrderRequest {
  /** The Idempotency-Key of the rental. */
  readonly key: string;
}

export type EnergyRentRequest = {
  /** Receiver of the energy: the sender of the upcoming transfer. Optional with a quote_ref. */
  readonly receive_address?: string | null | undefined;
  /**
   * Energy to buy. If absent, sized by the receiver’s own token balance, as with quotes. Small amounts may not be
   * worth renting, as with quotes.
   */
  readonly energy?: number | undefined;
  /** Seconds of rental, at most the longest duration on sale. */
  readonly duration_sec?: number | undefined;
  /**
   * The number of times that the wallet will spend the energy during the rental: at most one more than its whole
   * days, since used energy recovers within 24 hours. The rental must cost less than burning TRX that often.
   */
  readonly expected_uses?: number | undefined;
  /**
   * Units of bandwidth to buy beside the energy, for the same duration. Refused where none is on sale. Has a
   * minimum price of its own.
   */
  readonly bandwidth?: number | undefined;
  /** True to activate the receiver before anything is delegated to it. Refused if it exists already. */
  readonly activate?: boolean | null | undefined;
  /** A quote to redeem once, at its price. */
  readonly quote_ref?: string | null | undefined;
  /**
   * Recipient of the upcoming token transfer. The rental is sized by simulating exactly this transfer, and refused
   * with the reason when it would fail. Not together with energy.
   */
  readonly transfer_to?: string | null | undefined;
  /** With transfer_to: the amount in the token’s smallest unit, as text. One unit when absent. */
  readonly transfer_amount?: string | null | undefined;
  /** With transfer_to: the contract of the token. The reference token when absent. */
  readonly token?: string | null | undefined;
} & ({ readonly quote_ref: string } | { readonly receive_address: string });

export interface Error {
  readonly ok: false;
  /** The error code. */
  readonly error:
    | 'ADDRESS_NOT_ALLOWED'
    | 'BAD_AUTH_HEADERS'
    | 'INVALID_REQUEST'
    | 'IDEMPOTENCY_KEY_REQUIRED'
    | 'QUOTE_REQUIRED'
    | 'INVALID_SIGNATURE'
    | 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE'
    | 'SIGNATURE_REPLAYED'
    | 'INSUFFICIENT_CREDITS'
    | 'SPEND_CAP_REACHED'
    | 'PROJECT_FROZEN'
    | 'SOURCE_NOT_ALLOWED'
    | 'HMAC_REQUIRED'
    | 'KEY_SCOPE'
    | 'NOT_FOUND'
    | 'QUOTE_NOT_FOUND'
    | 'METHOD_NOT_ALLOWED'
    | 'REQUEST_TIMEOUT'
    | 'NOT_WORTH_RENTING'
    | 'QUOTE_EXPIRED'
    | 'QUOTE_ALREADY_USED'
    | 'QUOTE_MISMATCH'
    | 'LIMIT_REACHED'
    | 'NOT_EXTENDABLE'
    | 'RECEIVER_NOT_ACTIVATED'
    | 'ALREADY_ACTIVATED'
    | 'EVENTS_EXPIRED'
    | 'PAYLOAD_TOO_LARGE'
    | 'UNSUPPORTED_MEDIA_TYPE'
    | 'IDEMPOTENCY_KEY_REUSED'
    | 'RECEIVER_NOT_SUPPORTED'
    | 'TRANSFER_WOULD_FAIL'
    | 'RATE_LIMITED'
    | 'HEADERS_TOO_LARGE'
    | 'INTERNAL_ERROR'
    | 'TOPUP_NOT_CONFIGURED'
    | 'SIMULATION_FAILED'
    | 'AUTH_UNAVAILABLE'
    | 'CHAIN_UNAVAILABLE'
    | 'CAPACITY_UNAVAILABLE'
    | 'SERVICE_UNAVAILABLE';
  /** One sentence the caller can act on. */
  readonly msg: string;
  /**
   * On a purchase with an unknown outcome (503, 500): repeat it with this Idempotency-Key, even if you sent none.
   * You cannot send a key that begins with nonce_: read GET /v1/orders/{key} instead.
   */
  readonly key?: string | undefined;
  /** With SIGNATURE_TIMESTAMP_OUT_OF_RANGE: Unix seconds to sign again with. */
  readonly server_time?: number | undefined;
  /** With EVENTS_EXPIRED: the position of the oldest event that is kept. */
  readonly oldest_position?: number | undefined;
  /**
   * With INSUFFICIENT_CREDITS and SPEND_CAP_REACHED: the charge of the refused purchase. Absent if the limit
   * changed meanwhile.
   */
  readonly needed_credits?: number | undefined;
  /** With needed_credits: what the balance, the debt limit or the daily cap leaves. */
  readonly available_credits?: number | undefined;
  /** ID of the request. Quote it when you ask for support. */
  readonly request_id: string;
  /** Page and place that explain the error code. Without an origin it is relative to the URL of the request. */
  readonly doc_url: string;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
  /** With INVALID_REQUEST: every faulty member. */
  readonly details?: readonly {
    readonly field: string;
    readonly msg: string;
  }[] | undefined;
}

export interface EventPage {
  readonly items: readonly {
    /** Permanent ID of the event, the same in every delivery. */
    readonly id: string;
    /** Type of the event. */
    readonly type:
      | 'order.created'
      | 'order.delivered'
      | 'order.settled'
      | 'order.unresolved'
      | 'order.refunded'
      | 'order.reverted'
      | 'order.extended'
      | 'order.ended'
      | 'order.ended_early'
      | 'order.compensated'
      | 'deposit.pending'
      | 'deposit.credited'
      | 'deposit.held'
      | 'deposit.ignored'
      | 'deposit.dropped'
      | 'balance.low'
      | 'auto_delegation.paused'
      | 'auto_delegation.resumed'
      | 'statement.ready'
      | 'key.created'
      | 'key.rotated'
      | 'key.revoked'
      | 'project.frozen'
      | 'project.unfrozen'
      | 'webhook.created'
      | 'webhook.changed'
      | 'webhook.failing'
      | 'webhook.disabled'
      | 'log.restarted';
    /** Position in the project's log. Positions rise and may have gaps. */
    readonly position: number;
    /** Time of the event, by the service's clock. */
    readonly timestamp: string;
    /** Time of its block, if it has one. */
    readonly chain_timestamp?: string | undefined;
    /** Present for test projects only. */
    readonly test?: true | undefined;
    readonly data: {
      readonly order?: Order | undefined;
      readonly key?: {
        /** The API key; not its secret. */
        readonly id: string;
        /** Name of the API key. */
        readonly name: string;
        /** True for the primary key. */
        readonly is_primary: boolean;
        readonly scopes: readonly ('read' | 'quote' | 'order' | 'manage')[];
        /** End of the previous secret's validity. */
        readonly previous_until?: string | undefined;
      } | undefined;
      readonly project?: {
        /** The project. */
        readonly id: string;
        /** Name of the project. */
        readonly name: string;
        /** True if the project was frozen at that time. */
        readonly frozen: boolean;
      } | undefined;
      readonly deposit?: {
        /** The deposit. */
        readonly id: string;
        /** The transaction that paid. */
        readonly txid: string;
        /** A transfer of TRX, an event of the token, or TRX that a contract sent. */
        readonly kind: 'native' | 'log' | 'internal';
        /** Index among the payments of its kind in the transaction's receipt, from 0. */
        readonly position: number;
        /** Asset of the payment. */
        readonly asset: 'TRX' | 'USDT';
        /** Amount in whole units with six digits. */
        readonly amount: string;
        /** Your deposit address. */
        readonly address: string;
        /** Address of the payer. */
        readonly from_address: string;
        /** pending: not credited yet. held: the operator will decide. credited and ignored are final. */
        readonly status: 'pending' | 'held' | 'credited' | 'ignored' | 'dropped';
        /** Reason why it is pending, held or ignored. */
        readonly reason?: string | undefined;
        /** Dollars for one whole unit, in the minute of its block. */
        readonly usd_rate?: string | undefined;
        /** Credited amount, including smaller payments that were credited together with it. */
        readonly credits?: number | undefined;
        /** Block of the payment. */
        readonly block_number: number;
        /** The time of that block. */
        readonly block_timestamp: string;
      } | undefined;
      readonly auto_delegation?: AutoDelegation | undefined;
      readonly balance?: {
        /** The balance in credits after the change; negative in debt. */
        readonly credits_balance: number;
        /** Value in dollars. */
        readonly usd_balance: string;
        /** Threshold below which the balance fell. */
        readonly low_balance_credits: number;
      } | undefined;
      readonly statement?: Statement | undefined;
      readonly webhook?: {
        /** The webhook. */
        readonly id: string;
        /** The URL without path and query, which may contain a secret token. */
        readonly url: string;
        readonly types?: readonly string[] | undefined;
        /** The owner's description. */
        readonly description: string;
        /** True if events are sent to it. */
        readonly enabled: boolean;
        /** Reason why it is disabled. */
        readonly disabled_reason?: string | undefined;
        /** True if it was deleted. */
        readonly deleted: boolean;
      } | undefined;
    };
  }[];
  /** Send it as `after` next. */
  readonly last_position: number;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

/** Lines of text: `id: 119`, `data: {…}`, and an empty line after each event. */
export type EventStream = string;

export interface Explanation {
  /** The transaction, in lower case. */
  readonly txid: string;
  /** Outcome and weightiest cause in one sentence. */
  readonly sentence: string;
  /** True once its block is final. Until then the answer may change. */
  readonly solid: boolean;
  /** The sender, which pays for the transaction. */
  readonly owner_address: string;
  /** The address of your orders that takes part in it. */
  readonly receive_address: string;
  /** The called contract. Only of a call. */
  readonly contract_address?: string | undefined;
  /** The recipient. Only of a transfer or account creation. */
  readonly to_address?: string | undefined;
  /** TRON’s result. Absent while it is in no block. */
  readonly result?: string | undefined;
  /** Its block. Absent while it is in no block. */
  readonly block_number?: number | undefined;
  /** Time of its block. Absent while it is in no block. */
  readonly block_timestamp?: string | undefined;
  /** All energy of the call (energy_usage_total). Absent while it is in no block. */
  readonly energy_used?: number | undefined;
  /** The dynamic part of energy_used (energy_penalty_total). Absent while it is in no block. */
  readonly energy_penalty?: number | undefined;
  /** The part from staked or rented energy of the sender (energy_usage). Absent while it is in no block. */
  readonly staked_energy?: number | undefined;
  /** The part that was paid by burning TRX. Absent while it is in no block. */
  readonly burnt_energy?: number | undefined;
  /** The part that the deployer of the contract paid (origin_energy_usage). Absent while it is in no block. */
  readonly deployer_energy?: number | undefined;
  /** Price of one energy in sun then, where it is known. */
  readonly energy_fee_sun?: number | undefined;
  /** Burnt for energy, in sun (energy_fee). Absent while it is in no block. */
  readonly energy_burn_sun?: number | undefined;
  /** Free or staked bandwidth used (net_usage). Absent while it is in no block. */
  readonly bandwidth_used?: number | undefined;
  /** Burnt for bandwidth, in sun (net_fee). Absent while it is in no block. */
  readonly bandwidth_burn_sun?: number | undefined;
  /** Burnt to create an account, in sun, its bandwidth included. Absent while it is in no block. */
  readonly activation_burn_sun?: number | undefined;
  /** Everything that was burnt, in sun (fee). Absent while it is in no block. */
  readonly total_burn_sun?: number | undefined;
  /** The fee_limit that the sender signed, in sun. Only of calls. */
  readonly fee_limit_sun?: number | undefined;
  /** Proven causes, the weightiest first; never empty. */
  readonly causes: readonly {
    /** Stable code of the cause. */
    readonly code:
      | 'FEE_LIMIT_TOO_LOW'
      | 'CALL_REVERTED'
      | 'CALL_FAILED'
      | 'SENT_FROM_ANOTHER_ADDRESS'
      | 'SENT_BEFORE_DELIVERY'
      | 'SENT_AFTER_END'
      | 'NO_RENTAL'
      | 'ENERGY_ALREADY_USED'
      | 'RECIPIENT_WITHOUT_TOKEN'
      | 'DYNAMIC_ENERGY_RISEN'
      | 'RENTAL_TOO_SMALL'
      | 'BALANCE_TOO_LOW'
      | 'BANDWIDTH_BURNT'
      | 'ACTIVATION_BURNT'
      | 'OTHER_FEES_BURNT'
      | 'CAUSE_NOT_PROVEN'
      | 'NOTHING_BURNT'
      | 'NOT_IN_A_BLOCK';
    /** The cause in one sentence. */
    readonly sentence: string;
    /** The next step of the caller. */
    readonly next: string;
    /** TRX that it burnt, in sun. Several causes of one burn share it. */
    readonly burn_sun: number;
    /** Idempotency-Key of the order concerned, if it is one. */
    readonly order_key?: string | undefined;
    /** An earlier transaction that used the energy, if it was found. */
    readonly txid?: string | undefined;
  }[];
  /** Rentals of the sender around the transaction, at most ten. */
  readonly rentals: readonly {
    /** Idempotency-Key of the order. */
    readonly order_key: string;
    /** Energy delegated to the sender when the transaction ran. */
    readonly running_energy: number;
    /** Energy that arrived after it, or has not arrived. */
    readonly later_energy: number;
    /** Energy that had been taken back before it. */
    readonly ended_energy: number;
    /** First block with energy that arrived later, if there is one. */
    readonly arrived_block?: number | undefined;
    /** Last block that had taken energy back, if there is one. */
    readonly ended_block?: number | undefined;
  }[];
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface ExtensionRequest {
  /** Seconds of rental, at most the longest duration on sale. */
  readonly duration_sec: number;
  /**
   * The number of times that the wallet will spend the energy during the rental: at most one more than its whole
   * days, since used energy recovers within 24 hours. The rental must cost less than burning TRX that often.
   */
  readonly expected_uses?: number | undefined;
}

export interface LedgerPage {
  readonly items: readonly {
    /** The entry. */
    readonly id: string;
    /**
     * `charge`: Payment of an order or an extension. `refund`: Return of the charge of an order that could not be
     * fulfilled, except for an activation that is final. `compensation`: Credits given for an order that was not
     * delivered as sold. `deposit`: Credits bought on chain. `topup`: Paid credits that the operator added.
     * `adjustment`: Correction of the balance by the operator, or return of a deposit.
     */
    readonly kind:
      | 'charge'
      | 'refund'
      | 'compensation'
      | 'deposit'
      | 'topup'
      | 'adjustment';
    /** Description for people. */
    readonly description: string;
    /** Change of the balance; negative for a payment. */
    readonly credits: number;
    /** Time of the entry. */
    readonly created_at: string;
    /** Key of the order. */
    readonly order_key?: string | undefined;
    /** ID of the deposit. */
    readonly deposit?: string | undefined;
    /** Asset of `usd_rate`. */
    readonly asset?: 'TRX' | 'USDT' | undefined;
    /** For a deposit: the paid amount, in whole units of the asset. */
    readonly amount?: string | undefined;
    /** Dollars for one whole unit of the asset, at the charge or credit. */
    readonly usd_rate?: string | undefined;
    /** The transactions that delivered the charged order, once they are final; for a deposit, the payment. */
    readonly txids?: readonly string[] | undefined;
    /** Reference of the operator. */
    readonly reference?: string | undefined;
  }[];
  /** The cursor of the next page; send the same `from` and `to`. Absent on the last page. */
  readonly next_cursor?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface Limits {
  /** Bounds of `energy` in a request. */
  readonly energy: {
    /** Least energy of a request. */
    readonly min: number;
    /** Most energy of a request. */
    readonly max: number;
  };
  /** Bounds of `duration_sec` in a request. */
  readonly duration_sec: {
    /** The shortest rental, in seconds. */
    readonly min: number;
    /** The longest rental, in seconds. */
    readonly max: number;
    /** Default, in seconds. */
    readonly default: number;
  };
  /** Current cost of burning TRX for one energy, in sun. */
  readonly burn_price_sun_per_energy: number;
  /** The same for one unit of bandwidth. Absent where none is on sale. */
  readonly burn_price_sun_per_bandwidth?: number | undefined;
  /** Minimum price of a rental, in sun. */
  readonly price_floor_sun: number;
  /** The price table, shortest duration first, with the amounts on sale now. */
  readonly durations: readonly {
    /** Longest rental at this price. A duration takes the first row that covers it. */
    readonly max_duration_sec: number;
    /** Sun per energy. A rental costs at least price_floor_sun. */
    readonly sun_per_energy: number;
    /** The fewest expected_uses by which it is worth renting for so long; absent while none are enough. */
    readonly min_expected_uses?: number | undefined;
    /** The most expected_uses of a rental of this duration. */
    readonly max_expected_uses: number;
    /** Least energy on sale. Absent while a rental of this duration costs no less than burning TRX. */
    readonly min_energy?: number | undefined;
    /** Most energy that one order for max_duration_sec can buy now; 0 if none. */
    readonly max_energy: number;
    /** Sun per unit of bandwidth, which costs at least price_floor_sun. Absent where none is on sale. */
    readonly sun_per_bandwidth?: number | undefined;
    /** Least bandwidth worth renting by max_expected_uses. Absent while none is. */
    readonly min_bandwidth?: number | undefined;
    /** Most bandwidth that one order for max_duration_sec can buy now beside energy; 0 if none. */
    readonly max_bandwidth?: number | undefined;
  }[];
  /** The project's rate limits. Orders and their reads have none. */
  readonly rate_limits: {
    /** Limit for quotes, simulations and explanations together. */
    readonly quotes: {
      /** Requests allowed in a window. */
      readonly requests: number;
      /** Seconds of a window. It begins with its first request. */
      readonly window_sec: number;
    };
    /** Limit for requests other than quotes, simulations, explanations, orders and reads of orders. */
    readonly general: {
      /** Requests allowed in a window. */
      readonly requests: number;
      /** Seconds of a window. It begins with its first request. */
      readonly window_sec: number;
    };
  };
  /** Time of the answer. The pool's free energy was read at most a second before. */
  readonly timestamp: string;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface Order {
  /** The number of the order. */
  readonly id: number;
  /** The order's key: your Idempotency-Key, or one that the service made. */
  readonly key: string;
  /** The same as key. */
  readonly idempotency_key: string;
  /** Kind of purchase. */
  readonly kind: 'rental' | 'activation';
  /**
   * reserved: charged, nothing sent. placed: a transaction may have been sent. delivered: the transaction is in a
   * block. unresolved: outcome unknown; resolves itself. refunded: it will never be delivered, and the charge was
   * refunded.
   */
  readonly status:
    | 'reserved'
    | 'placed'
    | 'delivered'
    | 'unresolved'
    | 'refunded';
  /** Receiver of the energy, or the activated address. */
  readonly receive_address: string;
  /** Energy bought. Rentals only. */
  readonly energy?: number | undefined;
  /** Units of bandwidth bought beside the energy. Absent without. */
  readonly bandwidth?: number | undefined;
  /** Seconds of rental. Rentals only. */
  readonly duration_sec?: number | undefined;
  /** As sent, as in the quote, or as a refill counts them. Otherwise absent. */
  readonly expected_uses?: number | undefined;
  /** Price in sun. */
  readonly price_sun: number;
  /** The same in TRX. */
  readonly price_trx: string;
  /** Value of the charged credits in dollars. */
  readonly price_usd: string;
  /** Credits charged. */
  readonly credits: number;
  /** Dollars per TRX used for the price. */
  readonly trx_usd: string;
  /**
   * The parts of the price: kind, amount, price_sun and credits of each, which add up to those of the whole.
   * Absent for energy alone.
   */
  readonly items?: readonly OrderItem[] | undefined;
  /** Price divided by expected_uses, in sun, rounded up. Absent without them. */
  readonly price_per_use_sun?: number | undefined;
  /**
   * The least fee_limit of a transaction that spends all of the energy, at the energy price of the order. The
   * chain stops a call at its fee_limit, even when rented energy is left.
   */
  readonly fee_limit_sun?: number | undefined;
  /**
   * Present when spending all of the energy in one transaction needs a higher fee_limit than the chain accepts
   * (getMaxFeeLimit). fee_limit_sun is then the chain's highest, and the energy takes several transactions.
   */
  readonly fee_limit_capped?: true | undefined;
  /**
   * Energy in the delivering block; never less than energy. During the rental, a shortfall of more than 1 % is
   * topped up if the pool has room, which adds an entry to delegations.
   */
  readonly delivered_energy?: number | undefined;
  /** Units of bandwidth in the delivering block; never less than bandwidth. */
  readonly delivered_bandwidth?: number | undefined;
  /** Credits of a refunded order that were not returned: its activation was made and is final. Otherwise absent. */
  readonly kept_credits?: number | undefined;
  /** True if final: solid on chain, or refunded. Poll for this. */
  readonly settled: boolean;
  /** True if the operator should check the order. The service keeps resolving it. */
  readonly needs_attention: boolean;
  /** Reason of a refunded or unresolved order. */
  readonly error?: string | undefined;
  /** Code of error: SUPPLIER_REFUSED or SUPPLIER_UNKNOWN. */
  readonly error_code?: string | undefined;
  /** Your label, to list orders by. */
  readonly reference?: string | undefined;
  /** Your texts by name. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Time of the charge, by the service's clock. */
  readonly created_at: string;
  /** Time of the delivering block, by the chain's clock. */
  readonly delivered_at?: string | undefined;
  /** End of the rental, by the chain's clock. */
  readonly ends_at?: string | undefined;
  /** Time when the energy was reclaimed, by the chain's clock. */
  readonly reclaimed_at?: string | undefined;
  /** Transaction by which another party ended a delegation of the order early. */
  readonly ended_early_by?: string | undefined;
  /** Extensions of the rental. Price, credits and duration_sec of the order are those of its first purchase. */
  readonly extensions?: readonly {
    /** The Idempotency-Key of the purchase. */
    readonly key: string;
    /** Seconds added to the rental. */
    readonly duration_sec: number;
    /** Uses in the added time, as sent or as a refill counts them. */
    readonly expected_uses?: number | undefined;
    /** Credits charged for the extension. */
    readonly credits: number;
    /** Price of the extension divided by expected_uses, in sun, rounded up. Absent without them. */
    readonly price_per_use_sun?: number | undefined;
    /** As fee_limit_sun of the order, at the energy price of the extension. */
    readonly fee_limit_sun?: number | undefined;
    /**
     * Present when spending all of the energy in one transaction needs a higher fee_limit than the chain accepts
     * (getMaxFeeLimit). fee_limit_sun is then the chain's highest, and the energy takes several transactions.
     */
    readonly fee_limit_capped?: true | undefined;
    /** Time of the charge, by the service's clock. */
    readonly at: string;
  }[] | undefined;
  /** Compensations for an order that was not delivered as sold; at most the cost of the order and its extensions. */
  readonly compensations?: readonly {
    /** Credits returned. */
    readonly credits: number;
    /** Time, by the service's clock. */
    readonly at: string;
    /** Reason. */
    readonly reason: string;
  }[] | undefined;
  /** The delegations of a rental, including those added during it. */
  readonly delegations?: readonly {
    /** The pool's wallet that delegates. */
    readonly owner_address: string;
    /** Transaction that delegates. */
    readonly txid: string;
    /** Present for a delegation of bandwidth. Any other delegates energy. */
    readonly resource?: 'BANDWIDTH' | undefined;
    /** Delivered energy, once its block is known. It changes with the total stake of the network. */
    readonly energy?: number | undefined;
    /** Delivered units of bandwidth, once its block is known. */
    readonly bandwidth?: number | undefined;
    /** The stake delegated, in sun. */
    readonly amount_sun: number;
    /** Block of the transaction, once included. */
    readonly block_number?: number | undefined;
    /** Transaction that reclaims the delegation, once sent. */
    readonly reclaim_txid?: string | undefined;
  }[] | undefined;
  /**
   * The use of the receiver, from solid blocks. Absent until a use was seen, in events, and for test projects. No
   * charge depends on it.
   */
  readonly measured_use?: {
    /** Energy that the receiver's calls took from stake while the rental ran. */
    readonly used_energy: number;
    /** Number of these calls. */
    readonly calls: number;
    /** The newest block with a use. */
    readonly last_block: number;
    /**
     * Cost of burning TRX for used_energy at the energy price of the order, minus the price of its energy and
     * extensions. Negative while little was used. Absent if the energy price is not recorded.
     */
    readonly saved_sun?: number | undefined;
    /** The same in TRX. */
    readonly saved_trx?: string | undefined;
    /** True once every block of the rental was read: these figures no longer change. */
    readonly is_final: boolean;
  } | undefined;
  /** Transaction of the activation, once known. */
  readonly txid?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface OrderItem {
  /** The part. */
  readonly kind: 'energy' | 'bandwidth' | 'activation';
  /** Energy, units of bandwidth, or 1 activation. */
  readonly amount: number;
  /** Its share of price_sun. */
  readonly price_sun: number;
  /** Its share of credits. */
  readonly credits: number;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface OrderPage {
  readonly items: readonly Order[];
  /** The cursor of the next page. Absent on the last page. */
  readonly next_cursor?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export type OrderRequest = {
  /**
   * Your label, to list orders by. Printable characters, with spaces only between others. Several orders may share
   * one. A repetition may send another; the first one stays.
   */
  readonly reference?: string | null | undefined;
  /**
   * Your named texts, shown with the order. Names have printable characters; values have no control characters.
   * Only in requests signed by HMAC. A repetition may send others; the first ones stay.
   */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /**
   * Recipient of the upcoming token transfer. The rental is sized by simulating exactly this transfer, and refused
   * with the reason when it would fail. Not together with energy.
   */
  readonly transfer_to?: string | null | undefined;
  /** With transfer_to: the amount in the token’s smallest unit, as text. One unit when absent. */
  readonly transfer_amount?: string | null | undefined;
  /** With transfer_to: the contract of the token. The reference token when absent. */
  readonly token?: string | null | undefined;
  /** Receiver of the energy: the sender of the upcoming transfer. Optional with a quote_ref. */
  readonly receive_address?: string | null | undefined;
  /**
   * Energy to buy. If absent, sized by the receiver’s own token balance, as with quotes. Small amounts may not be
   * worth renting, as with quotes.
   */
  readonly energy?: number | undefined;
  /** Seconds of rental, at most the longest duration on sale. */
  readonly duration_sec?: number | undefined;
  /**
   * The number of times that the wallet will spend the energy during the rental: at most one more than its whole
   * days, since used energy recovers within 24 hours. The rental must cost less than burning TRX that often.
   */
  readonly expected_uses?: number | undefined;
  /**
   * Units of bandwidth to buy beside the energy, for the same duration. Refused where none is on sale. Has a
   * minimum price of its own.
   */
  readonly bandwidth?: number | undefined;
  /** True to activate the receiver before anything is delegated to it. Refused if it exists already. */
  readonly activate?: boolean | null | undefined;
  /** A quote to redeem once, at its price. */
  readonly quote_ref?: string | null | undefined;
} & ({ readonly quote_ref: string } | { readonly receive_address: string });

export interface PricedAutoDelegation {
  /** The ID. The keys of its orders are this ID, _ and a number. */
  readonly id: string;
  /** The address that is kept supplied. */
  readonly address: string;
  /**
   * active: kept supplied. asleep: unused for a long time; waits for its next use. paused: energy cannot be bought
   * now; retried. ended: `until` has passed.
   */
  readonly status: 'active' | 'asleep' | 'paused' | 'ended';
  /** Energy that a refill restores. */
  readonly keep_energy: number;
  /** A refill is bought below this. */
  readonly refill_below: number;
  /** Recipient of the transfer that sizes each refill, as sent. */
  readonly transfer_to?: string | undefined;
  /** Its amount in the token’s smallest unit. */
  readonly transfer_amount?: string | undefined;
  /** The contract of its token. Absent for the reference token. */
  readonly token?: string | undefined;
  /** Energy that the transfer needed when it was last simulated. The levels above are at least this. */
  readonly transfer_energy?: number | undefined;
  /** Duration of each rental, in seconds. */
  readonly duration_sec: number;
  /** Buys nothing above this price. */
  readonly max_sun_per_energy?: number | undefined;
  /** Spending limit for a UTC day. */
  readonly daily_cap_credits: number;
  /** Seconds without use after which it sleeps. */
  readonly idle_after_sec: number;
  /** Chain time after which nothing is bought. */
  readonly until?: string | undefined;
  readonly pause?: {
    /** The error code of the refused purchase, or PRICE_ABOVE_MAX, DURATION_NOT_SOLD or API_KEY_REVOKED. */
    readonly reason: string;
    /** Start of the pause, by the service's clock. */
    readonly since: string;
  } | undefined;
  /** Usable energy at the last check, including deliveries in progress. */
  readonly usable_energy?: number | undefined;
  /** Time of the last check. */
  readonly checked_at?: string | undefined;
  /** Start of the time without use, in chain time. */
  readonly used_at?: string | undefined;
  /** Uses of the address by chain time. Absent before the first such day has ended. */
  readonly measured_uses?: {
    /** UTC days that have ended since the first counted use, at most 30. */
    readonly days: number;
    /** Those of them with a use. */
    readonly used_days: number;
    /** Blocks on these days in which the address called a contract. */
    readonly uses: number;
  } | undefined;
  /** Number of purchases: orders and extensions. */
  readonly purchases: number;
  /** Credits spent on this UTC day. */
  readonly spent_today_credits: number;
  /** Key of a purchase that is not delivered yet. */
  readonly open_order?: string | undefined;
  /** Time of creation. */
  readonly created_at: string;
  /** Time of the last change of settings. */
  readonly changed_at: string;
  /** Cost of a day without use at current prices. */
  readonly idle_cost_credits_per_day?: number | undefined;
  /** Cost of a refill from `refill_below` at current prices. */
  readonly cost_per_refill_credits?: number | undefined;
  /**
   * The least fee_limit of a transaction that spends `keep_energy`, at the current energy price. The chain stops a
   * call at its fee_limit, even when rented energy is left.
   */
  readonly fee_limit_sun?: number | undefined;
  /**
   * Present when spending all of the energy in one transaction needs a higher fee_limit than the chain accepts
   * (getMaxFeeLimit). fee_limit_sun is then the chain's highest, and the energy takes several transactions.
   */
  readonly fee_limit_capped?: true | undefined;
  /** Duration of the next purchase, chosen by the service. Absent if the request named duration_sec. */
  readonly chosen_duration_sec?: number | undefined;
  /**
   * The rows of the price table that it can buy `keep_energy` by, shortest first: on sale, worth renting for daily
   * use, and not above max_sun_per_energy. Absent while prices are unknown.
   */
  readonly durations?: readonly {
    /** Seconds of the rental. */
    readonly duration_sec: number;
    /** Sun per energy, from the price table. */
    readonly sun_per_energy: number;
    /** The number of times that the energy will be spent: on each day with a use as far as measured, at least once. */
    readonly expected_uses: number;
    /** Price of `keep_energy` in sun. */
    readonly price_sun: number;
    /** price_sun divided by expected_uses, rounded up. */
    readonly price_per_use_sun: number;
  }[] | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface Quote {
  /** The quote reference; pass it to an order as quote_ref. */
  readonly ref: string;
  /** Receiver of the energy, as sent. */
  readonly receive_address: string;
  /** Energy that will be bought. */
  readonly energy: number;
  /** Units of bandwidth that will be bought. Absent without. */
  readonly bandwidth?: number | undefined;
  /** Seconds of rental. */
  readonly duration_sec: number;
  /** As sent. Absent when it was not. */
  readonly expected_uses?: number | undefined;
  /** Price in sun. Authoritative. */
  readonly price_sun: number;
  /** The same in TRX. */
  readonly price_trx: string;
  /** The same in dollars at trx_usd. Absent when no fresh rate is known. */
  readonly price_usd?: string | undefined;
  /** Price of an order at this quote, in credits. */
  readonly credits: number;
  /** Dollars per TRX. Absent when no fresh rate is known. */
  readonly trx_usd?: string | undefined;
  /**
   * The parts of the price: kind, amount, price_sun and credits of each, which add up to those of the whole.
   * Absent for energy alone.
   */
  readonly items?: readonly OrderItem[] | undefined;
  /** Price divided by expected_uses, in sun, rounded up. Absent when that was not sent. */
  readonly price_per_use_sun?: number | undefined;
  /**
   * The least fee_limit of a transaction that spends all of the energy. The chain stops a call at its fee_limit,
   * even when rented energy is left.
   */
  readonly fee_limit_sun: number;
  /**
   * Present when spending all of the energy in one transaction needs a higher fee_limit than the chain accepts
   * (getMaxFeeLimit). fee_limit_sun is then the chain's highest, and the energy takes several transactions.
   */
  readonly fee_limit_capped?: true | undefined;
  /**
   * Based on the receiver's own token balance, not on the recipient of its transfer. unknown: the request named an
   * energy or a transfer, or the balance was not read.
   */
  readonly recipient_state: 'warm' | 'cold' | 'unknown';
  /** Present when the receiver was read and is not on chain yet. */
  readonly needs_activation?: true | undefined;
  /** Current cost of burning TRX for the same energy, once or expected_uses times, in sun. */
  readonly burn_price_sun: number;
  /** The same in TRX. */
  readonly burn_price_trx: string;
  /** The same in dollars. Absent when no fresh rate is known. */
  readonly burn_price_usd?: string | undefined;
  /** The same in credits. */
  readonly burn_price_credits: number;
  /** Burn price minus rental price, in TRX. */
  readonly saving_trx: string;
  /** The same in dollars. Absent when no fresh rate is known. */
  readonly saving_usd?: string | undefined;
  /** The same in credits. */
  readonly saving_credits: number;
  /** End of the price hold. */
  readonly expires_at: string;
  /** Seconds for which the price is held, at the time of the answer. */
  readonly expires_in_sec: number;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface QuoteRequest {
  /** Spender of the energy: the sender of the upcoming transfer, not the token recipient. */
  readonly receive_address: string;
  /**
   * Energy to buy, as POST /v1/simulate returns it. If absent, sized by the receiver’s own token balance, not by
   * the recipient of its transfer. Every rental has a minimum price, so small amounts are not worth renting; the
   * refusal names the smallest one that is.
   */
  readonly energy?: number | undefined;
  /** Seconds of rental, at most the longest duration on sale. */
  readonly duration_sec?: number | undefined;
  /**
   * The number of times that the wallet will spend the energy during the rental: at most one more than its whole
   * days, since used energy recovers within 24 hours. The rental must cost less than burning TRX that often.
   */
  readonly expected_uses?: number | undefined;
  /**
   * Units of bandwidth to buy beside the energy, for the same duration. Refused where none is on sale. Has a
   * minimum price of its own.
   */
  readonly bandwidth?: number | undefined;
  /** True to activate the receiver before anything is delegated to it. Refused if it exists already. */
  readonly activate?: boolean | null | undefined;
  /**
   * Recipient of the upcoming token transfer. The rental is sized by simulating exactly this transfer, and refused
   * with the reason when it would fail. Not together with energy.
   */
  readonly transfer_to?: string | null | undefined;
  /** With transfer_to: the amount in the token’s smallest unit, as text. One unit when absent. */
  readonly transfer_amount?: string | null | undefined;
  /** With transfer_to: the contract of the token. The reference token when absent. */
  readonly token?: string | null | undefined;
}

export interface RefusedRequestPage {
  readonly items: readonly {
    /** Time of the refusal. */
    readonly at: string;
    /** The X-Request-Id of the request. */
    readonly request_id: string;
    /** HTTP method. */
    readonly method: string;
    /** Path as sent, without the query. */
    readonly path: string;
    /** HTTP status of the answer: 400 to 499. */
    readonly status: number;
    /** Error code of the answer. */
    readonly error: string;
    /** Explanation of the fault, possibly more detailed than the answer. */
    readonly reason: string;
    /** IP address of the sender. */
    readonly source_address: string;
    /** Name of the API key that signed it, if one did. */
    readonly key?: string | undefined;
    /** Number of requests refused since the previous entry and not kept, during a flood. */
    readonly omitted?: number | undefined;
  }[];
  /** The cursor of the next page. Absent on the last page. */
  readonly next_cursor?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export type SimulateRequest = {
  /** The sender, which will use the energy. It need not hold any. */
  readonly owner_address: string;
  /** The contract that is called. */
  readonly contract_address: string;
  /** The function as name(type,type). Required unless data is sent. */
  readonly function_selector?: string | null | undefined;
  /** ABI-encoded arguments in hex, with function_selector. Optional if the function takes none. */
  readonly parameter?: string | null | undefined;
  /** Raw calldata in hex, instead of function_selector and parameter. */
  readonly data?: string | null | undefined;
  /** Sun sent with the call; zero for a token transfer. */
  readonly call_value?: number | undefined;
  /** Seconds of rental, at most the longest duration on sale. */
  readonly duration_sec?: number | undefined;
  /**
   * The number of times that the wallet will spend the energy during the rental: at most one more than its whole
   * days, since used energy recovers within 24 hours. The rental must cost less than burning TRX that often.
   */
  readonly expected_uses?: number | undefined;
  /** True: the answer includes a redeemable quote for energy_needed. */
  readonly quote?: boolean | null | undefined;
} & ({ readonly data: string } | { readonly function_selector: string });

export interface Simulation {
  /** The node's own figure for the call. */
  readonly energy_used: number;
  /** Energy to rent: energy_used plus 10 %, less the deployer's share. 0 if the call would fail. */
  readonly energy_needed: number;
  /** Share of energy_used that the contract's deployer pays, when above 0. */
  readonly deployer_energy?: number | undefined;
  /** Cost of the call in sun without energy on the wallet. 0 if it would fail. */
  readonly burn_price_sun: number;
  /** The same in TRX, when the call succeeds. */
  readonly burn_price_trx?: string | undefined;
  /** The same in dollars, when the call succeeds and a fresh rate is known. */
  readonly burn_price_usd?: string | undefined;
  /** The dynamic part of energy_used, when the call succeeds. */
  readonly energy_penalty?: number | undefined;
  /**
   * Minimum fee_limit of your transaction, if the call succeeds. fee_limit also caps the use of rented energy:
   * with a lower one, the call ends in OUT_OF_ENERGY despite enough energy. Bandwidth is not part of it.
   */
  readonly fee_limit_sun?: number | undefined;
  /**
   * Present when spending all of the energy in one transaction needs a higher fee_limit than the chain accepts
   * (getMaxFeeLimit). fee_limit_sun is then the chain's highest, and the energy takes several transactions.
   */
  readonly fee_limit_capped?: true | undefined;
  /** Bytes of bandwidth that the signed call takes, when it succeeds: one signature, no memo. */
  readonly bandwidth_needed?: number | undefined;
  /**
   * The better of the sender’s free and staked bandwidth: one of them pays for a whole transaction. Absent when no
   * node reported them.
   */
  readonly bandwidth_available?: number | undefined;
  /** Burnt for bandwidth, in sun: 0 if bandwidth_available covers the call, otherwise all of it. */
  readonly bandwidth_burn_sun?: number | undefined;
  /** Burnt to create an account, in sun: always 0, since a call pays for that with energy. */
  readonly activation_burn_sun?: number | undefined;
  /** burn_price_sun, bandwidth_burn_sun and activation_burn_sun together. */
  readonly total_burn_sun?: number | undefined;
  /** Present if the call would fail with any amount of energy. */
  readonly would_fail?: true | undefined;
  /** Present when the sender is not on chain: activate it, then simulate again. */
  readonly needs_activation?: true | undefined;
  /** Reason why the call would fail. For the reference token, also a remedy. */
  readonly reason?: string | undefined;
  /** A redeemable quote, if requested and the call succeeds. */
  readonly quote?: Quote | undefined;
  /** Error code, if a quote was requested and could not be made. */
  readonly quote_error?:
    | 'ADDRESS_NOT_ALLOWED'
    | 'BAD_AUTH_HEADERS'
    | 'INVALID_REQUEST'
    | 'IDEMPOTENCY_KEY_REQUIRED'
    | 'QUOTE_REQUIRED'
    | 'INVALID_SIGNATURE'
    | 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE'
    | 'SIGNATURE_REPLAYED'
    | 'INSUFFICIENT_CREDITS'
    | 'SPEND_CAP_REACHED'
    | 'PROJECT_FROZEN'
    | 'SOURCE_NOT_ALLOWED'
    | 'HMAC_REQUIRED'
    | 'KEY_SCOPE'
    | 'NOT_FOUND'
    | 'QUOTE_NOT_FOUND'
    | 'METHOD_NOT_ALLOWED'
    | 'REQUEST_TIMEOUT'
    | 'NOT_WORTH_RENTING'
    | 'QUOTE_EXPIRED'
    | 'QUOTE_ALREADY_USED'
    | 'QUOTE_MISMATCH'
    | 'LIMIT_REACHED'
    | 'NOT_EXTENDABLE'
    | 'RECEIVER_NOT_ACTIVATED'
    | 'ALREADY_ACTIVATED'
    | 'EVENTS_EXPIRED'
    | 'PAYLOAD_TOO_LARGE'
    | 'UNSUPPORTED_MEDIA_TYPE'
    | 'IDEMPOTENCY_KEY_REUSED'
    | 'RECEIVER_NOT_SUPPORTED'
    | 'TRANSFER_WOULD_FAIL'
    | 'RATE_LIMITED'
    | 'HEADERS_TOO_LARGE'
    | 'INTERNAL_ERROR'
    | 'TOPUP_NOT_CONFIGURED'
    | 'SIMULATION_FAILED'
    | 'AUTH_UNAVAILABLE'
    | 'CHAIN_UNAVAILABLE'
    | 'CAPACITY_UNAVAILABLE'
    | 'SERVICE_UNAVAILABLE' | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface Statement {
  /** Number of the statement in the project: 1, 2, 3 … without gaps. */
  readonly number: number;
  /** Calendar month in UTC. */
  readonly month: string;
  /** Start of the month. */
  readonly from: string;
  /** Start of the next month. */
  readonly to: string;
  /** Closing balance of the previous statement; 0 for the first. */
  readonly opening_credits: number;
  /** Opening balance plus all entries. */
  readonly closing_credits: number;
  /** Number of entries. */
  readonly entries: number;
  readonly totals: {
    /** Sum of the entries of kind charge. Payment of an order or an extension. */
    readonly charge: number;
    /**
     * Sum of the entries of kind refund. Return of the charge of an order that could not be fulfilled, except for
     * an activation that is final.
     */
    readonly refund: number;
    /** Sum of the entries of kind compensation. Credits given for an order that was not delivered as sold. */
    readonly compensation: number;
    /** Sum of the entries of kind deposit. Credits bought on chain. */
    readonly deposit: number;
    /** Sum of the entries of kind topup. Paid credits that the operator added. */
    readonly topup: number;
    /** Sum of the entries of kind adjustment. Correction of the balance by the operator, or return of a deposit. */
    readonly adjustment: number;
  };
  /** Time of closing. */
  readonly closed_at: string;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

/**
 * CSV with the columns entry, time, kind, description, credits, usd, balance_credits, asset, amount, usd_rate,
 * order_key, deposit, reference, txids.
 */
export type StatementLines = string;

export interface StatementPage {
  readonly items: readonly Statement[];
  /** The cursor of the next page. Absent on the last page. */
  readonly next_cursor?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface TopupInvoice {
  /** The number of the invoice. */
  readonly invoice_id: number;
  /** Payment link. */
  readonly payment_link: string;
  /** The amount. */
  readonly amount: string;
  /** Currency of the payment. */
  readonly currency: string;
  /** Of a new invoice. */
  readonly status: string;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface TopupRequest {
  /** The amount, as a decimal. */
  readonly amount?: string | null | undefined;
  /** USDT or USDC. */
  readonly currency?: string | null | undefined;
  /** Page to show after the payment. */
  readonly url_success?: string | null | undefined;
  /** Page to show after a failure. */
  readonly url_error?: string | null | undefined;
}

export interface Webhook {
  /** The webhook. */
  readonly id: string;
  /** URL that receives the events. */
  readonly url: string;
  /** Only events of these types; absent: all. */
  readonly types?: readonly string[] | undefined;
  /** Purpose. */
  readonly description: string;
  /** True if events are sent. */
  readonly enabled: boolean;
  /** owner: disabled by its owner. gone: the URL answered 410. failing: five days without success. */
  readonly disabled_reason?: 'owner' | 'gone' | 'failing' | undefined;
  /** Time since when nothing is sent. */
  readonly disabled_at?: string | undefined;
  /** Time of the first failed attempt after the last success. */
  readonly failing_since?: string | undefined;
  /** Deliveries that wait or are being retried, counted up to 10 000. */
  readonly pending: number;
  /** End of the time in which the previous secret also signs. */
  readonly previous_secret_until?: string | undefined;
  /** Time of creation. */
  readonly created_at: string;
  /** Time of the last change. */
  readonly changed_at: string;
  /** Secret to verify deliveries with. Only the answer that made it shows it. */
  readonly secret?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export type WebhookActRequest = Readonly<Record<string, never>>;

export interface WebhookChangeRequest {
  /** URL for all further deliveries, including waiting ones. */
  readonly url?: string | null | undefined;
  /** Only events of these types; absent or empty: all. */
  readonly types?: readonly (
    | 'order.created'
    | 'order.delivered'
    | 'order.settled'
    | 'order.unresolved'
    | 'order.refunded'
    | 'order.reverted'
    | 'order.extended'
    | 'order.ended'
    | 'order.ended_early'
    | 'order.compensated'
    | 'deposit.pending'
    | 'deposit.credited'
    | 'deposit.held'
    | 'deposit.ignored'
    | 'deposit.dropped'
    | 'balance.low'
    | 'auto_delegation.paused'
    | 'auto_delegation.resumed'
    | 'statement.ready'
    | 'key.created'
    | 'key.rotated'
    | 'key.revoked'
    | 'project.frozen'
    | 'project.unfrozen'
    | 'webhook.created'
    | 'webhook.changed'
    | 'webhook.failing'
    | 'webhook.disabled'
    | 'log.restarted')[] | null | undefined;
  /** Your description. */
  readonly description?: string | null | undefined;
  /** true: send again, beginning with waiting deliveries. false: send nothing. */
  readonly enabled?: boolean | null | undefined;
}

export interface WebhookDeleted {
  /** The webhook. */
  readonly id: string;
  /** The webhook was deleted. */
  readonly deleted: true;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface WebhookDelivery {
  /** The delivery. */
  readonly id: number;
  /** The id of the event, sent as webhook-id. */
  readonly event_id: string;
  /** The type of the event. */
  readonly type: string;
  /** Position of the event in the log; a test has none. */
  readonly position?: number | undefined;
  /** Reason for the delivery. */
  readonly cause: 'event' | 'replay' | 'resend' | 'test';
  /** pending: waits or is retried. delivered: answered 2xx. failed: every attempt failed. dropped: no longer sent. */
  readonly status: 'pending' | 'delivered' | 'failed' | 'dropped';
  /** Attempts so far. */
  readonly attempts: number;
  /** Time of creation. */
  readonly created_at: string;
  /** Earliest time of the next attempt, while pending. */
  readonly next_attempt_at?: string | undefined;
  /** End of the last attempt. */
  readonly last_attempt_at?: string | undefined;
  /** Time when it was delivered, failed or dropped. */
  readonly ended_at?: string | undefined;
  /** The HTTP status of the last answer, if there was one. */
  readonly last_status?: number | undefined;
  /** Reason why the last attempt failed. */
  readonly last_error?: string | undefined;
  /** The first 256 bytes of the last answer. */
  readonly last_answer?: string | undefined;
  /** Duration of the last attempt. */
  readonly last_duration_ms?: number | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface WebhookDeliveryPage {
  readonly items: readonly WebhookDelivery[];
  /** The cursor of the next page. Absent on the last page. */
  readonly next_cursor?: string | undefined;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface WebhookList {
  readonly items: readonly Webhook[];
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface WebhookReplay {
  /** Number of events. */
  readonly events: number;
  /** Position of the last event. Continue after it if there are more. */
  readonly last_position: number;
  /** Present in answers to test projects only. */
  readonly test?: true | undefined;
}

export interface WebhookReplayRequest {
  /** Position after which events are sent again. */
  readonly after: number;
}

export interface WebhookRequest {
  /** URL that receives events: https, with a public host name. */
  readonly url: string;
  /** Only events of these types; absent or empty: all. */
  readonly types?: readonly (
    | 'order.created'
    | 'order.delivered'
    | 'order.settled'
    | 'order.unresolved'
    | 'order.refunded'
    | 'order.reverted'
    | 'order.extended'
    | 'order.ended'
    | 'order.ended_early'
    | 'order.compensated'
    | 'deposit.pending'
    | 'deposit.credited'
    | 'deposit.held'
    | 'deposit.ignored'
    | 'deposit.dropped'
    | 'balance.low'
    | 'auto_delegation.paused'
    | 'auto_delegation.resumed'
    | 'statement.ready'
    | 'key.created'
    | 'key.rotated'
    | 'key.revoked'
    | 'project.frozen'
    | 'project.unfrozen'
    | 'webhook.created'
    | 'webhook.changed'
    | 'webhook.failing'
    | 'webhook.disabled'
    | 'log.restarted')[] | null | undefined;
  /** Your description. */
  readonly description?: string | null | undefined;
}

export interface WebhookRotateRequest {
  /** Seconds in which the previous secret also signs. Default 86 400. */
  readonly expire_old_after_sec?: number | undefined;
}
