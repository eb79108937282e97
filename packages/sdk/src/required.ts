// Values that a call cannot do without. An unset one is refused by its name before anything is sent: in a URL, undefined
// would become the text "undefined", and in a body it would be left out.

/** Throws TypeError for undefined, null and NaN. */
export function requireValue(name: string, value: unknown): void {
  if (value === undefined || value === null || Number.isNaN(value)) {
    throw new TypeError(`${name} is ${String(value)}, but a value is required`);
  }
}

/** Throws TypeError for undefined, null, NaN and an empty text. */
export function requireSet(name: string, value: unknown): void {
  requireValue(name, value);
  if (value === '') throw new TypeError(`${name} is empty, but a value is required`);
}

/** Throws TypeError unless these members of a request are set. */
export function requireMembers<T extends object>(request: T, names: readonly (keyof T & string)[]): void {
  requireSet('the request', request);
  for (const name of names) requireSet(name, request[name]);
}

/** True if the member is neither undefined nor null. */
export function isSet(request: object, name: string): boolean {
  const value = (request as Readonly<Record<string, unknown>>)[name];
  return value !== undefined && value !== null;
}

/** Returns an argument as a segment of a URL path. Throws TypeError if it is unset. */
export function segment(name: string, value: string): string {
  requireSet(name, value);
  return encodeURIComponent(value);
}
