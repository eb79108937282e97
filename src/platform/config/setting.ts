/**
 * Decorators of settings: the variable of a member, its parser, and class-validator rules with their messages to the
 * operator. A message names the variable and its rule, never its value.
 */
import { applyDecorators, type Type } from '@nestjs/common';
import { Expose, Transform } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  Max,
  Min,
  ValidateBy,
  type ValidationArguments,
} from 'class-validator';
import { isAddress } from '../../domain/base58-address.js';
import { parseIpRange } from '../support/ip-range.js';
import { postgresHosts } from '../support/postgres-url.js';
import { parseRate } from '../../domain/conversion.js';

const DIGITS = /^\d{1,15}$/;

const NAMES = new WeakMap<object, string[]>();

/** Returns the variables that the members of a class are read from. */
export function namesIn(type: Type): readonly string[] {
  return NAMES.get(type) ?? [];
}

/** The raw texts of all variables of the same class. */
type Texts = Readonly<Record<string, string | undefined>>;

/**
 * Binds a member to a variable and a parser. The text is undefined when the variable is unset. An unparsable value
 * stays a text, so that a rule rejects it.
 */
function Setting(name: string, read: (text: string | undefined, texts: Texts) => unknown): PropertyDecorator {
  return (target, member) => {
    NAMES.set(target.constructor, [...namesIn(target.constructor as Type), name]);
    Expose({ name })(target, member);
    Transform(({ value, obj }) => read(value as string | undefined, obj as Texts))(target, member);
  };
}

/** Adds a rule of our own to class-validator's. */
function Rule(message: string, isMet: (value: unknown, settings: object) => boolean): PropertyDecorator {
  const validate = (value: unknown, args?: ValidationArguments): boolean => isMet(value, args?.object ?? {});
  return ValidateBy({ name: message, validator: { validate, defaultMessage: () => message } });
}

interface IntegerTerms {
  /** The default; undefined for none. */
  readonly fallback?: number;
  readonly min: number;
  readonly max: number;
}

export function Integer(name: string, { fallback, min, max }: IntegerTerms): PropertyDecorator {
  const message = `${name} must be an integer from ${min.toString()} to ${max.toString()}`;
  return applyDecorators(
    Setting(name, (text) => (text === undefined ? fallback : DIGITS.test(text) ? Number(text) : Number.NaN)),
    ...(fallback === undefined ? [IsOptional()] : []),
    IsInt({ message }),
    Min(min, { message }),
    Max(max, { message }),
  );
}

const FLAGS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };

export function Flag(name: string, fallback: boolean): PropertyDecorator {
  const read = (text: string | undefined): unknown => (text === undefined ? fallback : FLAGS[text.toLowerCase()]);
  return applyDecorators(Setting(name, read), IsBoolean({ message: `${name} must be true or false` }));
}

/** A text, required unless there is a fallback. */
export function Text(name: string, fallback?: string): PropertyDecorator {
  return applyDecorators(
    Setting(name, (text) => text ?? fallback),
    IsDefined({ message: `${name} is required` }),
  );
}

/** A text, or undefined. */
export function OptionalText(name: string): PropertyDecorator {
  return applyDecorators(
    Setting(name, (text) => text),
    IsOptional(),
  );
}

/** A required TRON address. */
export function Address(name: string): PropertyDecorator {
  return applyDecorators(
    Text(name),
    Rule(`${name} must be a TRON address, such as TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t`, (value) =>
      isAddress(String(value)),
    ),
  );
}

export function Choice(name: string, choices: readonly string[], fallback: string): PropertyDecorator {
  return applyDecorators(
    Setting(name, (text) => text ?? fallback),
    IsIn(choices, { message: `${name} must be one of ${choices.join(', ')}` }),
  );
}

/** Splits at commas and drops empty parts. */
function listOf(text: string | undefined): readonly string[] {
  const parts = (text ?? '').split(',').map((part) => part.trim());
  return Object.freeze(parts.filter((part) => part !== ''));
}

const isEach = (value: unknown, isPart: (part: string) => boolean): boolean =>
  Array.isArray(value) && value.every((part) => isPart(String(part)));

/** Comma-separated texts. `fallback` is in the same form. */
export function List(name: string, fallback = ''): PropertyDecorator {
  return Setting(name, (text) => listOf(text ?? fallback));
}

/** Comma-separated TRON addresses. */
export function Addresses(name: string): PropertyDecorator {
  return applyDecorators(
    List(name),
    Rule(`${name} must be TRON addresses`, (value) => isEach(value, isAddress)),
  );
}

/** Comma-separated IP addresses and CIDR ranges. */
export function Networks(name: string): PropertyDecorator {
  return applyDecorators(
    List(name),
    Rule(`${name} must be IP addresses or CIDR ranges`, (value) =>
      isEach(value, (part) => parseIpRange(part) !== undefined),
    ),
  );
}

/** Comma-separated ports, at least one. */
export function Ports(name: string, fallback: string): PropertyDecorator {
  const isPort = (part: string): boolean => /^[1-9]\d{0,4}$/.test(part) && Number(part) <= 65_535;
  const read = (text: string | undefined): unknown => {
    const parts = listOf(text ?? fallback);
    return parts.every(isPort) ? Object.freeze(parts.map(Number)) : text;
  };
  const isRead = (value: unknown): boolean => Array.isArray(value) && value.length > 0;
  return applyDecorators(Setting(name, read), Rule(`${name} must be ports from 1 to 65535`, isRead));
}

const isUrl = (text: string, schemes: readonly string[]): boolean =>
  URL.canParse(text) && schemes.includes(new URL(text).protocol);
const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** Comma-separated URLs, at least one. Trailing slashes are removed. */
export function Urls(name: string, schemes: readonly string[]): PropertyDecorator {
  return applyDecorators(
    Setting(name, (text) => Object.freeze(listOf(text).map(withoutSlash))),
    ArrayNotEmpty({ message: `${name} is required` }),
    Rule(`${name} must be URLs starting with ${schemes.join(' or ')}`, (value) =>
      isEach(value, (part) => isUrl(part, schemes)),
    ),
  );
}

/** One URL. Of several comma-separated URLs, the first is used if all are valid. */
export function Url(name: string, schemes: readonly string[]): PropertyDecorator {
  const read = (text: string | undefined): unknown => {
    const parts = listOf(text).map(withoutSlash);
    return parts.every((part) => isUrl(part, schemes)) ? parts[0] : parts;
  };
  return applyDecorators(
    Setting(name, read),
    IsDefined({ message: `${name} is required` }),
    Rule(`${name} must be URLs starting with ${schemes.join(' or ')}`, (value) => typeof value === 'string'),
  );
}

/** Requires a URL without a path, or with the number of a database as its path. ioredis would select `NaN`. */
export function RedisDatabase(name: string): PropertyDecorator {
  return Rule(`${name} must have no path but the number of a database: redis://127.0.0.1:6379/0`, (value) => {
    return typeof value !== 'string' || /^\/?\d{0,5}$/.test(new URL(value).pathname);
  });
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/;

/** Returns true if only this machine can reach the host. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/**
 * Returns the origin as browsers write it. Undefined for anything else, including http origins outside this machine.
 */
export function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  const isOriginAlone = `${url.protocol}//${url.host}/` === url.href;
  return isOriginAlone && (url.protocol === 'https:' || isLoopback(url.hostname)) ? url.origin : undefined;
}

/** An origin for links to browsers, or undefined. */
export function OptionalOrigin(name: string): PropertyDecorator {
  const message = `${name} must be an origin, such as https://console.example.com; http:// only for localhost or 127.0.0.1`;
  return applyDecorators(
    Setting(name, (text) => (text === undefined ? undefined : (originOf(text) ?? NaN))),
    IsOptional(),
    Rule(message, (value) => typeof value === 'string'),
  );
}

/** The URL of a Postgres with one or several hosts, or undefined. */
export function OptionalPostgresUrl(name: string, wanted?: 'standby'): PropertyDecorator {
  const wrong = (value: unknown): string | undefined => {
    const hosts = postgresHosts(String(value), wanted);
    return typeof hosts === 'string' ? hosts : undefined;
  };
  return applyDecorators(
    Setting(name, (text) => text?.trim()),
    ValidateBy({
      name: 'PostgresUrl',
      validator: {
        validate: (value: unknown) => value === undefined || wrong(value) === undefined,
        defaultMessage: (args?: ValidationArguments) => `${name} ${wrong(args?.value) ?? ''}`,
      },
    }),
  );
}

/** Does the same for a required setting. */
export function PostgresUrl(name: string): PropertyDecorator {
  return applyDecorators(OptionalPostgresUrl(name), IsDefined({ message: `${name} is required` }));
}

/** `name=url,name=url` */
export function NamedUrls(name: string, schemes: readonly string[]): PropertyDecorator {
  const read = (text: string | undefined): unknown => {
    const pairs = listOf(text).map((part) => [part.split('=', 1)[0] ?? '', part.replace(/^[^=]*=?/, '')] as const);
    const isRead = pairs.every(([key, url]) => key !== '' && isUrl(url, schemes));
    return isRead ? new Map(pairs.map(([key, url]) => [key, withoutSlash(url)])) : text;
  };
  const message = `${name} must be name=URL pairs, with URLs starting with ${schemes.join(' or ')}`;
  return applyDecorators(
    Setting(name, read),
    Rule(message, (value) => value instanceof Map),
  );
}

/** `min-max`, both included, in sun. */
export function Range(name: string, fallback: string, limit: number): PropertyDecorator {
  const read = (text = fallback): unknown => {
    const match = /^(\d{1,15})-(\d{1,15})$/.exec(text);
    const [min, max] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
    return min < 1 || max < min || max > limit ? text : Object.freeze({ min: BigInt(min), max: BigInt(max) });
  };
  const message = `${name} must be two integers from 1 to ${limit.toString()} as MIN-MAX`;
  return applyDecorators(
    Setting(name, read),
    Rule(message, (value) => typeof value === 'object'),
  );
}

/** Dollars per TRX. */
export function Rate(name: string, fallback: string): PropertyDecorator {
  return applyDecorators(
    Setting(name, (text = fallback) => parseRate(text) ?? text),
    Rule(`${name} must be a positive decimal with at most eight fraction digits`, (value) => typeof value === 'bigint'),
  );
}

function keyOf(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const isWhole = bytes.length === 32 && bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  return isWhole ? bytes : text;
}

/** A key of 32 bytes in base64, or undefined. */
export function Key(name: string): PropertyDecorator {
  const message = `${name} must be 32 bytes in base64 (create one: openssl rand -base64 32)`;
  return applyDecorators(
    Setting(name, keyOf),
    IsOptional(),
    Rule(message, (value) => Buffer.isBuffer(value)),
  );
}

/**
 * Comma-separated values, one for each URL of the variable `urls` in order; an empty one means none. A single value
 * belongs to the first URL. `of` converts each value, and supplies the default for none.
 */
function PerUrl(name: string, urls: string, of: (part: string | undefined) => unknown): PropertyDecorator {
  const read = (text: string | undefined, texts: Texts): unknown => {
    const given = text?.split(',') ?? [];
    const { length } = listOf(texts[urls]);
    if (given.length > 1 && given.length !== length) return text;
    const parts = Array.from({ length }, (_, index) => given[index]?.trim());
    return Object.freeze(parts.map((part) => of(part === '' ? undefined : part)));
  };
  const message = `${name} must be one value, or one for each URL of ${urls}, empty for none`;
  return applyDecorators(
    Setting(name, read),
    Rule(message, (value) => Array.isArray(value)),
  );
}

/** API keys by URL, or undefined. They must be valid in an HTTP header. */
export function KeyPerUrl(name: string, urls: string): PropertyDecorator {
  return applyDecorators(
    PerUrl(name, urls, (part) => part),
    Rule(`${name} must be keys of visible ASCII characters`, (value) =>
      isEach(value, (part) => /^[\x21-\x7e]+$/.test(part)),
    ),
  );
}

/** Integers by URL, 0 for none. */
export function IntegerPerUrl(name: string, urls: string, max: number): PropertyDecorator {
  return applyDecorators(
    PerUrl(name, urls, (part = '0') => (DIGITS.test(part) ? Number(part) : Number.NaN)),
    Rule(`${name} must be integers from 0 to ${max.toString()}`, (value) =>
      isEach(value, (part) => Number(part) <= max),
    ),
  );
}

/** Requires an integer at most `factor` times the member `other`. */
export function AtMost(other: string, message: string, factor = 1): PropertyDecorator {
  return Rule(message, (value, settings) => {
    const limit: unknown = Reflect.get(settings, other);
    // An invalid limit has a message of its own.
    return typeof limit !== 'number' || !(Number(value) > limit * factor);
  });
}

/** Requires the same number of values as the member `other`. */
export function AsManyAs(other: string, message: string): PropertyDecorator {
  const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);
  return Rule(message, (value, settings) => lengthOf(value) === lengthOf(Reflect.get(settings, other)));
}
