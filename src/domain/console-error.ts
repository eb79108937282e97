/** The errors of a console beyond the interface's codes: one plain sentence that the reader can act on. */
import type { FieldFault } from './errors.js';

/** Every code specific to the consoles, with its HTTP status: exhaustive by type. */
export const CONSOLE_STATUS = {
  SIGN_IN: 401,
  WRONG_CREDENTIALS: 401,
  WRONG_CODE: 401,
  SECOND_FACTOR: 403,
  SIGN_IN_AGAIN: 403,
  FORBIDDEN: 403,
  WRONG_ORIGIN: 403,
  INVITATION_NOT_FOUND: 404,
  ALREADY_A_MEMBER: 409,
  LAST_OWNER: 409,
  SECOND_FACTOR_REQUIRED: 409,
  CONFLICT: 409,
  PASSWORD_NOT_FIT: 422,
  NOT_ALLOWED_HERE: 422,
  TOO_MANY_GUESSES: 429,
} as const satisfies Record<string, number>;

export type ConsoleErrorCode = keyof typeof CONSOLE_STATUS;

interface Extras {
  readonly retryAfterSec?: number;
  readonly details?: readonly FieldFault[];
}

export class ConsoleError extends Error {
  override readonly name = 'ConsoleError';
  readonly retryAfterSec: number | undefined;
  readonly details: readonly FieldFault[] | undefined;

  constructor(
    readonly code: ConsoleErrorCode,
    message: string,
    extras: Extras = {},
  ) {
    super(message);
    this.retryAfterSec = extras.retryAfterSec;
    this.details = extras.details;
  }

  get status(): number {
    return CONSOLE_STATUS[this.code];
  }
}

/** Returns the error for one wrong member of an otherwise valid request. */
export const notFit = (code: 'PASSWORD_NOT_FIT' | 'NOT_ALLOWED_HERE', field: string, msg: string): ConsoleError =>
  new ConsoleError(code, `${field}: ${msg}`, { details: [{ field, msg }] });
