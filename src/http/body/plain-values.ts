/** What was sent, body or query, as the plain values that the request pipe judges. */
import type { StrictNode, StrictObject } from './strict-json.js';

const DIGITS = /^[0-9]+$/;

/** The members of a strictly read body by name. */
export function plainOf({ members }: StrictObject): Record<string, unknown> {
  return Object.fromEntries(members.map(({ key, value }) => [safeName(key), plainValue(value)]));
}

/** More items than any list of a request may have. */
const ITEMS_MAX = 100;

/**
 * A member that is an object, with the names of its entries as they were sent: class-transformer would leave out of a
 * plain one what every object inherits (`toString`).
 */
export class Entries {
  constructor(readonly entries: readonly (readonly [name: string, value: unknown])[] = []) {}
}

/**
 * A number that is not written with digits alone is no integer: NaN. No request has an object or a list in an object, or a
 * list of other than texts: what is in those is recognised by its kind alone, and of a longer list its beginning, since the
 * pipe's walk over one of 128 KiB took 90 ms.
 */
function plainValue(node: StrictNode): unknown {
  switch (node.kind) {
    case 'array':
      return node.items.slice(0, ITEMS_MAX).map(plainItem);
    case 'object':
      return new Entries(node.members.map(({ key, value }) => [key, plainItem(value)]));
    default:
      return plainItem(node);
  }
}

function plainItem(node: StrictNode): unknown {
  switch (node.kind) {
    case 'object':
      return {};
    case 'array':
      return [];
    case 'string':
      return node.value;
    case 'number':
      return DIGITS.test(node.literal) ? Number(node.literal) : Number.NaN;
    case 'boolean':
      return node.literal === 'true';
    case 'null':
      return null;
  }
}

/** The parameters of a query string, decoded; one that is repeated has the list of its values. */
export function readQuery(query: string | null): Record<string, string | string[]> {
  const parameters = new URLSearchParams(query ?? '');
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => {
      const [value = '', ...more] = parameters.getAll(name);
      return [safeName(name), more.length === 0 ? value : [value, ...more]];
    }),
  );
}

const SAFE_NAME = /^(?!(?:constructor|prototype)$)[a-z][a-z_]*$/;
/** Half of a surrogate pair, which neither a strictly read body nor a decoded query can hold. */
const MARK = '\ud800';

/**
 * The name itself, if a request could have such a member. Any other is marked, so that it stays unknown and in its
 * place: what every object inherits (`hasOwnProperty`, `constructor`) would pass the white list of class-validator or
 * be dropped by Nest before it, and an object puts names that are numbers first.
 */
function safeName(name: string): string {
  return SAFE_NAME.test(name) ? name : MARK + name;
}

/** The name as it was sent. */
export function sentName(name: string): string {
  return name.startsWith(MARK) ? name.slice(MARK.length) : name;
}
