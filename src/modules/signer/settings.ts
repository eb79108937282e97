/** The signer's settings. One JSON file lists the wallets; other users can read neither it nor the key files. */
import { dirname, resolve } from 'node:path';
import { isAddress } from '../../domain/base58-address.js';
import { addressOfKey } from '../../platform/chain/keys.js';
import { messageOf, StartError } from '../../domain/errors.js';
import { SUN_PER_TRX } from '../../domain/units.js';
import { readSecretFile } from '../../platform/support/secret-file.js';
import type { ExpirationLimit, WalletPolicy } from './policy.js';

/** A wallet with its key, which never leaves this process. */
export interface SignerWallet extends WalletPolicy {
  readonly privateKey: Buffer;
  readonly keyAddress: string;
}

export interface SignerSettings {
  readonly socketPath: string;
  /** 0600, or 0660 for workers that run as another user of the socket's group and cannot read the key files. */
  readonly socketMode: number;
  /** Path of the stored signatures of the last minute; each signer needs a separate file. */
  readonly stateFile: string;
  readonly expiration: ExpirationLimit;
  /** Starts without the native signature library. */
  readonly allowSlowSignatures: boolean;
  readonly wallets: readonly SignerWallet[];
}

export class SettingsError extends StartError {
  override readonly name = 'SettingsError';
  constructor(message: string) {
    super('CONFIGURATION', message);
  }
}

const MEMBERS = [
  'role',
  'address',
  'permission_id',
  'key_file',
  'amount_max_trx',
  'signatures_per_minute',
  'trx_per_minute',
  'bandwidth',
];
const WALLETS_MAX = 1000;
const FILE_BYTES_MAX = 1024 * 1024;

/** The same range as the worker's TRON_EXPIRATION_SEC. */
const EXPIRATION_MAX_SEC = { default: 300, min: 20, max: 3600 };

/**
 * Reads SIGNER_SOCKET (the path to listen on), SIGNER_SOCKET_MODE, SIGNER_STATE_FILE, SIGNER_CLOCK,
 * SIGNER_EXPIRATION_MAX_SEC and SIGNER_WALLETS_FILE: `[{ "role", "address", "permission_id", "key_file",
 * "amount_max_trx", "signatures_per_minute", "trx_per_minute", "bandwidth" }]`, key files relative to it. Throws
 * SettingsError.
 */
export function readSignerSettings(env: Readonly<Record<string, string | undefined>>): SignerSettings {
  const socketPath = env['SIGNER_SOCKET']?.trim() ?? '';
  const walletsFile = env['SIGNER_WALLETS_FILE']?.trim() ?? '';
  if (socketPath === '') throw new SettingsError('SIGNER_SOCKET is required: the path of the socket to listen on');
  if (walletsFile === '') throw new SettingsError('SIGNER_WALLETS_FILE is required: a JSON file of wallets');
  const text = readPrivate(walletsFile).toString('utf8');
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new SettingsError(`${walletsFile} is not JSON: ${messageOf(error)}`);
  }
  if (!Array.isArray(list) || list.length === 0 || list.length > WALLETS_MAX) {
    throw new SettingsError(`${walletsFile} must hold a list of 1 to ${WALLETS_MAX.toString()} wallets`);
  }
  const wallets: SignerWallet[] = [];
  for (const [index, entry] of list.entries()) {
    wallets.push(readWallet(entry, `${walletsFile}: wallet ${(index + 1).toString()}`, dirname(walletsFile)));
  }
  if (new Set(wallets.map((wallet) => wallet.address)).size !== wallets.length) {
    throw new SettingsError(`${walletsFile} names a wallet twice`);
  }
  const stateFile = env['SIGNER_STATE_FILE']?.trim() ?? '';
  return {
    socketPath: resolve(socketPath),
    socketMode: readSocketMode(env['SIGNER_SOCKET_MODE']?.trim() ?? ''),
    stateFile: resolve(stateFile === '' ? `${walletsFile}.state` : stateFile),
    expiration: readExpirationLimit(env),
    allowSlowSignatures: readFlag(env, 'ALLOW_SLOW_SIGNATURES'),
    wallets,
  };
}

/** Accepts the texts that the worker accepts, since both may read the same file of settings. */
function readFlag(env: Readonly<Record<string, string | undefined>>, name: string): boolean {
  const text = env[name]?.trim().toLowerCase() ?? '';
  if (text === 'true' || text === '1') return true;
  if (text === '' || text === 'false' || text === '0') return false;
  throw new SettingsError(`${name} must be true or false`);
}

function readSocketMode(text: string): number {
  if (text === '' || text === '0600') return 0o600;
  if (text === '0660') return 0o660;
  throw new SettingsError('SIGNER_SOCKET_MODE must be 0600 (the default) or 0660');
}

function readExpirationLimit(env: Readonly<Record<string, string | undefined>>): ExpirationLimit {
  const clock = env['SIGNER_CLOCK']?.trim() ?? '';
  if (clock !== '' && clock !== 'wall' && clock !== 'chain') {
    throw new SettingsError('SIGNER_CLOCK must be wall (the default) or chain');
  }
  const text = env['SIGNER_EXPIRATION_MAX_SEC']?.trim() ?? '';
  const { default: fallback, min, max } = EXPIRATION_MAX_SEC;
  const maxSec = text === '' ? fallback : /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isInteger(maxSec) || maxSec < min || maxSec > max) {
    throw new SettingsError(`SIGNER_EXPIRATION_MAX_SEC must be an integer from ${min.toString()} to ${max.toString()}`);
  }
  return { clock: clock === 'chain' ? 'chain' : 'wall', maxSec };
}

function readWallet(entry: unknown, where: string, folder: string): SignerWallet {
  if (typeof entry !== 'object' || entry === null) throw new SettingsError(`${where} must be an object`);
  const json = entry as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(json).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) throw new SettingsError(`${where}: unknown member ${unknown}`);
  const role = json['role'];
  if (role !== 'pool' && role !== 'activation') throw new SettingsError(`${where}: role must be pool or activation`);
  const address = json['address'];
  if (typeof address !== 'string' || !isAddress(address)) throw new SettingsError(`${where}: address must be T…`);
  const keyFile = json['key_file'];
  if (typeof keyFile !== 'string' || keyFile === '') throw new SettingsError(`${where}: key_file is required`);
  const integer = (name: string, min: number, max: number): number => {
    const value = json[name];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      throw new SettingsError(`${where}: ${name} must be an integer from ${min.toString()} to ${max.toString()}`);
    }
    return value;
  };
  const isPool = role === 'pool';
  const bandwidth = json['bandwidth'] ?? false;
  if (typeof bandwidth !== 'boolean') throw new SettingsError(`${where}: bandwidth must be true or false`);
  const privateKey = readKey(resolve(folder, keyFile));
  return {
    address,
    role,
    permissionId: integer('permission_id', 0, 9),
    sellsBandwidth: isPool && bandwidth,
    amountMaxSun: isPool ? BigInt(integer('amount_max_trx', 1, 1e11)) * SUN_PER_TRX : 0n,
    signaturesPerMinute: integer('signatures_per_minute', 1, 1_000_000),
    sunPerMinute: isPool ? BigInt(integer('trx_per_minute', 1, 1e11)) * SUN_PER_TRX : 0n,
    privateKey,
    keyAddress: addressOfKey(privateKey),
  };
}

function readKey(path: string): Buffer {
  const text = readPrivate(path).toString('utf8').trim().replace(/^0x/i, '');
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new SettingsError(`${path} must hold a private key: 64 hex characters`);
  return Buffer.from(text, 'hex');
}

/** Reads a file that other users may neither read nor change. Throws SettingsError. */
function readPrivate(path: string): Buffer {
  try {
    return readSecretFile(path, FILE_BYTES_MAX);
  } catch (error) {
    throw new SettingsError(messageOf(error));
  }
}
