/** Adds the needed and the available credits to a refused charge, and advice that fits the billing terms. */
import { Injectable } from '@nestjs/common';
import type { BatchLoader } from '../../platform/support/batch-loader.js';
import { ApiError } from '../../domain/errors.js';
import { Database } from '../../platform/database/database.js';
import { rowsByKey } from '../../platform/database/rows-by-key.js';
import { LEFT_TODAY } from '../../platform/database/spent-today.js';
import type { Priced, PurchaseContext } from './purchase.js';
import { refusalNamed } from './refusals.js';

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
