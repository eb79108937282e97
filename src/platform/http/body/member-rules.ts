/**
 * Decorators of request members: class-validator's, each with the message a caller reads and the OpenAPI schema of the
 * member. Request classes declare their members instead of defining them, so that a request has exactly the members
 * that were sent, in their order.
 */
import { applyDecorators, type Type } from '@nestjs/common';
import { Transform } from 'class-transformer';
import {
  IsOptional,
  ValidateBy,
  ValidateIf,
  ValidationTypes,
  getMetadataStorage,
  type ValidationArguments,
} from 'class-validator';
import { addressFault, addressSlip } from '../../chain/address.js';
import type { Config } from '../../config/config.js';
import { invariant } from '../../../domain/errors.js';
import { Entries } from './plain-values.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The limits of the current sale, used to judge requests and shown in the OpenAPI document. */
export abstract class SaleBounds {
  /** The longest rental in the price table, in seconds; undefined until the table is first read. */
  abstract readonly longestSec: number | undefined;
}

/** The settings and prices that requests are judged by. */
export interface RequestLimits {
  readonly sales: Config['sales'];
  readonly sale: SaleBounds;
}

interface MemberRule {
  /** The constraint's name in class-validator. */
  readonly name: string;
  /** Returns the fault of a value that was sent ("must be …"), or undefined. */
  readonly faultOf: (value: unknown, limits: RequestLimits) => string | undefined;
  readonly openApi: (limits: RequestLimits) => JsonSchema;
  /** The member is a number: null is refused even if the member is optional. */
  readonly isNumber?: boolean;
}

/** The number members of each request class. */
const NUMBERS = new WeakMap<object, Set<string | symbol>>();

/** The limits of each request. A class-validator constraint has no access to its application. */
export const LIMITS = new WeakMap<object, RequestLimits>();

/** The decorator of a rule. A member without `Optional` must be present and not null. */
export function Member({ name, faultOf, openApi, isNumber = false }: MemberRule): PropertyDecorator {
  const judge = (args?: ValidationArguments): string | undefined => {
    if (args?.value === undefined) return 'is required';
    if (args.value === null) return 'must not be null';
    const limits = LIMITS.get(args.object);
    invariant(limits !== undefined, 'the request pipe sets the limits of a request');
    return faultOf(args.value, limits);
  };
  const validate = (_: unknown, args?: ValidationArguments) => judge(args) === undefined;
  const rule = ValidateBy(
    { name, validator: { validate, defaultMessage: (args) => judge(args) ?? '' } },
    { context: { openApi, isNumber } },
  );
  return (target, member) => {
    if (isNumber) NUMBERS.set(target, (NUMBERS.get(target) ?? new Set()).add(member));
    rule(target, member);
  };
}

/**
 * The member may be absent or null, which mean the same; but null is refused for a number. JavaScript writes NaN and
 * Infinity as null, so a caller's mistake would silently become the default.
 */
export const Optional = (): PropertyDecorator => (target, member) => {
  const isLeftOut = (value: unknown): boolean =>
    value === undefined || (value === null && NUMBERS.get(target)?.has(member) !== true);
  ValidateIf((_request: object, value: unknown) => !isLeftOut(value))(target, member);
  Transform(({ value }: { value: unknown }) => (isLeftOut(value) ? undefined : value))(target, member);
};

/** A non-negative integer written with digits alone. The pipe passes any other number as NaN. */
export const IsInteger = (
  boundsOf: (limits: RequestLimits) => { readonly min: number; readonly max: number },
  description: string,
) =>
  Member({
    name: 'isInteger',
    isNumber: true,
    faultOf: (value, limits) => {
      const { min, max } = boundsOf(limits);
      if (typeof value === 'number' && value >= min && value <= max) return undefined;
      const bounds = `must be an integer from ${min.toString()} to ${max.toString()}`;
      if (typeof value === 'string' && /^\s*\d+\s*$/.test(value)) return `${bounds}, without quotes`;
      return Number.isNaN(value) ? `${bounds}, written with digits only` : bounds;
    },
    openApi: (limits) => {
      const { min: minimum, max: maximum } = boundsOf(limits);
      return { type: 'integer', format: 'int64', minimum, maximum, description };
    },
  });

interface TextRule {
  readonly maxLength: number;
  readonly minLength?: 0 | 1;
  /** Returns the fault of the text ("must be …"), or undefined. Runs after the length checks. */
  readonly check?: (value: string) => string | undefined;
  /** Returns the message for a common mistake with such texts. Runs before the length checks. */
  readonly slip?: (value: string) => string | undefined;
  /**
   * True for texts that are only looked up. They may contain characters that Postgres cannot store: no row matches
   * then.
   */
  readonly isLookupOnly?: boolean;
  readonly openApi?: JsonSchema;
  readonly description: string;
}

/** For a longer text only its length is reported. */
const SLIP_LENGTH_MAX = 100;

/** Returns the fault of a text, or undefined. */
export function textFault(
  value: unknown,
  { minLength = 1, maxLength, slip, check, isLookupOnly = false }: Omit<TextRule, 'description'>,
) {
  if (typeof value !== 'string') return 'must be a string';
  if (value.length < minLength) return 'must not be empty';
  const slipped = slip?.(value.slice(0, SLIP_LENGTH_MAX));
  if (slipped !== undefined) return slipped;
  if (value.length > maxLength) return `must have at most ${maxLength.toString()} characters`;
  const fault = check?.(value);
  if (fault !== undefined || isLookupOnly || !value.includes('\0')) return fault;
  return 'must not contain the character U+0000';
}

/** A string. Lengths are in UTF-16 units, which class-validator's own `MaxLength` does not count. */
export const IsText = ({
  minLength = 1,
  maxLength,
  slip,
  check,
  isLookupOnly = false,
  openApi,
  description,
}: TextRule) =>
  Member({
    name: 'isText',
    faultOf: (value) =>
      textFault(value, {
        ...{ minLength, maxLength, isLookupOnly },
        ...(slip !== undefined && { slip }),
        ...(check !== undefined && { check }),
      }),
    openApi: () => ({ type: 'string', minLength, maxLength, ...openApi, description }),
  });

interface TextRecordRule {
  readonly entriesMax: number;
  readonly name: Omit<TextRule, 'description'>;
  /** May be empty. */
  readonly value: Omit<TextRule, 'description' | 'minLength'>;
  readonly description: string;
  readonly example: Readonly<Record<string, string>>;
}

/**
 * An object of texts under names of the caller's choice (`Entries`). Lengths are counted as in `IsText`. A faulty entry
 * is reported by its position.
 */
export const IsTextRecord = ({ entriesMax, name, value: text, description, example }: TextRecordRule) =>
  Member({
    name: 'isTextRecord',
    faultOf: (value) => {
      const entries = value instanceof Entries ? value.entries : undefined;
      if (entries === undefined) return 'must be an object of strings';
      if (entries.length > entriesMax) return `must have at most ${entriesMax.toString()} entries`;
      for (const [place, [key, each]] of entries.entries()) {
        const wrongName = textFault(key, name);
        if (wrongName !== undefined) return `entry ${(place + 1).toString()}: its name ${wrongName}`;
        const wrong = textFault(each, { ...text, minLength: 0 });
        if (wrong !== undefined) return `entry ${(place + 1).toString()} ${wrong}`;
      }
      return undefined;
    },
    openApi: () => ({
      type: 'object',
      maxProperties: entriesMax,
      propertyNames: { minLength: 1, maxLength: name.maxLength, ...name.openApi },
      additionalProperties: { type: 'string', maxLength: text.maxLength, ...text.openApi },
      examples: [example],
      description,
    }),
  });

/** A list of at most 50 of the known texts. */
export const IsListOf = (known: readonly string[], description: string) =>
  Member({
    name: 'isListOf',
    faultOf: (value) => {
      if (!Array.isArray(value) || value.length > LIST_ITEMS_MAX) {
        return `must be a list of at most ${LIST_ITEMS_MAX.toString()} texts`;
      }
      const wrong = value.findIndex((item) => !known.includes(item as string));
      return wrong < 0 ? undefined : `item ${(wrong + 1).toString()} must be one of ${known.join(', ')}`;
    },
    openApi: () => ({ type: 'array', maxItems: LIST_ITEMS_MAX, items: { type: 'string', enum: known }, description }),
  });
const LIST_ITEMS_MAX = 50;

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** One of a few known texts. */
export const IsEither = (known: readonly string[]) =>
  Member({
    name: 'isEither',
    faultOf: (value) => (known.some((each) => each === value) ? undefined : `must be ${ALTERNATIVES.format(known)}`),
    openApi: () => ({ type: 'string', enum: known }),
  });

/** A TRON address in base58check form. */
export const IsTronAddress = (description: string) =>
  IsText({
    maxLength: 34,
    // Report the mistake before the length: "at most 34 characters" does not explain a space or a hex address.
    slip: addressSlip,
    check: addressFault,
    openApi: { pattern: '^T[1-9A-HJ-NP-Za-km-z]{33}$', examples: ['TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF'] },
    description,
  });

export const IsFlag = (description: string) =>
  Member({
    name: 'isFlag',
    faultOf: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
    openApi: () => ({ type: 'boolean', description }),
  });

export const GIVEN_ONCE = 'isGivenOnce';

/** A query parameter. Of a repeated one the first value is judged too, so that every fault is reported. */
export const Parameter = ({ name, faultOf, openApi }: MemberRule) =>
  applyDecorators(
    IsOptional(),
    Member({
      name: GIVEN_ONCE,
      faultOf: (value) => (Array.isArray(value) ? 'must be given once' : undefined),
      openApi,
    }),
    Member({ name, faultOf: (value, limits) => faultOf(Array.isArray(value) ? value[0] : value, limits), openApi }),
  );

/** A query parameter with one of the known values. */
export const OneOf = (known: readonly string[], description?: string) =>
  Parameter({
    name: 'isOneOf',
    faultOf: (value) => (known.includes(String(value)) ? undefined : `must be one of ${known.join(', ')}`),
    openApi: () => ({ type: 'string', enum: known, ...(description !== undefined && { description }) }),
  });

interface DescribedMember {
  readonly isOptional: boolean;
  /** Null is the same as absent. */
  readonly isNullable: boolean;
  readonly schema: JsonSchema;
}

/** Returns the members of a request class by name, in declaration order. */
export function membersOf(type: Type, limits: RequestLimits): ReadonlyMap<string, DescribedMember> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const optional = new Set(
    rules.filter((rule) => rule.type === ValidationTypes.CONDITIONAL_VALIDATION).map((rule) => rule.propertyName),
  );
  return new Map(
    rules.flatMap(({ propertyName: name, context }) => {
      const { openApi, isNumber } = (context ?? {}) as Partial<MemberRule>;
      const isOptional = optional.has(name);
      const isNullable = isOptional && isNumber !== true;
      return openApi === undefined ? [] : [[name, { isOptional, isNullable, schema: openApi(limits) }]];
    }),
  );
}
