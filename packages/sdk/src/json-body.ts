// The JSON body of a request. Values that JSON.stringify would change silently are refused: it writes NaN, Infinity and
// holes in a list as null, which the service would read as a default, and it drops functions.

const DEPTH_MAX = 100;

/**
 * Returns the body as JSON with sorted object keys and without undefined members: the form that both schemes sign.
 * Throws TypeError, with the name of the member, for a value that JSON cannot hold.
 */
export function bodyText(body: unknown): string {
  return JSON.stringify(jsonValue(body, '', 0));
}

/** Returns a number as text for a path, a query or a header. Throws TypeError for any other value. */
export function numberText(name: string, value: number): string {
  requireNumber(value, name);
  return value.toString();
}

/** Throws TypeError unless the value is a finite, exact number. */
export function requireNumber(value: unknown, name: string): void {
  if (typeof value !== 'number') throw new TypeError(`${name} must be a number`);
  if (!Number.isFinite(value)) throw new TypeError(`${name} is ${value.toString()}, which is not a valid amount`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new TypeError(`${name} exceeds 2^53 - 1, beyond which numbers are not exact`);
  }
}

function jsonValue(given: unknown, name: string, depth: number): unknown {
  const value = unboxed(given, name);
  const at = name === '' ? 'the body' : name;
  if (depth > DEPTH_MAX) throw new TypeError(`${at} is nested too deeply`);
  if (typeof value === 'number') requireNumber(value, at);
  if (/^(?:undefined|function|symbol|bigint)$/.test(typeof value)) {
    throw new TypeError(`${at} is of the type ${typeof value}, which JSON does not support`);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return Array.from(value, (item, index) => jsonValue(item, `${name}[${index.toString()}]`, depth + 1));
  const tag = tagOf(value);
  if (tag !== 'Object') throw new TypeError(`${at} is a ${tag}, which JSON does not support`);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, jsonValue(member, name === '' ? key : `${name}.${key}`, depth + 1)] as const);
  return Object.fromEntries(members);
}

/**
 * Returns the JSON value of a boxed primitive or of an object with `toJSON`. A Date stays an object, and is refused:
 * the interface has no date members.
 */
function unboxed(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const tag = tagOf(value);
  if (tag === 'Number' || tag === 'String' || tag === 'Boolean') return value.valueOf();
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === 'function' && tag !== 'Date' ? (toJSON.call(value, name) as unknown) : value;
}

/** Works for objects of another realm too (a test runner's, for example). */
const tagOf = (value: object): string => Object.prototype.toString.call(value).slice(8, -1);
