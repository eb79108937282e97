/** Moves orders from state to state. Callers lock several orders in the order of their ids. */
import type { LegKind, OrderKind } from '../../domain/order-state.js';
import type { Queryable } from '../../platform/database/database.js';
import { SOLID_WAIT, type OrderClaim } from './order-leases.js';
import { RECOVERY_IS_DONE } from './recovery-condition.js';

const LOCK = {
  name: 'lock_order_fenced',
  text: `SELECT id FROM open_orders WHERE id = $1 AND fence = $2 AND ${RECOVERY_IS_DONE} FOR NO KEY UPDATE`,
};

/** Locks a claimed order. Returns false if another worker holds it, or the records may have lost commits. */
export async function lockClaimedOrder(tx: Queryable, order: OrderClaim): Promise<boolean> {
  return (await tx.query(LOCK, [order.id, order.fence])).length === 1;
}

const LOCK_RUNNING = {
  name: 'lock_running_fenced',
  text: `SELECT (SELECT max(leg_no) FROM open_leg WHERE order_id = o.id)::int AS leg_no FROM open_orders o
    WHERE id = $1 AND fence = $2 AND settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
    FOR NO KEY UPDATE`,
};

/** Locks a running rental and returns its highest leg number; undefined if it is over or another worker holds it. */
export async function lockRunningRental(tx: Queryable, order: OrderClaim): Promise<number | undefined> {
  const [row] = await tx.query<{ leg_no: number }>(LOCK_RUNNING, [order.id, order.fence]);
  return row?.leg_no;
}

/**
 * Makes an unleased order due again after SOLID_WAIT. The worker that holds a leased order sets its next run on
 * release.
 */
const REST_UNTIL_SOLID = `next_run_at = CASE WHEN o.lease_until IS NULL OR o.next_run_at IS NULL THEN clock_timestamp() + ${SOLID_WAIT}
      ELSE o.next_run_at END`;

/**
 * An order is delivered once every leg that is not released is active and together they hold the energy and the
 * bandwidth that were sold.
 */
const DELIVER = {
  name: 'deliver_orders',
  text: `UPDATE open_orders o SET status = 'delivered', delivered_at = s.at,
      ends_at = s.at + o.duration_sec * interval '1 second', delivered_energy = s.energy, delivered_bandwidth = s.bandwidth,
      sun_per_energy_e6 = div(s.sun * 1000000, o.energy)::bigint,
      sun_per_bandwidth_e6 = div(s.bandwidth_sun * 1000000, o.bandwidth)::bigint,
      needs_attention = false, error_code = NULL, error = NULL, ${REST_UNTIL_SOLID}
    FROM (SELECT order_id, max(active_at) AS at, sum(energy)::bigint AS energy, sum(bandwidth)::bigint AS bandwidth,
             sum(amount_sun) FILTER (WHERE kind = 'rental') AS sun,
             sum(amount_sun) FILTER (WHERE kind = 'bandwidth') AS bandwidth_sun FROM open_leg
           WHERE order_id = ANY ($1::bigint[]) AND status <> 'released'
           GROUP BY order_id HAVING bool_and(status = 'active')) s
    WHERE o.id = s.order_id AND o.status IN ('placed', 'unresolved') AND NOT o.undoing
      AND (o.kind = 'activation' OR s.energy >= o.energy) AND (o.bandwidth IS NULL OR s.bandwidth >= o.bandwidth)
    RETURNING o.id, o.kind, extract(epoch FROM clock_timestamp() - o.created_at)::float8 AS age_sec`,
};

export interface DeliveredOrder {
  readonly id: bigint;
  readonly kind: OrderKind;
  /** Seconds since acceptance. */
  readonly age_sec: number;
}

/** Marks orders as delivered if all their legs are active with what was sold. Returns them. */
export async function deliverOrders(tx: Queryable, orderIds: readonly bigint[]): Promise<DeliveredOrder[]> {
  return tx.query<DeliveredOrder>(DELIVER, [orderIds]);
}

const REVERT = {
  name: 'reverted_orders',
  text: `UPDATE open_orders SET status = 'placed', delivered_at = NULL, ends_at = NULL, delivered_energy = NULL, delivered_bandwidth = NULL
    WHERE id = ANY ($1::bigint[]) AND status = 'delivered' AND NOT settled`,
};

/** Returns delivered orders to `placed`, because the block of a delivery was reverted. */
export async function revertDeliveries(tx: Queryable, orderIds: readonly bigint[]): Promise<void> {
  await tx.query(REVERT, [orderIds]);
}

/** An order is settled once every delivery of it is solid. From then on only the chain's clock makes it due. */
const SETTLE = {
  name: 'settle_orders',
  text: `UPDATE open_orders o SET settled = true, next_run_at = NULL
    WHERE o.id = ANY ($1::bigint[]) AND o.status = 'delivered' AND NOT o.settled AND NOT EXISTS (
      SELECT FROM open_leg l WHERE l.order_id = o.id AND l.status <> 'released' AND NOT EXISTS (
        SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status = 'solid'))
    RETURNING o.id, o.kind = 'rental' AND o.activation_credits IS NOT NULL AS has_activation,
      extract(epoch FROM clock_timestamp() - o.created_at)::float8 AS age_sec`,
};

export interface SettledOrder {
  readonly id: bigint;
  /** True for a rental that activated its receiver. */
  readonly has_activation: boolean;
  /** Seconds since acceptance. */
  readonly age_sec: number;
}

/** Settles delivered orders if all their deliveries are solid. Returns them. */
export async function settleOrders(tx: Queryable, orderIds: readonly bigint[]): Promise<SettledOrder[]> {
  return tx.query<SettledOrder>(SETTLE, [orderIds]);
}

/**
 * A rental is over once every leg's undelegation, ours or foreign, is in a block. If one is reverted, the rental runs
 * again.
 */
const RECLAIM = {
  name: 'reclaim_orders',
  text: `UPDATE open_orders o SET reclaimed_at = s.at, ${REST_UNTIL_SOLID}
    FROM (SELECT l.order_id, max(coalesce(t.block_at, l.closed_at)) AS at FROM open_leg l
            LEFT JOIN open_chain_tx t ON t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')
           WHERE l.order_id = ANY ($1::bigint[]) AND l.status <> 'released'
           GROUP BY l.order_id HAVING bool_and(t.id IS NOT NULL OR l.closed_at IS NOT NULL)) s
    WHERE o.id = s.order_id AND o.status = 'delivered'
    RETURNING o.id, CASE WHEN NOT o.undoing THEN extract(epoch FROM s.at - o.ends_at)::float8 END AS late_sec`,
};

export interface ReclaimedOrder {
  readonly id: bigint;
  /** Seconds from the rental's end to its last reclaim, by the chain's clock; null for an order that is being undone. */
  readonly late_sec: number | null;
}

/** Records the end of delivered rentals if the undelegations of all their legs are in blocks. Returns them. */
export async function recordReclaimedOrders(tx: Queryable, orderIds: readonly bigint[]): Promise<ReclaimedOrder[]> {
  return tx.query<ReclaimedOrder>(RECLAIM, [orderIds]);
}

/**
 * The last leg has been reclaimed: the order needs no further run, unless it is being undone and still needs its
 * refund.
 */
const FINISH = {
  name: 'finish_orders',
  text: `UPDATE open_orders o SET next_run_at = CASE WHEN o.undoing THEN clock_timestamp() END,
      needs_attention = o.needs_attention AND o.undoing
    WHERE o.id = ANY ($1::bigint[]) AND (o.undoing OR NOT EXISTS (
      SELECT FROM open_leg WHERE order_id = o.id AND status NOT IN ('reclaimed', 'released')))`,
};

/** Takes orders without open legs off the schedule. Orders that are being undone become due. */
export async function finishOrders(tx: Queryable, orderIds: readonly bigint[]): Promise<void> {
  await tx.query(FINISH, [orderIds]);
}

/**
 * Locks orders first, in order of id, like every writer of several orders. The new fence stops the present claim holder
 * from writing.
 */
const TAKE = `UPDATE open_orders o SET fence = o.fence + 1, lease_until = NULL
  FROM (SELECT id FROM open_orders WHERE id IN (SELECT order_id FROM open_leg WHERE id = ANY ($1::bigint[]))
         ORDER BY id FOR NO KEY UPDATE) held WHERE o.id = held.id RETURNING o.id`;

/** Locks the orders of these legs and takes them from their claim holders. Returns their ids. */
export async function takeOrdersOfLegs(tx: Queryable, legIds: readonly bigint[]): Promise<bigint[]> {
  return (await tx.query<{ id: bigint }>(TAKE, [legIds])).map(({ id }) => id);
}

const END_ORDERS = `UPDATE open_orders o SET reclaimed_at = s.at, needs_attention = o.undoing AND o.needs_attention,
    next_run_at = CASE WHEN o.undoing THEN clock_timestamp() WHEN s.waits THEN o.next_run_at END
  FROM (SELECT l.order_id, max(coalesce(l.closed_at, t.block_at)) AS at, bool_or(l.status <> 'reclaimed') AS waits FROM open_leg l
          LEFT JOIN open_chain_tx t ON t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')
         WHERE l.order_id = ANY ($1::bigint[]) AND l.status <> 'released'
         GROUP BY l.order_id HAVING bool_and(t.id IS NOT NULL OR l.closed_at IS NOT NULL)) s
  WHERE o.id = s.order_id AND o.status = 'delivered'
  RETURNING o.id, o.project_id, o.request_id, extract(epoch FROM s.at - o.ends_at)::float8 AS late_sec`;

/** An order that has no open leg left. */
export interface EndedOrder {
  readonly id: bigint;
  readonly project_id: string;
  readonly request_id: string | null;
  /** Seconds from the rental's end to its last act, by the chain's clock; negative if the delegation ended early. */
  readonly late_sec: number;
}

/** Records the end of delivered rentals if all their legs are reclaimed or closed by foreign acts. Returns them. */
export async function recordClosedOrders(tx: Queryable, orderIds: readonly bigint[]): Promise<EndedOrder[]> {
  return tx.query<EndedOrder>(END_ORDERS, [orderIds]);
}

const UNDO = {
  name: 'undo_order',
  text: `UPDATE open_orders SET undoing = true
    WHERE id = $1 AND fence = $2 AND status <> 'delivered' AND NOT settled AND ${RECOVERY_IS_DONE} RETURNING id`,
};

/** Marks a claimed order as being undone, even if parts of it still arrive. Not if a block delivered it meanwhile. */
export async function markUndoing(database: Queryable, order: OrderClaim): Promise<void> {
  await database.query(UNDO, [order.id, order.fence]);
}

const REFUND = {
  name: 'refund_order',
  text: `UPDATE open_orders o SET status = 'refunded', settled = true, needs_attention = false, next_run_at = NULL,
      error_code = 'SUPPLIER_REFUSED', error = $3, delivered_at = NULL, ends_at = NULL, delivered_energy = NULL,
      delivered_bandwidth = NULL, kept_credits = CASE WHEN EXISTS (
        SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.purpose = 'activate' AND t.status = 'solid') THEN activation_credits END
    WHERE id = $1 AND fence = $2 AND status <> 'refunded' AND ${RECOVERY_IS_DONE}
    RETURNING extract(epoch FROM clock_timestamp() - created_at)::float8 AS age_sec, coalesce(kept_credits, 0)::bigint AS kept_credits`,
};

/**
 * Marks a claimed order as refunded, with `reason`, which the caller reads. The database rejects it unless every leg has
 * ended. Returns undefined if nothing changed.
 */
export async function markRefunded(
  tx: Queryable,
  order: OrderClaim,
  reason: string,
): Promise<RefundedOrder | undefined> {
  const [row] = await tx.query<RefundedOrder>(REFUND, [order.id, order.fence, reason]);
  return row;
}

export interface RefundedOrder {
  /** Seconds since acceptance. */
  readonly age_sec: number;
  /** The share of the charge that is not returned: that of an activation on chain. */
  readonly kept_credits: bigint;
}

const UNRESOLVED = {
  name: 'order_unresolved',
  text: `UPDATE open_orders SET status = 'unresolved', needs_attention = true, error_code = 'SUPPLIER_UNKNOWN', error = $3
    WHERE id = $1 AND fence = $2 AND status = 'placed' RETURNING id`,
};

/** Marks a claimed, placed order as unresolved, with `reason`, which the caller reads. Returns true if it changed. */
export async function markUnresolved(database: Queryable, order: OrderClaim, reason: string): Promise<boolean> {
  return (await database.query(UNRESOLVED, [order.id, order.fence, reason])).length > 0;
}

const ATTENTION = {
  name: 'order_attention',
  text: `UPDATE open_orders SET needs_attention = true WHERE id = $1 AND fence = $2 AND NOT needs_attention`,
};

/** Flags a claimed order for the operator. */
export async function flagForAttention(database: Queryable, order: OrderClaim): Promise<void> {
  await database.query(ATTENTION, [order.id, order.fence]);
}

/**
 * Stake per sold energy and bandwidth, delegated or about to be. Short rentals are found by these figures. A rental
 * with a new top-up is due: its claim wrote no time, and no search finds it again if its worker dies before the
 * release.
 */
const RECOUNT = {
  name: 'recount_standing',
  text: `UPDATE open_orders o SET
      sun_per_energy_e6 = coalesce(div(s.sun * 1000000, o.energy)::bigint, o.sun_per_energy_e6),
      sun_per_bandwidth_e6 = coalesce(div(s.bandwidth_sun * 1000000, o.bandwidth)::bigint, o.sun_per_bandwidth_e6),
      top_up_after = CASE WHEN 'rental' = ANY ($3::text[]) THEN clock_timestamp() + $2::int * interval '1 second'
        ELSE o.top_up_after END,
      bandwidth_top_up_after = CASE WHEN 'bandwidth' = ANY ($3::text[])
        THEN clock_timestamp() + $2::int * interval '1 second' ELSE o.bandwidth_top_up_after END,
      next_run_at = CASE WHEN $2::int IS NULL THEN coalesce(o.next_run_at, clock_timestamp()) ELSE o.next_run_at END
    FROM (SELECT order_id, sum(amount_sun) FILTER (WHERE kind = 'rental') AS sun,
             sum(amount_sun) FILTER (WHERE kind = 'bandwidth') AS bandwidth_sun FROM open_leg
           WHERE order_id = $1 AND status NOT IN ('released', 'reclaimed') GROUP BY order_id) s
    WHERE o.id = s.order_id AND o.kind = 'rental'`,
};

/**
 * Counts a rental's stake again after a change of legs of these kinds. Postpones the top-ups of these kinds for
 * `restSec`; null if legs were added, which makes the rental due.
 */
export async function recountStake(
  tx: Queryable,
  orderId: bigint,
  restSec: number | null,
  kinds: readonly LegKind[],
): Promise<void> {
  await tx.query(RECOUNT, [orderId, restSec, kinds]);
}

/** Skips rows that changed since or are locked; the next pass judges them. */
const MARK_JUDGED = {
  name: 'mark_judged',
  text: `UPDATE open_orders o SET judged = true FROM (
      SELECT o.id FROM unnest($1::bigint[], $2::text[]) AS v(id, version) JOIN open_orders o ON o.id = v.id
       WHERE o.xmin::text = v.version AND ($3::bigint IS NULL OR NOT EXISTS (
         SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status = 'solid' AND t.block_number >= $3))
       ORDER BY o.id FOR NO KEY UPDATE OF o SKIP LOCKED) held
    WHERE o.id = held.id`,
};

/** A judged order at the version of its row. */
export interface JudgedOrder {
  readonly id: bigint;
  readonly version: string;
}

/** Marks orders as judged up to block `blocksTo`, so that the next pass of the reconciler skips them. */
export async function markJudged(
  database: Queryable,
  orders: readonly JudgedOrder[],
  blocksTo: bigint | undefined,
): Promise<void> {
  await database.query(MARK_JUDGED, [
    orders.map(({ id }) => id),
    orders.map(({ version }) => version),
    blocksTo ?? null,
  ]);
}
