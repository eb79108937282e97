// A signer in this process, with its files in a folder of the test and clocks that the test controls.
import { createHash } from 'node:crypto';
import { cpSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOfKey } from '../../../src/platform/chain/keys.js';
import { buildTransaction, type ChainAction } from '../../../src/platform/chain/signed-transaction.js';
import { SignerRefusedError, SocketSigner } from '../../../src/platform/chain/socket-signer.js';
import { sun } from '../../../src/domain/units.js';
import { SignerServer, type SignerEvent } from '../../../src/modules/signer/server.js';
import { readSignerSettings, type SignerSettings } from '../../../src/modules/signer/settings.js';

const key = (name: string): Buffer => createHash('sha256').update(name).digest();
const address = (name: string): string => addressOfKey(key(name));

export const POOL = address('signer-pool');
export const ACTIVATOR = address('signer-activator');
/** A pool wallet that also sells bandwidth. */
export const LENDER = address('signer-lender');
export const RECEIVER = address('signer-receiver');
export const OUTSIDER = address('signer-outsider');
export const HOT_KEY = key('signer-hot');
export const TRX = 1_000_000n;
/** The time of chain and machine in most tests. */
export const EPOCH_MS = 1_800_000_000_000;
export const YEARS_MS = 10 * 365 * 86_400_000;

export let folder: string;
export let settings: SignerSettings;
export let server: SignerServer;
export let signer: SocketSigner;
let nowMs = 0;
export const events: SignerEvent[] = [];

/**
 * Copies the signer's program to a folder that every user can read. The project's folder may be closed to other users.
 */
export function layProgram(path: string): void {
  for (const name of readdirSync('dist/bundle').filter((each) => /^(main\.signer|part-.*)\.js$/.test(each))) {
    cpSync(join('dist/bundle', name), join(path, name));
  }
  for (const name of ['secp256k1', 'node-gyp-build']) {
    cpSync(join('node_modules', name), join(path, 'node_modules', name), { recursive: true, dereference: true });
  }
}

export async function openFolder(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'signer-'));
  await writeFile(join(folder, 'hot.key'), HOT_KEY.toString('hex'), { mode: 0o600 });
  await writeFile(join(folder, 'wallets.json'), JSON.stringify(walletsFile()), { mode: 0o600 });
  settings = readSignerSettings(environment());
}

/** The clocks of a machine that started at EPOCH_MS. */
export const clocks = { monotonicMs: () => nowMs, wallMs: () => EPOCH_MS + nowMs };

export async function openSigner(): Promise<void> {
  nowMs = 0;
  events.length = 0;
  server = new SignerServer(settings, (event) => events.push(event), clocks);
  await server.listen();
  signer = new SocketSigner(settings.socketPath);
}

export async function closeSigner(): Promise<void> {
  signer.close();
  await server.close();
  await rm(settings.stateFile, { force: true });
}

export async function closeFolder(): Promise<void> {
  await rm(folder, { recursive: true });
}

/** Advances both clocks. */
export function passMs(ms: number): void {
  nowMs += ms;
}

/** Stops the signer and starts a new one on the same socket and files. */
export async function restart(wallMs: () => number = clocks.wallMs): Promise<void> {
  await server.close();
  server = new SignerServer(settings, () => undefined, { ...clocks, wallMs });
  await server.listen();
}

export function walletsFile(): Record<string, unknown>[] {
  const limits = { key_file: 'hot.key', signatures_per_minute: 5, trx_per_minute: 2500, amount_max_trx: 1000 };
  return [
    { role: 'pool', address: POOL, permission_id: 2, ...limits },
    { role: 'activation', address: ACTIVATOR, permission_id: 3, key_file: 'hot.key', signatures_per_minute: 5 },
    { role: 'pool', address: LENDER, permission_id: 2, ...limits, bandwidth: true },
  ];
}

export function environment(): Record<string, string> {
  return { SIGNER_SOCKET: join(folder, 'signer.sock'), SIGNER_WALLETS_FILE: join(folder, 'wallets.json') };
}

let salt = 0;
export function bytes(
  action: Partial<ChainAction> = {},
  permissionId = 2,
  times: { readonly timestampMs?: number; readonly expiresAtMs?: number } = {},
): Buffer {
  const { timestampMs = EPOCH_MS } = times;
  const { expiresAtMs = timestampMs + 60_000 } = times;
  const full = {
    type: 'delegate',
    owner: POOL,
    receiver: RECEIVER,
    amountSun: sun(100n * TRX),
    resource: 'ENERGY',
    ...action,
  } as ChainAction;
  salt += 1;
  const { rawData } = buildTransaction(full, {
    permissionId,
    reference: { number: 77, id: '000000000000004d'.padEnd(64, 'a'), timestampMs: 1 },
    expiresAtMs,
    timestampMs: timestampMs + salt,
  });
  return rawData;
}

export const activation = (owner = ACTIVATOR, permissionId = 3): Buffer =>
  bytes({ type: 'activate', owner, receiver: RECEIVER }, permissionId);

export async function refusal(wallet: string, rawData: Buffer): Promise<string> {
  try {
    await signer.sign(wallet, rawData);
  } catch (error) {
    if (error instanceof SignerRefusedError) return error.code;
    throw error;
  }
  throw new Error('it signed');
}

export function say(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(settings.socketPath);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      heard += chunk.toString();
      if (heard.endsWith('\n')) socket.destroy();
    });
    socket.on('close', () => resolve(heard));
    socket.write(text);
  });
}
