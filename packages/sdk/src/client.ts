// The client of one project: its settings and its groups of calls.
import { Account } from './account.js';
import { hasMember } from './answers.js';
import type { Answer } from './attempt.js';
import { AutoDelegations } from './auto-delegations.js';
import type { CallOptions } from './deadline.js';
import { Events } from './events.js';
import { requireKey } from './idempotency-key.js';
import type { Explanation, Limits } from './model.js';
import { Orders } from './orders.js';
import { Quotes } from './quotes.js';
import { requireMembers, segment } from './required.js';
import { Signer, type Scheme } from './signature.js';
import { Transport, type Call } from './transport.js';
import { Webhooks } from './webhooks.js';

export interface ClientSettings {
  /** URL of the service, such as `https://energy.example.com`. */
  readonly baseUrl: string;
  /** The Merchant ID: a UUID. It is not secret. */
  readonly merchant: string;
  /** The API key. It signs requests and is never sent. Keep it out of browsers. */
  readonly apiKey: string;
  /** Milliseconds for a whole call, with all attempts and waits. Default: 60 000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Milliseconds for one attempt, in addition to the time that the service was asked to hold its answer. Default:
   * 15 000.
   */
  readonly attemptTimeoutMs?: number | undefined;
  /** Maximum number of retries of a call that may be retried. Default: 5. The deadline may end the call earlier. */
  readonly retries?: number | undefined;
  /** `md5` signs the body alone, for compatibility with early clients; only some paths accept it. Default: `hmac`. */
  readonly signature?: Scheme | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * Any request for which the client has no method. With an idempotency key it is a purchase, and retries use that key.
 */
export interface RawRequest {
  readonly method: Call['method'];
  /** From /v1/ on, percent-encoded; may have a query. */
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
}

const TIMEOUT_MS = 60_000;
const ATTEMPT_TIMEOUT_MS = 15_000;
const RETRIES = 5;

export class EnergyClient {
  readonly quotes: Quotes;
  readonly orders: Orders;
  readonly autoDelegations: AutoDelegations;
  readonly account: Account;
  readonly events: Events;
  readonly webhooks: Webhooks;
  private readonly transport: Transport;

  /** Throws TypeError for invalid settings. */
  constructor(settings: ClientSettings) {
    requireMembers(settings, ['baseUrl', 'merchant', 'apiKey']);
    const { baseUrl, merchant, apiKey } = settings;
    const { protocol, username, password, search, hash } = new URL(baseUrl);
    if (!/^https?:$/.test(protocol)) throw new TypeError('baseUrl must be an http(s) URL');
    // With these, `fetch` sends nothing or another path, which would look like a lost answer.
    if (username + password + search + hash !== '') {
      throw new TypeError('baseUrl must have no user name, password, query or fragment');
    }
    if (!/^[\x21-\x7e]+$/.test(merchant.trim())) throw new TypeError('merchant must be a Merchant ID');
    if (apiKey.trim() === '') throw new TypeError('apiKey must not be empty');
    const { timeoutMs = TIMEOUT_MS, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS, retries = RETRIES } = settings;
    for (const [name, value] of Object.entries({ timeoutMs, attemptTimeoutMs })) {
      if (!(value > 0)) throw new TypeError(`${name} must be a positive number of milliseconds`);
    }
    if (!(retries >= 0)) throw new TypeError('retries must be 0 or more');
    this.transport = new Transport({
      baseUrl: baseUrl.replace(/\/+$/, ''),
      signer: new Signer(merchant.trim(), apiKey, settings.signature ?? 'hmac'),
      timeoutMs,
      attemptTimeoutMs,
      retries,
      fetch: settings.fetch ?? fetch,
    });
    this.quotes = new Quotes(this.transport);
    this.orders = new Orders(this.transport);
    this.autoDelegations = new AutoDelegations(this.transport);
    this.account = new Account(this.transport);
    this.events = new Events(this.transport);
    this.webhooks = new Webhooks(this.transport);
  }

  /** Returns the durations on sale with their prices, the bounds, and the most energy that one order could have now. */
  async limits(options?: CallOptions): Promise<Limits> {
    const call = { method: 'GET', path: '/v1/limits', kind: 'read', isAnswer: hasMember('durations') } as const;
    return (await this.transport.send<Limits>(call, options)).body;
  }

  /**
   * Explains why a transaction burnt TRX or failed, and what to do. `txid` has 64 hex digits without 0x. Its sender or
   * another party must be the receiver of an order.
   *
   * Throws ApiError: INVALID_REQUEST (400), NOT_FOUND (404), RATE_LIMITED (429), CHAIN_UNAVAILABLE (503).
   */
  async explain(txid: string, options?: CallOptions): Promise<Explanation> {
    const path = `/v1/explain/${segment('txid', txid)}`;
    const call = { method: 'GET', path, kind: 'read', isAnswer: hasMember('causes') } as const;
    return (await this.transport.send<Explanation>(call, options)).body;
  }

  /**
   * Sends any request and returns the answer with status and headers. The body is `{}` if the answer has none. Throws
   * the same errors as every call.
   */
  async request<T extends object>(request: RawRequest, options?: CallOptions): Promise<Answer<T>> {
    requireMembers(request, ['method', 'path']);
    // Without its key, a purchase could be charged twice.
    if ('idempotencyKey' in request) requireKey(request.idempotencyKey);
    const { idempotencyKey: key, path: target, ...rest } = request;
    const [path = '', ...search] = target.split('?');
    const parameters = [...new URLSearchParams(search.join('?'))];
    const query = Object.fromEntries(parameters);
    if (Object.keys(query).length < parameters.length) throw new TypeError('path has a query parameter twice');
    const kind = key !== undefined ? 'purchase' : request.method === 'GET' ? 'read' : 'change';
    const call = { ...rest, path, query, kind, mayBeEmpty: key === undefined } as const;
    return this.transport.send<T>(key === undefined ? call : { ...call, key }, options);
  }
}
