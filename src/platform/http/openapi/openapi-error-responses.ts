/** Describes the errors of every operation. Equal responses are described once, in `components.responses`. */
import { HTTP_STATUS, type ErrorCode } from '../../../domain/errors.js';
import type { JsonSchema } from '../body/member-rules.js';
import type { Route } from '../pipeline/routes.js';
import { content, headerSchema, KEY_HEADER, rateHeaders, REQUEST_ID } from './answer-headers.js';
import { describeError, ERROR_HELP } from './openapi-errors.js';

/** Errors that the pipeline itself may return for any signed request. */
const PIPELINE_ERRORS: readonly ErrorCode[] = [
  'BAD_AUTH_HEADERS',
  'INVALID_REQUEST',
  'INVALID_SIGNATURE',
  'SIGNATURE_TIMESTAMP_OUT_OF_RANGE',
  'SIGNATURE_REPLAYED',
  'HMAC_REQUIRED',
  'PROJECT_FROZEN',
  'KEY_SCOPE',
  'SOURCE_NOT_ALLOWED',
  'RATE_LIMITED',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
  'AUTH_UNAVAILABLE',
  'SERVICE_UNAVAILABLE',
];
const BODY_ERRORS: readonly ErrorCode[] = ['REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

/** Codes after which a purchase may or may not have happened. */
const AMBIGUOUS: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR'];

export const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['ok', 'error', 'msg', 'request_id', 'doc_url'],
  properties: {
    ok: { type: 'boolean', const: false },
    error: { type: 'string', description: 'The error code.', enum: Object.keys(HTTP_STATUS) },
    msg: { type: 'string', description: 'One sentence the caller can act on.' },
    key: {
      type: 'string',
      description:
        'On a purchase with an unknown outcome (503, 500): repeat it with this Idempotency-Key, even if you sent none. You cannot send a key that begins with nonce_: read GET /v1/orders/{key} instead.',
    },
    server_time: {
      type: 'integer',
      description: 'With SIGNATURE_TIMESTAMP_OUT_OF_RANGE: Unix seconds to sign again with.',
    },
    oldest_position: {
      type: 'integer',
      description: 'With EVENTS_EXPIRED: the position of the oldest event that is kept.',
    },
    needed_credits: {
      type: 'integer',
      description:
        'With INSUFFICIENT_CREDITS and SPEND_CAP_REACHED: the charge of the refused purchase. Absent if the limit changed meanwhile.',
    },
    available_credits: {
      type: 'integer',
      description: 'With needed_credits: what the balance, the debt limit or the daily cap leaves.',
    },
    request_id: { type: 'string', description: 'ID of the request. Quote it when you ask for support.' },
    doc_url: {
      type: 'string',
      format: 'uri-reference',
      description:
        'Page and place that explain the error code. Without an origin it is relative to the URL of the request.',
    },
    test: { type: 'boolean', const: true, description: 'Present in answers to test projects only.' },
    details: {
      type: 'array',
      description: 'With INVALID_REQUEST: every faulty member.',
      items: {
        type: 'object',
        required: ['field', 'msg'],
        properties: { field: { type: 'string' }, msg: { type: 'string' } },
      },
    },
  },
};

/** Statuses that are sent before a request counts against the rate limit. */
const UNCOUNTED: readonly number[] = [401, 403, 408, 413, 415, 431];

function errorHeaders(status: number, route: Route): JsonSchema {
  const mayRetry = status === 429 || status === 503;
  return {
    ...REQUEST_ID,
    ...(mayRetry && { 'Retry-After': headerSchema('Seconds to wait before repeating.', true, 'integer') }),
    ...(route.budget !== undefined && !UNCOUNTED.includes(status) && rateHeaders(route.budget, false)),
    ...(route.isPurchase && !UNCOUNTED.includes(status) && rateHeaders('testOrders', false)),
    // Too large headers are refused unread.
    ...(route.isPurchase &&
      status !== HTTP_STATUS.HEADERS_TOO_LARGE && {
        [KEY_HEADER]: headerSchema('The key of this purchase, if it has one already.', false),
      }),
  };
}

export interface ErrorResponse {
  readonly status: string;
  /** The name in `components.responses`. Equal responses have equal names. */
  readonly name: string;
  readonly response: JsonSchema;
}

/** The part of an operation that decides its errors. */
interface OwnErrors {
  /** Present if it takes a body. */
  readonly request?: object;
  readonly errors: readonly ErrorCode[];
}

/** Returns one response for each status, with every possible code and an example of each. */
export function errorResponses(operation: OwnErrors, route: Route): ErrorResponse[] {
  const codes = new Set([
    ...PIPELINE_ERRORS,
    ...(operation.request === undefined ? [] : BODY_ERRORS),
    ...operation.errors,
  ]);
  const byStatus = new Map<number, ErrorCode[]>();
  // The table's order, so that operations with the same codes have equal responses.
  for (const code of Object.keys(HTTP_STATUS) as ErrorCode[]) {
    if (codes.has(code)) byStatus.set(HTTP_STATUS[code], [...(byStatus.get(HTTP_STATUS[code]) ?? []), code]);
  }
  return [...byStatus].map(([status, group]) => {
    const headers = errorHeaders(status, route);
    return {
      status: status.toString(),
      name: nameOf(status, group, headers, route),
      response: {
        description: group.map(describeError).join('\n\n'),
        headers,
        content: { 'application/json': content('Error', errorExamples(group, route)) },
      },
    };
  });
}

/**
 * Names a response by everything in which responses of one status differ: the headers of its kind of route, the codes
 * that the pipeline does not add, and the example of a refused query or body.
 */
function nameOf(status: number, codes: readonly ErrorCode[], headers: JsonSchema, route: Route): string {
  const own = codes.filter((code) => !PIPELINE_ERRORS.includes(code) && !BODY_ERRORS.includes(code));
  const kind = KEY_HEADER in headers ? 'Purchase' : 'RateLimit-Limit' in headers ? pascal(route.budget ?? '') : '';
  const refused = codes.includes('INVALID_REQUEST') ? (hasQueryOnly(route) ? 'Query' : 'Body') : '';
  return ['Error', status.toString(), kind, refused, ...own.map((code) => pascal(code.toLowerCase()))].join('');
}

/** Returns `someName` and `some_name` as `SomeName`. */
function pascal(name: string): string {
  return name.replace(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase());
}

const hasQueryOnly = (route: Route): boolean => route.method === 'GET';

function errorExamples(codes: readonly ErrorCode[], route: Route): Record<string, JsonSchema> {
  return Object.fromEntries(
    codes.map((code) => [
      code,
      {
        ok: false,
        error: code,
        msg: `${ERROR_HELP[code].cause}.`,
        ...(route.isPurchase && AMBIGUOUS.includes(code) && { key: 'payout-2026-11-20-17' }),
        ...(code === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE' && { server_time: 1_795_430_400 }),
        ...(code === 'EVENTS_EXPIRED' && { oldest_position: 118 }),
        ...(HTTP_STATUS[code] === 402 && { needed_credits: 7_328_490, available_credits: 1_000_000 }),
        request_id: '5d5eec0d-4c6a-4f0e-9d0b-0c8c1f4b8a53',
        doc_url: `/docs/errors#${code}`,
        ...(code === 'INVALID_REQUEST' && {
          details: [hasQueryOnly(route) ? { field: 'limit', msg: 'must be from 1 to 100' } : EXAMPLE_FAULT],
        }),
      },
    ]),
  );
}

const EXAMPLE_FAULT = { field: 'receive_address', msg: 'must be a TRON address (T…, base58check)' };
