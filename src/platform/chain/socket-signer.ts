/**
 * Client of the signer process: a `Signer` whose keys are behind a unix socket. A request can be retried safely,
 * because the same bytes get the same signature.
 */
import { connect, type Socket } from 'node:net';
import { messageOf } from '../../domain/errors.js';
import { Signer } from './keys.js';

/** The signer did not answer, or not in time. Nothing is known, and the request may be retried. */
export class SignerUnavailableError extends Error {
  override readonly name: string = 'SignerUnavailableError';
}

/**
 * The connection ended before the answer. The signer closes idle connections, possibly just as a request is written.
 */
class ConnectionEndedError extends SignerUnavailableError {}

/** The signer refused; `code` names its rule. A retry is useless, except for TOO_MANY and TOO_MUCH. */
export class SignerRefusedError extends Error {
  override readonly name = 'SignerRefusedError';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(`The signer refused (${code}): ${message}`);
  }
}

/** A wallet with a key in the signer. */
export interface HeldWallet {
  readonly address: string;
  readonly role: string;
  readonly permission_id: number;
  readonly key_address: string;
}

interface Waiting {
  readonly resolve: (answer: Readonly<Record<string, unknown>>) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

const ANSWER_MS = 3000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const SIGNATURE = /^[0-9a-f]{130}$/;

export class SocketSigner extends Signer {
  private socket: Socket | undefined;
  private nextId = 1;
  private readonly waiting = new Map<number, Waiting>();

  constructor(private readonly path: string) {
    super();
  }

  /** Throws SignerRefusedError or SignerUnavailableError. */
  async sign(walletAddress: string, rawData: Buffer): Promise<Buffer> {
    const { signature } = await this.ask({ wallet: walletAddress, raw_data: rawData.toString('hex') });
    if (typeof signature !== 'string' || !SIGNATURE.test(signature)) {
      throw new SignerUnavailableError('The signer answered no signature');
    }
    return Buffer.from(signature, 'hex');
  }

  /** Returns the wallets with a key in the signer. */
  async wallets(): Promise<readonly HeldWallet[]> {
    const { wallets } = await this.ask({ list: true });
    if (!Array.isArray(wallets)) throw new SignerUnavailableError('The signer answered no wallets');
    return wallets as HeldWallet[];
  }

  /**
   * Returns the seconds after which a transaction may expire at most; undefined from a signer that does not tell.
   * Throws SignerUnavailableError.
   */
  async expirationMaxSec(): Promise<number | undefined> {
    const { expiration_max_sec: maxSec } = await this.ask({ list: true });
    return typeof maxSec === 'number' ? maxSec : undefined;
  }

  /** Closes the connection and fails open requests. A later request opens a new connection. */
  close(): void {
    this.drop('closed', this.socket, SignerUnavailableError);
  }

  /** Retries once on a new connection when the current one has ended. */
  private async ask(request: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
    const wasConnected = this.socket !== undefined;
    try {
      return await this.askOnce(request);
    } catch (error) {
      if (!wasConnected || !(error instanceof ConnectionEndedError)) throw error;
      return this.askOnce(request);
    }
  }

  private async askOnce(request: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
    const id = this.nextId;
    this.nextId += 1;
    const answer = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new SignerUnavailableError(`The signer did not answer in ${ANSWER_MS.toString()} ms`));
      }, ANSWER_MS);
      this.waiting.set(id, { resolve, reject, timer });
      // Writing before the connection is established is fine: Node buffers it.
      this.connected().write(`${JSON.stringify({ id, ...request })}\n`);
    });
    if (typeof answer['error'] === 'string') {
      throw new SignerRefusedError(answer['error'], typeof answer['msg'] === 'string' ? answer['msg'] : '');
    }
    return answer;
  }

  private connected(): Socket {
    if (this.socket !== undefined) return this.socket;
    const socket = connect(this.path);
    this.socket = socket;
    // An idle connection must not keep the process alive.
    socket.unref();
    socket.setEncoding('latin1');
    let pending = '';
    socket.on('data', (chunk) => {
      pending += String(chunk);
      const lines = pending.split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) this.take(line);
      if (pending.length > ANSWER_BYTES_MAX) this.drop('it answered too much', socket);
    });
    socket.on('error', (error) => this.drop(messageOf(error), socket));
    socket.on('close', () => this.drop('it closed the connection', socket));
    return socket;
  }

  private take(line: string): void {
    let answer: unknown;
    try {
      answer = JSON.parse(line);
    } catch {
      this.drop('it answered no JSON');
      return;
    }
    const id = typeof answer === 'object' && answer !== null && 'id' in answer ? answer.id : undefined;
    const waiting = typeof id === 'number' ? this.waiting.get(id) : undefined;
    if (typeof id !== 'number' || waiting === undefined) return;
    this.waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(answer as Readonly<Record<string, unknown>>);
  }

  /** Discards the connection and fails its open requests. Ignores the end of an earlier connection. */
  private drop(why: string, socket = this.socket, Fault = ConnectionEndedError): void {
    socket?.destroy();
    if (socket !== this.socket) return;
    this.socket = undefined;
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new Fault(`The signer cannot be reached: ${why}`));
    }
    this.waiting.clear();
  }
}
