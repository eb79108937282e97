/**
 * Makes one delivery attempt. The name is resolved once, every address must be allowed, and the connection goes to a
 * checked address under the name's certificate. Nothing is followed, reused or read without bound, and one deadline
 * covers all steps. The status line decides: an error after it changes nothing.
 */
import { promises as dns } from 'node:dns';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { monotonicMs, nowMs } from '../../platform/support/clock.js';
import { invariant } from '../../domain/errors.js';
import type { AddressRules, Destination } from '../webhooks/address-rules.js';
import { AnswerReader, type ReadAnswer } from './answer-reader.js';
import { retryAfterSecOf } from './schedule.js';

const KEPT_BYTES = 256;
const DNS_TRY_MS = 2500;
const DNS_TRIES = 2;
const USER_AGENT = 'energy-rental-webhooks/1';

/** Reason of a failed attempt. The owner of the webhook sees this and no further detail. */
export type Fault =
  | 'ADDRESS_NOT_ALLOWED'
  | 'NAME_NOT_FOUND'
  | 'CONNECTION_FAILED'
  | 'TLS_FAILED'
  | 'TIMEOUT'
  | 'BAD_ANSWER'
  | 'REDIRECT'
  | 'STATUS'
  | 'GONE';

export interface Answered {
  /** Undefined if delivered. */
  readonly fault: Fault | undefined;
  readonly status: number | undefined;
  /** The first bytes of the answer's body. */
  readonly answer: string | undefined;
  readonly retryAfterSec: number | undefined;
  readonly durationMs: number;
}

export interface Message {
  readonly url: string;
  readonly body: string;
  /** Called at sending time, because the headers contain the time. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/** Decisions of the caller during an attempt. */
export interface AttemptHooks {
  /** Resolves when a request may go to the address. Rejects to end the attempt. */
  readonly onAddress: (address: string) => Promise<void>;
  /** Resolves when the request may be written. */
  readonly beforeWriting: () => Promise<void>;
  readonly onWritten: () => void;
}

class AttemptFault extends Error {
  constructor(readonly fault: Fault) {
    super(fault);
  }
}

interface AttemptOptions {
  readonly rules: AddressRules;
  readonly timeoutMs: number;
  /** `address:port`; empty means the system's servers. */
  readonly dnsServers: readonly string[];
  /** Certificate of a private authority, in addition to the public ones. */
  readonly ca: string | undefined;
}

interface Exchange {
  readonly deadline: AbortSignal;
  /** Every opened connection; all are closed at the end of the attempt. */
  readonly sockets: Socket[];
  readonly reader: AnswerReader;
}

export class Attempts {
  /** Shared by all attempts: reading the certificates takes milliseconds and a megabyte outside the heap. */
  private readonly secureContext: SecureContext;

  constructor(private readonly options: AttemptOptions) {
    const { ca } = options;
    this.secureContext = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
    });
  }

  /** Rejects only with an error that `hooks` threw. */
  async send(message: Message, hooks: AttemptHooks): Promise<Answered> {
    const startedMs = monotonicMs();
    const deadline = AbortSignal.timeout(this.options.timeoutMs);
    const tookMs = (): number => Math.round(monotonicMs() - startedMs);
    const sockets: Socket[] = [];
    const reader = new AnswerReader();
    try {
      await limited(this.exchange(message, hooks, { deadline, sockets, reader }), deadline);
      return { ...judge(reader.answer), durationMs: tookMs() };
    } catch (error) {
      if (!(error instanceof AttemptFault)) throw error;
      return { ...judge(reader.answer, error.fault), durationMs: tookMs() };
    } finally {
      // Newest first: destroying the TCP socket under a TLS connection that is being opened crashes Node 20.
      for (const socket of sockets.reverse()) socket.destroy();
    }
  }

  private async exchange(
    message: Message,
    hooks: AttemptHooks,
    { deadline, sockets, reader }: Exchange,
  ): Promise<void> {
    const destination = this.options.rules.destinationOf(message.url);
    if (destination === undefined) throw new AttemptFault('ADDRESS_NOT_ALLOWED');
    const address = await this.addressOf(destination, deadline);
    await hooks.onAddress(address);
    requireTime(deadline);
    const socket = await this.connect(destination, address, sockets);
    await hooks.beforeWriting();
    requireTime(deadline);
    socket.write(requestText(destination, message), hooks.onWritten);
    await readAnswer(socket, reader);
  }

  /**
   * Returns one of the name's addresses if all are allowed. The single query ensures that the connection goes to an
   * address that was checked.
   */
  private async addressOf({ host, isLiteral }: Destination, deadline: AbortSignal): Promise<string> {
    if (isLiteral) return host;
    const addresses = await this.resolve(host, deadline);
    if (!addresses.every((address) => this.options.rules.mayConnect(address))) {
      throw new AttemptFault('ADDRESS_NOT_ALLOWED');
    }
    const preferred = addresses.filter((address) => !address.includes(':'));
    const candidates = preferred.length > 0 ? preferred : addresses;
    const chosen = candidates[Math.floor(Math.random() * candidates.length)];
    if (chosen === undefined) throw new AttemptFault('NAME_NOT_FOUND');
    return chosen;
  }

  /** Resolves with c-ares: no hosts file, no search domains, and no pool thread that a slow server could block. */
  private async resolve(host: string, deadline: AbortSignal): Promise<readonly string[]> {
    const resolver = new dns.Resolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES });
    if (this.options.dnsServers.length > 0) resolver.setServers(this.options.dnsServers);
    const cancel = (): void => resolver.cancel();
    deadline.addEventListener('abort', cancel);
    try {
      const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    } finally {
      deadline.removeEventListener('abort', cancel);
    }
  }

  private async connect({ isTls, host, port }: Destination, address: string, sockets: Socket[]): Promise<Socket> {
    const tcp = connectTcp({ host: address, port });
    sockets.push(tcp);
    await opened(tcp, 'connect', 'CONNECTION_FAILED');
    if (!isTls) return tcp;
    const tls = connectTls({
      socket: tcp,
      secureContext: this.secureContext,
      // For an address literal there is no SNI; its certificate must name the address.
      ...(host === address ? { host } : { servername: host }),
      ALPNProtocols: ['http/1.1'],
    });
    sockets.push(tls);
    await opened(tls, 'secureConnect', 'TLS_FAILED');
    return tls;
  }
}

/** No step may start after the deadline, because nothing would end it. */
function requireTime(deadline: AbortSignal): void {
  if (deadline.aborted) throw new AttemptFault('TIMEOUT');
}

async function opened(socket: Socket, event: 'connect' | 'secureConnect', fault: Fault): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once(event, resolve);
    const fail = (): void => reject(new AttemptFault(fault));
    // This listener is never removed: a late error of an abandoned connection must not end the process.
    socket.on('error', fail);
    socket.once('close', fail);
  });
}

/** Returns the result of the work, or throws TIMEOUT at the deadline. Ignores a later failure of the work. */
async function limited<T>(work: Promise<T>, deadline: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  const over = new Promise<never>((_, reject) => {
    deadline.addEventListener('abort', () => reject(new AttemptFault('TIMEOUT')), { once: true });
  });
  return Promise.race([work, over]);
}

/** Returns the whole request as text. Throws if a header contains a line break; none of ours does. */
function requestText({ host, port, isTls, path }: Destination, { body, headers }: Message): string {
  const name = host.includes(':') ? `[${host}]` : host;
  const isUsual = port === (isTls ? 443 : 80);
  const lines = Object.entries({
    Host: isUsual ? name : `${name}:${port.toString()}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body).toString(),
    'User-Agent': USER_AGENT,
    Connection: 'close',
    ...headers(),
  }).map(([key, value]) => `${key}: ${value}`);
  const head = [`POST ${path} HTTP/1.1`, ...lines];
  invariant(
    head.every((line) => /^[\x20-\x7e]*$/.test(line)),
    'a line of a request is printable ASCII',
  );
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Resolves when the kept part of the answer has been read. Throws BAD_ANSWER if the connection ends before. */
async function readAnswer(socket: Socket, reader: AnswerReader): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = (): void => reject(new AttemptFault('BAD_ANSWER'));
    for (const event of ['error', 'end', 'close']) socket.once(event, fail);
    socket.on('data', (chunk: Buffer) => {
      reader.take(chunk);
      if (!reader.isDone) return;
      socket.pause();
      resolve();
    });
  });
}

/** Judges an answer by its status if it has one; otherwise the attempt failed with `fault`. */
function judge(read: ReadAnswer | undefined, fault: Fault = 'BAD_ANSWER'): Omit<Answered, 'durationMs'> {
  if (read === undefined) return { fault, status: undefined, answer: undefined, retryAfterSec: undefined };
  const { status, retryAfter, bytes } = read;
  const answer = bytes.length === 0 ? undefined : textOf(bytes);
  return { fault: faultOf(status), status, answer, retryAfterSec: retryAfterSecOf(retryAfter, nowMs()) };
}

function faultOf(status: number): Fault | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status < 200) return 'BAD_ANSWER';
  if (status === 410) return 'GONE';
  return status >= 300 && status < 400 ? 'REDIRECT' : 'STATUS';
}

/** Replaces control characters that terminals or Postgres cannot hold. */
function textOf(bytes: Buffer): string {
  return (
    bytes
      .subarray(0, KEPT_BYTES)
      .toString('utf8')
      // oxlint-disable-next-line no-control-regex -- what a receiver sends is shown to people
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ')
  );
}
