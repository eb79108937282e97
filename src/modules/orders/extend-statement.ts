/** Calls the database function `extend_order`, which charges and moves a rental's end, or leaves nothing behind. */
import type { PricedTime } from '../quotes/direct-price.js';
import { argumentList, FunctionCall, type ArgumentsOf } from '../../platform/database/function-call.js';
import type { Priced, PurchaseContext } from './purchase.js';

export interface ExtendRow {
  readonly created: boolean;
  readonly same_request: boolean;
  /** Reference of the request that created the extension of this key. */
  readonly made_by: string | null;
}

/** The price, and the time of the chain's head, which decides if the rental still runs. */
export type PricedExtension = Priced<PricedTime & { readonly headAtMs: number }>;

export interface AddedTime {
  /** Seconds. */
  readonly durationSec: number;
  /** Expected number of uses of the energy in the added time, as the caller sent it; one if absent. */
  readonly expectedUses?: number | undefined;
}

/** One request for an extension of a rental. */
export interface ExtensionPurchase extends PurchaseContext {
  readonly orderId: bigint;
  readonly time: AddedTime;
  readonly hash: Buffer;
  /** Stored with the extension. No other request has it. */
  readonly madeBy: string;
}

export interface ExtendRequest {
  readonly purchase: ExtensionPurchase;
  readonly priced: PricedExtension;
  readonly lockWaitMs: number;
}

const INTEGER_MAX = 2 ** 31 - 1;

const ARGUMENTS: ArgumentsOf<ExtendRequest> = {
  p_project: ({ purchase }) => purchase.project.id,
  p_api_key: ({ purchase }) => purchase.apiKeyId,
  p_key: ({ purchase }) => purchase.key.value,
  p_hash: ({ purchase }) => purchase.hash,
  p_order: ({ purchase }) => purchase.orderId,
  // The function refuses durations longer than any rental. Cap the value, because Postgres's integer cannot hold larger
  // ones.
  p_duration: ({ purchase }) => Math.min(purchase.time.durationSec, INTEGER_MAX),
  p_price: ({ priced }) => priced.terms?.priceSun ?? null,
  p_credits: ({ priced }) => priced.terms?.credits ?? null,
  p_rate: ({ priced }) => priced.terms?.rate ?? null,
  p_head: ({ priced: { terms } }) => (terms === undefined ? null : new Date(terms.headAtMs).toISOString()),
  p_longest: ({ priced }) => priced.terms?.longestSec ?? null,
  p_refusal: ({ priced }) => priced.refusal?.code ?? null,
  p_request_id: ({ purchase }) => purchase.madeBy,
  p_lock_ms: ({ lockWaitMs }) => lockWaitMs,
  p_expected_uses: ({ purchase }) => purchase.time.expectedUses ?? null,
  p_fee_limit: ({ priced }) => priced.terms?.feeLimitSun ?? null,
  p_fee_limit_capped: ({ priced }) => priced.terms?.isFeeLimitCapped ?? null,
};

const NAMED = argumentList(ARGUMENTS);

export const EXTEND = new FunctionCall<ExtendRequest, ExtendRow>(
  { name: 'extend-order', text: `SELECT created, same_request, made_by FROM extend_order(${NAMED})` },
  ARGUMENTS,
);
