/** Reading what nodes answer: int64 beyond 2^53 kept exact, every member checked before use. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** Integers of 16 digits and more outside strings; JSON.parse would round them. */
const LONG_INTEGER = /([:[,]\s*)(-?\d{16,})(?=\s*[,}\]])/g;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in `text`, long integers as strings; undefined when it is none. */
export function parseJson(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(LONG_INTEGER, '$1"$2"'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An int64 member; absent is 0, as protobuf prints it. undefined when it is something else. */
export function int64(value: unknown): bigint | undefined {
  if (value === undefined) return 0n;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined;
}

export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
