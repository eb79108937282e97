/** Calls the database function `extend_order`, which charges and moves a rental's end, or leaves nothing behind. */
import { withDeadline } from '../../platform/support/clock.js';
import { invariant } from '../../domain/errors.js';
import type { ApiError } from '../../domain/errors.js';
import type { PricedTime } from '../quotes/direct-price.js';
import type { Database } from '../../platform/database/database.js';

export interface ExtendRow {
  readonly created: boolean;
  readonly same_request: boolean;
  /** Id of the request that created the extension of this key. */
  readonly made_by: string | null;
}

/**
 * The terms with the time of the chain's head, which decides if the rental still runs; or the refusal known in advance.
 */
export type PreparedTime =
  { readonly terms: PricedTime & { readonly headAtMs: number } } | { readonly refusal: ApiError };

export interface ExtendRequest {
  readonly projectId: string;
  readonly apiKeyId: string;
  readonly key: string;
  readonly hash: Buffer;
  readonly orderId: bigint;
  readonly durationSec: number;
  /** As the caller sent it. */
  readonly expectedUses: number | undefined;
  readonly requestId: string;
  readonly prepared: PreparedTime;
  readonly lockWaitMs: number;
}

type Value = (request: ExtendRequest) => unknown;

const termsOf = ({ prepared }: ExtendRequest) => ('terms' in prepared ? prepared.terms : undefined);

const INTEGER_MAX = 2 ** 31 - 1;

const ARGUMENTS: Readonly<Record<string, Value>> = {
  p_project: ({ projectId }) => projectId,
  p_api_key: ({ apiKeyId }) => apiKeyId,
  p_key: ({ key }) => key,
  p_hash: ({ hash }) => hash,
  p_order: ({ orderId }) => orderId,
  // The function refuses durations longer than any rental. Cap the value, because Postgres's integer cannot hold larger
  // ones.
  p_duration: ({ durationSec }) => Math.min(durationSec, INTEGER_MAX),
  p_price: (request) => termsOf(request)?.priceSun ?? null,
  p_credits: (request) => termsOf(request)?.credits ?? null,
  p_rate: (request) => termsOf(request)?.rate ?? null,
  p_head: (request) => {
    const terms = termsOf(request);
    return terms === undefined ? null : new Date(terms.headAtMs).toISOString();
  },
  p_longest: (request) => termsOf(request)?.longestSec ?? null,
  p_refusal: ({ prepared }) => ('refusal' in prepared ? prepared.refusal.code : null),
  p_request_id: ({ requestId }) => requestId,
  p_lock_ms: ({ lockWaitMs }) => lockWaitMs,
  p_expected_uses: ({ expectedUses }) => expectedUses ?? null,
  p_fee_limit: (request) => termsOf(request)?.feeLimitSun ?? null,
  p_fee_limit_capped: (request) => termsOf(request)?.isFeeLimitCapped ?? null,
};

const NAMED = Object.keys(ARGUMENTS).map((name, index) => `${name} => $${(index + 1).toString()}`);
const VALUES = Object.values(ARGUMENTS);

const EXTEND = {
  name: 'extend-order',
  text: `SELECT created, same_request, made_by FROM extend_order(${NAMED.join(', ')})`,
};

/** Longest wait for one statement, in ms. It exceeds the statement's own limits, in case the connection went silent. */
const STATEMENT_LIMIT_MS = 13_000;

/** Runs the statement once. Throws the database's errors, and DeadlineError if no answer arrives in time. */
export async function extendOrder(database: Database, request: ExtendRequest): Promise<ExtendRow> {
  const statement = database.query<ExtendRow>(
    EXTEND,
    VALUES.map((valueOf) => valueOf(request)),
  );
  const [row] = await withDeadline(statement, STATEMENT_LIMIT_MS, 'extending an order');
  invariant(row !== undefined, 'extend_order answers one row');
  return row;
}
