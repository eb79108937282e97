/**
 * The signer's unix socket, which only its own user (or group) can open. One JSON object per line in, one per line out:
 * `{ id, wallet, raw_data }` → `{ id, signature }` or `{ id, error, msg }`; `{ id, list: true }` → `{ id, wallets }`.
 * Holds the keys, which never appear in an answer, an error or the log.
 */
import { once } from 'node:events';
import { chmod, rm, stat } from 'node:fs/promises';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { signWithKey } from '../../platform/chain/keys.js';
import { messageOf } from '../../domain/errors.js';
import { MACHINE_CLOCKS, type SignerClocks } from './clocks.js';
import { Connection, type Reply } from './connection.js';
import { Journal } from './journal.js';
import { Policy, RefusedError } from './policy.js';
import { SettingsError, type SignerSettings, type SignerWallet } from './settings.js';

/** An entry for the signer's log. */
export type SignerEvent = Readonly<Record<string, string | number | undefined>>;

const CONNECTIONS_MAX = 64;
const ID_MAX = 2 ** 53 - 1;

export class SignerServer {
  private readonly policy: Policy;
  private readonly wallets: ReadonlyMap<string, SignerWallet>;
  private readonly connections = new Set<Connection>();
  private readonly server: Server;
  private journal: Journal | undefined;

  constructor(
    private readonly settings: SignerSettings,
    private readonly log: (event: SignerEvent) => void,
    clocks: SignerClocks = MACHINE_CLOCKS,
  ) {
    this.policy = new Policy(settings.wallets, settings.expiration, clocks);
    this.wallets = new Map(settings.wallets.map((wallet) => [wallet.address, wallet]));
    this.server = createServer((socket) => {
      this.serve(socket);
    });
  }

  /**
   * Listens, after restoring the signatures that an earlier process counted. Refuses a path on which another signer
   * listens, and replaces a stale socket. Throws SettingsError or StateFileError.
   */
  async listen(): Promise<void> {
    const path = this.settings.socketPath;
    await removeStale(path);
    const { journal, counted } = await Journal.open(this.settings.stateFile, () => this.policy.liveEntries());
    this.journal = journal;
    this.policy.restore(counted);
    // The umask applies from the socket's creation; Node binds a path before listen() returns.
    const mask = process.umask(0o777 & ~this.settings.socketMode);
    try {
      this.server.listen(path);
    } finally {
      process.umask(mask);
    }
    await once(this.server, 'listening').catch((error: unknown) => {
      throw new SettingsError(
        `The socket ${path} (SIGNER_SOCKET) cannot be made: ${messageOf(error)}; its folder must be there, and ours to write in`,
      );
    });
    await chmod(path, this.settings.socketMode);
  }

  async close(): Promise<void> {
    for (const connection of this.connections) connection.destroy();
    if (this.server.listening) {
      this.server.close();
      await once(this.server, 'close');
    }
    await this.journal?.close();
    this.journal = undefined;
  }

  private serve(socket: Socket): void {
    if (this.connections.size >= CONNECTIONS_MAX && !this.evictIdle()) {
      socket.destroy();
      return;
    }
    const connection = new Connection(
      socket,
      (line) => this.answer(line),
      () => this.connections.delete(connection),
    );
    this.connections.add(connection);
  }

  /** Closes the idle connection that has been silent longest, to admit a new peer. Returns false if none is idle. */
  private evictIdle(): boolean {
    let silent: Connection | undefined;
    for (const connection of this.connections) {
      if (connection.isIdle && (silent === undefined || connection.lastAnswerMs < silent.lastAnswerMs)) {
        silent = connection;
      }
    }
    if (silent === undefined) return false;
    this.connections.delete(silent);
    silent.destroy();
    return true;
  }

  private async answer(line: string): Promise<Reply> {
    const request = readRequest(line);
    if (request === undefined) {
      this.log({ level: 'warn', msg: 'refused', error: 'MALFORMED' });
      const msg = 'Send one JSON object per line: { id, wallet, raw_data }.';
      return { line: JSON.stringify({ id: null, error: 'MALFORMED', msg }), isLast: true };
    }
    if ('list' in request) {
      const { maxSec } = this.settings.expiration;
      return { line: JSON.stringify({ id: request.id, wallets: this.list(), expiration_max_sec: maxSec }) };
    }
    return { line: JSON.stringify({ id: request.id, ...(await this.sign(request)) }) };
  }

  private async sign(request: SignRequest): Promise<Readonly<Record<string, unknown>>> {
    try {
      const { says, counted } = this.policy.allow(request.wallet, request.rawData);
      const wallet = this.wallets.get(request.wallet);
      if (wallet === undefined) throw new RefusedError('UNKNOWN_WALLET', `no key for ${request.wallet}`);
      if (this.journal === undefined) throw new Error('the signer has stopped');
      await this.journal.keep(counted);
      const signature = signWithKey(request.rawData, wallet.privateKey).toString('hex');
      this.log({
        level: 'info',
        msg: 'signed',
        wallet: wallet.address,
        type: says.type,
        receiver: says.receiver,
        amount_sun: says.amountSun?.toString(),
        resource: says.resource,
        txid: counted.txid,
      });
      return { signature };
    } catch (error) {
      const code = error instanceof RefusedError ? error.refusal : 'FAILED';
      const msg = error instanceof RefusedError ? error.message : 'The signature could not be made.';
      this.log({ level: 'warn', msg: 'refused', error: code, why: messageOf(error), wallet: request.wallet });
      return { error: code, msg };
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

interface SignRequest {
  readonly id: number;
  readonly wallet: string;
  readonly rawData: Buffer;
}

type SignerRequest = SignRequest | { readonly id: number; readonly list: true };

function readRequest(line: string): SignerRequest | undefined {
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

/** Removes the socket of a dead signer. Throws if a signer answers, or if the path is not a socket. */
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
