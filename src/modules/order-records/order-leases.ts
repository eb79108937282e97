/**
 * Claims, renews and releases orders: writes leases, fencing tokens and the next run. Postgres is the queue of record.
 * Claims follow the database's clock, rental ends the chain's (docs/interface.md §18).
 */
import type { OrderKind, OrderStatus } from '../../domain/order-state.js';
import type { Resource } from '../../domain/resource.js';
import type { Energy } from '../../domain/units.js';
import type { Queryable } from '../../platform/database/database.js';
import { isDue, leaseIsFree } from '../../platform/database/lease-sql.js';
import { LOST } from './lost-energy-sql.js';
import { RECOVERY_HOLD_SEC, RECOVERY_IS_DONE } from './recovery-condition.js';

/** A claimed order. A write with another fence changes nothing. */
export interface OrderClaim {
  readonly id: bigint;
  readonly fence: number;
}

/** A claimed order's row. */
export interface ClaimRow extends OrderClaim {
  /** The time since which it was due, in the database's text format; null for a rental that the chain's clock ended. */
  readonly due_at: string | null;
  readonly project_id: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly receive_address: string;
  readonly energy: Energy | null;
  readonly bandwidth: bigint | null;
  readonly credits: bigint;
  readonly settled: boolean;
  readonly undoing: boolean;
  readonly needs_attention: boolean;
  readonly ends_at: Date | null;
  readonly request_id: string | null;
  /** Seconds since acceptance. */
  readonly age_sec: number;
}

/** An order to release, with its next run if it is still under way. */
export interface OrderRelease extends OrderClaim {
  /** The claim's `due_at`. */
  readonly dueAt: string | null;
  readonly delayMs: number;
  /** True for a rental whose end the head has reached. */
  readonly isEnding: boolean;
}

/**
 * A claimed order stays due, and is free again when its lease ends, so that the orders of a dead worker are retried. No
 * index has the lease or the fence, so a claim writes no index. A next_run_at that differs at the release was set by a
 * process that woke the order meanwhile.
 */
const CLAIMED = `
  SET lease_until = due.until, fence = o.fence + 1
  FROM due WHERE o.id = due.id
  RETURNING o.id, o.fence, o.next_run_at::text AS due_at, o.project_id, o.kind, o.status, o.receive_address, o.energy,
    o.bandwidth, o.credits, o.settled, o.undoing, o.needs_attention, o.ends_at, o.request_id,
    extract(epoch FROM clock_timestamp() - o.created_at)::float8 AS age_sec`;

/**
 * The chain follower moves orders that only wait for solid blocks, within about a minute. This is the fallback in case
 * no follower did. It is long, since every claim costs a statement, a read and a release, with no other work to do.
 */
export const SOLID_WAIT = `interval '3 minutes'`;

/** Condition that neither a worker nor the search for lost commits holds the order. */
const IS_FREE = leaseIsFree('lease_until', `greatest($1, ${RECOVERY_HOLD_SEC.toString()})`, 'statement_timestamp()');

/** The longest rest of top-ups, in seconds. */
export const TOP_UP_REST_MAX_SEC = 3600;

const TOP_UP_IS_DUE = `(top_up_after IS NULL OR ${isDue('top_up_after', TOP_UP_REST_MAX_SEC, 'statement_timestamp()')})`;

/** A resource that gets no more top-ups must not postpone the other. */
const BANDWIDTH_IS_DUE = `(bandwidth_top_up_after IS NULL
  OR ${isDue('bandwidth_top_up_after', TOP_UP_REST_MAX_SEC, 'statement_timestamp()')})`;

const UNTIL = `clock_timestamp() + $1 * interval '1 second' AS until`;

// Compare with statement_timestamp(): clock_timestamp() may change from row to row, so Postgres would scan the whole
// index.

const CLAIM_DUE = {
  name: 'claim_due',
  text: `WITH due AS (
    SELECT id, ${UNTIL} FROM open_orders
     WHERE next_run_at <= statement_timestamp() AND ${IS_FREE}
       AND ${RECOVERY_IS_DONE}
     ORDER BY next_run_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  UPDATE open_orders o ${CLAIMED}`,
};

/** Claims up to `limit` orders that are due by the database's clock, oldest first. */
export async function claimDueOrders(database: Queryable, leaseSec: number, limit: number): Promise<ClaimRow[]> {
  return database.query<ClaimRow>(CLAIM_DUE, [leaseSec, limit]);
}

const CLAIM_IDS = {
  name: 'claim_ids',
  text: `WITH due AS (
    SELECT id, ${UNTIL} FROM open_orders
     WHERE id = ANY ($2::bigint[]) AND next_run_at <= statement_timestamp()
       AND ${IS_FREE}
       AND ${RECOVERY_IS_DONE}
     ORDER BY id FOR UPDATE SKIP LOCKED)
  UPDATE open_orders o ${CLAIMED}`,
};

/** Claims those of `ids` that are due. */
export async function claimNamedOrders(
  database: Queryable,
  leaseSec: number,
  ids: readonly bigint[],
): Promise<ClaimRow[]> {
  return database.query<ClaimRow>(CLAIM_IDS, [leaseSec, ids]);
}

/**
 * Rentals whose end the head has reached. Their next_run_at is null until the reclaim is sent. Test orders are excluded.
 */
const CLAIM_ENDING = {
  name: 'claim_ending',
  text: `WITH due AS (
    SELECT id, ${UNTIL} FROM open_orders
     WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND ends_at <= $3
       AND NOT test AND next_run_at IS NULL AND ${IS_FREE}
       AND ${RECOVERY_IS_DONE}
     ORDER BY ends_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  UPDATE open_orders o ${CLAIMED}`,
};

/** Claims up to `limit` rentals that ended at `clock` or before, by the chain's clock. */
export async function claimEndedRentals(
  database: Queryable,
  leaseSec: number,
  limit: number,
  clock: Date,
): Promise<ClaimRow[]> {
  return database.query<ClaimRow>(CLAIM_ENDING, [leaseSec, limit, clock]);
}

const RUNS_UNCLAIMED = `settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
       AND ends_at > $4 AND next_run_at IS NULL AND ${IS_FREE} AND ${RECOVERY_IS_DONE}`;

/**
 * Running rentals whose stake per sold unit is worth too little at the current ratio ($3), and which end after $4. An
 * index on each figure makes the search free while no rental falls short.
 */
const CLAIM_SHORT = {
  ENERGY: {
    name: 'claim_short',
    text: `WITH due AS (
      SELECT id, ${UNTIL} FROM open_orders
       WHERE sun_per_energy_e6 < $3 AND ${RUNS_UNCLAIMED} AND ${TOP_UP_IS_DUE}
       ORDER BY sun_per_energy_e6 LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE open_orders o ${CLAIMED}`,
  },
  BANDWIDTH: {
    name: 'claim_short_of_bandwidth',
    text: `WITH due AS (
      SELECT id, ${UNTIL} FROM open_orders
       WHERE sun_per_bandwidth_e6 < $3 AND ${RUNS_UNCLAIMED} AND ${BANDWIDTH_IS_DUE}
       ORDER BY sun_per_bandwidth_e6 LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE open_orders o ${CLAIMED}`,
  },
};

/** Rentals with less stake per sold unit of a resource, in sun × 10^6, that end after this chain time. */
interface ShortRentals {
  readonly resource: Resource;
  readonly shortBelowE6: bigint;
  readonly endsAfter: Date;
}

/** Claims up to `limit` running rentals with less of a resource than was sold, worst first. */
export async function claimShortRentals(
  database: Queryable,
  leaseSec: number,
  limit: number,
  { resource, shortBelowE6, endsAfter }: ShortRentals,
): Promise<ClaimRow[]> {
  return database.query<ClaimRow>(CLAIM_SHORT[resource], [leaseSec, limit, shortBelowE6, endsAfter]);
}

const MAY_BE_TOPPED_UP = `next_run_at IS NULL AND ${IS_FREE} AND ${TOP_UP_IS_DUE}`;

/** Running rentals that end after $3 and lost energy by the reclaim of another rental of their receiver. */
const CLAIM_LOST = {
  name: 'claim_lost',
  text: `WITH due AS (
    SELECT id, ${UNTIL} FROM open_orders
     WHERE id IN (SELECT id FROM (${LOST}) lost WHERE ${MAY_BE_TOPPED_UP} LIMIT $2) AND ${MAY_BE_TOPPED_UP}
       AND ${RECOVERY_IS_DONE}
     FOR UPDATE SKIP LOCKED)
  UPDATE open_orders o ${CLAIMED}`,
};

/** Claims up to `limit` running rentals that lost energy by reclaims of other rentals of their receivers. */
export async function claimRentalsWithLosses(
  database: Queryable,
  leaseSec: number,
  limit: number,
  endsAfter: Date,
): Promise<ClaimRow[]> {
  return database.query<ClaimRow>(CLAIM_LOST, [leaseSec, limit, endsAfter]);
}

/** Locks rows ordered by id. Skips rows that another session holds, so that one held row does not block the others. */
const HELD = `SELECT o.id, v.delay_ms, v.is_ending, v.due_at FROM open_orders o
    JOIN unnest($1::bigint[], $2::int[], $3::int[], $4::boolean[], $5::timestamptz[]) AS v(id, fence, delay_ms, is_ending, due_at)
      ON o.id = v.id AND o.fence = v.fence
    ORDER BY o.id FOR NO KEY UPDATE OF o SKIP LOCKED`;

/**
 * Releases a claimed order. Its next run depends on its current state, which the chain follower may have changed
 * meanwhile. A running rental waits for the chain's clock alone, unless it has ended or a top-up is under way. An order
 * whose transactions are in blocks waits until they are solid. Any other order that was woken while leased keeps the
 * earlier time.
 */
const RELEASE = {
  name: 'release_orders',
  text: `WITH held AS (${HELD})
    UPDATE open_orders o SET lease_until = NULL, next_run_at = CASE
      WHEN o.status = 'refunded' OR (o.settled AND o.kind = 'activation') OR (o.kind = 'rental' AND NOT EXISTS (
             SELECT FROM open_leg WHERE order_id = o.id AND status NOT IN ('reclaimed', 'released'))) AND NOT o.undoing THEN NULL
      WHEN o.status = 'delivered' AND o.settled AND NOT held.is_ending AND NOT EXISTS (
             SELECT FROM open_chain_tx WHERE order_id = o.id AND purpose = 'reclaim') AND NOT EXISTS (
             SELECT FROM open_leg WHERE order_id = o.id AND status IN ('reserved', 'placed')) THEN NULL
      WHEN NOT o.undoing AND (o.status = 'delivered' AND NOT o.settled OR o.reclaimed_at IS NOT NULL)
        THEN clock_timestamp() + ${SOLID_WAIT}
      WHEN o.next_run_at IS DISTINCT FROM held.due_at
        THEN least(o.next_run_at, clock_timestamp() + held.delay_ms * interval '1 millisecond')
      ELSE clock_timestamp() + held.delay_ms * interval '1 millisecond' END
    FROM held WHERE o.id = held.id RETURNING o.id`,
};

/** Releases orders that their claims still hold and no other session locks. Returns their ids. */
export async function releaseOrders(database: Queryable, releases: readonly OrderRelease[]): Promise<Set<bigint>> {
  const rows = await database.query<{ id: bigint }>(RELEASE, [
    releases.map(({ id }) => id),
    releases.map(({ fence }) => fence),
    releases.map(({ delayMs }) => Math.round(delayMs)),
    releases.map(({ isEnding }) => isEnding),
    releases.map(({ dueAt }) => dueAt),
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Renews only while the order is leased: a renewal after the release must not claim it again. */
const RENEW = {
  name: 'renew_leases',
  text: `WITH held AS (
      SELECT o.id, clock_timestamp() + $3 * interval '1 second' AS until FROM open_orders o
        JOIN unnest($1::bigint[], $2::int[]) AS v(id, fence) ON o.id = v.id AND o.fence = v.fence
       WHERE o.lease_until IS NOT NULL ORDER BY o.id FOR NO KEY UPDATE OF o SKIP LOCKED)
    UPDATE open_orders o SET lease_until = held.until FROM held WHERE o.id = held.id AND o.lease_until IS NOT NULL`,
};

/** Renews the leases of claimed orders. Orders that another worker has claimed since are unchanged. */
export async function renewLeases(database: Queryable, claims: readonly OrderClaim[], leaseSec: number): Promise<void> {
  await database.query(RENEW, [claims.map(({ id }) => id), claims.map(({ fence }) => fence), leaseSec]);
}
