/**
 * Claims endpoints for this sender, under a lease and fence on the endpoint's row. One process therefore controls the
 * order of first attempts and the limit of concurrent requests. Postgres holds all state, so another sender can
 * continue at any time.
 */
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { SenderConfig } from '../../platform/config/sender-config.js';
import { Database } from '../../platform/database/database.js';
import { isDue, isFromLaterClock, leaseIsFree } from '../../platform/database/lease-sql.js';
import type { DeliveryCause, DeliveryStatus } from '../../domain/webhook-delivery.js';
import { FAILURES_MAX } from '../../platform/database/entities/webhook-state.entity.js';
import type { Answered } from './attempt.js';
import { SLOWING_STATUSES, verdictOf } from './schedule.js';

const FRESH_BATCH = 1000;
const DROP_BATCH = 1000;
/** Spacing of requests to one host or address: twenty a second. */
const SPACING = `interval '50 milliseconds'`;

/** Rest of a slowed endpoint after a probe. It spares a receiver that is down, and detects recovery quickly. */
const PROBE_REST = `CASE WHEN s.failures < ${FAILURES_MAX.toString()} THEN interval '0'
    ELSE least(interval '1 minute', (clock_timestamp() - s.failing_since) / 10) END`;

const OLDEST_FIRST = `(d.cause = 'replay'), d.position, d.id`;

/**
 * The waiting deliveries of an endpoint in three parts, each with an index. First attempts are due when they are
 * written, retries are found by their time, and deliveries that the owner requested precede both. A receiver that
 * refuses often has tens of thousands of retries that are due only in hours.
 */
const FIRST = `d.status = 'pending' AND d.attempts = 0`;
const AGAIN = `d.status = 'pending' AND d.attempts > 0 AND (d.cause = 'replay') = part.is_replay`;
const REQUESTED = `d.status = 'pending' AND d.is_requested`;
const PARTS = `(VALUES (false), (true)) part(is_replay)`;

/**
 * Makes endpoints due that have deliveries written since the last pass. A slowed endpoint is due after its rest, or
 * immediately for the owner's request. A held endpoint is due before its lease ends, whatever its rest: its release may
 * have looked for deliveries before this one was written. Rows are locked in one order, so that senders cannot deadlock.
 */
const MAKE_NEW_DUE = {
  name: 'take_fresh_deliveries',
  text: `WITH fresh AS (
      SELECT id FROM webhook_delivery WHERE is_fresh ORDER BY id LIMIT ${FRESH_BATCH.toString()} FOR UPDATE SKIP LOCKED),
    seen AS (UPDATE webhook_delivery d SET is_fresh = false FROM fresh WHERE d.id = fresh.id
       RETURNING d.endpoint_id, d.is_requested),
    by_endpoint AS (SELECT endpoint_id, bool_or(is_requested) AS is_requested FROM seen GROUP BY endpoint_id),
    woken AS (SELECT endpoint_id FROM webhook_state WHERE endpoint_id IN (SELECT endpoint_id FROM by_endpoint)
       ORDER BY endpoint_id FOR NO KEY UPDATE),
    due AS (UPDATE webhook_state s SET due_at = least(s.due_at, s.lease_until - interval '1 microsecond',
          clock_timestamp() + CASE WHEN b.is_requested THEN interval '0' ELSE ${PROBE_REST} END)
        FROM woken JOIN by_endpoint b USING (endpoint_id) WHERE s.endpoint_id = woken.endpoint_id)
    SELECT count(*)::int AS count FROM seen`,
};

/** Longest rest of an endpoint: the longest retry delay with its jitter. */
const LONGEST_REST_SEC = 30 * 3600;

const IS_DUE = isDue('due_at', LONGEST_REST_SEC, 'statement_timestamp()');
const LEASE_IS_FREE = leaseIsFree('lease_until', '$2', 'statement_timestamp()');
const LEASE_IS_FROM_LATER_CLOCK = isFromLaterClock('lease_until', '$2', 'statement_timestamp()');

const IS_CLAIMABLE = `due_at IS NOT NULL AND (${IS_DUE} OR ${LEASE_IS_FROM_LATER_CLOCK}) AND (${LEASE_IS_FREE} OR holder = $1)`;

/** Asked often, when there is usually neither. `IS`: see CLAIM. */
const WAITING = {
  name: 'deliveries_waiting',
  text: `SELECT EXISTS (SELECT FROM webhook_delivery WHERE is_fresh) AS "hasNew",
      EXISTS (SELECT FROM webhook_state WHERE (failures > 0) IS false AND ${IS_CLAIMABLE})
        OR EXISTS (SELECT FROM webhook_state WHERE (failures > 0) IS true AND ${IS_CLAIMABLE}) AS "hasDue"`,
};

/**
 * $1 holder, $2 lease, $3 limit, $4 limit of endpoints that failed last. An endpoint of ours that is due
 * again keeps its fence. `IS` matches the index in every plan: the planner rewrites `= false`, and then it does not.
 */
const CLAIM = {
  name: 'claim_endpoints',
  text: `WITH working AS (
      SELECT endpoint_id FROM webhook_state WHERE (failures > 0) IS false AND ${IS_CLAIMABLE}
       ORDER BY due_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED),
    failing AS (
      SELECT endpoint_id FROM webhook_state WHERE (failures > 0) IS true AND ${IS_CLAIMABLE}
       ORDER BY due_at LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED),
    due AS (
      SELECT endpoint_id, clock_timestamp() + $2 * interval '1 second' AS until
        FROM (TABLE working UNION ALL TABLE failing) each)
    UPDATE webhook_state s SET holder = $1, lease_until = due.until, due_at = due.until,
        fence = CASE WHEN s.holder = $1 AND s.lease_until >= statement_timestamp() THEN s.fence ELSE s.fence + 1 END
      FROM due WHERE s.endpoint_id = due.endpoint_id RETURNING s.endpoint_id AS id, s.fence, s.failures > 0 AS "isFailing"`,
};

const RENEW = {
  name: 'renew_endpoints',
  text: `WITH held AS (
      SELECT s.endpoint_id, clock_timestamp() + $3 * interval '1 second' AS until FROM webhook_state s
        JOIN unnest($1::uuid[], $2::int[]) AS v(id, fence) ON s.endpoint_id = v.id AND s.fence = v.fence
       ORDER BY s.endpoint_id FOR NO KEY UPDATE OF s)
    UPDATE webhook_state s SET lease_until = held.until,
        due_at = CASE WHEN s.due_at IS NOT DISTINCT FROM s.lease_until THEN held.until ELSE s.due_at END
      FROM held WHERE s.endpoint_id = held.endpoint_id RETURNING s.endpoint_id AS id`,
};

const ENDPOINTS = {
  name: 'held_endpoints',
  text: `SELECT e.id, e.url, e.secret_sealed AS secret, CASE WHEN e.previous_until > clock_timestamp()
        THEN e.previous_secret_sealed END AS previous, e.disabled_at IS NOT NULL AS "isDisabled",
      e.deleted_at IS NOT NULL AS "isDeleted", s.failures
    FROM unnest($1::uuid[], $2::int[]) AS v(id, fence)
    JOIN webhook_state s ON s.endpoint_id = v.id AND s.fence = v.fence JOIN webhook_endpoint e ON e.id = v.id`,
};

const SENT = `d.id, d.event_key, d.event_id, d.cause, d.attempts, d.payload, d.next_at, d.position, d.is_requested`;

/**
 * $1 endpoints, $2 fences, $3 limit per endpoint, $4 slowed down, $5 deliveries in progress, $6 resting. Requested
 * deliveries come first, then first attempts and due retries by position, then replays.
 *
 * A slowed endpoint is probed with an event that was never tried, or else with its oldest due retry. Otherwise one
 * undeliverable event would hold up all others.
 */
const DUE = {
  name: 'due_deliveries',
  text: `SELECT d.id, v.id AS "endpointId", d.event_key AS "eventKey", d.cause, d.attempts,
      coalesce(d.payload, e.payload) AS payload, d.next_at::text AS "dueAt", d.is_requested AS "isRequested",
      extract(epoch FROM clock_timestamp() - d.next_at)::float8 AS "lateSec"
    FROM unnest($1::uuid[], $2::int[], $3::int[], $4::boolean[], $6::boolean[]) AS v(id, fence, room, is_failing, is_resting)
    JOIN webhook_state s ON s.endpoint_id = v.id AND s.fence = v.fence
    CROSS JOIN LATERAL (
      SELECT CASE WHEN v.is_failing THEN 1 ELSE v.room END AS unasked, v.is_resting OR v.is_failing AND EXISTS (
        SELECT FROM webhook_delivery d WHERE d.endpoint_id = v.id AND ${REQUESTED}) AS is_resting) r
    CROSS JOIN LATERAL (
      SELECT * FROM (
        (SELECT ${SENT} FROM webhook_delivery d
          WHERE d.endpoint_id = v.id AND ${REQUESTED} AND d.next_at <= statement_timestamp() AND d.id <> ALL ($5::bigint[])
          ORDER BY d.id LIMIT v.room)
        UNION ALL
        (SELECT * FROM (
          (SELECT ${SENT} FROM webhook_delivery d
            WHERE NOT r.is_resting AND d.endpoint_id = v.id AND ${FIRST} AND NOT d.is_requested AND d.id <> ALL ($5::bigint[])
            ORDER BY ${OLDEST_FIRST} LIMIT r.unasked)
          UNION ALL
          SELECT again.* FROM ${PARTS} CROSS JOIN LATERAL (
            SELECT ${SENT} FROM webhook_delivery d
             WHERE NOT r.is_resting AND d.endpoint_id = v.id AND ${AGAIN} AND NOT d.is_requested
               AND d.next_at <= statement_timestamp() AND d.id <> ALL ($5::bigint[])
             ORDER BY d.next_at LIMIT r.unasked) again) d
          ORDER BY (v.is_failing AND d.attempts > 0), (d.cause = 'replay'),
            CASE WHEN v.is_failing AND d.attempts > 0 THEN d.next_at END, d.position, d.id
          LIMIT r.unasked)) d
       ORDER BY NOT d.is_requested LIMIT v.room) d
    LEFT JOIN event e ON e.id = d.event_id
    ORDER BY v.id, NOT d.is_requested, ${OLDEST_FIRST}`,
};

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
 * Releases endpoints with their next due time. A `due_at` before the lease's end means a new delivery: the endpoint is
 * due immediately, but not before its rest. A request of the owner skips that rest. $3 is the time for which nothing
 * may be sent.
 */
const RELEASE = {
  name: 'release_endpoints',
  text: `WITH held AS (
      SELECT s.endpoint_id, v.rest_ms FROM webhook_state s
        JOIN unnest($1::uuid[], $2::int[], $3::int[]) AS v(id, fence, rest_ms) ON s.endpoint_id = v.id AND s.fence = v.fence
       ORDER BY s.endpoint_id FOR NO KEY UPDATE OF s)
    UPDATE webhook_state s SET holder = NULL, lease_until = NULL,
        due_at = (SELECT CASE WHEN n.at IS NOT NULL THEN greatest(n.at,
              clock_timestamp() + greatest(CASE WHEN n.is_requested THEN interval '0' ELSE ${PROBE_REST} END,
                held.rest_ms * interval '1 millisecond')) END
            FROM (SELECT CASE
                WHEN s.due_at < s.lease_until THEN s.due_at
                WHEN EXISTS (SELECT FROM webhook_endpoint e WHERE e.id = s.endpoint_id AND e.disabled_at IS NOT NULL
                  AND e.deleted_at IS NULL) THEN NULL
                ELSE least(
                  (SELECT clock_timestamp() FROM webhook_delivery d WHERE d.endpoint_id = s.endpoint_id AND ${FIRST} LIMIT 1),
                  (SELECT min((SELECT min(d.next_at) FROM webhook_delivery d WHERE d.endpoint_id = s.endpoint_id AND ${AGAIN}))
                    FROM ${PARTS})) END AS at,
                EXISTS (SELECT FROM webhook_delivery d WHERE d.endpoint_id = s.endpoint_id AND ${REQUESTED}) AS is_requested) n)
      FROM held WHERE s.endpoint_id = held.endpoint_id RETURNING s.endpoint_id`,
};

const DROP = {
  name: 'drop_deliveries',
  text: `WITH part AS (SELECT id FROM webhook_delivery WHERE endpoint_id = $1 AND status = 'pending' LIMIT ${DROP_BATCH.toString()})
    UPDATE webhook_delivery d SET status = 'dropped', fault = 'WEBHOOK_DELETED', next_at = NULL, is_fresh = false,
        ended_at = clock_timestamp() FROM part WHERE d.id = part.id RETURNING d.id`,
};

const DISABLE_GONE = {
  name: 'disable_gone',
  text: `UPDATE webhook_endpoint SET disabled_at = coalesce(disabled_at, clock_timestamp()),
        disabled_reason = coalesce(disabled_reason, 'gone')
    WHERE id = $1 AND url = $2 AND deleted_at IS NULL RETURNING id`,
};

/** A turn beyond the usual distance was written by a later clock. */
const IS_STALE_SLOT = isFromLaterClock('d.free_at', 1);

/** Returns the ms until the next request may go there; no row if a second's worth of requests already waits. */
const RESERVE_SLOT = {
  name: 'take_turn',
  text: `INSERT INTO webhook_destination AS d (name, free_at) VALUES ($1, clock_timestamp() + ${SPACING})
    ON CONFLICT (name) DO UPDATE SET free_at =
        CASE WHEN ${IS_STALE_SLOT} THEN clock_timestamp() ELSE greatest(d.free_at, clock_timestamp()) END + ${SPACING}
      WHERE d.free_at < clock_timestamp() + interval '1 second' OR ${IS_STALE_SLOT}
    RETURNING greatest(0, extract(epoch FROM free_at - ${SPACING} - clock_timestamp()) * 1000)::float8 AS "waitMs"`,
};

export interface ClaimedEndpoint {
  readonly id: string;
  readonly fence: number;
}

export interface HeldEndpoint {
  readonly id: string;
  readonly url: string;
  readonly secret: Buffer | null;
  readonly previous: Buffer | null;
  readonly isDisabled: boolean;
  readonly isDeleted: boolean;
  readonly failures: number;
}

export interface DueDelivery {
  readonly id: bigint;
  readonly endpointId: string;
  readonly eventKey: string;
  readonly cause: DeliveryCause;
  readonly attempts: number;
  /** Null if the event was pruned. */
  readonly payload: string | null;
  /** Requested by the owner: sent immediately, before and beside all others. */
  readonly isRequested: boolean;
  readonly lateSec: number;
  /** Due time in the database's text format; null if the delivery ended meanwhile. */
  readonly dueAt: string | null;
}

/** Request for the due deliveries of an endpoint. */
export interface DueRequest extends ClaimedEndpoint {
  readonly room: number;
  /** Slowed down: one at most, in addition to requested ones. */
  readonly isFailing: boolean;
  /** Only requested ones. */
  readonly isResting?: boolean;
}

export interface Outcome {
  readonly status: DeliveryStatus;
  /** Delay until the next attempt of a pending delivery. */
  readonly delayMs: number;
  readonly answered: Omit<Answered, 'retryAfterSec' | 'fault'> & { readonly fault: string | undefined };
}

@Injectable()
export class DeliveryClaims {
  /** Id of this process during its lifetime. */
  private readonly holder = randomUUID();

  private readonly leaseSec: number;

  constructor(
    private readonly database: Database,
    { sender }: SenderConfig,
  ) {
    this.leaseSec = sender.leaseSec;
  }

  /** Looks for new deliveries with endpoints that are not due yet, and for endpoints to claim. */
  async lookForWork(): Promise<{ readonly hasNew: boolean; readonly hasDue: boolean }> {
    const [found] = await this.database.query<{ hasNew: boolean; hasDue: boolean }>(WAITING, [
      this.holder,
      this.leaseSec,
    ]);
    return found ?? { hasNew: false, hasDue: false };
  }

  /** Makes endpoints with new deliveries due. Returns true if there may be further new deliveries. */
  async makeNewDeliveriesDue(): Promise<boolean> {
    const [seen] = await this.database.query<{ count: number }>(MAKE_NEW_DUE);
    return (seen?.count ?? 0) >= FRESH_BATCH;
  }

  /** Claims due endpoints, up to a limit of working ones and one of those that failed last. */
  async claim(
    mostWorking: number,
    mostFailing: number,
  ): Promise<(ClaimedEndpoint & { readonly isFailing: boolean })[]> {
    if (mostWorking <= 0) return [];
    return this.database.query(CLAIM, [this.holder, this.leaseSec, mostWorking, Math.max(0, mostFailing)]);
  }

  /** Returns the ids that this process still holds. */
  async renew(held: readonly ClaimedEndpoint[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ id: string }>(RENEW, [...columns(held), this.leaseSec]);
    return new Set(rows.map(({ id }) => id));
  }

  async readEndpoints(held: readonly ClaimedEndpoint[]): Promise<HeldEndpoint[]> {
    return this.database.query<HeldEndpoint>(ENDPOINTS, columns(held));
  }

  async readDue(wanted: readonly DueRequest[], underWay: readonly bigint[]): Promise<DueDelivery[]> {
    return this.database.query<DueDelivery>(DUE, [
      ...columns(wanted),
      wanted.map(({ room }) => room),
      wanted.map(({ isFailing }) => isFailing),
      underWay,
      wanted.map(({ isResting = false }) => isResting),
    ]);
  }

  /** Returns false if another sender holds the endpoint by now; that sender attempts the delivery again. */
  async record(held: ClaimedEndpoint, delivery: DueDelivery, { status, delayMs, answered }: Outcome): Promise<boolean> {
    const { fault, status: answerStatus, answer, durationMs } = answered;
    const isOfEndpoint = delivery.cause !== 'test' && status !== 'dropped';
    const rows = await this.database.query(RECORD, [
      ...[held.id, held.fence, delivery.id, status, isOfEndpoint ? verdictOf(answered) : 'none', delayMs],
      ...[answerStatus ?? null, answer ?? null, fault ?? null, durationMs, delivery.dueAt],
    ]);
    return rows.length > 0;
  }

  async release(held: readonly (ClaimedEndpoint & { readonly restMs: number })[]): Promise<void> {
    await this.database.query(RELEASE, [...columns(held), held.map(({ restMs }) => restMs)]);
  }

  /** Ends a batch of deliveries that wait for a deleted endpoint. Returns their number. */
  async dropBatch(endpointId: string): Promise<number> {
    return (await this.database.query(DROP, [endpointId])).length;
  }

  /** Returns false if the endpoint is deleted or has another URL than the one that answered. */
  async disableGone({ id, url }: HeldEndpoint): Promise<boolean> {
    return (await this.database.query(DISABLE_GONE, [id, url])).length > 0;
  }

  /** Returns the ms until the next request may go to a host or address; undefined if it is busy for a second. */
  async reserveSlot(name: string): Promise<number | undefined> {
    const [turn] = await this.database.query<{ waitMs: number }>(RESERVE_SLOT, [name]);
    return turn?.waitMs;
  }
}

function columns(held: readonly ClaimedEndpoint[]): [string[], number[]] {
  return [held.map(({ id }) => id), held.map(({ fence }) => fence)];
}
