/**
 * Reads a project's events over HTTP, like a merchant's program: with base URL, Merchant ID and API key alone. Reads
 * the stream (docs/interface.md §26) and resumes after a disconnect: each event arrives once, in order.
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { hmacOf, stringToSign } from '../auth/hmac-signature.js';
import { nowMs, sleep } from '../../platform/support/clock.js';
import { messageOf } from '../../domain/errors.js';
import { OperatorError } from '../../domain/operator-error.js';

/** The service sends data at least every 15 s. A longer silence means that the connection is dead. */
const SILENCE_MS = 45_000;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 15_000;
/** An event has at most 20 KB. */
const PENDING_CHARS_MAX = 1 << 20;
const REFUSAL_CHARS_MAX = 64 * 1024;

export interface FeedOptions {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly merchant: string;
  readonly apiKey: string;
  /** The position to begin after. */
  readonly after: bigint | 'latest';
  /** The event types to read; empty for all. */
  readonly types: readonly string[];
}

export interface FeedEvent {
  readonly position: bigint;
  /** The event as JSON, byte for byte as a webhook receives it. */
  readonly payload: string;
}

export interface FeedListener {
  /** The next event follows once this resolves. */
  readonly onEvent: (event: FeedEvent) => Promise<void>;
  /** Called when a stream has begun. The first event comes after `position`. */
  readonly onBegin: (position: bigint) => void;
  /** Called when a stream is cut off or cannot begin; it is retried. Once per outage, however many retries follow. */
  readonly onLoss: (reason: string) => void;
}

interface Refusal {
  readonly error?: string;
  readonly msg?: string;
  readonly server_time?: number;
  readonly oldest_position?: number;
}

/** A temporary failure: the service is busy, stopping or unavailable. */
class Interruption extends Error {
  constructor(
    message: string,
    readonly afterMs?: number,
  ) {
    super(message);
  }
}

export class EventFeed {
  /**
   * Position of the last event that was handled or that the service skipped; undefined before the first stream begins.
   */
  position: bigint | undefined;
  private readonly key: KeyObject;
  /** Seconds by which the service's clock is ahead of ours, once known. */
  private offsetSec = 0;
  private isLost = false;

  constructor(private readonly options: FeedOptions) {
    this.key = createSecretKey(options.apiKey, 'utf8');
    if (options.after !== 'latest') this.position = options.after;
  }

  /** Runs until `stop`. Throws OperatorError if the service refuses, or did not answer the first time. */
  async run(listener: FeedListener, stop: AbortSignal): Promise<void> {
    let failures = 0;
    let hasBegun = false;
    const begun = (position: bigint): void => {
      this.isLost = false;
      hasBegun = true;
      failures = 0;
      listener.onBegin(position);
    };
    while (!stop.aborted) {
      const afterMs = await this.stream({ ...listener, onBegin: begun }, stop).then(
        () => undefined,
        (error: unknown) => {
          if (stop.aborted) return undefined;
          if (!(error instanceof Interruption)) throw error;
          if (!hasBegun && error.afterMs === undefined) throw new OperatorError(error.message);
          if (!this.isLost) listener.onLoss(error.message);
          this.isLost = true;
          return error.afterMs;
        },
      );
      await sleep(Math.max(afterMs ?? 0, Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** failures)), stop);
      failures = Math.min(failures + 1, 10);
    }
  }

  /** Reads one stream from the current position to its end. Throws Interruption, OperatorError. */
  private async stream(listener: FeedListener, stop: AbortSignal): Promise<void> {
    const silence = new AbortController();
    const waiting = (): NodeJS.Timeout => setTimeout(() => silence.abort(), SILENCE_MS);
    let timer = waiting();
    try {
      const response = await this.open(AbortSignal.any([stop, silence.signal]));
      if (response.body === null) throw new Interruption('the stream is empty');
      const lines = new StreamLines();
      let isBegun = false;
      // Time spent on handling events is not silence of the service.
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        clearTimeout(timer);
        for (const { position, payload } of lines.take(chunk)) {
          if (!isBegun) listener.onBegin(payload === undefined ? position : (this.position ?? position - 1n));
          isBegun = true;
          if (payload !== undefined && (this.position === undefined || position > this.position))
            await listener.onEvent({ position, payload });
          this.position = position;
          if (stop.aborted) return;
        }
        timer = waiting();
      }
    } catch (error) {
      if (error instanceof OperatorError || error instanceof Interruption) throw error;
      const fault = silence.signal.aborted ? 'the service sends nothing' : faultOf(error);
      throw new Interruption(`the stream was interrupted (${fault})`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns the streaming answer. Throws Interruption, OperatorError. */
  private async open(signal: AbortSignal): Promise<Response> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.request(signal).catch((error: unknown) => {
        throw new Interruption(`${this.options.baseUrl} is unreachable: ${faultOf(error)}`);
      });
      if (response.ok && response.headers.get('content-type')?.startsWith('text/event-stream') === true)
        return response;
      const refusal = await refusalOf(response);
      const { status } = response;
      const words = refusal.msg ?? `the service answered ${status.toString()}`;
      if (refusal.error === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE' && refusal.server_time !== undefined) {
        this.offsetSec = refusal.server_time - Math.floor(nowMs() / 1000);
        if (attempt === 1) continue;
        // Each process of the service that forgets its nonces refuses earlier timestamps once.
        throw new Interruption(words, RETRY_FIRST_MS);
      }
      if (status === 429 || status >= 500) {
        const retryAfter = Number(response.headers.get('retry-after') ?? '1');
        throw new Interruption(words, Number.isFinite(retryAfter) ? retryAfter * 1000 : RETRY_MAX_MS);
      }
      if (refusal.error === 'EVENTS_EXPIRED' && refusal.oldest_position !== undefined) {
        const before = (refusal.oldest_position - 1).toString();
        const gap = `Some events after position ${this.position?.toString() ?? ''} are no longer kept`;
        throw new OperatorError(`${gap}. Continue with the oldest event: --after ${before}.`, 1, refusal.error);
      }
      if (refusal.error === undefined)
        throw new OperatorError(`${this.options.baseUrl} is not an energy rental service.`);
      throw new OperatorError(`Refused: ${words}`, 1, refusal.error);
    }
  }

  private async request(signal: AbortSignal): Promise<Response> {
    const { baseUrl, merchant, types } = this.options;
    const query = [
      ...(this.position === undefined ? ['after=latest'] : [`after=${this.position.toString()}`]),
      ...(types.length === 0 ? [] : [`types=${types.join(',')}`]),
    ].join('&');
    const target = `/v1/events/stream?${query}`;
    const signed = {
      merchant,
      timestamp: (Math.floor(nowMs() / 1000) + this.offsetSec).toString(),
      nonce: randomBytes(16).toString('hex'),
      idempotencyKey: '',
    };
    const message = stringToSign(signed, { method: 'GET', target, body: Buffer.alloc(0) });
    return fetch(baseUrl + target, {
      headers: {
        Accept: 'text/event-stream',
        Merchant: merchant,
        'X-CC-Timestamp': signed.timestamp,
        'X-CC-Nonce': signed.nonce,
        'X-CC-Signature': `v1=${hmacOf(message, this.key).toString('hex')}`,
      },
      redirect: 'manual',
      signal,
    });
  }
}

/** Parses Server-Sent Events of our own service: `id` and `data` on one line each, comments, and an empty line. */
class StreamLines {
  private readonly decoder = new TextDecoder();
  private pending = '';
  private id: bigint | undefined;
  private payload: string | undefined;

  /**
   * Returns the events completed by these bytes. The payload is absent if the service only skipped others. Throws
   * Interruption.
   */
  *take(bytes: Uint8Array): Generator<{ readonly position: bigint; readonly payload: string | undefined }> {
    this.pending += this.decoder.decode(bytes, { stream: true });
    if (this.pending.length > PENDING_CHARS_MAX) throw new Interruption('the stream has no end of line');
    const lines = this.pending.split('\n');
    this.pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('id: ')) this.id = positionOf(line.slice(4));
      else if (line.startsWith('data: ')) this.payload = line.slice(6);
      else if (line === '' && this.id !== undefined) {
        const { id: position, payload } = this;
        this.id = this.payload = undefined;
        yield { position, payload };
      }
    }
  }
}

function positionOf(text: string): bigint {
  if (!/^\d{1,16}$/.test(text)) throw new Interruption('the stream has an id that is no position');
  return BigInt(text);
}

async function refusalOf(response: Response): Promise<Refusal> {
  try {
    const text = await response.text();
    return text.length > REFUSAL_CHARS_MAX ? {} : ((JSON.parse(text) as Refusal | null) ?? {});
  } catch {
    return {};
  }
}

/** Returns the reason of a failed request, which fetch puts in the cause. */
export function faultOf(error: unknown): string {
  const { cause } = error as { readonly cause?: { readonly code?: unknown; readonly message?: unknown } };
  for (const said of [cause?.code, cause?.message]) if (typeof said === 'string' && said !== '') return said;
  return messageOf(error);
}
