/** The data of a purchase: its caller, key and request, its terms once priced, and its outcome. */
import type { ServerResponse } from 'node:http';
import type { ApiError } from '../../domain/errors.js';
import type { OrderKind } from '../../domain/order-state.js';
import type { BandwidthPart, PartPrice } from '../../domain/order-items.js';
import type { Credits, Energy, RateE8, Sun } from '../../domain/units.js';
import { requirePurchaseKey, takePurchaseKey, type PurchaseKey } from '../../platform/http/pipeline/idempotency-key.js';
import type { Caller, ProjectRecord } from '../../platform/http/pipeline/request-context.js';
import { monotonicMs } from '../../platform/support/clock.js';
import { newPurchaseReference } from '../../platform/support/purchase-reference.js';
import type { TokenTransfer } from '../quotes/transfer-sizing.js';
import { labelsOf, type Labelled, type OrderLabels } from './order-labels.js';
import type { OrderRow } from './order-rows.js';
import type { RequestedOrder } from './orders.dto.js';
import { requestHash, withoutDefaultToken } from './request-hash.js';

/** A purchase as the controller passes it on. */
export interface PurchaseContext {
  readonly project: ProjectRecord;
  /** The API key that signed the request. Its cap applies. */
  readonly apiKeyId: string;
  readonly key: PurchaseKey;
  readonly requestId: string;
}

/** The context of a purchase that creates an order. */
export interface OrderContext extends PurchaseContext {
  /** Labels of a new order; a replayed order keeps its own. */
  readonly labels: OrderLabels;
}

/** Returns the context of an order. Sets the key's header on the answer. */
export function orderContextOf(caller: Caller, request: Labelled, response: ServerResponse): OrderContext {
  const key = takePurchaseKey(caller, response);
  return { ...contextOf(caller, key), labels: labelsOf(caller, request) };
}

/** Returns the context of a purchase whose caller must send a key. Sets the key's header on the answer. */
export function keyedContextOf(caller: Caller, response: ServerResponse): PurchaseContext {
  return contextOf(caller, requirePurchaseKey(caller, response));
}

function contextOf({ project, keyId: apiKeyId, requestId }: Caller, key: PurchaseKey): PurchaseContext {
  return { project, apiKeyId, key, requestId };
}

/** One request for an order. */
export interface Purchase extends OrderContext {
  readonly kind: OrderKind;
  readonly order: RequestedOrder;
  /** Two requests with the same hash are repetitions of each other. */
  readonly hash: Buffer;
  /** Stored with the order. No other request has it. */
  readonly madeBy: string;
  /** Start of the purchase by the monotonic clock. Waiting after it is not the caller's delay. */
  readonly askedMs: number;
}

/** Returns the purchase of an order that arrives now. `tokenContract`: the reference token. */
export function purchaseOf(requested: RequestedOrder, context: OrderContext, tokenContract: string): Purchase {
  const order = withoutDefaultToken(requested, tokenContract);
  const kind = order.kind === 'activation' ? 'activation' : 'rental';
  const madeBy = newPurchaseReference(context.requestId);
  return { ...context, kind, order, hash: requestHash(order), madeBy, askedMs: monotonicMs() };
}

/**
 * The result of pricing. Replays, used quotes and expired quotes are judged before a refusal here
 * (docs/interface.md §9).
 */
export interface Priced<Terms> {
  /** Absent if the refusal left nothing to charge. */
  readonly terms: Terms | undefined;
  readonly refusal: ApiError | undefined;
}

/** Pool capacity to reserve for one part of an order. */
export interface PartCapacity {
  /** Sun to delegate, or to spend on an activation. */
  readonly amountSun: Sun;
  /** Sun worth one unit, for each further leg. */
  readonly legSlackSun: Sun;
  /** Maximum number of wallets to spread the part over. Each leg costs two transactions. */
  readonly legsMax: bigint;
}

/** The amounts to charge and deliver, priced before any transaction. The capacity is that of the energy, or activation. */
export interface OrderTerms extends PartCapacity {
  readonly receiveAddress: string;
  readonly energy: Energy | undefined;
  readonly durationSec: number | undefined;
  /** As the caller sent it. */
  readonly expectedUses?: number | undefined;
  /** The transfer that sized the order. */
  readonly transfer?: TokenTransfer | undefined;
  /** The chain's price of one energy, in sun; absent for an activation. */
  readonly energyFeeSun?: bigint;
  /** The highest fee limit that the chain accepts, in sun; absent if unknown, and for an activation. */
  readonly maxFeeLimitSun?: bigint | undefined;
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rate: RateE8;
  /** The parts beside energy, with their shares of the price and the charge. */
  readonly bandwidth?: (BandwidthPart & PartCapacity) | undefined;
  readonly activation?: (PartPrice & Pick<PartCapacity, 'amountSun'>) | undefined;
  readonly quote?: { readonly id: string; readonly expiresAtMs: number };
}

export type PricedOrder = Priced<OrderTerms>;

/** The order to answer a purchase with. `isReplay`: an earlier request created it. */
export interface Accepted {
  readonly row: OrderRow;
  readonly isReplay: boolean;
}
