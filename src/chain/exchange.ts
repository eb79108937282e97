/**
 * One HTTP exchange with a node: connections kept open, a limit on time and one on size, no redirects. undici's
 * dispatcher without its `request` or the platform's `fetch`, which take three and ten times its CPU (bench/README.md).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import { DeadlineError } from '../base/clock.js';

export interface Exchange {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For all of it: connecting, sending, and the last byte of the answer. */
  readonly timeoutMs: number;
  /** Of the answer, as sent and unzipped. */
  readonly bytesMax: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Longer than allowed, as sent or unzipped; or not gzip at all. */
const UNREADABLE = /^(ERR_BUFFER_TOO_LARGE|Z_\w+)$/;
const unzipped = promisify(gunzip);

/** Thrown when there was an answer, but too long a one or not in the encoding it claims. */
export class UnreadableAnswerError extends Error {
  override readonly name = 'UnreadableAnswerError';
}

/** Thrown when not a byte of the request left: nobody can have heard it. `cause` is what would be thrown otherwise. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** Of all connections to a port, those for broadcasts, which wait for no read. */
const BROADCASTS_SHARE = 0.25;

/**
 * The connections of this process to a node's ports. TRON (java-tron): a port serves node.maxHttpConnectNumber of them, 50, for
 * all processes together; further ones are opened, and nothing on them is read until another one closes.
 */
export class Connections {
  private readonly reads: Agent;
  private readonly broadcasts: Agent;

  /** `max`: to each port at once. */
  constructor(max: number) {
    const broadcasts = Math.max(1, Math.floor(max * BROADCASTS_SHARE));
    this.broadcasts = new Agent({ connections: broadcasts });
    this.reads = new Agent({ connections: Math.max(1, max - broadcasts) });
  }

  /** As `post`, by one of these. */
  async post(exchange: Exchange, isBroadcast: boolean): Promise<Answer> {
    return post(exchange, isBroadcast ? this.broadcasts : this.reads);
  }
}

/**
 * POSTs `body`. Throws UnreadableAnswerError, DeadlineError when the time was up, or what went wrong below HTTP; each
 * of the latter two as a NotSentError's cause when the request never began.
 */
async function post({ url, headers, body, timeoutMs, bytesMax }: Exchange, agent: Agent): Promise<Answer> {
  const { origin, pathname, search } = new URL(url);
  try {
    const { status, text, zipped } = await new Promise<Received>((resolve, reject) => {
      agent.dispatch(
        { origin, path: pathname + search, method: 'POST', headers: { 'accept-encoding': 'gzip', ...headers }, body },
        new Receiver(resolve, reject, timeoutMs, bytesMax),
      );
    });
    if (zipped.length === 0) return { status, text };
    const bytes = await unzipped(Buffer.concat(zipped), { maxOutputLength: bytesMax });
    return { status, text: bytes.toString('utf8') };
  } catch (error) {
    if (UNREADABLE.test(String((error as { code?: unknown }).code))) {
      throw new UnreadableAnswerError('the answer is too long or broken', { cause: error });
    }
    throw error;
  }
}

interface Received {
  readonly status: number;
  readonly text: string;
  /** The bytes of a zipped answer, which then has no text yet. */
  readonly zipped: readonly Buffer[];
}

/**
 * One answer as it comes in; what is late is refused, and its connection given up. Text is made of each piece at once:
 * pieces that are kept until the last one outlive the young garbage, and V8 then lets 64 MiB of them gather.
 */
class Receiver implements Dispatcher.DispatchHandler {
  private readonly timer: NodeJS.Timeout;
  private readonly decoder = new StringDecoder('utf8');
  private readonly zipped: Buffer[] = [];
  private text = '';
  private controller: Dispatcher.DispatchController | undefined;
  private status = 0;
  private isZipped = false;
  private late: DeadlineError | undefined;

  constructor(
    private readonly resolve: (received: Received) => void,
    private readonly reject: (error: Error) => void,
    timeoutMs: number,
    private left: number,
  ) {
    this.timer = setTimeout(() => {
      this.late = new DeadlineError(`no answer within ${timeoutMs.toString()} ms`);
      this.controller?.abort(this.late);
      this.fail(this.late);
    }, timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // Its turn for a connection came after its time: never sent.
    if (this.late !== undefined) controller.abort(this.late);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.isZipped = headers['content-encoding'] === 'gzip';
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.left -= chunk.length;
    if (this.left < 0) {
      controller.abort(new UnreadableAnswerError('the answer is too long or broken'));
      return;
    }
    if (this.isZipped) this.zipped.push(chunk);
    else this.text += this.decoder.write(chunk);
  }

  onResponseEnd(): void {
    clearTimeout(this.timer);
    this.resolve({ status: this.status, text: this.text + this.decoder.end(), zipped: this.zipped });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.timer);
    this.fail(error);
  }

  /** undici hands over a controller right before it writes; without one no connection ever carried this. */
  private fail(error: Error): void {
    this.reject(this.controller === undefined ? new NotSentError(error.message, { cause: error }) : error);
  }
}
