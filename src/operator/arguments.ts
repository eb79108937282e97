/** Readers of command-line values. Each throws commander's InvalidArgumentError, which ends as exit code 2. */
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { isAddress } from '../chain/address.js';
import { messageOf } from '../errors.js';
import type { Credits } from '../money/units.js';
import { OperatorError, usageError } from './fault.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A Merchant ID; any case, lower case from here on. */
export function merchantArg(text: string): string {
  const id = text.trim().toLowerCase();
  if (!UUID.test(id)) throw new InvalidArgumentError('A Merchant ID is a UUID; `project list` shows them.');
  return id;
}

/** A whole number; thousands may be apart with _ or a space. */
export function integerArg(min: bigint, max: bigint): (text: string) => bigint {
  return (text) => {
    const digits = text.replace(/[_ ]/g, '');
    const value = /^[+-]?\d{1,18}$/.test(digits) ? BigInt(digits) : undefined;
    if (value === undefined || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min.toString()} to ${max.toString()}.`);
    }
    return value;
  };
}

/** Beyond this an amount is no longer a JSON integer. */
const CREDITS_MAX = 2n ** 53n - 1n;

const readCredits = integerArg(0n, CREDITS_MAX);
const readSignedCredits = integerArg(-CREDITS_MAX, CREDITS_MAX);

/** Credits, not negative (10 000 000 = 1 USD). */
export function creditsArg(text: string): Credits {
  return readCredits(text) as Credits;
}

/** Credits of either sign. */
export function signedCreditsArg(text: string): Credits {
  return readSignedCredits(text) as Credits;
}

/** An account's address in base58check. */
export function addressArg(text: string): string {
  if (!isAddress(text)) throw new InvalidArgumentError('It must be a TRON address (T…).');
  return text;
}

/** A transaction's id; in lower case from here on. */
export function txidArg(text: string): string {
  const txid = text.trim().toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(txid)) throw new InvalidArgumentError('A transaction id is 64 hex characters.');
  return txid;
}

/** `on` or `off`. */
export function switchArg(text: string): boolean {
  if (text === 'on' || text === 'true') return true;
  if (text === 'off' || text === 'false') return false;
  throw new InvalidArgumentError('It must be on or off.');
}

/** One or more addresses or CIDR ranges that may call; a variadic option calls this for each. */
export function sourceArg(text: string, before: readonly string[] | undefined): readonly string[] {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  const bitsMax = version === 4 ? 32 : 128;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsMax);
  if (version === 0 || !isPrefix || rest.length > 0) {
    throw new InvalidArgumentError('It must be an IP address or a CIDR range.');
  }
  return [...(before ?? []), text];
}

/** One of `choices`. */
export function choiceArg<T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new InvalidArgumentError(`It must be one of ${choices.join(', ')}.`);
    return found;
  };
}

export interface KeyFile {
  readonly privateKey: Buffer;
  /** Others than the owner may read the file. */
  readonly isExposed: boolean;
}

/** A key file holds 64 characters; anything much longer is something else. */
const KEY_FILE_BYTES_MAX = 1024;

/** Reads a private key, 32 bytes in hex, from a file of its own. The key never stands on a command line. */
export async function readKeyFile(path: string): Promise<KeyFile> {
  try {
    const { mode, size } = await stat(path);
    if (size > KEY_FILE_BYTES_MAX) throw usageError(`${path} is too large to be a key file.`);
    const text = (await readFile(path, 'utf8')).trim().replace(/^0x/i, '');
    if (!/^[0-9a-f]{64}$/i.test(text))
      throw usageError(`${path} must hold a private key: 64 hex characters, nothing else.`);
    return { privateKey: Buffer.from(text, 'hex'), isExposed: (mode & 0o077) !== 0 };
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw usageError(`The key file cannot be read: ${messageOf(error)}.`);
  }
}
