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
import type { DeliveryCause } from '../../domain/webhook-delivery.js';
import { FAILURES_MAX } from '../../platform/database/entities/webhook-state.entity.js';

const FRESH_BATCH = 1000;
const DROP_BATCH = 1000;

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
export const MAKE_NEW_DUE = {
  name: 'take_fresh_deliveries',
  text: `WITH fresh AS (
      SELECT id FROM webhook_delivery WHERE is_fresh ORDER BY id LIMIT ${FRESH_BATCH.toString()} FOR UPDATE SKIP LOCKED),
    seen AS (UPDATE webhook_delivery d SET is_fresh = false WHERE d.id = ANY (ARRAY(SELECT id FROM fresh))
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

export const DROP = {
  name: 'drop_deliveries',
  text: `UPDATE webhook_delivery SET status = 'dropped', fault = 'WEBHOOK_DELETED', next_at = NULL, is_fresh = false,
        ended_at = clock_timestamp()
    WHERE id = ANY (ARRAY(SELECT d.id FROM webhook_delivery d WHERE d.endpoint_id = $1 AND d.status = 'pending'
      ORDER BY ${OLDEST_FIRST} LIMIT ${DROP_BATCH.toString()})) AND status = 'pending' RETURNING id`,
};

const DISABLE_GONE = {
  name: 'disable_gone',
  text: `UPDATE webhook_endpoint SET disabled_at = coalesce(disabled_at, clock_timestamp()),
        disabled_reason = coalesce(disabled_reason, 'gone')
    WHERE id = $1 AND url = $2 AND deleted_at IS NULL RETURNING id`,
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
}

function columns(held: readonly ClaimedEndpoint[]): [string[], number[]] {
  return [held.map(({ id }) => id), held.map(({ fence }) => fence)];
}
