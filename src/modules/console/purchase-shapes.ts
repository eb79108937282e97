/**
 * Requests and answers of purchases in the console. Types only, as in data-shapes.ts. Every path begins with
 * `/api/projects/{project}/purchases`.
 */
import type { Money, OrderItemShape } from './data-shapes.js';

/** `GET /?key=` */
export interface PurchaseTerms {
  /** The energy of one token transfer to a recipient that holds the token, or none of it. */
  readonly amounts: { readonly holder: number; readonly new_holder: number };
  /** The longest durations of the rows of the price table in seconds, the shortest first. */
  readonly durations: readonly number[];
  /** The longest duration for which bandwidth is on sale, in seconds; absent if none is. */
  readonly bandwidth_max_sec?: number;
  readonly balance: Money;
  /** The cap of purchases in the console; absent while none is set, and nothing can be bought. */
  readonly cap?: PurchaseCap;
  /** The order that the form of this key has bought or extended. */
  readonly bought?: string;
}

interface PurchaseCap {
  readonly daily: Money;
  /** Credits that can still be spent in the present UTC day. */
  readonly left: Money;
}

/** `POST /cap` → `PurchaseTerms`. Without `daily_cap_credits` nothing can be bought in the console any more. */
export interface SetPurchaseCap {
  readonly daily_cap_credits?: number;
}

/** `POST /preview` → `PurchasePreview` */
export interface WantedPurchase {
  readonly receive_address: string;
  readonly energy: number;
  readonly duration_sec: number;
  readonly expected_uses?: number;
  /** Units of bandwidth beside the energy. */
  readonly bandwidth?: number;
  /** Activates the receiver first. */
  readonly activate?: boolean;
}

/** `POST /extension/preview` → `PurchasePreview` */
export interface WantedExtension {
  /** The key of a running rental. */
  readonly order: string;
  readonly duration_sec: number;
  readonly expected_uses?: number;
}

/** The present price. It is not held: the purchase repeats it, and is refused at a higher one. */
export interface PurchasePreview {
  readonly receive_address: string;
  readonly energy: number;
  /** The parts of an order of several. */
  readonly items?: readonly OrderItemShape[];
  readonly duration_sec: number;
  readonly expected_uses: number;
  readonly price: Money;
  readonly price_trx: string;
  /** The cost of burning TRX for all parts; energy and bandwidth count for each expected use. */
  readonly burning: Money;
  readonly burning_trx: string;
  readonly balance_after: Money;
  /** The end of the extended rental. */
  readonly ends_at?: string;
  /** The reason why the purchase would be refused now, and the remedy. */
  readonly obstacle?: string;
}

interface Confirmed {
  /** `console_` and a UUID, made once for each form: all requests with one key buy once. */
  readonly key: string;
  /** The confirmed price in credits. */
  readonly credits: number;
}

/** `POST /` → `Purchased` */
export interface ConfirmedPurchase extends WantedPurchase, Confirmed {}

/** `POST /extension` → `Purchased` */
export interface ConfirmedExtension extends WantedExtension, Confirmed {}

export interface Purchased {
  /** The key of the order. */
  readonly order: string;
  /** An earlier request of the form bought it. */
  readonly is_replay: boolean;
}
