/**
 * The process's log: one JSON line per event on stdout. Bodies, headers and secrets never enter it: errors are reduced
 * to type, message and stack, connection strings lose their passwords, and secret-looking fields are redacted.
 */
import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream } from 'pino';
import type { Config } from '../config/config.js';

type LogFields = Readonly<Record<string, unknown>>;

/** The injection token, and the only interface that modules use; implemented by pino. */
export abstract class Log {
  abstract debug(fields: LogFields, msg: string): void;
  abstract info(fields: LogFields, msg: string): void;
  abstract warn(fields: LogFields, msg: string): void;
  abstract error(fields: LogFields, msg: string): void;
  abstract fatal(fields: LogFields, msg: string): void;
}

const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'signature',
  'apiKey',
  'api_key',
  'masterKey',
  'privateKey',
  'password',
  'headers',
  'body',
  'idempotencyKey',
]);
const REDACTED_DEPTH = 3;

/**
 * Returns the fields, to three levels, with secret fields redacted; the same object if there is none. Our choice: not
 * pino's own redaction, which took 7.6 of the 9.2 µs of a line (Node 20, measured side by side).
 */
function redacted(fields: object, depth = REDACTED_DEPTH): object {
  let clean: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(fields)) {
    const shown = SECRET_FIELDS.has(name) ? '[redacted]' : redactedValue(value, depth);
    if (shown === value) continue;
    clean ??= (Array.isArray(fields) ? [...(fields as unknown[])] : { ...fields }) as Record<string, unknown>;
    clean[name] = shown;
  }
  return clean ?? fields;
}

function redactedValue(value: unknown, depth: number): unknown {
  const isWalked = depth > 0 && typeof value === 'object' && value !== null && !(value instanceof Error);
  return isWalked ? redacted(value, depth - 1) : value;
}

const CAUSES_MAX = 3;

/** `postgres://user:password@host` → `postgres://[redacted]@host`, in messages and stacks. */
export function scrub(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+.-]{1,20}):\/\/[^\s/@]+@/gi, '$1://[redacted]@');
}

/** All other members of an error (parameters, rows, requests, options) are left out. */
function describeError(thrown: unknown, depth = 0): Record<string, unknown> {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: 'A value that is no error was thrown.' };
  return {
    type: thrown.name,
    message: scrub(thrown.message),
    ...('code' in thrown && typeof thrown.code === 'string' && { code: thrown.code }),
    ...(thrown.stack !== undefined && { stack: scrub(thrown.stack) }),
    ...(thrown.cause !== undefined && depth < CAUSES_MAX && { cause: describeError(thrown.cause, depth + 1) }),
  };
}

/** Returns the log of this process; log an error as `{ err }`. `destination` is stdout unless a test reads it. */
export function createLogger(config: Pick<Config, 'logLevel'>, destination?: DestinationStream): Log {
  return pino(
    {
      level: config.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redacted(fields) as Record<string, unknown>,
      },
      serializers: { err: (thrown: unknown) => describeError(thrown) },
    },
    destination ?? (config.logLevel === 'silent' ? NOWHERE : stdout()),
  );
}

/** A silent log needs no flush timer like that of `stdout`, which would outlive it. */
const NOWHERE: DestinationStream = { write: () => undefined };

/** Lines are buffered up to this size or age. In writes of 4 kB the log took a tenth of a quote's CPU. */
const GATHERED_BYTES = 16_384;
const GATHERED_MS = 50;

/** Asynchronous: a slow reader of stdout must not delay requests. Buffered lines are written on exit. */
function stdout(): DestinationStream {
  return pino.destination({
    fd: 1,
    sync: false,
    minLength: GATHERED_BYTES,
    maxWrite: 2 * GATHERED_BYTES,
    periodicFlush: GATHERED_MS,
  });
}

/** Writes Nest's own lines (start-up, module faults) to the same log. */
export class NestLog implements LoggerService {
  constructor(protected readonly target: Log) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.target.debug(context(rest), lineOf(message));
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.target.debug(context(rest), lineOf(message));
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.target.debug(context(rest), lineOf(message));
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.target.warn(context(rest), lineOf(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.target.error({ ...context(rest), ...(message instanceof Error && { err: message }) }, lineOf(message));
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.target.fatal({ ...context(rest), ...(message instanceof Error && { err: message }) }, lineOf(message));
  }
}

function context(rest: readonly unknown[]): LogFields {
  const last = rest.at(-1);
  return typeof last === 'string' ? { context: scrub(last) } : {};
}

function lineOf(message: unknown): string {
  if (message instanceof Error) return scrub(message.message);
  return typeof message === 'string' ? scrub(message) : 'A message that is no text.';
}
