// Made of openapi.json, which test/unit/sdk.test.ts compares. Integers are whole numbers up to 2^53 - 1; times are ISO 8601 in UTC.

export interface ActivationRequest {
  /** The address to activate. */
  readonly address: string;
  /**
   * What you list the order by: of printable characters, spaces only between others. Others may have the same. A
   * repetition may name another one: the first stays.
   */
  readonly reference?: string | null | undefined;
  /**
   * What you want to find beside the order wherever it is shown: texts by names of printable characters, without
   * control characters. Taken under HMAC alone. A repetition may have other ones: the first stay.
   */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
}

export interface AutoDelegation {
  /** Its purchases are the orders of this key, _ and their number. */
  readonly id: string;
  /** The address that is kept supplied. */
  readonly address: string;
  /**
   * active: kept supplied. asleep: unused for so long that the service only waits for its next use. paused: what
   * it needs cannot be bought just now, and is tried again. ended: `until` is past.
   */
  readonly status: 'active' | 'asleep' | 'paused' | 'ended';
  /** Energy that a refill restores. */
  readonly keep_energy: number;
  /** A refill is bought below this. */
  readonly refill_below: number;
  /** Duration of each rental, in seconds. */
  readonly duration_sec: number;
  /** Nothing dearer is bought. */
  readonly max_sun_per_energy?: number | undefined;
  /** The most it may spend in a UTC day. */
  readonly daily_cap_credits: number;
  /** Unused for so long it sleeps. */
  readonly idle_after_sec: number;
  /** From then on, by the time of the chain, nothing is bought. */
  readonly until?: string | undefined;
  readonly pause?: {
    /** The code that a purchase is refused with, PRICE_ABOVE_MAX, DURATION_NOT_SOLD or API_KEY_REVOKED. */
    readonly reason: string;
    /** Since when, by the clock of the service. */
    readonly since: string;
  } | undefined;
  /** Spendable energy at the last check, including deliveries on their way. */
  readonly usable_energy?: number | undefined;
  /** When it was last checked. */
  readonly checked_at?: string | undefined;
  /** Since when it counts as unused, by the time of the chain. */
  readonly used_at?: string | undefined;
  /** How many there were: orders and extensions. */
  readonly purchases: number;
  /** Of the cap, on this UTC day. */
  readonly spent_today_credits: number;
  /** The key of a purchase that is not delivered yet. */
  readonly open_order?: string | undefined;
  /** When it was made. */
  readonly created_at: string;
  /** When it was last set. */
  readonly changed_at: string;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export type AutoDelegationActRequest = Readonly<Record<string, never>>;

export interface AutoDelegationPage {
  readonly items: readonly AutoDelegation[];
  /** Pass it as cursor for the next page; absent on the last. */
  readonly next_cursor?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface AutoDelegationRequest {
  /** Energy to keep on the address, from any source. A refill restores this amount. */
  readonly keep_energy: number;
  /** A refill is bought when less than this is usable; at most `keep_energy`, and 80 % of it when absent. */
  readonly refill_below?: number | undefined;
  /** Seconds of rental, at most the longest that is on sale. */
  readonly duration_sec?: number | undefined;
  /** Nothing dearer than so many sun for one energy is bought. */
  readonly max_sun_per_energy?: number | undefined;
  /** The most credits it may spend in a UTC day; 0 buys nothing. */
  readonly daily_cap_credits: number;
  /** Unused for so many seconds it lets its rentals end and sleeps; 86 400 when absent. */
  readonly idle_after_sec?: number | undefined;
  /** From then on, by the time of the chain, nothing is bought; without end when absent. */
  readonly until?: string | null | undefined;
}

export interface Balance {
  /** The balance in credits; negative in debt. */
  readonly credits_balance: number;
  /** Value in dollars. */
  readonly usd_balance: string;
  /** True if the balance may be negative. */
  readonly is_postpaid: boolean;
  /** How far below zero it may go: 0 for prepaid, absent when there is no limit. */
  readonly debt_limit_credits?: number | undefined;
  /** Credits that can still be spent; absent without a limit. */
  readonly available_credits?: number | undefined;
  /** When it was read. */
  readonly timestamp: string;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface CreditsBalance {
  /** The balance in credits; negative in debt. */
  readonly credits_balance: number;
  /** Value in dollars. */
  readonly usd_balance: string;
  /** True if the balance may be negative. */
  readonly is_postpaid: boolean;
  /** How far below zero it may go: 0 for prepaid, 9007199254740991 without a limit. */
  readonly debt_limit_credits: number;
  /** True if gas_ops_min_credits can still be spent. */
  readonly can_execute_gas_operations: boolean;
  /** Minimum of credits for an attempt to order. The order itself is judged by its price. */
  readonly gas_ops_min_credits: number;
  /** When it was read. */
  readonly timestamp: string;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export type CreditsBalanceRequest = Readonly<Record<string, never>>;

export interface DepositAddress {
  /** Where to pay in. */
  readonly address: string;
  /** The only network it is on. */
  readonly network: string;
  readonly accepts: readonly {
    /** Accepted asset. */
    readonly asset: 'TRX' | 'USDT';
    /** The only contract it is accepted of. */
    readonly contract?: string | undefined;
    /** Minimum of a payment. Smaller ones wait until their sum reaches it. */
    readonly minimum: string;
    /**
     * For TRX: true if payments from contracts are seen. While it is false, pay from an ordinary account: an
     * exchange or wallet that pays by contract would not be noticed.
     */
    readonly from_contracts?: boolean | undefined;
  }[];
  /** Present in every answer to a test project, and in no other. */
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
    /** Which of its kind in the receipt of the transaction, from 0. */
    readonly position: number;
    /** Asset of the payment. */
    readonly asset: 'TRX' | 'USDT';
    /** How much, in whole units with six digits. */
    readonly amount: string;
    /** Your deposit address. */
    readonly address: string;
    /** Address of the payer. */
    readonly from_address: string;
    /** pending: not credited yet. held: the operator decides. credited and ignored are final. */
    readonly status: 'pending' | 'held' | 'credited' | 'ignored' | 'dropped';
    /** Why it is pending, held or ignored. */
    readonly reason?: string | undefined;
    /** Dollars for one whole unit, in the minute of its block. */
    readonly usd_rate?: string | undefined;
    /** Credited amount, including smaller payments that were credited together with it. */
    readonly credits?: number | undefined;
    /** The block that paid. */
    readonly block_number: number;
    /** The time of that block. */
    readonly block_timestamp: string;
  }[];
  /** Pass it as cursor for the next page; absent on the last. */
  readonly next_cursor?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface EnergyOrder {
  /** The number of the order. */
  readonly id: number;
  /** The Idempotency-Key it was bought with. */
  readonly idempotency_key: string;
  /**
   * delivered: the energy is there. refused: it will never be, and the charge is back. unresolved: charged, and
   * its outcome not known yet; repeat with the same Idempotency-Key, never with another.
   */
  readonly status: 'delivered' | 'unresolved' | 'refused';
  /** Receiver of the energy. */
  readonly receive_address: string;
  /** Energy bought. */
  readonly energy: number;
  /** Seconds of rental. */
  readonly duration_sec: number;
  /** Price in sun. */
  readonly price_sun: number;
  /** The same in TRX. */
  readonly price_trx: string;
  /** Value of the credits in dollars; absent for a refused order. */
  readonly price_usd?: string | undefined;
  /** Credits charged; not of a refused order. */
  readonly credits?: number | undefined;
  /** The rate that was used; not of a refused order. */
  readonly trx_usd?: string | undefined;
  /** Energy delivered, once delivered; never less than energy. */
  readonly delivered_energy?: number | undefined;
  /** The outcome is final: solid on chain, or refused. */
  readonly settled: boolean;
  /** The outcome is not known yet, or the operator should look at the order. */
  readonly needs_attention: boolean;
  /** Reason of a refused or unresolved order. */
  readonly error?: string | undefined;
  /** The same for programs: SUPPLIER_REFUSED, SUPPLIER_UNKNOWN. */
  readonly error_code?: string | undefined;
  /** When it was charged, by the clock of the service. */
  readonly created_at: string;
  /** The time of the block it is in, by the clock of the chain. */
  readonly delivered_at?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
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
   * Sized by the receiver’s own balance of the token when left out, as with quotes. Small amounts may not be worth
   * renting, as with quotes.
   */
  readonly energy?: number | undefined;
  /** Seconds of rental, at most the longest that is on sale. */
  readonly duration_sec?: number | undefined;
  /** A quote to redeem, exactly once, at its price. */
  readonly quote_ref?: string | null | undefined;
} & ({ readonly quote_ref: string } | { readonly receive_address: string });

export interface Error {
  readonly ok: false;
  /** The code, for programs. */
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
   * On a purchase with an unknown outcome (503, 500): repeat it with this Idempotency-Key, also if you sent none.
   * A key that begins with nonce_ cannot be sent: read GET /v1/orders/{key} instead.
   */
  readonly key?: string | undefined;
  /** With SIGNATURE_TIMESTAMP_OUT_OF_RANGE: Unix seconds to sign again with. */
  readonly server_time?: number | undefined;
  /** With EVENTS_EXPIRED: the position of the oldest event that is kept. */
  readonly oldest_position?: number | undefined;
  /** Quote it when you ask about the request. */
  readonly request_id: string;
  /** Present when a test project is answered. */
  readonly test?: true | undefined;
  /** With INVALID_REQUEST: every member at fault. */
  readonly details?: readonly {
    readonly field: string;
    readonly msg: string;
  }[] | undefined;
}

export interface EventPage {
  readonly items: readonly {
    /** Names the event for ever; the same wherever it is sent. */
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
    /** Its place in the log of the project; rises, and may leave places out. */
    readonly position: number;
    /** When it happened, by the clock of the service. */
    readonly timestamp: string;
    /** The time of its block, where it has one. */
    readonly chain_timestamp?: string | undefined;
    /** Present when its project is a test project. */
    readonly test?: true | undefined;
    readonly data: {
      readonly order?: Order | undefined;
      readonly key?: {
        /** The API key; not its secret. */
        readonly id: string;
        /** Its name. */
        readonly name: string;
        /** True for the primary key. */
        readonly is_primary: boolean;
        readonly scopes: readonly ('read' | 'quote' | 'order' | 'manage')[];
        /** Until when the secret before verifies. */
        readonly previous_until?: string | undefined;
      } | undefined;
      readonly project?: {
        /** The project. */
        readonly id: string;
        /** Its name. */
        readonly name: string;
        /** True if it was frozen at that time. */
        readonly frozen: boolean;
      } | undefined;
      readonly deposit?: {
        /** The deposit. */
        readonly id: string;
        /** The transaction that paid. */
        readonly txid: string;
        /** A transfer of TRX, an event of the token, or TRX that a contract sent. */
        readonly kind: 'native' | 'log' | 'internal';
        /** Which of its kind in the receipt of the transaction, from 0. */
        readonly position: number;
        /** Asset of the payment. */
        readonly asset: 'TRX' | 'USDT';
        /** How much, in whole units with six digits. */
        readonly amount: string;
        /** Your deposit address. */
        readonly address: string;
        /** Address of the payer. */
        readonly from_address: string;
        /** pending: not credited yet. held: the operator decides. credited and ignored are final. */
        readonly status: 'pending' | 'held' | 'credited' | 'ignored' | 'dropped';
        /** Why it is pending, held or ignored. */
        readonly reason?: string | undefined;
        /** Dollars for one whole unit, in the minute of its block. */
        readonly usd_rate?: string | undefined;
        /** Credited amount, including smaller payments that were credited together with it. */
        readonly credits?: number | undefined;
        /** The block that paid. */
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
        /** The threshold that the balance fell below. */
        readonly low_balance_credits: number;
      } | undefined;
      readonly statement?: Statement | undefined;
      readonly webhook?: {
        /** The webhook. */
        readonly id: string;
        /** Its URL without path and query, which may hold a token of the receiver. */
        readonly url: string;
        readonly types?: readonly string[] | undefined;
        /** As its owner wrote it. */
        readonly description: string;
        /** True if events are sent to it. */
        readonly enabled: boolean;
        /** Why it is not. */
        readonly disabled_reason?: string | undefined;
        /** True if it was deleted. */
        readonly deleted: boolean;
      } | undefined;
    };
  }[];
  /** Send it as `after` next. */
  readonly last_position: number;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

/** Lines of text: `id: 119`, `data: {…}`, and an empty one after each event. */
export type EventStream = string;

export interface ExtensionRequest {
  /** Seconds of rental, at most the longest that is on sale. */
  readonly duration_sec: number;
}

export interface LedgerPage {
  readonly items: readonly {
    /** The entry. */
    readonly id: string;
    /**
     * `charge`: An order or an extension of one was paid for. `refund`: An order that could not be fulfilled was
     * given back, all of it. `compensation`: Credits given for an order that was not delivered as sold. `deposit`:
     * Credits were bought on chain. `topup`: The operator added credits that were paid for. `adjustment`: The
     * operator corrected the balance, or gave a deposit back.
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
    /** When it was entered. */
    readonly created_at: string;
    /** The key of the order that it is of. */
    readonly order_key?: string | undefined;
    /** The deposit that it is of. */
    readonly deposit?: string | undefined;
    /** Asset of `usd_rate`. */
    readonly asset?: 'TRX' | 'USDT' | undefined;
    /** Of a deposit: how much was paid in, in whole units of the asset. */
    readonly amount?: string | undefined;
    /** Dollars for one whole unit of the asset, as it was charged or credited. */
    readonly usd_rate?: string | undefined;
    /** The transactions that delivered the charged order, once they are final; for a deposit, the payment. */
    readonly txids?: readonly string[] | undefined;
    /** Reference of the operator. */
    readonly reference?: string | undefined;
  }[];
  /** Pass it as cursor for the next page, with the same `from` and `to`; absent on the last. */
  readonly next_cursor?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface Limits {
  /** The bounds of an energy that is named. */
  readonly energy: {
    /** The least that may be named. */
    readonly min: number;
    /** The most. */
    readonly max: number;
  };
  /** The bounds of a duration. */
  readonly duration_sec: {
    /** The shortest rental, in seconds. */
    readonly min: number;
    /** The longest. */
    readonly max: number;
    /** When none is named. */
    readonly default: number;
  };
  /** Current cost of burning TRX for one energy, in sun. */
  readonly burn_price_sun_per_energy: number;
  /** Minimum price of a rental, in sun. */
  readonly price_floor_sun: number;
  /** The price table, shortest duration first, with the amounts on sale now. */
  readonly durations: readonly {
    /** The longest rental of this price; a duration belongs to the shortest that covers it. */
    readonly max_duration_sec: number;
    /** Sun per energy. A rental costs at least price_floor_sun. */
    readonly sun_per_energy: number;
    /** The least energy that is sold; absent while renting for so long costs no less than burning. */
    readonly min_energy?: number | undefined;
    /** The most that one order for max_duration_sec could have just now; 0 while none could. */
    readonly max_energy: number;
  }[];
  /** The budgets of the project. Orders and their reads have none. */
  readonly rate_limits: {
    /** Of quotes and simulations together. */
    readonly quotes: {
      /** How many are taken in a window. */
      readonly requests: number;
      /** Seconds of a window, which begins with the first of them. */
      readonly window_sec: number;
    };
    /** Of requests other than quotes, simulations, orders and reads of orders. */
    readonly general: {
      /** How many are taken in a window. */
      readonly requests: number;
      /** Seconds of a window, which begins with the first of them. */
      readonly window_sec: number;
    };
  };
  /** Time of the answer. The free energy of the pool was read within the second before. */
  readonly timestamp: string;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface Order {
  /** The number of the order. */
  readonly id: number;
  /** Key to read the order by: your Idempotency-Key, or one made for you. */
  readonly key: string;
  /** The same as key. */
  readonly idempotency_key: string;
  /** Kind of purchase. */
  readonly kind: 'rental' | 'activation';
  /**
   * reserved: charged, nothing sent. placed: a transaction may be on its way. delivered: it is in a block.
   * unresolved: no proof either way yet, resolves itself. refunded: it will never happen, the charge is back.
   */
  readonly status:
    | 'reserved'
    | 'placed'
    | 'delivered'
    | 'unresolved'
    | 'refunded';
  /** Receiver of the energy, or the activated address. */
  readonly receive_address: string;
  /** Energy bought, of a rental. */
  readonly energy?: number | undefined;
  /** Seconds of rental, of a rental. */
  readonly duration_sec?: number | undefined;
  /** Price in sun. */
  readonly price_sun: number;
  /** The same in TRX. */
  readonly price_trx: string;
  /** Value of the charged credits in dollars. */
  readonly price_usd: string;
  /** Credits charged. */
  readonly credits: number;
  /** The rate that was used. */
  readonly trx_usd: string;
  /**
   * Energy delivered at inclusion, once delivered; never less than energy. While the rental runs, a shortfall of
   * more than 1 % is topped up as far as the pool has room; delegations then has a further part.
   */
  readonly delivered_energy?: number | undefined;
  /** Final: solid on chain, or returned. Poll for this. */
  readonly settled: boolean;
  /** The operator should look at it; it keeps resolving itself. */
  readonly needs_attention: boolean;
  /** Reason of a refunded or unresolved order. */
  readonly error?: string | undefined;
  /** The same for programs. */
  readonly error_code?: string | undefined;
  /** Your reference, to list orders by. */
  readonly reference?: string | undefined;
  /** The texts that you gave it, by their names. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** When it was charged, by the clock of the service. */
  readonly created_at: string;
  /** The time of the block it is in, by the clock of the chain. */
  readonly delivered_at?: string | undefined;
  /** When the rental ends, by the clock of the chain. */
  readonly ends_at?: string | undefined;
  /** When the energy was reclaimed, by the clock of the chain. */
  readonly reclaimed_at?: string | undefined;
  /** The transaction of another party that ended a delegation of the order before its end. */
  readonly ended_early_by?: string | undefined;
  /** Time that was bought while the rental ran; price and credits of the order are of its first purchase. */
  readonly extensions?: readonly {
    /** The Idempotency-Key it was bought under. */
    readonly key: string;
    /** Seconds that the rental became longer by. */
    readonly duration_sec: number;
    /** Credits charged for it. */
    readonly credits: number;
    /** When it was charged, by the clock of the service. */
    readonly at: string;
  }[] | undefined;
  /** Compensations for an order that was not delivered as sold; at most the cost of the order and its extensions. */
  readonly compensations?: readonly {
    /** Credits given back. */
    readonly credits: number;
    /** When, by the clock of the service. */
    readonly at: string;
    /** Why. */
    readonly reason: string;
  }[] | undefined;
  /** Of a rental: its parts, those included that were added while it ran. */
  readonly delegations?: readonly {
    /** The wallet of the pool that delegates. */
    readonly owner_address: string;
    /** The transaction that delegates. */
    readonly txid: string;
    /** Delivered energy, once its block is known. It drifts with the stake of the whole network. */
    readonly energy?: number | undefined;
    /** The stake delegated, in sun. */
    readonly amount_sun: number;
    /** The block it is in, once it is in one. */
    readonly block_number?: number | undefined;
    /** The transaction that takes it back, once there is one. */
    readonly reclaim_txid?: string | undefined;
  }[] | undefined;
  /** Of an activation: its transaction, once known. */
  readonly txid?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface OrderPage {
  readonly items: readonly Order[];
  /** Pass it as cursor for the next page; absent on the last. */
  readonly next_cursor?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export type OrderRequest = {
  /**
   * What you list the order by: of printable characters, spaces only between others. Others may have the same. A
   * repetition may name another one: the first stays.
   */
  readonly reference?: string | null | undefined;
  /**
   * What you want to find beside the order wherever it is shown: texts by names of printable characters, without
   * control characters. Taken under HMAC alone. A repetition may have other ones: the first stay.
   */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /** Receiver of the energy: the sender of the upcoming transfer. Optional with a quote_ref. */
  readonly receive_address?: string | null | undefined;
  /**
   * Sized by the receiver’s own balance of the token when left out, as with quotes. Small amounts may not be worth
   * renting, as with quotes.
   */
  readonly energy?: number | undefined;
  /** Seconds of rental, at most the longest that is on sale. */
  readonly duration_sec?: number | undefined;
  /** A quote to redeem, exactly once, at its price. */
  readonly quote_ref?: string | null | undefined;
} & ({ readonly quote_ref: string } | { readonly receive_address: string });

export interface PricedAutoDelegation {
  /** Its purchases are the orders of this key, _ and their number. */
  readonly id: string;
  /** The address that is kept supplied. */
  readonly address: string;
  /**
   * active: kept supplied. asleep: unused for so long that the service only waits for its next use. paused: what
   * it needs cannot be bought just now, and is tried again. ended: `until` is past.
   */
  readonly status: 'active' | 'asleep' | 'paused' | 'ended';
  /** Energy that a refill restores. */
  readonly keep_energy: number;
  /** A refill is bought below this. */
  readonly refill_below: number;
  /** Duration of each rental, in seconds. */
  readonly duration_sec: number;
  /** Nothing dearer is bought. */
  readonly max_sun_per_energy?: number | undefined;
  /** The most it may spend in a UTC day. */
  readonly daily_cap_credits: number;
  /** Unused for so long it sleeps. */
  readonly idle_after_sec: number;
  /** From then on, by the time of the chain, nothing is bought. */
  readonly until?: string | undefined;
  readonly pause?: {
    /** The code that a purchase is refused with, PRICE_ABOVE_MAX, DURATION_NOT_SOLD or API_KEY_REVOKED. */
    readonly reason: string;
    /** Since when, by the clock of the service. */
    readonly since: string;
  } | undefined;
  /** Spendable energy at the last check, including deliveries on their way. */
  readonly usable_energy?: number | undefined;
  /** When it was last checked. */
  readonly checked_at?: string | undefined;
  /** Since when it counts as unused, by the time of the chain. */
  readonly used_at?: string | undefined;
  /** How many there were: orders and extensions. */
  readonly purchases: number;
  /** Of the cap, on this UTC day. */
  readonly spent_today_credits: number;
  /** The key of a purchase that is not delivered yet. */
  readonly open_order?: string | undefined;
  /** When it was made. */
  readonly created_at: string;
  /** When it was last set. */
  readonly changed_at: string;
  /** Cost of a day without use at current prices. */
  readonly idle_cost_credits_per_day?: number | undefined;
  /** Cost of a refill from `refill_below` at current prices. */
  readonly cost_per_refill_credits?: number | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface Quote {
  /** The quote reference; pass it to an order as quote_ref. */
  readonly ref: string;
  /** Receiver of the energy, as sent. */
  readonly receive_address: string;
  /** Energy that will be bought. */
  readonly energy: number;
  /** Seconds of rental. */
  readonly duration_sec: number;
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
   * Judged by the receiver's own token balance, not by the recipient of its transfer. unknown: the request named
   * an energy, or the balance was not read.
   */
  readonly recipient_state: 'warm' | 'cold' | 'unknown';
  /** Present when the receiver was read and is not on chain yet. */
  readonly needs_activation?: true | undefined;
  /** Current cost of burning TRX for the same energy, in sun. */
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
  /** Until when the price is held. */
  readonly expires_at: string;
  /** Seconds of hold left when this was answered. */
  readonly expires_in_sec: number;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface QuoteRequest {
  /** Spender of the energy: the sender of the upcoming transfer, not the token recipient. */
  readonly receive_address: string;
  /**
   * The exact need, as POST /v1/simulate says it. Left out, the order is sized by the receiver’s own balance of
   * the token, not by the recipient of its transfer. Every rental has a least price, so that small amounts are not
   * worth renting: the refusal names the smallest that is.
   */
  readonly energy?: number | undefined;
  /** Seconds of rental, at most the longest that is on sale. */
  readonly duration_sec?: number | undefined;
}

export interface RefusedRequestPage {
  readonly items: readonly {
    /** When it was refused. */
    readonly at: string;
    /** Its X-Request-Id. */
    readonly request_id: string;
    /** Its method. */
    readonly method: string;
    /** Its path as it was sent, without the query. */
    readonly path: string;
    /** 400 or 401. */
    readonly status: number;
    /** The code that it was answered. */
    readonly error: string;
    /** The fault, for people; it may say more than the answer did. */
    readonly reason: string;
    /** Where it came from. */
    readonly source_address: string;
    /** The name of the API key that signed it, where one did. */
    readonly key?: string | undefined;
    /** Requests that were refused since the one before and are not kept, in a flood of them. */
    readonly omitted?: number | undefined;
  }[];
  /** Pass it as cursor for the next page; absent on the last. */
  readonly next_cursor?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export type SimulateRequest = {
  /** The sender, which will spend the energy. It need not hold any. */
  readonly owner_address: string;
  /** The contract that is called. */
  readonly contract_address: string;
  /** The function as name(type,type). Required unless data is sent. */
  readonly function_selector?: string | null | undefined;
  /** ABI-encoded arguments in hex. Goes with function_selector; may be left out when it takes none. */
  readonly parameter?: string | null | undefined;
  /** Raw calldata in hex, instead of function_selector and parameter. */
  readonly data?: string | null | undefined;
  /** Sun sent with the call; zero for a token transfer. */
  readonly call_value?: number | undefined;
  /** Seconds of rental, at most the longest that is on sale. */
  readonly duration_sec?: number | undefined;
  /** True: the answer carries a redeemable quote for energy_needed. */
  readonly quote?: boolean | null | undefined;
} & ({ readonly data: string } | { readonly function_selector: string });

export interface Simulation {
  /** The node's own figure for the call. */
  readonly energy_used: number;
  /** Energy to rent: energy_used and 10 %, less the part of the deployer. 0 if the call would fail. */
  readonly energy_needed: number;
  /** The part of energy_used that the deployer of the contract pays. */
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
   * The minimum fee_limit of your transaction, if the call succeeds. It caps rented energy too, so a lower one
   * ends in OUT_OF_ENERGY although the energy is there. It pays no bandwidth.
   */
  readonly fee_limit_sun?: number | undefined;
  /** Present when no amount of energy makes the call work. */
  readonly would_fail?: true | undefined;
  /** Present when the sender is not on chain: activate it, then simulate again. */
  readonly needs_activation?: true | undefined;
  /** Reason why the call would fail, in words; for the reference token with a remedy. */
  readonly reason?: string | undefined;
  /** When it was asked for and the call succeeds: a redeemable quote. */
  readonly quote?: {
    /** The quote reference; pass it to an order as quote_ref. */
    readonly ref: string;
    /** Receiver of the energy, as sent. */
    readonly receive_address: string;
    /** Energy that will be bought. */
    readonly energy: number;
    /** Seconds of rental. */
    readonly duration_sec: number;
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
     * Judged by the receiver's own token balance, not by the recipient of its transfer. unknown: the request named
     * an energy, or the balance was not read.
     */
    readonly recipient_state: 'warm' | 'cold' | 'unknown';
    /** Present when the receiver was read and is not on chain yet. */
    readonly needs_activation?: true | undefined;
    /** Current cost of burning TRX for the same energy, in sun. */
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
    /** Until when the price is held. */
    readonly expires_at: string;
    /** Seconds of hold left when this was answered. */
    readonly expires_in_sec: number;
  } | undefined;
  /** When a quote was asked for and there is none: the code of why. */
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
    | 'RATE_LIMITED'
    | 'HEADERS_TOO_LARGE'
    | 'INTERNAL_ERROR'
    | 'TOPUP_NOT_CONFIGURED'
    | 'SIMULATION_FAILED'
    | 'AUTH_UNAVAILABLE'
    | 'CHAIN_UNAVAILABLE'
    | 'CAPACITY_UNAVAILABLE'
    | 'SERVICE_UNAVAILABLE' | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface Statement {
  /** Which statement of the project it is: 1, 2, 3 and so on without gaps. */
  readonly number: number;
  /** Its calendar month in UTC. */
  readonly month: string;
  /** When the month begins. */
  readonly from: string;
  /** When the next one begins. */
  readonly to: string;
  /** The balance that the statement before closed with; 0 of the first. */
  readonly opening_credits: number;
  /** The opening balance and all its entries. */
  readonly closing_credits: number;
  /** How many entries it has. */
  readonly entries: number;
  readonly totals: {
    /** The sum of: An order or an extension of one was paid for. */
    readonly charge: number;
    /** The sum of: An order that could not be fulfilled was given back, all of it. */
    readonly refund: number;
    /** The sum of: Credits given for an order that was not delivered as sold. */
    readonly compensation: number;
    /** The sum of: Credits were bought on chain. */
    readonly deposit: number;
    /** The sum of: The operator added credits that were paid for. */
    readonly topup: number;
    /** The sum of: The operator corrected the balance, or gave a deposit back. */
    readonly adjustment: number;
  };
  /** When it was closed. */
  readonly closed_at: string;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

/**
 * CSV with the columns entry, time, kind, description, credits, usd, balance_credits, asset, amount, usd_rate,
 * order_key, deposit, reference, txids.
 */
export type StatementLines = string;

export interface StatementPage {
  readonly items: readonly Statement[];
  /** Pass it as cursor for the next page; absent on the last. */
  readonly next_cursor?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface TopupInvoice {
  /** The number of the invoice. */
  readonly invoice_id: number;
  /** Where to pay it. */
  readonly payment_link: string;
  /** The amount. */
  readonly amount: string;
  /** Currency of the payment. */
  readonly currency: string;
  /** Of a new invoice. */
  readonly status: string;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface TopupRequest {
  /** The amount, as a decimal. */
  readonly amount?: string | null | undefined;
  /** USDT or USDC. */
  readonly currency?: string | null | undefined;
  /** Where the payer is sent after paying. */
  readonly url_success?: string | null | undefined;
  /** Where the payer is sent after a failure. */
  readonly url_error?: string | null | undefined;
}

export interface Webhook {
  /** The webhook. */
  readonly id: string;
  /** Where events are sent. */
  readonly url: string;
  /** Only these types; absent = all. */
  readonly types?: readonly string[] | undefined;
  /** Purpose. */
  readonly description: string;
  /** True if events are sent. */
  readonly enabled: boolean;
  /** owner: you said so. gone: it answered 410. failing: five days without success. */
  readonly disabled_reason?: 'owner' | 'gone' | 'failing' | undefined;
  /** Since when nothing is sent. */
  readonly disabled_at?: string | undefined;
  /** Of the first attempt that failed after the last success. */
  readonly failing_since?: string | undefined;
  /** Deliveries that wait or are being repeated, counted up to 10 000. */
  readonly pending: number;
  /** Until when the secret before the last rotation signs too. */
  readonly previous_secret_until?: string | undefined;
  /** When it was made. */
  readonly created_at: string;
  /** When it was last changed. */
  readonly changed_at: string;
  /** Once, in the answer that made it: verify deliveries with it. */
  readonly secret?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export type WebhookActRequest = Readonly<Record<string, never>>;

export interface WebhookChangeRequest {
  /** Where to send events from now on, also those that wait. */
  readonly url?: string | null | undefined;
  /** Only events of these types; absent or empty = all. */
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
  /** Purpose, in your words. */
  readonly description?: string | null | undefined;
  /** true: send again, beginning with waiting deliveries. false: send nothing. */
  readonly enabled?: boolean | null | undefined;
}

export interface WebhookDeleted {
  /** The webhook. */
  readonly id: string;
  /** It is gone. */
  readonly deleted: true;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface WebhookDelivery {
  /** The delivery. */
  readonly id: number;
  /** The id of the event, sent as webhook-id. */
  readonly event_id: string;
  /** The type of the event. */
  readonly type: string;
  /** Of the event in its log; a test has none. */
  readonly position?: number | undefined;
  /** Why it is sent. */
  readonly cause: 'event' | 'replay' | 'resend' | 'test';
  /**
   * pending: waits or is repeated. delivered: answered 2xx. failed: every attempt failed. dropped: not sent any
   * more.
   */
  readonly status: 'pending' | 'delivered' | 'failed' | 'dropped';
  /** Attempts so far. */
  readonly attempts: number;
  /** When it was to be sent. */
  readonly created_at: string;
  /** Of one that is pending: not before this. */
  readonly next_attempt_at?: string | undefined;
  /** When the last attempt ended. */
  readonly last_attempt_at?: string | undefined;
  /** When it was delivered, failed or was dropped. */
  readonly ended_at?: string | undefined;
  /** The HTTP status of the last answer, if there was one. */
  readonly last_status?: number | undefined;
  /** Why the last attempt failed. */
  readonly last_error?: string | undefined;
  /** The first 256 bytes of the last answer. */
  readonly last_answer?: string | undefined;
  /** How long the last attempt took. */
  readonly last_duration_ms?: number | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface WebhookDeliveryPage {
  readonly items: readonly WebhookDelivery[];
  /** Pass it as cursor for the next page; absent on the last. */
  readonly next_cursor?: string | undefined;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface WebhookList {
  readonly items: readonly Webhook[];
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface WebhookReplay {
  /** How many. */
  readonly events: number;
  /** Up to where; go on after it while there are more. */
  readonly last_position: number;
  /** Present in every answer to a test project, and in no other. */
  readonly test?: true | undefined;
}

export interface WebhookReplayRequest {
  /** Events after this position are sent again. */
  readonly after: number;
}

export interface WebhookRequest {
  /** Where to send events: https, a public host name. */
  readonly url: string;
  /** Only events of these types; absent or empty = all. */
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
  /** Purpose, in your words. */
  readonly description?: string | null | undefined;
}

export interface WebhookRotateRequest {
  /** How long the secret before signs too; 86 400 when absent. */
  readonly expire_old_after_sec?: number | undefined;
}
