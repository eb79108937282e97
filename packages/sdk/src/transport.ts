// Sends calls: signs each attempt anew, repeats what may be repeated, and ends by the deadline. What is judged of one
// attempt is in attempt.ts.
import { randomUUID } from 'node:crypto';
import { bodyOf, lost, refused, unreadable, type Answer, type Failure } from './attempt.js';
import { Deadline, within, type CallOptions } from './deadline.js';
import { ApiError, UnknownOutcomeError } from './errors.js';
import { bodyText, numberText, requireNumber } from './json-body.js';
import type { Signer } from './signature.js';

/** What the methods of this package hand over. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From /v1/ on, percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  /**
   * read: changes nothing. purchase: has a key, with which it is done once however often it is sent. setting: the same
   * again makes no difference. change: would be done twice, so it is repeated only where it was surely not taken.
   */
  readonly kind: 'read' | 'purchase' | 'setting' | 'change';
  /** The Idempotency-Key of a purchase. */
  readonly key?: string;
  /** How long the service is asked to hold its answer: of a purchase by `Prefer`, else by the query. */
  readonly heldSec?: number | undefined;
  /** Whether an answer can be one to this call; by default, whether it is a JSON object. */
  readonly isAnswer?: (body: object) => boolean;
  /** The answer is no JSON. */
  readonly isText?: boolean;
  /** The answer may have no body (204); it is `{}` then. */
  readonly mayBeEmpty?: boolean;
}

export interface TransportSettings {
  /** Without a slash at its end. */
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

const VERSION = '0.1.0';
const BASE_WAIT_MS = 200;
const WAIT_MAX_MS = 5000;

export class Transport {
  constructor(private readonly settings: TransportSettings) {}

  /** Throws ApiError, NetworkError, UnknownOutcomeError, or the reason of the caller's signal where nothing was sent. */
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
      if (!isClockSet && this.isOfOtherClock(error)) {
        isClockSet = true;
        continue;
      }
      attempt += 1;
      const isRepeated = outcome.isTransient && !(outcome.mayBeDone && call.kind === 'change');
      if (isRepeated && attempt <= this.settings.retries && (await deadline.sleep(waitMs(attempt, error)))) continue;
      throw endOf(call, outcome, { mayBeDone, deadline });
    }
  }

  /** Opens an answer that goes on: its body is the caller's to read. */
  async open(call: Call, limitMs: number, ends: AbortSignal): Promise<Response | Failure> {
    const { requestId, ...request } = this.signed(call);
    try {
      return await within(limitMs, ends, async (signal) => {
        const response = await this.fetch(request, signal);
        if (response.ok) return response;
        const { status, headers } = response;
        const failure = refused({ status, headers, text: await response.text() }, requestId);
        return this.isOfOtherClock(failure.error) ? { ...failure, isTransient: true } : failure;
      });
    } catch (thrown) {
      return lost(thrown, requestId);
    }
  }

  private async attempt<T>(call: Call, deadline: Deadline): Promise<Answer<T> | Failure> {
    // Whatever is wrong with a call itself is thrown here, and is no lost answer.
    const { requestId, ...request } = this.signed(call);
    const limitMs = Math.min(this.settings.attemptTimeoutMs + (call.heldSec ?? 0) * 1000, deadline.leftMs);
    try {
      return await within(limitMs, deadline.signal, async (signal) => {
        const response = await this.fetch(request, signal);
        const { status, headers } = response;
        const text = await response.text();
        if (!response.ok) return refused({ status, headers, text }, requestId);
        if (call.isText === true) return { status, headers, body: text as T };
        const body = text === '' && call.mayBeEmpty === true ? {} : bodyOf(text);
        if (body === undefined || call.isAnswer?.(body) === false) return unreadable(requestId);
        return { status, headers, body: body as T };
      });
    } catch (thrown) {
      return lost(thrown, requestId);
    }
  }

  /** One attempt as it goes over the wire. */
  private signed(call: Call): Prepared & { readonly requestId: string } {
    const { baseUrl, signer } = this.settings;
    const requestId = randomUUID();
    // A URL writes some characters of a query in another way than whoever made it.
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
    // A signature is for one host and path.
    return send(url, { ...request, redirect: 'manual', signal });
  }

  /** Whether it was refused for the time it was signed at; the next one is signed by the service's clock. */
  private isOfOtherClock(error: Error): boolean {
    if (!(error instanceof ApiError) || error.serverTime === undefined) return false;
    this.settings.signer.setClock(error.serverTime);
    return true;
  }
}

/** Throws TypeError for what is neither text nor a number: a Date would be written in words. */
function queryText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  return numberText(name, value as number);
}

/** Full jitter, on top of what the service asks for. */
function waitMs(attempt: number, error: Error): number {
  const askedMs = error instanceof ApiError ? (error.retryAfterSec ?? 0) * 1000 : 0;
  return askedMs + Math.random() * Math.min(WAIT_MAX_MS, BASE_WAIT_MS * 2 ** (attempt - 1));
}

/**
 * What a call ends with. A refusal says only what became of its own attempt: one before it, whose answer was lost, may have
 * been taken, or may still be on its way.
 */
function endOf(call: Call, { error }: Failure, by: { mayBeDone: boolean; deadline: Deadline }): unknown {
  const { isAborted, signal } = by.deadline;
  const cause: unknown = isAborted ? signal?.reason : error;
  if (call.kind === 'read' || !by.mayBeDone) return cause;
  return new UnknownOutcomeError(call.key, error.requestId, cause);
}
