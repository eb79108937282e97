/** The refusals of purchases: those that the database decides, with the figures of a charge, and those of pricing. */
import { Injectable } from '@nestjs/common';
import type { BatchLoader } from '../../platform/support/batch-loader.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { ApiError, invariant, isErrorCode, type ErrorCode } from '../../domain/errors.js';
import { Database } from '../../platform/database/database.js';
import { rowsByKey } from '../../platform/database/rows-by-key.js';
import { LEFT_TODAY } from '../../platform/database/spent-today.js';
import type { Priced, PurchaseContext } from './purchase.js';

const WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  QUOTE_ALREADY_USED: 'This quote was already used. GET /v1/orders/{key} shows its order, by the key of that order.',
  QUOTE_EXPIRED: 'This quote has expired. Request a new one.',
  INSUFFICIENT_CREDITS:
    'The charge exceeds the balance or the debt limit of the project. Top up, or ask the operator to raise the debt limit.',
  INVALID_SIGNATURE: 'The API key of this request is revoked. Use another key.',
  PROJECT_FROZEN: 'This project is frozen. Contact the operator.',
  SPEND_CAP_REACHED:
    'The charge exceeds the daily spend cap of this project or of its API key. Wait for the next UTC day, or ask the operator to raise the cap.',
  NOT_FOUND: 'This project has no order with this key.',
  NOT_EXTENDABLE:
    'This order cannot be extended: it must be a settled rental that is running, not being reclaimed, and extended less than a hundred times. Place a new order.',
  CAPACITY_UNAVAILABLE: 'The pool cannot deliver this amount at present. Try again shortly, or order less.',
};

/** Capacity is free again as rentals end, every few seconds on a busy pool. */
const CAPACITY_RETRY_SEC = 10;

/** Returns the refusal for a code that the database returned or raised. */
function refusalOf(code: ErrorCode): ApiError {
  if (code === 'IDEMPOTENCY_KEY_REUSED') return keyReused();
  const retry = code === 'CAPACITY_UNAVAILABLE' ? { retryAfterSec: CAPACITY_RETRY_SEC } : {};
  return new ApiError(code, WORDS[code] ?? 'The order was refused.', retry);
}

/** Returns the refusal that the database chose. A refusal known in advance keeps its own message. */
export function refusalNamed(code: string, known: ApiError | undefined): ApiError {
  if (known?.code === code) return known;
  invariant(isErrorCode(code), 'a purchase is refused with a code of the interface');
  return refusalOf(code);
}

export function keyReused(): ApiError {
  return new ApiError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was already used for a different order or extension. Send a new key; GET /v1/orders/{key} shows an existing order.',
  );
}

/** Returns a pricing error as a refusal. Rethrows any other error. */
export function pricingRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ChainUnavailableError) return chainUnavailable(error);
  throw error;
}

/** Returns the 503 for a chain that cannot be read. */
function chainUnavailable(cause: unknown): ApiError {
  return new ApiError('CHAIN_UNAVAILABLE', 'The chain cannot be read at present. Repeat the request shortly.', {
    cause,
    retryAfterSec: 3,
  });
}

interface LimitsRow {
  readonly balance_credits: bigint;
  readonly is_postpaid: boolean;
  readonly floor_credits: bigint | null;
  /** Credits that the daily caps of the project and of the key leave today; null without a cap. */
  readonly project_left: bigint | null;
  readonly key_left: bigint | null;
}

/** $1: projects, $2: their API keys. */
const FIND_LIMITS = {
  name: 'charge-limits',
  text: `SELECT wanted.place::int, account.*, key.*
           FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS wanted (project_id, api_key_id, place)
           CROSS JOIN LATERAL (SELECT balance_credits, is_postpaid, floor_credits, ${LEFT_TODAY} AS project_left
                                 FROM credit_account WHERE project_id = wanted.project_id LIMIT 1) account
           CROSS JOIN LATERAL (SELECT ${LEFT_TODAY} AS key_left
                                 FROM api_key WHERE id = wanted.api_key_id LIMIT 1) key`,
};

/** The limit that a charge exceeds. */
interface Exceeded {
  readonly available: bigint;
  /** Completes "The charge needs 5 credits, but …". */
  readonly limit: string;
  readonly advice: string;
}

/** Adds the needed and the available credits to a refused charge, and advice that fits the billing terms. */
@Injectable()
export class ChargeRefusals {
  private readonly limits: BatchLoader<LimitsRow>;

  constructor(database: Database) {
    this.limits = rowsByKey(database, FIND_LIMITS);
  }

  /**
   * Returns the refusal that the database chose. A refused charge gets its figures from one more read, without which it
   * keeps its general message.
   */
  async refusalOf(
    code: string,
    { project, apiKeyId }: Pick<PurchaseContext, 'project' | 'apiKeyId'>,
    priced: Priced<{ readonly credits: bigint }>,
  ): Promise<ApiError> {
    const refusal = refusalNamed(code, priced.refusal);
    const needed = priced.terms?.credits;
    if (refusal.status !== 402 || needed === undefined) return refusal;
    const limits = await this.limits.load(project.id, apiKeyId).catch(() => undefined);
    const exceeded = limits && (code === 'INSUFFICIENT_CREDITS' ? balanceLeft(limits) : capLeft(limits, needed));
    // The limit may have changed since the refusal, which has no figures then.
    if (exceeded === undefined || exceeded.available >= needed) return refusal;
    const available = exceeded.available < 0n ? 0n : exceeded.available;
    const says = `The charge needs ${needed.toString()} credits, but ${exceeded.limit} ${available.toString()}`;
    return new ApiError(refusal.code, `${says}. ${exceeded.advice}`, { charge: { needed, available } });
  }
}

function balanceLeft({ balance_credits: balance, floor_credits: floor, is_postpaid: isPostpaid }: LimitsRow) {
  if (floor === null) return undefined;
  const [limit, advice] = isPostpaid
    ? ['the debt limit leaves', 'Pay what is owed, or ask the operator to raise the debt limit.']
    : ['the balance is', 'Top up, then repeat the request with the same key.'];
  return { available: balance - floor, limit, advice } satisfies Exceeded;
}

function capLeft({ project_left: ofProject, key_left: ofKey }: LimitsRow, needed: bigint): Exceeded | undefined {
  const wait = 'Wait for the next UTC day, or ask the operator to raise the cap.';
  if (ofProject !== null && ofProject < needed)
    return { available: ofProject, limit: 'the daily spend cap of this project leaves', advice: wait };
  if (ofKey === null) return undefined;
  return { available: ofKey, limit: 'the daily spend cap of this API key leaves', advice: wait };
}
