/** The data of a purchase: its caller, key and request, its terms once priced, and its outcome. */
import type { ServerResponse } from 'node:http';
import type { ApiError } from '../../domain/errors.js';
import type { OrderKind } from '../../domain/order-state.js';
import type { Credits, Energy, RateE8, Sun } from '../../domain/units.js';
import { takePurchaseKey, type PurchaseKey } from '../../platform/http/pipeline/idempotency-key.js';
import { readWait } from '../../platform/http/pipeline/prefer.js';
import type { Caller, ProjectRecord } from '../../platform/http/pipeline/request-context.js';
import type { TokenTransfer } from '../quotes/transfer-sizing.js';
import { labelsOf, type Labelled, type OrderLabels } from './order-labels.js';
import type { OrderRow } from './order-rows.js';

/** The amounts to charge and deliver, priced before any transaction. */
export interface OrderTerms {
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
  /** Pool capacity to reserve, in sun: to delegate, or to spend on an activation. */
  readonly amountSun: Sun;
  /** Sun worth one energy, for each further leg. */
  readonly legSlackSun: Sun;
  /** Maximum number of wallets to spread the order over. Each leg costs two transactions. */
  readonly legsMax: bigint;
  /** `askedMs`: start of the order by the monotonic clock. Waiting after it is not the caller's delay. */
  readonly quote?: { readonly id: string; readonly expiresAtMs: number; readonly askedMs: number };
}

/**
 * The result of pricing. Replays, used quotes and expired quotes are judged before a refusal here
 * (docs/interface.md §9).
 */
export interface Prepared {
  /** Absent if the refusal left nothing to charge. */
  readonly terms: OrderTerms | undefined;
  readonly refusal: ApiError | undefined;
}

/** A purchase as the controller passes it on. */
export interface PurchaseContext {
  readonly project: ProjectRecord;
  readonly apiKeyId: string;
  readonly key: PurchaseKey;
  readonly requestId: string;
  /** Seconds to hold the answer (`Prefer: wait`); 0 for none. */
  readonly waitSec: number;
}

/** The context of a purchase that creates an order. */
export interface OrderContext extends PurchaseContext {
  readonly labels: OrderLabels;
}

/** Returns the caller, its key and the time to hold the answer. Also sets the key's header on the answer. */
export function purchaseContextOf(caller: Caller, request: Labelled, response: ServerResponse): OrderContext {
  const key = takePurchaseKey(caller, response);
  const { project, keyId: apiKeyId, requestId } = caller;
  return { project, apiKeyId, key, requestId, labels: labelsOf(caller, request), waitSec: readWait(caller) };
}

export interface Purchase {
  readonly projectId: string;
  /** Test purchases are played, and not counted. */
  readonly isTest: boolean;
  /** The API key that signed the request. Its cap applies. */
  readonly apiKeyId: string;
  readonly kind: OrderKind;
  readonly key: PurchaseKey;
  readonly hash: Buffer;
  readonly requestId: string;
  /** Labels of a new order; a replayed order keeps its own. */
  readonly labels: OrderLabels;
  readonly prepare: () => Promise<Prepared>;
}

export interface Accepted {
  readonly row: OrderRow;
  readonly isReplay: boolean;
}
