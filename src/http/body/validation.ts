/**
 * Reads the members of a body by a declared schema: types, bounds and unknown members, every fault named. It judges
 * numbers by their literal, so that 65000.0, 6.5e4 and "65000" are refused where 65000 is meant (Contract 1).
 *
 * Our choice: not class-validator. It sees parsed values, where 65000.0 and 65000 are one; it also took 4.8 µs for a
 * quote's body where this takes 0.25 (Node 20, measured side by side). The same declaration gives OpenAPI its schema.
 */
import { ApiError, invariant, type FieldFault } from '../../domain/errors.js';
import type { StrictNode } from './strict-json.js';
import type { Caller } from '../pipeline/request-context.js';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Why a member is refused; the message completes "<field> …". */
export class Wrong {
  constructor(readonly msg: string) {}
}

/** How one member is read and how OpenAPI describes it. */
export interface Rule<T> {
  readonly read: (node: StrictNode) => T | Wrong;
  readonly openApi: JsonSchema;
}

export interface Field<T> {
  readonly rule: Rule<unknown>;
  readonly isRequired: boolean;
  /** Carries the type alone. */
  readonly _type?: () => T;
}

type Fields = Readonly<Record<string, Field<unknown>>>;

/** The type `readBody` returns: every field present, an absent optional one `undefined`. */
export type BodyOf<S> =
  S extends BodySchema<infer F> ? { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never } : never;

export interface BodySchema<F extends Fields> {
  readonly fields: ReadonlyMap<string, Field<unknown>>;
  readonly openApi: JsonSchema;
  readonly _fields?: F;
}

export function required<T>(rule: Rule<T>): Field<T> {
  return { rule, isRequired: true };
}

/** May be left out, or null, which is the same (Contract 1). */
export function optional<T>(rule: Rule<T>): Field<T | undefined> {
  return { rule, isRequired: false };
}

interface IntegerBounds {
  readonly min: number;
  /** At most 2^53−1, which is the default. */
  readonly max?: number;
  readonly description?: string;
}

const INTEGER = /^(?:0|[1-9][0-9]{0,15})$/;

/** A non-negative integer written as one; comes as a safe number. */
export function integer({ min, max = Number.MAX_SAFE_INTEGER, description }: IntegerBounds): Rule<number> {
  invariant(Number.isSafeInteger(min) && Number.isSafeInteger(max) && min >= 0, 'bounds are safe integers from 0');
  const bounds = `must be an integer from ${min.toString()} to ${max.toString()}`;
  return {
    read: (node) => {
      if (node.kind !== 'number') return new Wrong(bounds);
      if (!INTEGER.test(node.literal)) {
        return new Wrong(/^[0-9]+$/.test(node.literal) ? bounds : `${bounds}, written with digits alone`);
      }
      const value = Number(node.literal);
      return value >= min && value <= max ? value : new Wrong(bounds);
    },
    openApi: { type: 'integer', format: 'int64', minimum: min, maximum: max, ...described(description) },
  };
}

interface TextRule {
  readonly maxLength: number;
  readonly minLength?: number;
  /** Says what is wrong with the text ("must be …"), or nothing. Runs after the lengths. */
  readonly check?: (value: string) => string | undefined;
  readonly openApi?: JsonSchema;
  readonly description?: string;
}

/** A string; lengths are in UTF-16 units. */
export function text({ minLength = 1, maxLength, check, openApi, description }: TextRule): Rule<string> {
  return {
    read: (node) => {
      if (node.kind !== 'string') return new Wrong('must be a string');
      const { value } = node;
      if (value.length < minLength) return new Wrong(value === '' ? 'must not be empty' : 'is too short');
      if (value.length > maxLength) return new Wrong(`must have at most ${maxLength.toString()} characters`);
      const fault = check?.(value);
      return fault === undefined ? value : new Wrong(fault);
    },
    openApi: { type: 'string', minLength, maxLength, ...openApi, ...described(description) },
  };
}

export function flag(description?: string): Rule<boolean> {
  return {
    read: (node) => (node.kind === 'boolean' ? node.literal === 'true' : new Wrong('must be true or false')),
    openApi: { type: 'boolean', ...described(description) },
  };
}

function described(description: string | undefined): JsonSchema {
  return description === undefined ? {} : { description };
}

/** Declares the members of a body; make it once, not per request. */
export function bodySchema<const F extends Fields>(fields: F): BodySchema<F> {
  const entries = Object.entries(fields);
  const requiredNames = entries.filter(([, field]) => field.isRequired).map(([name]) => name);
  return {
    fields: new Map(entries),
    openApi: {
      type: 'object',
      additionalProperties: false,
      ...(requiredNames.length > 0 && { required: requiredNames }),
      properties: Object.fromEntries(entries.map(([name, field]) => [name, field.rule.openApi])),
    },
  };
}

const SHOWN_NAME_LENGTH = 64;

/** The members of the caller's body. Throws 400 INVALID_REQUEST naming every fault. */
export function readBody<F extends Fields>(caller: Pick<Caller, 'body'>, schema: BodySchema<F>): BodyOf<BodySchema<F>> {
  invariant(caller.body !== undefined, 'only a POST handler reads a body');
  const values: Record<string, unknown> = {};
  for (const name of schema.fields.keys()) values[name] = undefined;
  const faults: FieldFault[] = [];
  const seen = new Set<string>();
  for (const { key, value } of caller.body.root.members) {
    const field = schema.fields.get(key);
    if (field === undefined) {
      faults.push({ field: key.slice(0, SHOWN_NAME_LENGTH), msg: 'is not a member of this request' });
      continue;
    }
    seen.add(key);
    if (value.kind === 'null') {
      if (field.isRequired) faults.push({ field: key, msg: 'must not be null' });
      continue;
    }
    const read = field.rule.read(value);
    if (read instanceof Wrong) faults.push({ field: key, msg: read.msg });
    else values[key] = read;
  }
  for (const [name, field] of schema.fields) {
    if (field.isRequired && !seen.has(name)) faults.push({ field: name, msg: 'is required' });
  }
  if (faults.length > 0) throw refusal(faults);
  return values as BodyOf<BodySchema<F>>;
}

function refusal(faults: readonly FieldFault[]): ApiError {
  const [first] = faults;
  const more = faults.length > 1 ? `, and ${(faults.length - 1).toString()} more fault(s), see details` : '';
  return new ApiError('INVALID_REQUEST', `${first?.field ?? ''} ${first?.msg ?? ''}${more}.`, { details: faults });
}
