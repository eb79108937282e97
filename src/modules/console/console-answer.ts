/** Renders every refusal of a console as `{ error, msg, details? }`, without the underlying error. */
import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import { ConsoleError } from '../../domain/console-error.js';
import { HTTP_STATUS, isErrorCode, type ApiError, type FieldFault } from '../../domain/errors.js';
import { OperatorError } from '../../domain/operator-error.js';
import { ClientGoneError } from '../../platform/http/body/read-body.js';
import { errorHeaders, logCause, toApiError } from '../../platform/http/pipeline/error.filter.js';
import { requestContextOf } from '../../platform/http/pipeline/request-context.js';
import type { Log } from '../../platform/observability/logger.js';

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly msg: string;
  readonly details: readonly FieldFault[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly cause: unknown;
}

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };
const USAGE_STATUS = 422;
const CONFLICT_STATUS = 409;

function refusalOf(thrown: unknown): Refusal {
  if (thrown instanceof ConsoleError) {
    const { status, code, message: msg, details, retryAfterSec } = thrown;
    const headers = retryAfterSec === undefined ? JSON_TYPE : { ...JSON_TYPE, 'Retry-After': retryAfterSec.toString() };
    return { status, code, msg, details, headers, cause: undefined };
  }
  // The services of the commands refuse pages with the errors that they refuse commands with.
  if (thrown instanceof OperatorError) {
    const { code, message: msg } = thrown;
    if (isErrorCode(code)) {
      return { status: HTTP_STATUS[code], code, msg, details: undefined, headers: JSON_TYPE, cause: undefined };
    }
    const status = thrown.exitCode === 2 ? USAGE_STATUS : CONFLICT_STATUS;
    const shown = thrown.exitCode === 2 ? 'NOT_ALLOWED_HERE' : 'CONFLICT';
    return { status, code: shown, msg, details: undefined, headers: JSON_TYPE, cause: undefined };
  }
  const error: ApiError = toApiError(thrown);
  const { status, code, message, details } = error;
  const cause = code === 'INTERNAL_ERROR' ? (error.cause ?? error) : error.cause;
  const msg =
    code === 'INTERNAL_ERROR'
      ? 'An error in the service. Try again; if it persists, give the request ID to your operator.'
      : message;
  return { status, code, msg, details, headers: errorHeaders(error), cause };
}

/** Answers `thrown`, unless the answer has begun or the client is gone. */
export function answerConsoleError(thrown: unknown, request: Request, response: ServerResponse, log: Log): void {
  const context = requestContextOf(request);
  if (thrown instanceof ClientGoneError) {
    if (context !== undefined) context.errorCode = 'CLIENT_GONE';
    response.destroy();
    return;
  }
  const { status, code, msg, details, headers, cause } = refusalOf(thrown);
  if (context === undefined) logCause(log, '', code, cause);
  else {
    context.errorCode = code;
    context.cause = cause;
  }
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const body = JSON.stringify({ error: code, msg, ...(details !== undefined && { details }) });
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}
