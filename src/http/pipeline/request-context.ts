/**
 * Who calls and what was sent, as every handler receives it. The guard of `auth` puts it on the request after all
 * its checks; a handler that asks for it without them is a bug and answers 500.
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
import { invariant, type ApiError } from '../../domain/errors.js';
import type { SignatureSchemes } from '../../domain/scopes.js';
import type { Credits } from '../../domain/units.js';
import type { Route } from './routes.js';

/** A project as the pipeline knows it, at most 30 s old (docs/interface.md §2). Money decisions read afresh. */
export interface ProjectRecord {
  /** Lower case UUID. */
  readonly id: string;
  readonly name: string;
  readonly isFrozen: boolean;
  /** Its orders are played, and counted nowhere (docs/interface.md §32). */
  readonly isTest: boolean;
  readonly signatureSchemes: SignatureSchemes;
  readonly requireIdempotencyKey: boolean;
  readonly requireQuote: boolean;
  /** Addresses and CIDR ranges that may call; empty = any. */
  readonly allowedSources: readonly string[];
  readonly dailySpendCapCredits: Credits | undefined;
  readonly isPostpaid: boolean;
  /** 0 for prepaid; undefined = unlimited. */
  readonly debtLimitCredits: Credits | undefined;
}

export interface Caller {
  readonly project: ProjectRecord;
  /** The API key that signed. */
  readonly keyId: string;
  /** What was sent; undefined for a GET. */
  readonly body: StrictBody | undefined;
  readonly requestId: string;
  /** What made a request signed by HMAC unique; undefined for one by MD5. */
  readonly nonce: string | undefined;
  /** The address the request came from, behind trusted proxies. */
  readonly sourceAddress: string;
  /** Names and values in turn, as received: Node's own `headers` joins repeated ones. */
  readonly rawHeaders: readonly string[];
  /**
   * Judges the request again by what is known of the project and of its keys at most `ageMs` ago. Throws what it would
   * be refused with now, or 503 AUTH_UNAVAILABLE when that cannot be known.
   */
  readonly judgeAgain: (ageMs: number) => Promise<void>;
}

/** What the pipeline knows of a request before the caller is identified; kept on the request itself. */
export interface RequestContext {
  readonly requestId: string;
  readonly startedMs: number;
  route: Route | undefined;
  caller: Caller | undefined;
  /** Whether a test project signed; known before its caller, and said by every answer from then on. */
  isTest: boolean;
  /** The code of the error that was answered, for the access log. */
  errorCode: string | undefined;
  /** Called with the refusal that answers the request, when the answer is out. */
  onRefused: ((error: ApiError) => void) | undefined;
  /** What went wrong underneath, for the log alone. */
  cause: unknown;
  /** The status that was written to the socket past the response, when the frame broke. */
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

/** The checked caller of the request being handled. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const caller = requestContextOf(context.switchToHttp().getRequest<Request>())?.caller;
  invariant(caller !== undefined, 'a handler runs behind the signature guard');
  return caller;
});

/** When the request being handled arrived, by monotonicMs. */
export const ArrivedMs = createParamDecorator((_data: unknown, host: ExecutionContext): number => {
  const context = requestContextOf(host.switchToHttp().getRequest<Request>());
  invariant(context !== undefined, 'the first step of the pipeline makes the context of every request');
  return context.startedMs;
});
