/** A purchase on its way to an order: who asks for what under which key, its terms once priced, and what came of it. */
import type { ServerResponse } from 'node:http';
import type { ApiError } from '../domain/errors.js';
import type { OrderKind } from '../domain/order-state.js';
import type { Credits, Energy, RateE8, Sun } from '../domain/units.js';
import { takePurchaseKey, type PurchaseKey } from '../http/pipeline/idempotency-key.js';
import { readWait } from '../http/pipeline/prefer.js';
import type { Caller, ProjectRecord } from '../http/pipeline/request-context.js';
import { labelsOf, type Labelled, type OrderLabels } from './order-labels.js';
import type { OrderRow } from './order-rows.js';

/** What will be charged and delivered, priced before any transaction. */
export interface OrderTerms {
  readonly receiveAddress: string;
  readonly energy: Energy | undefined;
  readonly durationSec: number | undefined;
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rate: RateE8;
  /** What is taken of the pool's capacity: sun to delegate, or to spend for an activation. */
  readonly amountSun: Sun;
  /** Sun worth one energy, for each further leg. */
  readonly legSlackSun: Sun;
  /** Over how many wallets the order may be spread: each leg costs two transactions. */
  readonly legsMax: bigint;
  /** `askedMs`: when the order was begun, by the monotonic clock; what it waits from then on is not the caller's delay. */
  readonly quote?: { readonly id: string; readonly expiresAtMs: number; readonly askedMs: number };
}

/** The outcome of pricing. A refusal waits until replay, used and expired quote are judged (docs/interface.md §9). */
export interface Prepared {
  /** Absent when the refusal left nothing to charge. */
  readonly terms: OrderTerms | undefined;
  readonly refusal: ApiError | undefined;
}

/** A purchase as a controller hands it over. */
export interface PurchaseContext {
  readonly project: ProjectRecord;
  readonly apiKeyId: string;
  readonly key: PurchaseKey;
  readonly requestId: string;
  /** Seconds the caller wants the answer held (`Prefer: wait`); 0 = none. */
  readonly waitSec: number;
}

/** One that makes an order. */
export interface OrderContext extends PurchaseContext {
  readonly labels: OrderLabels;
}

/** Who buys, under which key, and how long the answer may be held. The answer carries the key from here on. */
export function purchaseContextOf(caller: Caller, request: Labelled, response: ServerResponse): OrderContext {
  const key = takePurchaseKey(caller, response);
  const { project, keyId: apiKeyId, requestId } = caller;
  return { project, apiKeyId, key, requestId, labels: labelsOf(caller, request), waitSec: readWait(caller) };
}

export interface Purchase {
  readonly projectId: string;
  /** Played, and counted nowhere. */
  readonly isTest: boolean;
  /** The API key that signed for it, whose cap it counts against. */
  readonly apiKeyId: string;
  readonly kind: OrderKind;
  readonly key: PurchaseKey;
  readonly hash: Buffer;
  readonly requestId: string;
  /** Of a new order; the one that is replayed has its own. */
  readonly labels: OrderLabels;
  readonly prepare: () => Promise<Prepared>;
}

export interface Accepted {
  readonly row: OrderRow;
  readonly isReplay: boolean;
}
