/** Parsers of command-line values. Each throws commander's InvalidArgumentError, which ends with exit code 2. */
import type { Readable } from 'node:stream';
import { InvalidArgumentError } from 'commander';
import { isAddress } from '../../domain/base58-address.js';
import { addressSlip } from '../../platform/chain/address.js';
import { messageOf } from '../../domain/errors.js';
import { EVENT_TYPES } from '../../domain/event-types.js';
import { momentOf } from '../../domain/moment.js';
import { wholeTyped } from '../../domain/typed-amount.js';
import type { Credits } from '../../domain/units.js';
import { parseIpRange } from '../../platform/support/ip-range.js';
import { readSecretFile } from '../../platform/support/secret-file.js';
import { usageError } from '../../domain/operator-error.js';
import { UUID } from '../../domain/uuid.js';

/** Parses a Merchant ID in any case; returns lower case. */
export function merchantArg(text: string): string {
  const id = text.trim().toLowerCase();
  if (!UUID.test(id)) throw new InvalidArgumentError('A Merchant ID is a UUID; `project list` shows them.');
  return id;
}

/** Parses the id of an API key in any case; returns lower case. */
export function keyArg(text: string): string {
  const id = text.trim().toLowerCase();
  if (!UUID.test(id)) throw new InvalidArgumentError('An API key ID is a UUID; `keys list` shows them.');
  return id;
}

/** Parses the id of a webhook in any case; returns lower case. */
export function webhookArg(text: string): string {
  const id = text.trim().toLowerCase();
  if (!UUID.test(id)) throw new InvalidArgumentError('A webhook ID is a UUID; `webhooks list` shows them.');
  return id;
}

/** Parses a whole number. _ or a space may separate thousands. */
export function integerArg(min: bigint, max: bigint): (text: string) => bigint {
  return (text) => {
    const [, sign = '', digits = ''] = /^\s*([+-]?)(.*)$/s.exec(text) ?? [];
    // A command cannot show how it read an amount, so commas are refused even between thousands.
    const whole = digits.includes(',') ? undefined : wholeTyped(digits).value;
    const value = whole !== undefined && sign === '-' ? -whole : whole;
    if (value === undefined || value < min || value > max) {
      const commas = text.includes(',') ? ' Write it without commas.' : '';
      throw new InvalidArgumentError(`It must be a whole number from ${min.toString()} to ${max.toString()}.${commas}`);
    }
    return value;
  };
}

/** A larger amount is not a JSON integer. */
const CREDITS_MAX = 2n ** 53n - 1n;

const readCredits = integerArg(0n, CREDITS_MAX);
const readSignedCredits = integerArg(-CREDITS_MAX, CREDITS_MAX);

/** Parses credits, not negative (10 000 000 = 1 USD). */
export function creditsArg(text: string): Credits {
  return readCredits(text) as Credits;
}

/** Parses credits of either sign. */
export function signedCreditsArg(text: string): Credits {
  return readSignedCredits(text) as Credits;
}

/** Parses an account's address in base58check. */
export function addressArg(text: string): string {
  if (!isAddress(text)) throw new InvalidArgumentError(`It ${addressSlip(text) ?? 'must be a TRON address (T…)'}.`);
  return text;
}

/** Parses a transaction id; returns lower case. */
export function txidArg(text: string): string {
  const txid = text.trim().toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(txid)) throw new InvalidArgumentError('A transaction ID is 64 hex characters.');
  return txid;
}

/** Parses a UTC day, or a time in UTC ending in Z. */
export function momentArg(text: string): string {
  const moment = momentOf(text);
  if (moment === undefined)
    throw new InvalidArgumentError('It must be a UTC time, such as 2026-11-01 or 2026-11-01T12:00:00Z.');
  return moment;
}

/** Parses `on` or `off`; `true` and `false` mean the same. */
export function switchArg(text: string): boolean {
  if (text === 'on' || text === 'true') return true;
  if (text === 'off' || text === 'false') return false;
  throw new InvalidArgumentError('It must be on or off.');
}

/** Parses addresses or CIDR ranges that may call; a variadic option calls this for each. */
export function sourceArg(text: string, before: readonly string[] | undefined): readonly string[] {
  if (parseIpRange(text) === undefined) throw new InvalidArgumentError('It must be an IP address or a CIDR range.');
  return [...(before ?? []), text];
}

/** Parses one of `choices`. */
export function choiceArg<T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new InvalidArgumentError(`It must be one of ${choices.join(', ')}.`);
    return found;
  };
}

const eventTypeArg = choiceArg(EVENT_TYPES);

/** Parses an event type; a variadic option calls this for each. */
export function typesArg(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), eventTypeArg(text)];
}

/** A key file has 64 characters; a much longer file is not a key. */
const KEY_FILE_BYTES_MAX = 1024;
/** Time limit for a key on standard input to arrive completely. */
const KEY_INPUT_MS = 60_000;

/**
 * Reads a private key, 32 bytes in hex, from a file that only its owner can read, or from `input` if `path` is `-`. The
 * key is never on a command line.
 */
export async function readKeyFile(path: string, input: Readable | undefined): Promise<Buffer> {
  const content = path === '-' ? await readInput(input) : readFile(path);
  const text = content.toString('utf8').trim().replace(/^0x/i, '');
  content.fill(0);
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    const what = path === '-' ? 'Standard input' : path;
    throw usageError(`${what} must contain a private key: 64 hex characters and nothing else.`);
  }
  return Buffer.from(text, 'hex');
}

function readFile(path: string): Buffer {
  try {
    return readSecretFile(path, KEY_FILE_BYTES_MAX);
  } catch (error) {
    throw usageError(`Failed to read the key file: ${messageOf(error)}.`);
  }
}

async function readInput(input: Readable | undefined): Promise<Buffer> {
  if (input === undefined)
    throw usageError(
      '--key-file - reads the key from standard input, which is a terminal. Redirect a file: `< hot.key`.',
    );
  const chunks: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => input.destroy(new Error('it did not end in time')), KEY_INPUT_MS);
  try {
    for await (const chunk of input) {
      chunks.push(Buffer.from(chunk as Uint8Array));
      size += (chunk as Uint8Array).length;
      if (size > KEY_FILE_BYTES_MAX) throw new Error('it is too large for a key');
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw usageError(`Failed to read standard input: ${messageOf(error)}.`);
  } finally {
    clearTimeout(late);
  }
}
