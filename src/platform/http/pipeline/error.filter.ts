/**
 * Turns every thrown value into an answer: `{ ok: false, error, msg, request_id, doc_url, key?, details? }`
 * (docs/interface.md §1). Never sends both `id` and `status`: clients of the family take that for an order. An error
 * other than ApiError is an internal fault, and its details stay out of the answer.
 */
import type { ServerResponse } from 'node:http';
import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ApiError, reasonOf, type ErrorCode } from '../../../domain/errors.js';
import { isDatabaseAway, isTooSlow } from '../../database/database.js';
import { toJsonInteger } from '../../../domain/units.js';
import { ClientGoneError } from '../body/read-body.js';
import { requestContextOf } from './request-context.js';
import type { Log } from '../../observability/logger.js';

const RETRY_AFTER_SEC = 1;

/** Returns the refusal for any thrown value. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (isDatabaseAway(thrown) || isTooSlow(thrown)) {
    return new ApiError(
      'SERVICE_UNAVAILABLE',
      'The service cannot complete this request at present. Repeat the request.',
      {
        cause: thrown,
      },
    );
  }
  const status = statusOf(thrown);
  if (status === 404) return new ApiError('NOT_FOUND', 'There is nothing at this path.', { cause: thrown });
  if (status !== undefined && status >= 400 && status < 500) {
    return new ApiError('INVALID_REQUEST', 'The request could not be read.', { cause: thrown });
  }
  return new ApiError(
    'INTERNAL_ERROR',
    'Something went wrong on our side; quote the request_id when you ask about it.',
    {
      cause: thrown,
    },
  );
}

/** Returns the status that Nest (HttpException) or Express (http-errors) gave to a framework error. */
function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof HttpException) return thrown.getStatus();
  if (!(thrown instanceof Error) || !('status' in thrown)) return undefined;
  return typeof thrown.status === 'number' ? thrown.status : undefined;
}

/** Returns the URL that explains an error code to the caller. */
export type DocUrlOf = (code: ErrorCode) => string;

/** Returns URLs in the served documentation. Without an `origin` they are relative to the URL that the caller used. */
export const docUrlsOf =
  (origin = ''): DocUrlOf =>
  (code) =>
    `${origin}/docs/errors#${code}`;

/** The parts of an error answer that depend on its server and its caller. */
interface ErrorPlace {
  /** Undefined on a server without documentation. */
  readonly docUrlOf: DocUrlOf | undefined;
  /** True in answers to a test project. */
  readonly isTest: boolean;
}

/** Returns the body of an error answer. */
export function errorBody(error: ApiError, requestId: string, { docUrlOf, isTest }: ErrorPlace): string {
  return JSON.stringify({
    ok: false,
    error: error.code,
    msg: error.message,
    request_id: requestId,
    ...(docUrlOf !== undefined && { doc_url: docUrlOf(error.code) }),
    ...(error.key !== undefined && { key: error.key }),
    ...(error.serverTime !== undefined && { server_time: error.serverTime }),
    ...(error.oldestPosition !== undefined && { oldest_position: error.oldestPosition }),
    ...(error.charge !== undefined && {
      needed_credits: toJsonInteger(error.charge.needed),
      available_credits: toJsonInteger(error.charge.available),
    }),
    ...(error.code === 'INVALID_REQUEST' && { details: error.details ?? [] }),
    ...(isTest && { test: true }),
  });
}

/** Returns the headers of an error answer, beside those of every answer. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const mayRetry = error.status === 429 || error.status === 503;
  return {
    'Content-Type': 'application/json; charset=utf-8',
    ...(mayRetry && { 'Retry-After': Math.max(1, Math.ceil(error.retryAfterSec ?? RETRY_AFTER_SEC)).toString() }),
    ...error.headers,
  };
}

/** Answers `thrown`, unless the answer has already begun or the caller has disconnected. */
export type AnswerError = (thrown: unknown, request: Request, response: ServerResponse, log: Log) => void;

/** Returns the API's way of answering errors. */
export const errorAnswers =
  (docUrlOf: DocUrlOf): AnswerError =>
  (thrown, request, response, log) =>
    answerError(thrown, request, response, { log, docUrlOf });

interface AnswerParts {
  readonly log: Log;
  readonly docUrlOf: DocUrlOf;
}

function answerError(
  thrown: unknown,
  request: Request,
  response: ServerResponse,
  { log, docUrlOf }: AnswerParts,
): void {
  const requestContext = requestContextOf(request);
  const requestId = requestContext?.requestId ?? '';
  if (thrown instanceof ClientGoneError) {
    if (requestContext !== undefined) requestContext.errorCode = 'CLIENT_GONE';
    response.destroy();
    return;
  }
  const error = toApiError(thrown);
  if (requestContext === undefined) logCause(log, requestId, error.code, error.cause);
  else {
    // Logged with the line of the request, under the same limit.
    requestContext.errorCode = error.code;
    requestContext.cause = error.code === 'INTERNAL_ERROR' ? (error.cause ?? error) : error.cause;
  }
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.statusCode = error.status;
  for (const [name, value] of Object.entries(errorHeaders(error))) response.setHeader(name, value);
  const body = errorBody(error, requestId, { docUrlOf, isTest: requestContext?.isTest === true });
  // Node leaves it out for an HTTP/1.0 caller, who then cannot distinguish a complete answer from a broken one.
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
  requestContext?.onRefused?.(error);
}

/** Logs the cause of a refusal, if there is one. */
export function logCause(log: Log, requestId: string, code: string, cause: unknown): void {
  if (cause === undefined) return;
  if (code === 'INTERNAL_ERROR') log.error({ requestId, err: cause }, 'request failed');
  // The message alone: under a flood, a stack for each refusal would fill the disk without more information.
  else log.warn({ requestId, code, fault: reasonOf(cause) }, 'request refused');
}

@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly log: Log,
    private readonly answer: AnswerError,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(thrown, http.getRequest<Request>(), http.getResponse<Response>(), this.log);
  }
}
