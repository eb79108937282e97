// Random members and headers, checked against independent rules in this file.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { isAddress } from '../../../src/domain/base58-address.js';
import { readStrictJson } from '../../../src/platform/http/body/strict-json.js';
import { ApiError } from '../../../src/domain/errors.js';
import { readIdempotencyKey } from '../../../src/platform/http/pipeline/idempotency-key.js';
import { readWait } from '../../../src/platform/http/pipeline/prefer.js';
import { IsInteger, Optional, type RequestLimits } from '../../../src/platform/http/body/member-rules.js';
import { plainOf } from '../../../src/platform/http/body/plain-values.js';
import { RequestPipe } from '../../../src/platform/http/body/request.pipe.js';
import type { Caller } from '../../../src/platform/http/pipeline/request-context.js';
import { requestHash } from '../../../src/modules/orders/request-hash.js';
import {
  BANDWIDTH_MAX,
  BANDWIDTH_MIN,
  furtherPartsOf,
  IsActivate,
  IsBandwidth,
} from '../../../src/modules/quotes/quote.dto.js';
import type { Energy } from '../../../src/domain/units.js';
import type { Counts } from './json.js';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Base58check with big integers, unlike the service's implementation. */
function isBase58Check(text: string): boolean {
  if (text.length > 64 || Array.from(text).some((unit) => !ALPHABET.includes(unit))) return false;
  let value = 0n;
  for (const unit of text) value = value * 58n + BigInt(ALPHABET.indexOf(unit));
  const hex = value.toString(16);
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const bytes = Buffer.concat([
    Buffer.alloc(zeros),
    value === 0n ? Buffer.alloc(0) : Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'),
  ]);
  if (bytes.length !== 25 || bytes[0] !== 0x41) return false;
  const sha = (input: Buffer) => createHash('sha256').update(input).digest();
  return sha(sha(bytes.subarray(0, 21)))
    .subarray(0, 4)
    .equals(bytes.subarray(21));
}

function addressOf(account: Uint8Array): string {
  const payload = Buffer.concat([Buffer.of(0x41), account]);
  const sha = (input: Buffer) => createHash('sha256').update(input).digest();
  let value = BigInt(`0x${Buffer.concat([payload, sha(sha(payload)).subarray(0, 4)]).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = (ALPHABET[Number(value % 58n)] ?? '') + text;
  return text;
}

const edit = fc.tuple(
  fc.constantFrom('replace', 'insert', 'delete', 'swap', 'case', 'append', 'prepend'),
  fc.nat(),
  fc.oneof(
    fc.constantFrom(...Array.from(ALPHABET), '0', 'O', 'I', 'l', ' ', '\n', 'Т', 'é', '\0'),
    fc.string({ maxLength: 3 }),
  ),
);

function edited(text: string, [kind, at, insert]: readonly [string, number, string]): string {
  const place = text.length === 0 ? 0 : at % text.length;
  const head = text.slice(0, place);
  const unit = text[place] ?? '';
  switch (kind) {
    case 'replace':
      return head + insert + text.slice(place + 1);
    case 'insert':
      return head + insert + text.slice(place);
    case 'delete':
      return head + text.slice(place + 1);
    case 'swap':
      return head + (text[place + 1] ?? '') + unit + text.slice(place + 2);
    case 'case':
      return head + (unit === unit.toLowerCase() ? unit.toUpperCase() : unit.toLowerCase()) + text.slice(place + 1);
    case 'append':
      return text + insert;
    default:
      return insert + text;
  }
}

/** Checks that exactly the addresses with valid checksum, length and prefix are accepted. */
export function checkAddresses(runs: number, seed: number): Counts {
  const counts: Counts = { valid: 0, invalid: 0 };
  const account = fc.uint8Array({ minLength: 20, maxLength: 20 });
  fc.assert(
    fc.property(account, fc.array(edit, { maxLength: 2 }), (bytes, edits) => {
      const candidate = edits.reduce(edited, addressOf(bytes));
      const expected = isBase58Check(candidate);
      if (isAddress(candidate) !== expected) throw new Error(`judged otherwise: ${JSON.stringify(candidate)}`);
      counts[expected ? 'valid' : 'invalid'] = (counts[expected ? 'valid' : 'invalid'] ?? 0) + 1;
    }),
    { numRuns: runs, seed },
  );
  return counts;
}

class EnergyRequest {
  @Optional()
  @IsInteger(() => ({ min: 1000, max: 100_000_000 }), 'Energy.')
  declare readonly energy?: number;
}

const pipe = new RequestPipe({} as RequestLimits);

/** Checks that exactly the integers with integer notation within bounds are accepted. */
export async function checkIntegers(runs: number, seed: number): Promise<Counts> {
  const counts: Counts = { taken: 0, refused: 0 };
  const literal = fc.oneof(
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.integer({ min: 900, max: 100_000_100 }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc
      .tuple(fc.nat(200_000_000), fc.constantFrom('.0', 'e0', 'E1', '.5', 'e-1', '"'))
      .map(([value, suffix]) => (suffix === '"' ? `"${value.toString()}"` : `${value.toString()}${suffix}`)),
    fc.constantFrom('true', '[]', '{}', '-0', '0', '""'),
  );
  await fc.assert(
    fc.asyncProperty(literal, async (written) => {
      const expected = /^[1-9]\d*$/.test(written) && BigInt(written) >= 1000n && BigInt(written) <= 100_000_000n;
      let taken: number | undefined;
      try {
        const { root } = readStrictJson(Buffer.from(`{"energy":${written}}`));
        const request: unknown = await pipe.transform(plainOf(root), { type: 'body', metatype: EnergyRequest });
        taken = (request as EnergyRequest).energy;
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'INVALID_REQUEST')) throw error;
      }
      if (taken !== (expected ? Number(written) : undefined)) throw new Error(`judged otherwise: ${written}`);
      counts[expected ? 'taken' : 'refused'] = (counts[expected ? 'taken' : 'refused'] ?? 0) + 1;
    }),
    { numRuns: runs, seed },
  );
  return counts;
}

class PartsRequest {
  @Optional()
  @IsBandwidth()
  declare readonly bandwidth?: number;

  @Optional()
  @IsActivate()
  declare readonly activate?: boolean;
}

/** A member's JSON text, undefined if the member is absent, with the value that a request has by it. */
interface Written<T> {
  readonly json: string | undefined;
  readonly value: T | undefined;
  readonly isValid: boolean;
}

const bandwidthWritten = fc
  .oneof(
    { arbitrary: fc.constantFrom(undefined, '345', '1000'), weight: 3 },
    fc.constantFrom('344', '1e3', '1000.0', '"1000"', 'null', '-1000', 'true'),
    fc.integer({ min: 300, max: 2000 }).map(String),
    fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
  )
  .map((json): Written<bigint> => {
    const isInteger = json !== undefined && /^[1-9]\d*$/.test(json);
    const isValid = json === undefined || (isInteger && BigInt(json) >= BANDWIDTH_MIN && BigInt(json) <= BANDWIDTH_MAX);
    return { json, isValid, value: isInteger && isValid ? BigInt(json) : undefined };
  });
const activateWritten = fc
  .constantFrom(undefined, 'true', 'false', 'null', '1', '"true"', '[]')
  .map((json): Written<true> => {
    // A flag that is null is absent; a number that is null is refused.
    const isValid = json === undefined || ['true', 'false', 'null'].includes(json);
    return { json, isValid, value: json === 'true' ? true : undefined };
  });

interface WrittenParts {
  readonly bandwidth: Written<bigint>;
  readonly activate: Written<true>;
}

async function hashOfParts({ bandwidth, activate }: WrittenParts): Promise<string | undefined> {
  const members = Object.entries({ bandwidth, activate }).flatMap(([name, { json }]) =>
    json === undefined ? [] : [`"${name}":${json}`],
  );
  const { root } = readStrictJson(Buffer.from(`{${members.join(',')}}`));
  const request: unknown = await pipe.transform(plainOf(root), { type: 'body', metatype: PartsRequest });
  const terms = { receiveAddress: 'T', energy: 65_000n as Energy, durationSec: 3600 };
  return requestHash({ kind: 'direct', ...terms, ...furtherPartsOf(request as PartsRequest) }).toString('hex');
}

/**
 * Checks that exactly the valid amounts of bandwidth and flags are accepted, and that two requests of one key are the
 * same request only if they ask for the same parts.
 */
export async function checkParts(runs: number, seed: number): Promise<Counts> {
  const counts: Counts = { same: 0, different: 0, refused: 0 };
  const parts = fc.record({ bandwidth: bandwidthWritten, activate: activateWritten });
  await fc.assert(
    fc.asyncProperty(parts, parts, async (one, other) => {
      const hashes: string[] = [];
      for (const each of [one, other]) {
        const isValid = each.bandwidth.isValid && each.activate.isValid;
        const hash = await hashOfParts(each).catch((error: unknown) => {
          if (error instanceof ApiError && error.code === 'INVALID_REQUEST') return undefined;
          throw error;
        });
        if ((hash !== undefined) !== isValid) throw new Error('judged otherwise');
        if (hash !== undefined) hashes.push(hash);
      }
      if (hashes.length < 2) {
        counts['refused'] = (counts['refused'] ?? 0) + 1;
        return;
      }
      const isSame = one.bandwidth.value === other.bandwidth.value && one.activate.value === other.activate.value;
      if ((hashes[0] === hashes[1]) !== isSame) throw new Error('a key belongs to another request');
      counts[isSame ? 'same' : 'different'] = (counts[isSame ? 'same' : 'different'] ?? 0) + 1;
    }),
    { numRuns: runs, seed },
  );
  return counts;
}

const project = { requireIdempotencyKey: false } as Caller['project'];

/** Checks that headers are read or refused with 400, and that a wait is always 0 to 30 seconds. */
export function checkHeaders(runs: number, seed: number): Counts {
  const counts: Counts = { 'keys taken': 0, 'keys refused': 0, waits: 0 };
  const header = fc.oneof(
    fc.string({ unit: 'binary-ascii', maxLength: 300 }),
    fc.string({ unit: fc.constantFrom('a', ' ', '~', '!', '\t', 'ÿ'), maxLength: 12 }),
    fc.array(fc.constantFrom('.', 'ext', 'nonce', 'auto', '_', 'a'), { maxLength: 3 }).map((parts) => parts.join('')),
  );
  const wait = fc.array(fc.constantFrom('wait', '=', '5', '30', '999999999999', '"', ',', ';', ' ', 'Wait=7', 'x'), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.array(header, { minLength: 1, maxLength: 2 }), wait, (keys, parts) => {
      const rawHeaders = keys.flatMap((value) => ['idempotency-KEY', value]).concat('Prefer', parts.join(''));
      const expected = keys.length === 1 && isKey(keys[0] ?? '');
      let taken: string | undefined;
      try {
        taken = readIdempotencyKey({ rawHeaders, project });
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'INVALID_REQUEST')) throw error;
      }
      if (taken !== (expected ? keys[0] : undefined)) throw new Error(`judged otherwise: ${JSON.stringify(keys)}`);
      counts[expected ? 'keys taken' : 'keys refused'] = (counts[expected ? 'keys taken' : 'keys refused'] ?? 0) + 1;
      const waitSec = readWait({ rawHeaders });
      if (!(Number.isInteger(waitSec) && waitSec >= 0 && waitSec <= 30)) throw new Error(`wait: ${parts.join('')}`);
      if (waitSec > 0) counts['waits'] = (counts['waits'] ?? 0) + 1;
    }),
    { numRuns: runs, seed },
  );
  return counts;
}

/** Keys that are a step of a URL path, or begin like those that the service derives. */
const REFUSED_KEY = /^(?:\.\.?$|ext_|nonce_|auto_)/;

/** Returns true for up to 255 printable ASCII characters without leading or trailing spaces, unless reserved. */
function isKey(value: string): boolean {
  if (value === '' || value.length > 255 || value !== value.trim() || REFUSED_KEY.test(value)) return false;
  return Array.from(value).every((unit) => unit >= ' ' && unit <= '~');
}
