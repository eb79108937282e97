/**
 * The worker's side of the signer process: the same `Signer`, the keys behind a unix socket. Repeating a request is
 * safe, because the same bytes get the same signature.
 */
import { connect, type Socket } from 'node:net';
import { messageOf } from '../domain/errors.js';
import { Signer } from './keys.js';

/** The signer did not answer in time, or not at all; nothing is known and the request may be repeated. */
export class SignerUnavailableError extends Error {
  override readonly name: string = 'SignerUnavailableError';
}

/** The connection ended before the answer. The signer ends idle ones, perhaps just as a request was written. */
class ConnectionEndedError extends SignerUnavailableError {}

/** The signer refused; `code` names its rule. Repeating the request changes nothing, except for TOO_MANY and TOO_MUCH. */
export class SignerRefusedError extends Error {
  override readonly name = 'SignerRefusedError';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(`The signer refused (${code}): ${message}`);
  }
}

/** A wallet whose key the signer holds. */
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

  /** The wallets whose keys the signer holds. */
  async wallets(): Promise<readonly HeldWallet[]> {
    const { wallets } = await this.ask({ list: true });
    if (!Array.isArray(wallets)) throw new SignerUnavailableError('The signer answered no wallets');
    return wallets as HeldWallet[];
  }

  /** Ends the connection; open requests fail. A later request connects anew. */
  close(): void {
    this.drop('closed', this.socket, SignerUnavailableError);
  }

  /** Repeated once on a new connection when the one in use ended. */
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
      // Written before it is connected, too: Node sends it then.
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
    // The process may end while the connection idles.
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

  /** Forgets the connection and fails what waits on it. An older connection's end concerns nobody any more. */
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
