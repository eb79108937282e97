// Purchases: orders, activations and extensions. Each has its idempotency key before the first attempt.
import { randomUUID } from 'node:crypto';
import type * as Api from './api-types.js';
import { Deadline, type CallOptions } from './deadline.js';
import { ApiError, EnergyError, NetworkError, NotDeliveredError, UnknownOutcomeError } from './errors.js';
import { requireKey, requireOrderKey } from './idempotency-key.js';
import { Listing, type PageSize } from './listing.js';
import type { Order, OrderStatus } from './model.js';
import { isSet, requireMembers, requireSet, segment } from './required.js';
import type { Call, Transport } from './transport.js';

export interface PurchaseOptions extends CallOptions {
  /**
   * Your name for this purchase (1 to 255 printable ASCII characters). Store it before you call: any number of calls
   * with the same request and key make one order and one charge. If omitted, the client generates a key; errors carry
   * it.
   */
  readonly idempotencyKey?: string;
}

export interface OrderOptions extends PurchaseOptions {
  /** Seconds (1 to 30) for which the service holds its answer until the order is delivered or refunded. */
  readonly waitSec?: number | undefined;
}

export interface OrderQuery extends PageSize {
  readonly status?: OrderStatus | undefined;
  readonly receive_address?: string | undefined;
  readonly reference?: string | undefined;
  /** Created at or after this time: a UTC day (`2026-11-01`), or a time ending in Z. */
  readonly from?: string | undefined;
  /** Created before this time. */
  readonly to?: string | undefined;
}

export interface WaitOptions extends CallOptions {
  /** `delivered` (the default): the energy is delegated. `settled`: its block is final too. */
  readonly until?: 'delivered' | 'settled' | undefined;
}

/** Seconds for which the service is asked to hold its answer. */
const HOLD_SEC = 20;
const POLL_MS = 1000;
const POLL_MAX_MS = 5000;
const WAIT_TIMEOUT_MS = 180_000;

export class Orders {
  constructor(private readonly transport: Transport) {}

  /**
   * Buys energy by a quote (`quote_ref`) or at the current price (`receive_address`, `energy`, `duration_sec`), and
   * with it the `bandwidth` of the transfer and, with `activate`, the account that sends it. Returns the order once it
   * is charged. A key that already has this order returns that order.
   *
   * Throws ApiError: INSUFFICIENT_CREDITS, SPEND_CAP_REACHED (402), QUOTE_NOT_FOUND (404), NOT_WORTH_RENTING,
   * QUOTE_EXPIRED, QUOTE_ALREADY_USED, QUOTE_MISMATCH, RECEIVER_NOT_ACTIVATED, ALREADY_ACTIVATED (409),
   * IDEMPOTENCY_KEY_REUSED, RECEIVER_NOT_SUPPORTED (422), CAPACITY_UNAVAILABLE, CHAIN_UNAVAILABLE (503) and others;
   * UnknownOutcomeError.
   */
  async create(request: Api.OrderRequest, options: OrderOptions = {}): Promise<Order> {
    requireSet('the request', request);
    // A text that is given and unset was meant as the quote.
    if (!isSet(request, 'quote_ref')) {
      requireMembers(request, [
        'quote_ref' in request && !('receive_address' in request) ? 'quote_ref' : 'receive_address',
      ]);
    }
    return this.purchase('/v1/orders', request, options);
  }

  /**
   * Buys energy and waits until the order is delivered, or settled. `timeoutMs` covers the whole call (default
   * 180 000).
   *
   * Throws as `create` does. Throws NotDeliveredError with the order if it was refunded, is still open at the deadline,
   * or can no longer be read.
   */
  async createAndWait(request: Api.OrderRequest, options: PurchaseOptions & WaitOptions = {}): Promise<Order> {
    const key = keyOf(options);
    const deadline = new Deadline(options.timeoutMs ?? WAIT_TIMEOUT_MS, options);
    const waitSec = Math.max(1, Math.min(HOLD_SEC, Math.floor(deadline.leftMs / 2000)));
    const order = await this.create(request, {
      idempotencyKey: key,
      timeoutMs: deadline.timeoutMs,
      signal: options.signal,
      waitSec,
    });
    return this.follow(order, options.until ?? 'delivered', deadline);
  }

  /**
   * Waits for an existing order and retries transient read errors. `timeoutMs` covers the whole call (default 180 000).
   *
   * Throws NotDeliveredError with the order if it was refunded, is still open at the deadline, or can no longer be
   * read. Throws ApiError NOT_FOUND (404) if no such order exists. Throws UnknownOutcomeError if the order could not be
   * read even once: wait for it again, do not buy again.
   */
  async wait(key: string, options: WaitOptions = {}): Promise<Order> {
    const deadline = new Deadline(options.timeoutMs ?? WAIT_TIMEOUT_MS, options);
    const order = await this.firstRead(key, deadline);
    return this.follow(order, options.until ?? 'delivered', deadline);
  }

  /** Returns the order. Throws ApiError NOT_FOUND (404). */
  async get(key: string, options?: CallOptions): Promise<Order> {
    const call: Call = { method: 'GET', path: orderPath(key), kind: 'read', isAnswer: isOrder(key) };
    return (await this.transport.send<Order>(call, options)).body;
  }

  /**
   * Lists orders, newest first: all, or those that match the query. With more than one of `status`, `receive_address`
   * and `reference`, a page other than the last may be empty; `for await` skips it.
   */
  list(query: OrderQuery = {}, options?: CallOptions): Listing<Order> {
    return new Listing(this.transport, '/v1/orders', { ...query }, options);
  }

  /**
   * Extends a settled, running rental by `duration_sec` seconds, once for each idempotency key. Returns the order.
   *
   * Throws ApiError: NOT_FOUND (404), NOT_EXTENDABLE, NOT_WORTH_RENTING (409), INSUFFICIENT_CREDITS (402) and others;
   * UnknownOutcomeError.
   */
  async extend(key: string, request: Api.ExtensionRequest, options: PurchaseOptions = {}): Promise<Order> {
    requireMembers(request, ['duration_sec']);
    return this.purchase(`${orderPath(key)}/extensions`, request, options, key);
  }

  /**
   * Activates an account that does not exist on chain. Returns an order of the kind `activation`.
   *
   * Throws ApiError: ALREADY_ACTIVATED (409), INSUFFICIENT_CREDITS (402) and others; UnknownOutcomeError.
   */
  async activate(request: Api.ActivationRequest, options: OrderOptions = {}): Promise<Order> {
    requireMembers(request, ['address']);
    return this.purchase('/v1/activate', request, options);
  }

  private async purchase(path: string, body: object, options: OrderOptions, ofOrder?: string): Promise<Order> {
    const key = keyOf(options);
    const isAnswer = isOrder(ofOrder ?? key);
    const call: Call = { method: 'POST', path, body, kind: 'purchase', key, isAnswer, heldSec: options.waitSec };
    return (await this.transport.send<Order>(call, options)).body;
  }

  /**
   * Returns the order from the first successful read. Only NOT_FOUND is thrown as a refusal: no other failure says
   * anything about the order.
   */
  private async firstRead(key: string, deadline: Deadline): Promise<Order> {
    const { signal } = deadline;
    for (let everyMs = POLL_MS; ; everyMs = Math.min(POLL_MAX_MS, everyMs * 1.2)) {
      try {
        return await this.get(key, { timeoutMs: Math.max(1, deadline.leftMs), signal });
      } catch (thrown) {
        if (deadline.isAborted || !(thrown instanceof EnergyError)) throw thrown;
        if (thrown instanceof ApiError && thrown.code === 'NOT_FOUND') throw thrown;
        const isPassed = thrown instanceof NetworkError || isPassing(thrown);
        if (isPassed && (await deadline.sleep(jittered(everyMs)))) continue;
        signal?.throwIfAborted();
        throw new UnknownOutcomeError(key, thrown.requestId, thrown);
      }
    }
  }

  /** Polls the order until it reaches `until`. */
  private async follow(first: Order, until: 'delivered' | 'settled', deadline: Deadline): Promise<Order> {
    let order = first;
    for (let everyMs = POLL_MS; ; everyMs = Math.min(POLL_MAX_MS, everyMs * 1.2)) {
      if (order.status === 'refunded') throw new NotDeliveredError(order);
      if (order.status === 'delivered' && (until === 'delivered' || order.settled)) return order;
      if (!(await deadline.sleep(jittered(everyMs)))) break;
      const { signal } = deadline;
      try {
        order = await this.get(order.key, { timeoutMs: Math.max(1, deadline.leftMs), signal });
      } catch (thrown) {
        // The order exists; only the read failed.
        if (deadline.isAborted || thrown instanceof NetworkError || isPassing(thrown)) continue;
        throw new NotDeliveredError(order, thrown);
      }
    }
    throw new NotDeliveredError(order, deadline.isAborted ? deadline.signal?.reason : undefined);
  }
}

const jittered = (ms: number): number => ms * (0.5 + Math.random() / 2);

const isPassing = (thrown: unknown): boolean =>
  thrown instanceof ApiError && (thrown.status >= 500 || thrown.status === 429 || thrown.status === 408);

/** Returns the caller's key, or a new one. Throws TypeError for one that is present but undefined. */
function keyOf(options: PurchaseOptions): string {
  return 'idempotencyKey' in options ? requireKey(options.idempotencyKey) : randomUUID();
}

function orderPath(key: string): string {
  return `/v1/orders/${segment('key', requireOrderKey(key))}`;
}

/** Rejects a body that is not the order of this key: it answers another request. */
const isOrder =
  (key: string) =>
  (body: object): boolean =>
    'id' in body && 'status' in body && 'key' in body && body.key === key;
