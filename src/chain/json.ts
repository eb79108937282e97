/**
 * Reading what nodes answer: int64 beyond 2^53 kept exact, every member checked before use. Texts in an answer may be
 * anybody's (names of contracts, type URLs, memos): they are data, whatever they contain.
 */
import { parse } from 'lossless-json';

export type JsonObject = Readonly<Record<string, unknown>>;

/** JSON.parse rounds from 16 digits on; also true of digits inside a text, where it only costs time. */
const LONG_DIGITS = /\d{16}/;
const INTEGER = /^-?\d+$/;
const DECIMAL_INT64 = /^-?\d{1,19}$/;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in `text`, integers beyond 2^53 as bigints; undefined when it is none. */
export function parseJson(text: string): JsonObject | undefined {
  const value = LONG_DIGITS.test(text) ? exactJson(text) : plainJson(text);
  return isJsonObject(value) ? value : undefined;
}

/**
 * The value in `text` by the platform's parser, which takes a hundredth of the other one's time: for answers of
 * megabytes in which no long integer is used, blocks first of all. undefined when it is no JSON.
 */
export function plainJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function exactJson(text: string): unknown {
  try {
    return parse(text, undefined, numberOf);
  } catch {
    // No JSON, a member twice with different values, or nested deeper than the stack.
    return undefined;
  }
}

function numberOf(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) || !INTEGER.test(text) ? number : BigInt(text);
}

/** An int64 member; absent is 0, as protobuf prints it. undefined when it is something else. */
export function int64(value: unknown): bigint | undefined {
  if (value === undefined) return 0n;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  const read = typeof value === 'string' && DECIMAL_INT64.test(value) ? BigInt(value) : value;
  return typeof read === 'bigint' && BigInt.asIntN(64, read) === read ? read : undefined;
}

export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
