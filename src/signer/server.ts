/**
 * The signer's door: a unix socket only its own user can open. One JSON object per line in, one per line out:
 * `{ id, wallet, raw_data }` → `{ id, signature }` or `{ id, error, msg }`; `{ id, list: true }` → `{ id, wallets }`.
 * Holds the keys; they never leave it, in an answer, an error or the log.
 */
import { once } from 'node:events';
import { chmod, rm, stat } from 'node:fs/promises';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { signWithKey } from '../chain/keys.js';
import { monotonicMs } from '../clock.js';
import { messageOf } from '../errors.js';
import { Policy, RefusedError } from './policy.js';
import { SettingsError, type SignerSettings, type SignerWallet } from './settings.js';

/** What the signer did, for its log. */
export type SignerEvent = Readonly<Record<string, string | number | undefined>>;

const LINE_BYTES_MAX = 8 * 1024;
const CONNECTIONS_MAX = 64;
const ID_MAX = 2 ** 53 - 1;

export class SignerServer {
  private readonly policy: Policy;
  private readonly wallets: ReadonlyMap<string, SignerWallet>;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  constructor(
    private readonly settings: SignerSettings,
    private readonly log: (event: SignerEvent) => void,
    clockMs: () => number = monotonicMs,
  ) {
    this.policy = new Policy(settings.wallets, clockMs);
    this.wallets = new Map(settings.wallets.map((wallet) => [wallet.address, wallet]));
    this.server = createServer((socket) => {
      this.serve(socket);
    });
    this.server.maxConnections = CONNECTIONS_MAX;
  }

  /** Listens; refuses a path where another signer listens, and takes over one that was left behind. */
  async listen(): Promise<void> {
    const path = this.settings.socketPath;
    await removeStale(path);
    // The mask makes the socket private from its first moment; Node binds a path before listen() returns.
    const mask = process.umask(0o177);
    try {
      this.server.listen(path);
    } finally {
      process.umask(mask);
    }
    await once(this.server, 'listening');
    await chmod(path, 0o600);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (!this.server.listening) return;
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    let pending = '';
    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      pending += String(chunk);
      for (let end = pending.indexOf('\n'); end >= 0; end = pending.indexOf('\n')) {
        const line = pending.slice(0, end);
        pending = pending.slice(end + 1);
        socket.write(`${JSON.stringify(this.answer(line))}\n`);
      }
      if (pending.length > LINE_BYTES_MAX) socket.destroy();
    });
  }

  private answer(line: string): Readonly<Record<string, unknown>> {
    const request = readRequest(line);
    if (request === undefined) {
      this.log({ level: 'warn', msg: 'refused', error: 'MALFORMED' });
      return { id: null, error: 'MALFORMED', msg: 'Send one JSON object per line: { id, wallet, raw_data }.' };
    }
    const { id } = request;
    if ('list' in request) return { id, wallets: this.list() };
    try {
      const { txid, says } = this.policy.allow(request.wallet, request.rawData);
      const wallet = this.wallets.get(request.wallet);
      if (wallet === undefined) throw new RefusedError('UNKNOWN_WALLET', `no key for ${request.wallet}`);
      const signature = signWithKey(request.rawData, wallet.privateKey).toString('hex');
      this.log({
        level: 'info',
        msg: 'signed',
        wallet: wallet.address,
        type: says.type,
        receiver: says.receiver,
        amount_sun: says.amountSun?.toString(),
        txid,
      });
      return { id, signature };
    } catch (error) {
      const code = error instanceof RefusedError ? error.refusal : 'FAILED';
      const msg = error instanceof RefusedError ? error.message : 'The signature could not be made.';
      this.log({ level: 'warn', msg: 'refused', error: code, why: messageOf(error), wallet: request.wallet });
      return { id, error: code, msg };
    }
  }

  private list(): unknown {
    return this.settings.wallets.map(({ address, role, permissionId, keyAddress }) => ({
      address,
      role,
      permission_id: permissionId,
      key_address: keyAddress,
    }));
  }
}

type SignerRequest = { id: number; wallet: string; rawData: Buffer } | { id: number; list: true };

function readRequest(line: string): SignerRequest | undefined {
  if (line.length > LINE_BYTES_MAX) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  const { id, wallet, raw_data: rawData, list, ...rest } = json as Readonly<Record<string, unknown>>;
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id > ID_MAX) return undefined;
  if (Object.keys(rest).length > 0) return undefined;
  if (list === true && wallet === undefined && rawData === undefined) return { id, list };
  if (typeof wallet !== 'string' || typeof rawData !== 'string' || list !== undefined) return undefined;
  if (!/^(?:[0-9a-f]{2})+$/.test(rawData)) return undefined;
  return { id, wallet, rawData: Buffer.from(rawData, 'hex') };
}

/** Removes a socket that a dead signer left; throws when one answers, or when the path is something else. */
async function removeStale(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) throw new SettingsError(`SIGNER_SOCKET ${path} exists and is no socket`);
  const probe = connect(path);
  const isAlive = await new Promise<boolean>((resolve) => {
    probe.once('connect', () => resolve(true));
    probe.once('error', () => resolve(false));
  });
  probe.destroy();
  if (isAlive) throw new SettingsError(`SIGNER_SOCKET ${path}: another signer listens there`);
  await rm(path, { force: true });
}
