/** Records the outcomes of attempts, under the fence of their endpoint's claim. */
import { Injectable } from '@nestjs/common';
import { Batcher } from '../../platform/support/batcher.js';
import { Database, isDatabaseAway } from '../../platform/database/database.js';
import type { DeliveryStatus } from '../../domain/webhook-delivery.js';
import type { Answered } from './attempt.js';
import type { ClaimedEndpoint, DueDelivery } from './delivery-claims.js';
import { SLOWING_STATUSES, verdictOf } from './schedule.js';

/** True if the receiver refused the last attempt because of its event (`verdictOf`). */
const WAS_REFUSED = `(d.answer_status BETWEEN 400 AND 499 AND d.answer_status NOT IN (${SLOWING_STATUSES.join(', ')}))`;

/** For this long after a success, a refusal counts against its own event only. */
const TAKING = `interval '1 hour'`;

/**
 * Start of the time in which a refusing endpoint accepted nothing: the first refusal of a type that was accepted
 * before, or never. A type already refused while another was accepted says nothing about the endpoint.
 */
const REFUSING_SINCE = `CASE WHEN s.taken_at BETWEEN clock_timestamp() - ${TAKING} AND clock_timestamp() THEN NULL
    ELSE (SELECT min(r.since::timestamptz) FROM
        jsonb_each_text(jsonb_build_object(tried.type, clock_timestamp()) || s.refused_since) AS r(type, since)
       WHERE s.taken_at IS NULL OR r.since::timestamptz >= s.taken_at) END`;

/**
 * Records an attempt and its verdict ($5) on the endpoint. Locks the delivery's row first, like every statement that
 * locks both. $11 is the due time that the attempt started with: a delivery requested since then stays due. An event
 * that fails repeatedly counts as one consecutive failure, so that it cannot slow its endpoint alone.
 */
const RECORD = {
  name: 'record_attempt',
  text: `WITH tried AS (
      SELECT d.id, d.endpoint_id, d.type, d.next_at IS DISTINCT FROM $11::timestamptz AS is_requested,
          CASE WHEN NOT ${WAS_REFUSED} IS TRUE THEN d.attempted_at END AS slowed_at FROM webhook_delivery d
       WHERE d.id = $3 AND d.endpoint_id = $1 AND d.status = 'pending' FOR NO KEY UPDATE),
    held AS (
      UPDATE webhook_state s SET
          failures = CASE WHEN $5 = 'none' THEN s.failures WHEN $5 <> 'slowing' THEN 0
            WHEN tried.slowed_at >= s.failing_since THEN s.failures ELSE s.failures + 1 END,
          failing_since = CASE $5 WHEN 'none' THEN s.failing_since WHEN 'taken' THEN NULL WHEN 'refused' THEN ${REFUSING_SINCE}
            ELSE coalesce(s.failing_since, clock_timestamp()) END,
          taken_at = CASE $5 WHEN 'taken' THEN clock_timestamp() ELSE s.taken_at END,
          refused_since = CASE $5 WHEN 'taken' THEN s.refused_since - tried.type
            WHEN 'refused' THEN jsonb_build_object(tried.type, clock_timestamp()) || s.refused_since ELSE s.refused_since END
        FROM tried WHERE s.endpoint_id = tried.endpoint_id AND s.fence = $2 RETURNING s.endpoint_id, tried.is_requested)
    UPDATE webhook_delivery d SET attempts = d.attempts + 1, status = $4, attempted_at = clock_timestamp(),
        is_fresh = $4 = 'pending' AND held.is_requested, is_requested = $4 = 'pending' AND held.is_requested,
        next_at = CASE WHEN $4 <> 'pending' THEN NULL WHEN held.is_requested THEN d.next_at
          ELSE clock_timestamp() + $6 * interval '1 millisecond' END,
        ended_at = CASE WHEN $4 = 'pending' THEN NULL ELSE clock_timestamp() END,
        answer_status = $7, answer = $8, fault = $9, duration_ms = $10
      FROM held WHERE d.id = $3 AND d.endpoint_id = held.endpoint_id RETURNING d.id`,
};

/**
 * Records deliveries that their receivers accepted: $1 endpoints, $2 fences, $3 deliveries, $4 statuses, $5 answers, $6
 * durations in ms. Locks the rows of deliveries first, and all rows in one order. `(SELECT $1…)` hides the number of
 * deliveries, so that the plan is kept.
 */
export const RECORD_ACCEPTED = {
  name: 'record_accepted',
  text: `WITH tried AS (
      SELECT d.id, d.endpoint_id, d.type, v.fence, v.answer_status, v.answer, v.duration_ms
        FROM unnest((SELECT $1::uuid[]), $2::int[], $3::bigint[], $4::int[], $5::text[], $6::int[])
            AS v(endpoint_id, fence, id, answer_status, answer, duration_ms)
        JOIN webhook_delivery d ON d.id = v.id AND d.endpoint_id = v.endpoint_id AND d.status = 'pending'
       ORDER BY d.id FOR NO KEY UPDATE OF d),
    locked AS (
      SELECT endpoint_id FROM webhook_state WHERE endpoint_id IN (SELECT endpoint_id FROM tried)
       ORDER BY endpoint_id FOR NO KEY UPDATE),
    held AS (
      UPDATE webhook_state s SET failures = 0, failing_since = NULL, taken_at = clock_timestamp(),
          refused_since = s.refused_since - t.types
        FROM locked JOIN (SELECT endpoint_id, fence, array_agg(type) AS types FROM tried GROUP BY endpoint_id, fence) t
          USING (endpoint_id)
       WHERE s.endpoint_id = t.endpoint_id AND s.fence = t.fence RETURNING s.endpoint_id, s.fence)
    UPDATE webhook_delivery d SET attempts = d.attempts + 1, status = 'delivered', attempted_at = clock_timestamp(),
        is_fresh = false, is_requested = false, next_at = NULL, ended_at = clock_timestamp(),
        answer_status = tried.answer_status, answer = tried.answer, fault = NULL, duration_ms = tried.duration_ms
      FROM tried JOIN held USING (endpoint_id, fence) WHERE d.id = tried.id RETURNING d.id`,
};

export interface Outcome {
  readonly status: DeliveryStatus;
  /** Delay until the next attempt of a pending delivery. */
  readonly delayMs: number;
  readonly answered: Omit<Answered, 'retryAfterSec' | 'fault'> & { readonly fault: string | undefined };
}

interface Attempted {
  readonly held: ClaimedEndpoint;
  readonly delivery: DueDelivery;
  readonly outcome: Outcome;
}

/**
 * Deliveries to many endpoints end at nearly the same time; those to one host are 50 ms apart. One batch at a time: the
 * next collects meanwhile.
 */
const LIMITS = { concurrent: 1, size: 100, waitMs: 10_000, gatherMs: 5 };

@Injectable()
export class DeliveryRecords {
  private readonly accepted: Batcher<Attempted, PromiseSettledResult<boolean>>;

  constructor(private readonly database: Database) {
    this.accepted = new Batcher(LIMITS, async (attempted) => this.recordAccepted(attempted));
  }

  /** Returns false if another sender holds the endpoint by now; that sender attempts the delivery again. */
  async record(held: ClaimedEndpoint, delivery: DueDelivery, outcome: Outcome): Promise<boolean> {
    const attempted = { held, delivery, outcome };
    if (outcome.status !== 'delivered' || delivery.cause === 'test') return this.recordOne(attempted);
    const recorded = await this.accepted.add(attempted);
    if (recorded.status === 'rejected') throw recorded.reason;
    return recorded.value;
  }

  /** Records each alone if they cannot be recorded together, so that one of them cannot hold up the others. */
  private async recordAccepted(attempted: readonly Attempted[]): Promise<PromiseSettledResult<boolean>[]> {
    try {
      const recorded = await this.recordTogether(attempted);
      return recorded.map((value) => ({ status: 'fulfilled', value }));
    } catch (error) {
      if (attempted.length === 1 || isDatabaseAway(error)) throw error;
      return Promise.allSettled(attempted.map(async (each) => this.recordOne(each)));
    }
  }

  private async recordTogether(attempted: readonly Attempted[]): Promise<boolean[]> {
    const rows = await this.database.query<{ id: bigint }>(RECORD_ACCEPTED, [
      attempted.map(({ held }) => held.id),
      attempted.map(({ held }) => held.fence),
      attempted.map(({ delivery }) => delivery.id),
      attempted.map(({ outcome }) => outcome.answered.status ?? null),
      attempted.map(({ outcome }) => outcome.answered.answer ?? null),
      attempted.map(({ outcome }) => outcome.answered.durationMs),
    ]);
    const recorded = new Set(rows.map(({ id }) => id));
    return attempted.map(({ delivery }) => recorded.has(delivery.id));
  }

  private async recordOne({ held, delivery, outcome }: Attempted): Promise<boolean> {
    const { status, delayMs, answered } = outcome;
    const { fault, status: answerStatus, answer, durationMs } = answered;
    const isOfEndpoint = delivery.cause !== 'test' && status !== 'dropped';
    const rows = await this.database.query(RECORD, [
      ...[held.id, held.fence, delivery.id, status, isOfEndpoint ? verdictOf(answered) : 'none', delayMs],
      ...[answerStatus ?? null, answer ?? null, fault ?? null, durationMs, delivery.dueAt],
    ]);
    return rows.length > 0;
  }
}
