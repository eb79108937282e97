// Sends calls: signs each attempt separately, retries where a retry is safe, and observes the deadline. attempt.ts
// classifies the outcome of an attempt.
import { randomUUID } from 'node:crypto';
import { bodyOf, isOfType, lost, refused, unreadable, type Answer, type Failure } from './attempt.js';
import { Deadline, within, type CallOptions } from './deadline.js';
import { ApiError, UnknownOutcomeError } from './errors.js';
import { bodyText, numberText, requireNumber } from './json-body.js';
import type { Signer } from './signature.js';

/** One call, as the methods of this package describe it. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From /v1/ on, percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  /**
   * read: changes nothing. purchase: carries a key, so any number of attempts executes it once. setting: idempotent.
   * change: not idempotent, so it is retried only if the service cannot have executed it.
   */
  readonly kind: 'read' | 'purchase' | 'setting' | 'change';
  /** The Idempotency-Key of a purchase. */
  readonly key?: string;
  /** Seconds for which the service is asked to hold its answer: by `Prefer` for a purchase, otherwise by the query. */
  readonly heldSec?: number | undefined;
  /** True if the body can be the answer to this call. By default any JSON object can. */
  readonly isAnswer?: (body: object) => boolean;
  /** The media type of an answer that is not JSON. */
  readonly textType?: string;
  /** The answer may have no body (204); it is returned as `{}`. */
  readonly mayBeEmpty?: boolean;
}

export interface TransportSettings {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly signer: Signer;
  readonly timeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly retries: number;
  readonly fetch: typeof fetch;
}

interface Prepared {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

const VERSION = '1.0.0';
const BASE_WAIT_MS = 200;
const WAIT_MAX_MS = 5000;

export class Transport {
  constructor(private readonly settings: TransportSettings) {}

  /**
   * Sends a call and retries it. Throws ApiError, NetworkError or UnknownOutcomeError; throws the reason of the
   * caller's signal if nothing was sent.
   */
  async send<T>(call: Call, options: CallOptions = {}): Promise<Answer<T>> {
    if (call.heldSec !== undefined) requireNumber(call.heldSec, 'waitSec');
    const deadline = new Deadline(options.timeoutMs ?? this.settings.timeoutMs, options);
    options.signal?.throwIfAborted();
    let mayBeDone = false;
    let isClockSet = false;
    for (let attempt = 0; ;) {
      const outcome = await this.attempt<T>(call, deadline);
      if (!('error' in outcome)) return outcome;
      const { error } = outcome;
      mayBeDone ||= outcome.mayBeDone;
      const isOfOtherClock = this.isOfOtherClock(error);
      if (isOfOtherClock && !isClockSet) {
        isClockSet = true;
        continue;
      }
      attempt += 1;
      // Each process of the service that forgets its nonces refuses earlier timestamps once.
      const isTransient = outcome.isTransient || isOfOtherClock;
      const isRepeated = isTransient && !(outcome.mayBeDone && call.kind === 'change');
      if (isRepeated && attempt <= this.settings.retries && (await deadline.sleep(waitMs(attempt, error)))) continue;
      throw endOf(call, outcome, { mayBeDone, deadline });
    }
  }

  /** Opens a stream of events. The caller reads its body. */
  async open(call: Call, limitMs: number, ends: AbortSignal): Promise<Response | Failure> {
    const { requestId, ...request } = this.signed(call);
    try {
      return await within(limitMs, ends, async (signal) => {
        const response = await this.fetch(request, signal);
        const { status, headers } = response;
        if (response.ok && isOfType(headers, 'text/event-stream')) return response;
        if (response.ok) {
          // Such a body may have no end.
          response.body?.cancel().catch(() => undefined);
          return unreadable(response, requestId);
        }
        const failure = refused({ url: request.url, status, headers, text: await response.text() }, requestId);
        return this.isOfOtherClock(failure.error) ? { ...failure, isTransient: true } : failure;
      });
    } catch (thrown) {
      return lost(thrown, requestId);
    }
  }

  private async attempt<T>(call: Call, deadline: Deadline): Promise<Answer<T> | Failure> {
    // Outside the try: an error in the call itself is thrown, not treated as a lost answer.
    const { requestId, ...request } = this.signed(call);
    const limitMs = Math.min(this.settings.attemptTimeoutMs + (call.heldSec ?? 0) * 1000, deadline.leftMs);
    try {
      return await within(limitMs, deadline.signal, async (signal) => {
        const response = await this.fetch(request, signal);
        const { status, headers } = response;
        const text = await response.text();
        if (!response.ok) return refused({ url: request.url, status, headers, text }, requestId);
        if (call.textType !== undefined) {
          const isAnswer = isOfType(headers, call.textType);
          return isAnswer ? { status, headers, body: text as T } : unreadable(response, requestId);
        }
        const body = text === '' && call.mayBeEmpty === true ? {} : bodyOf(text);
        if (body === undefined || call.isAnswer?.(body) === false) return unreadable(response, requestId);
        return { status, headers, body: body as T };
      });
    } catch (thrown) {
      return lost(thrown, requestId);
    }
  }

  /** Returns one signed attempt, ready to send. */
  private signed(call: Call): Prepared & { readonly requestId: string } {
    const { baseUrl, signer } = this.settings;
    const requestId = randomUUID();
    // The URL class encodes some query characters differently from the caller, so the signature covers its output.
    const url = new URL(baseUrl + call.path);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, queryText(name, value));
    }
    const { method, path } = call;
    const body = call.body === undefined ? undefined : bodyText(call.body);
    const idempotencyKey = call.key ?? '';
    const headers = {
      ...signer.headers({ method, path, query: url.search.slice(1), body: body ?? '', idempotencyKey }),
      Accept: 'application/json',
      'User-Agent': `tron-energy-rental-sdk/${VERSION}`,
      'X-Request-Id': requestId,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(call.key !== undefined && { 'Idempotency-Key': call.key }),
      ...(call.kind === 'purchase' && call.heldSec !== undefined && { Prefer: `wait=${call.heldSec.toString()}` }),
    };
    return { requestId, url, method, headers, ...(body !== undefined && { body }) };
  }

  private async fetch({ url, ...request }: Prepared, signal: AbortSignal): Promise<Response> {
    const { fetch: send } = this.settings;
    // A redirect is not followed: the signature covers one path, and its headers belong to one host.
    return send(url, { ...request, redirect: 'manual', signal });
  }

  /**
   * True if the service refused the timestamp of the signature. Sets the signer to the service's clock for the next
   * attempt.
   */
  private isOfOtherClock(error: Error): boolean {
    if (!(error instanceof ApiError) || error.serverTime === undefined) return false;
    this.settings.signer.setClock(error.serverTime);
    return true;
  }
}

/** Throws TypeError unless the value is a text or a number: a Date would turn into localised words. */
function queryText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  return numberText(name, value as number);
}

/** Returns the wait in ms: full jitter, added to the delay that the service asked for. */
function waitMs(attempt: number, error: Error): number {
  const askedMs = error instanceof ApiError ? (error.retryAfterSec ?? 0) * 1000 : 0;
  return askedMs + Math.random() * Math.min(WAIT_MAX_MS, BASE_WAIT_MS * 2 ** (attempt - 1));
}

/**
 * Returns the error that ends a call. A refusal describes only its own attempt. If the answer to an earlier attempt was
 * lost, that attempt may have been executed, or may still be in transit.
 */
function endOf(call: Call, { error }: Failure, by: { mayBeDone: boolean; deadline: Deadline }): unknown {
  const { isAborted, signal } = by.deadline;
  const cause: unknown = isAborted ? signal?.reason : error;
  if (call.kind === 'read' || !by.mayBeDone) return cause;
  return new UnknownOutcomeError(call.key, error.requestId, cause);
}
