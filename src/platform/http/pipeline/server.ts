/**
 * The HTTP server and the request pipeline: connection limits, a request id and exact routes. Every failure before a
 * handler is answered in our format. Knows neither projects nor signatures.
 */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { StreamableFile, type DynamicModule, type INestApplication, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import type { Express, NextFunction, Request, Response } from 'express';
import helmet from 'helmet';
import { SaleBounds } from '../body/member-rules.js';
import { readQuery } from '../body/plain-values.js';
import { RequestPipe } from '../body/request.pipe.js';
import { monotonicMs, sleep } from '../../support/clock.js';
import type { Config } from '../../config/config.js';
import { ApiError } from '../../../domain/errors.js';
import { setRequestContext, requestContextOf, type RequestContext } from './request-context.js';
import { limitConnections } from './connections.js';
import { endUntaken } from './drained.js';
import { expressMessages } from './express-messages.js';
import {
  docUrlsOf,
  ErrorFilter,
  errorAnswers,
  errorBody,
  errorHeaders,
  logCause,
  type AnswerError,
  type DocUrlOf,
} from './error.filter.js';
import { echoIdempotencyKey } from './idempotency-key.js';
import { Log } from '../../observability/logger.js';
import { Metrics } from '../../observability/metrics.js';
import { RefusalLog } from './refusal-log.js';
import { routesOf, type RouteTable } from './routes.js';

const HEADER_BYTES_MAX = 8 * 1024;
/** Interval of Node's check for expired connections. The default of 30 s would triple our limits. */
const TIMEOUT_CHECK_MS = 1000;

/** Express under Nest, on a server with our limits. Nest itself cannot set those that apply at creation. */
class LimitedExpressAdapter extends ExpressAdapter {
  constructor(private readonly limits: Config['http']) {
    super();
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const server = createServer(
      {
        ...expressMessages(app),
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: this.limits.headersTimeoutSec * 1000,
        requestTimeout: this.limits.requestTimeoutSec * 1000,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
        // The pipeline answers this in our format.
        requireHostHeader: false,
        insecureHTTPParser: false,
      },
      app,
    );
    server.maxRequestsPerSocket = this.limits.maxRequestsPerSocket;
    server.keepAliveTimeout = this.limits.keepAliveSec * 1000;
    this.setHttpServer(server);
  }

  /**
   * Writes an object itself: Express would read a dozen settings and headers that are fixed for this API. Marks every
   * answer to a test project.
   */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (typeof body !== 'object' || body === null || body instanceof StreamableFile) {
      return super.reply(response, body, statusCode);
    }
    if (statusCode !== undefined) response.statusCode = statusCode;
    const isTest = requestContextOf(response.req)?.isTest === true;
    const text = JSON.stringify(isTest && !Array.isArray(body) ? { ...body, test: true } : body);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text);
  }
}

/** The parts of the pipeline that differ between servers. */
export interface PipelineOptions {
  readonly http: Config['http'];
  readonly sales: Config['sales'];
  /** Set on every answer. */
  readonly headers: ReadonlyMap<string, string>;
  readonly answerError: AnswerError;
  /** Undefined on a server that serves no documentation. */
  readonly docUrlOf?: DocUrlOf;
  /** Runs before routing. Throws a refusal, or returns true if it has answered the request. */
  readonly before?: (request: Request, response: Response) => boolean;
}

/**
 * Creates the API's application, not listening yet. Every root and test of the API uses it. The module must provide
 * Config, Log, Metrics and SaleBounds.
 */
export async function createHttpApp(module: DynamicModule | Type, config: Config): Promise<NestExpressApplication> {
  const { http, sales } = config;
  const docUrlOf = docUrlsOf(http.apiUrl);
  const options = { http, sales, headers: securityHeaders(), answerError: errorAnswers(docUrlOf), docUrlOf };
  return createServedApp(module, options);
}

/**
 * Creates an application with the pipeline before its routes, not listening yet. The module must provide Log, Metrics
 * and SaleBounds.
 */
export async function createServedApp(
  module: DynamicModule | Type,
  options: PipelineOptions,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(module, new LimitedExpressAdapter(options.http), {
    bodyParser: false,
    abortOnError: false,
    // The caller logs a failed start, once.
    logger: false,
  });
  configureHttp(app, options);
  return app;
}

/** Puts the pipeline before every route of `app`. */
function configureHttp(app: NestExpressApplication, options: PipelineOptions): void {
  const log = app.get(Log);
  app.set('etag', false);
  app.set('x-powered-by', false);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  // A query string is ignored on a POST. A GET with a query has flat parameters.
  app.set('query parser', readQuery);
  const { sales } = options;
  app.useGlobalPipes(new RequestPipe({ sales, sale: app.get<SaleBounds>(SaleBounds, { strict: false }) }));
  app.useGlobalFilters(new ErrorFilter(log, options.answerError));
  app.use(pipeline(app, log, options));
}

/** Returns helmet's headers for a JSON API: no framing, loading or sniffing. */
function securityHeaders(): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  const secure = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xPoweredBy: false,
    xXssProtection: false,
    originAgentCluster: false,
  });
  // Computed once: none of them depends on the request, and helmet's chain of handlers took a twentieth of a read's
  // time.
  const probe = { setHeader: (name: string, value: string) => headers.set(name, value) } as unknown as ServerResponse;
  secure({} as IncomingMessage, probe, () => undefined);
  return headers;
}

function pipeline(app: INestApplication, log: Log, options: PipelineOptions) {
  const { http, headers, answerError: refuse, before, docUrlOf } = options;
  const routes = routesOf(app);
  const metrics = app.get(Metrics);
  const server = serverOf(app);
  const refusals = new RefusalLog(log, metrics, http.logRefusalsPerSec);
  const observers = { log, refusals, metrics, docUrlOf };
  server.once('close', () => refusals.flush());
  limitConnections(server, http, log, metrics);
  answerBrokenFrames(server, observers);
  const fixed = [...headers, ['Cache-Control', 'no-store'] as const];
  return (request: Request, response: Response, next: NextFunction): void => {
    const requestContext = newContext(requestIdOf(request));
    setRequestContext(request, requestContext);
    for (const [name, value] of fixed) response.setHeader(name, value);
    response.setHeader('X-Request-Id', requestContext.requestId);
    if (leaving.has(server) || !server.listening) response.setHeader('Connection', 'close');
    response.on('close', () =>
      record(requestContext, response.headersSent ? response.statusCode : CLIENT_GONE, observers),
    );
    endUntaken(response, http.streamSlowSec * 1000);
    try {
      if (before?.(request, response) === true) return;
      requestContext.route = findRoute(routes, request);
      if (requestContext.route.isPurchase) echoIdempotencyKey(request.rawHeaders, response);
    } catch (refusal) {
      refuse(refusal, request, response, log);
      return;
    }
    next();
  };
}

function newContext(requestId: string): RequestContext {
  return {
    requestId,
    startedMs: monotonicMs(),
    route: undefined,
    caller: undefined,
    isTest: false,
    errorCode: undefined,
    onRefused: undefined,
    cause: undefined,
    refusedStatus: undefined,
  };
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Returns the caller's request id if valid, otherwise a new one. A repeated header arrives joined and is thus invalid.
 */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/**
 * Returns the route of the request. Throws 400 for another HTTP version or a missing Host, 404 for an unknown path, and
 * 405 for a known path with another method.
 */
function findRoute(routes: RouteTable, request: Request) {
  // Node's parser treats a request line without a version as HTTP/0.9, which has no headers and no status.
  if (request.httpVersionMajor !== 1) {
    throw new ApiError('INVALID_REQUEST', 'This is not a valid HTTP/1.1 request.', {
      details: [{ field: 'request', msg: 'is not valid HTTP/1.1' }],
    });
  }
  if (request.httpVersion === '1.1' && request.headers.host === undefined) {
    throw new ApiError('INVALID_REQUEST', 'The Host header is missing.', {
      details: [{ field: 'Host', msg: 'is required' }],
    });
  }
  // HTTP/1.1 allows the absolute form; Express matches on the path alone.
  if (!request.url.startsWith('/')) request.url = request.url.replace(/^https?:\/\/[^/?#]*/i, '');
  // A request has no fragment: a # is a character of its path or query, but Express would cut it off there.
  request.url = request.url.replaceAll('#', '%23');
  const methods = routes.find(request.url.split('?', 1)[0] ?? '');
  if (methods === undefined) throw new ApiError('NOT_FOUND', 'There is nothing at this path.');
  const route = methods.get(request.method);
  if (route !== undefined) return route;
  const allowed = [...methods.keys()].join(', ');
  throw new ApiError('METHOD_NOT_ALLOWED', `This method is not allowed here. The path accepts ${allowed}.`, {
    headers: { Allow: allowed },
  });
}

interface Observers {
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly metrics: Metrics;
  readonly docUrlOf: DocUrlOf | undefined;
}

/** Status for a request whose caller disconnected before its answer began. */
const CLIENT_GONE = 499;

/**
 * Writes one log line and one measurement per request. Uses the pattern instead of the path, since paths contain order
 * keys.
 */
function record(requestContext: RequestContext, answered: number, { log, refusals, metrics }: Observers): void {
  const route = requestContext.route?.pattern ?? 'unknown';
  const seconds = (monotonicMs() - requestContext.startedMs) / 1000;
  // The parser accepts any token as a method. Only those of real routes may become label values.
  const method = requestContext.route?.method ?? 'OTHER';
  const status = requestContext.refusedStatus ?? answered;
  metrics.answered({ method, route, status, error: requestContext.errorCode ?? '' }, seconds);
  if (!refusals.admits(requestContext, status)) return;
  if (requestContext.errorCode !== undefined)
    logCause(log, requestContext.requestId, requestContext.errorCode, requestContext.cause);
  log.info(
    {
      requestId: requestContext.requestId,
      method,
      route,
      status,
      ms: Math.round(seconds * 1_000_000) / 1000,
      ...(requestContext.errorCode !== undefined && { code: requestContext.errorCode }),
      ...(requestContext.caller !== undefined && { projectId: requestContext.caller.project.id }),
    },
    'request',
  );
}

interface ParserError extends Error {
  readonly code?: string;
}

/** Responses whose end closes their connection. */
const last = new WeakSet<ServerResponse>();

/**
 * A message that Node's parser rejects never becomes a request, so these answers are written to the socket directly.
 */
function answerBrokenFrames(server: Server, observers: Observers): void {
  server.on('clientError', (error: ParserError, socket: Duplex) => {
    // Node keeps the current response on its socket, and its own default handler reads it there as well.
    const current = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy(error);
      return;
    }
    if (current?.req.complete === true) {
      // Data after a complete request is broken. The request itself may be an order in progress, so it gets its own
      // answer, never this error. Then the connection ends.
      if (!last.has(current)) current.once('close', () => socket.destroy());
      last.add(current);
      return;
    }
    if (current?.headersSent === true) {
      socket.destroy(error);
      return;
    }
    const requestContext =
      current === undefined || current === null ? undefined : requestContextOf(current.req as Request);
    refuseFrame(socket, refusalOf(error), requestContext, observers);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    refuseFrame(socket, new ApiError('NOT_FOUND', 'There is nothing at this path.'), undefined, observers);
  });
  // Expectations other than 100-continue may be ignored (RFC 9110), which avoids an empty 417.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/**
 * `begun` is the request of the frame; it is recorded when its connection ends. A frame without one is recorded here.
 */
function refuseFrame(socket: Duplex, refusal: ApiError, begun: RequestContext | undefined, observers: Observers): void {
  const requestContext = begun ?? newContext(randomUUID());
  requestContext.errorCode = refusal.code;
  requestContext.refusedStatus = refusal.status;
  const { requestId, isTest } = requestContext;
  writeRefusal(socket, refusal, requestId, errorBody(refusal, requestId, { docUrlOf: observers.docUrlOf, isTest }));
  if (begun === undefined) record(requestContext, refusal.status, observers);
}

function refusalOf(error: ParserError): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(
        'HEADERS_TOO_LARGE',
        `The headers are too large. Send at most ${HEADER_BYTES_MAX.toString()} bytes.`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('REQUEST_TIMEOUT', 'The request did not arrive in time. Send it again.');
    default:
      return new ApiError('INVALID_REQUEST', 'This is not a valid HTTP/1.1 request.', {
        details: [{ field: 'request', msg: 'is not valid HTTP/1.1' }],
      });
  }
}

function writeRefusal(socket: Duplex, refusal: ApiError, requestId: string, body: string): void {
  const headers = {
    ...errorHeaders(refusal),
    'Content-Length': Buffer.byteLength(body).toString(),
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `HTTP/1.1 ${refusal.status.toString()} ${STATUS_CODES[refusal.status] ?? ''}\r\n`;
  socket.end(`${status}${lines.join('')}\r\n${body}`, () => socket.destroy());
}

/** Returns the server of `app`, typed. */
export function serverOf(app: INestApplication): Server {
  return app.getHttpServer() as Server;
}

const leaving = new WeakSet<Server>();

/**
 * Begins to drain: still serves, new connections included, but every answer closes its connection. So callers move to
 * another process by themselves, and the later end of this one interrupts no request.
 */
export function leave(server: Server): void {
  leaving.add(server);
}

const DRAIN_STEP_MS = 50;

/**
 * Stops accepting. Resolves once the last request is answered, or after `limitMs` with the remaining connections
 * closed.
 */
export async function drain(server: Server, limitMs: number): Promise<void> {
  const closed = new AbortController();
  server.close(() => {
    closed.abort();
  });
  const deadline = monotonicMs() + limitMs;
  // A connection that was busy at the close turns idle after its answer. Kept alive, it would hold the server open.
  while (monotonicMs() < deadline && !closed.signal.aborted) {
    server.closeIdleConnections();
    await sleep(DRAIN_STEP_MS, closed.signal);
  }
  server.closeAllConnections();
}
