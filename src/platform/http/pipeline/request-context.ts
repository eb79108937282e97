/**
 * The caller and its request, as every handler receives them. The guard of `auth` sets them on the request after all
 * its checks. A handler that reads them without these checks is a bug and answers 500.
 *
 *   @Controller('v1/quotes')
 *   class QuotesController {
 *     @Post() @HttpCode(200) @RouteOptionsOf({ budget: 'quotes' })
 *     create(@Caller() caller: Caller, @Body() body: QuoteRequest) {
 *       const key = readIdempotencyKey(caller);          // 400; undefined when absent
 *       const waitSec = readWait(caller);                // Prefer: wait=N, 0 when absent
 *     }
 *   }
 */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { StrictBody } from '../body/strict-json.js';
import { invariant, type ApiError } from '../../../domain/errors.js';
import type { SignatureSchemes } from '../../../domain/scopes.js';
import type { Route } from './routes.js';

/** A project as the pipeline knows it, at most 30 s old (docs/interface.md §2). Decisions about money read it again. */
export interface ProjectRecord {
  /** Lower-case UUID. */
  readonly id: string;
  readonly isFrozen: boolean;
  /** Its orders are played, and not counted (docs/interface.md §32). */
  readonly isTest: boolean;
  readonly signatureSchemes: SignatureSchemes;
  readonly requireIdempotencyKey: boolean;
  readonly requireQuote: boolean;
  /** Addresses and CIDR ranges that may call; empty allows any. */
  readonly allowedSources: readonly string[];
}

export interface Caller {
  readonly project: ProjectRecord;
  /** The API key that signed. */
  readonly keyId: string;
  /** The parsed body; undefined for a GET. */
  readonly body: StrictBody | undefined;
  readonly requestId: string;
  /** The nonce of a request signed by HMAC; undefined for MD5. */
  readonly nonce: string | undefined;
  /** The caller's address behind trusted proxies. */
  readonly sourceAddress: string;
  /** Alternating names and values, as received: Node's own `headers` joins repeated ones. */
  readonly rawHeaders: readonly string[];
  /**
   * Authorises the request again with project and key data at most `ageMs` old. Throws the refusal that applies now, or
   * 503 AUTH_UNAVAILABLE if that data cannot be read.
   */
  readonly judgeAgain: (ageMs: number) => Promise<void>;
}

/** The pipeline's state of a request before the caller is identified; kept on the request itself. */
export interface RequestContext {
  readonly requestId: string;
  readonly startedMs: number;
  route: Route | undefined;
  caller: Caller | undefined;
  /** True if a test project signed. Known before the caller, and included in every answer from then on. */
  isTest: boolean;
  /** The error code of the answer, for the access log. */
  errorCode: string | undefined;
  /** Called with the refusal once the answer is sent. */
  onRefused: ((error: ApiError) => void) | undefined;
  /** The underlying error, for the log alone. */
  cause: unknown;
  /** The status written directly to the socket, past the response, after a broken frame. */
  refusedStatus: number | undefined;
}

const CONTEXT = Symbol('request-context');
type WithContext = Request & { [CONTEXT]?: RequestContext };

export function setRequestContext(request: Request, context: RequestContext): void {
  (request as WithContext)[CONTEXT] = context;
}

export function requestContextOf(request: Request): RequestContext | undefined {
  return (request as WithContext)[CONTEXT];
}

/** Injects the authenticated caller of the current request. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const caller = requestContextOf(context.switchToHttp().getRequest<Request>())?.caller;
  invariant(caller !== undefined, 'a handler runs behind the signature guard');
  return caller;
});

/** Injects the arrival time of the current request, by monotonicMs. */
export const ArrivedMs = createParamDecorator((_data: unknown, host: ExecutionContext): number => {
  const context = requestContextOf(host.switchToHttp().getRequest<Request>());
  invariant(context !== undefined, 'the first step of the pipeline makes the context of every request');
  return context.startedMs;
});
