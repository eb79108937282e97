// The client of one project: its settings, and the groups of calls.
import { Account } from './account.js';
import type { Answer } from './attempt.js';
import { AutoDelegations } from './auto-delegations.js';
import type { CallOptions } from './deadline.js';
import { Events } from './events.js';
import type { Limits } from './model.js';
import { Orders } from './orders.js';
import { Quotes } from './quotes.js';
import { Signer, type Scheme } from './signature.js';
import { Transport, type Call } from './transport.js';
import { Webhooks } from './webhooks.js';

export interface ClientSettings {
  /** Where the service is, as `https://energy.example.com`. */
  readonly baseUrl: string;
  /** The Merchant ID: a UUID, no secret. */
  readonly merchant: string;
  /** The API key: it is never sent, and must never be where a browser could read it. */
  readonly apiKey: string;
  /** Milliseconds over all attempts and waits of a call, 60 000 unless said. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds for one attempt, beside the time for which the service is asked to hold its answer: 15 000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How often a call is repeated at most, where it may be: 5. The deadline may come first. */
  readonly retries?: number | undefined;
  /** `md5` signs the body alone, as the first clients did; only some paths take it. `hmac` unless said. */
  readonly signature?: Scheme | undefined;
  /** Instead of the global one. */
  readonly fetch?: typeof fetch | undefined;
}

/** Any request, for what has no method here. With a key it is a purchase, which is repeated with that key. */
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

  /** Throws TypeError for settings that cannot work. */
  constructor(settings: ClientSettings) {
    const { baseUrl, merchant, apiKey } = settings;
    if (!/^https?:$/.test(new URL(baseUrl).protocol)) throw new TypeError('baseUrl is an http(s) URL');
    if (!/^[\x21-\x7e]+$/.test(merchant.trim())) throw new TypeError('merchant is a Merchant ID');
    if (apiKey.trim() === '') throw new TypeError('apiKey is not empty');
    const { timeoutMs = TIMEOUT_MS, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS, retries = RETRIES } = settings;
    for (const [name, value] of Object.entries({ timeoutMs, attemptTimeoutMs })) {
      if (!(value > 0)) throw new TypeError(`${name} is a positive number of milliseconds`);
    }
    if (!(retries >= 0)) throw new TypeError('retries is 0 or more');
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

  /** What is on sale: durations with their prices, bounds, and the most that one order could have just now. */
  async limits(options?: CallOptions): Promise<Limits> {
    return (await this.transport.send<Limits>({ method: 'GET', path: '/v1/limits', kind: 'read' }, options)).body;
  }

  /** The answer of any request, with status and headers; `{}` where it has no body. Throws as every call does. */
  async request<T extends object>(request: RawRequest, options?: CallOptions): Promise<Answer<T>> {
    const { idempotencyKey: key, path: target, ...rest } = request;
    const [path = '', ...search] = target.split('?');
    const query = Object.fromEntries(new URLSearchParams(search.join('?')));
    const kind = key !== undefined ? 'purchase' : request.method === 'GET' ? 'read' : 'change';
    const call = { ...rest, path, query, kind, mayBeEmpty: key === undefined } as const;
    return this.transport.send<T>(key === undefined ? call : { ...call, key }, options);
  }
}
