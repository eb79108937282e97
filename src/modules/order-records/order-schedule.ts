/** Changes only the time of an order's next run or next top-up. */
import type { Resource } from '../../domain/resource.js';
import type { Queryable } from '../../platform/database/database.js';
import type { OrderClaim } from './order-leases.js';

/**
 * A near time of the later clock cannot be recognised, so all waiting work becomes due once. A lease within its normal
 * length may belong to a living worker, and ends soon. If its worker has died, `wake_from_ahead` finds the order then.
 */
const WAKE_ALL = `UPDATE open_orders o SET next_run_at = clock_timestamp(), lease_until = NULL
  WHERE o.id IN (
    SELECT id FROM open_orders
     WHERE next_run_at > clock_timestamp()
       AND (lease_until IS NULL OR lease_until NOT BETWEEN clock_timestamp() AND clock_timestamp() + $1 * interval '1 second')
     ORDER BY next_run_at DESC LIMIT 20000 FOR NO KEY UPDATE SKIP LOCKED)
  RETURNING o.id`;

/**
 * Makes all postponed orders due that no living worker may hold, because their times may be of a clock that was ahead.
 * Returns their number.
 *
 * @param leaseSec the longest lease of a living worker
 */
export async function wakePostponedOrders(tx: Queryable, leaseSec: number): Promise<number> {
  return (await tx.query(WAKE_ALL, [leaseSec])).length;
}

/**
 * No work is postponed for longer than this, in seconds. The limit covers a lease, a resend and a wait for solid
 * blocks; for a failed or withheld reclaim without a lease it is the longest rest. A later time was written by a faster
 * clock that no worker noticed, for example on a server whose last commits a failover lost. One second more, so that
 * work due exactly at the limit is not affected. An order that rests has no lease, so one with an expired lease was
 * left by a dead worker.
 */
const WAKE_FROM_AHEAD = {
  name: 'wake_from_ahead',
  text: `UPDATE open_orders o SET next_run_at = clock_timestamp(), lease_until = NULL
    WHERE o.id IN (
      SELECT id FROM open_orders
       WHERE next_run_at > clock_timestamp() + $1 * interval '1 second'
         AND (next_run_at > clock_timestamp() + $2 * interval '1 second' OR NOT (settled OR undoing)
           OR lease_until NOT BETWEEN clock_timestamp() AND clock_timestamp() + $1 * interval '1 second')
       ORDER BY next_run_at DESC LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING o.id`,
};

/** Makes orders due that were postponed for longer than any work is. Returns their number. */
export async function wakeOrdersFromAhead(tx: Queryable, usualSec: number, longestSec: number): Promise<number> {
  return (await tx.query(WAKE_FROM_AHEAD, [usualSec, longestSec])).length;
}

const END_RESTS = `UPDATE open_orders SET top_up_after = NULL, bandwidth_top_up_after = NULL
    WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
      AND greatest(top_up_after, bandwidth_top_up_after) > clock_timestamp()`;

/** Ends the rests of top-ups that a later clock wrote. */
export async function endTopUpRests(tx: Queryable): Promise<void> {
  await tx.query(END_RESTS);
}

const REST_TOP_UPS = {
  ENERGY: {
    name: 'rest_top_ups',
    text: `UPDATE open_orders SET top_up_after = clock_timestamp() + $3::int * interval '1 second' WHERE id = $1 AND fence = $2`,
  },
  BANDWIDTH: {
    name: 'rest_bandwidth_top_ups',
    text: `UPDATE open_orders SET bandwidth_top_up_after = clock_timestamp() + $3::int * interval '1 second'
      WHERE id = $1 AND fence = $2`,
  },
};

/** Postpones further top-ups of one resource of a running rental. */
export async function postponeTopUps(
  database: Queryable,
  order: OrderClaim,
  resource: Resource,
  restSec: number,
): Promise<void> {
  await database.query(REST_TOP_UPS[resource], [order.id, order.fence, restSec]);
}

/**
 * All legs are on chain, but they hold less than was sold: the order is due immediately for a further leg. Or its
 * activation is on chain: it is due for its delegations.
 */
const WAKE_SHORT = {
  name: 'wake_short',
  text: `UPDATE open_orders o SET next_run_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) AND status = 'placed'
      AND (NOT EXISTS (SELECT FROM open_leg WHERE order_id = o.id AND status NOT IN ('active', 'released'))
        OR EXISTS (SELECT FROM open_leg WHERE order_id = o.id AND kind = 'activation' AND status = 'active')
          AND NOT EXISTS (SELECT FROM open_leg WHERE order_id = o.id AND status = 'placed'))`,
};

/** Makes placed orders due if all their legs are on chain, or their activation is and nothing else was sent. */
export async function wakeShortOrders(tx: Queryable, orderIds: readonly bigint[]): Promise<void> {
  await tx.query(WAKE_SHORT, [orderIds]);
}

const REVERTED_DUE = {
  name: 'reverted_due',
  text: `UPDATE open_orders SET reclaimed_at = NULL, next_run_at = clock_timestamp() WHERE id = ANY ($1::bigint[])`,
};

/** Makes orders due after a block with one of their transactions was reverted. Their rentals have not ended. */
export async function wakeRevertedOrders(tx: Queryable, orderIds: readonly bigint[]): Promise<void> {
  await tx.query(REVERTED_DUE, [orderIds]);
}

/** The order's other legs continue, and end with their rental. */
const WAKE_REST = `UPDATE open_orders SET next_run_at = clock_timestamp()
  WHERE id = ANY ($1::bigint[]) AND (undoing OR next_run_at IS NOT NULL) AND reclaimed_at IS NULL`;

/** Makes orders due after a foreign act ended some of their legs. */
export async function wakeOrdersWithOpenLegs(tx: Queryable, orderIds: readonly bigint[]): Promise<void> {
  await tx.query(WAKE_REST, [orderIds]);
}

/**
 * Makes reclaims due that pause because they could not be signed. A claimed order has no later time yet, and keeps this
 * one at its release.
 */
const WAKE_RECLAIMS = {
  name: 'wake_reclaims',
  text: `UPDATE open_orders o SET next_run_at = clock_timestamp()
    FROM (SELECT id FROM open_orders d WHERE next_run_at IS NOT NULL
             AND (next_run_at > clock_timestamp() OR lease_until IS NOT NULL) AND EXISTS (
            SELECT FROM open_leg l JOIN open_chain_tx t ON t.leg_id = l.id
             WHERE l.order_id = d.id AND l.wallet_id = ANY ($1::integer[]) AND l.status IN ('active', 'reclaiming')
               AND t.purpose = 'reclaim' AND t.status = 'dropped' AND t.signature IS NULL)
           ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) v
    WHERE o.id = v.id`,
};

/** Makes orders due that wait for a signature of these wallets on a reclaim. */
export async function wakeUnsignedReclaims(database: Queryable, walletIds: readonly number[]): Promise<void> {
  await database.query(WAKE_RECLAIMS, [walletIds]);
}
