/**
 * Ends undelivered orders: releases capacity, undoes the order, refunds the charge, or marks it unresolved while no
 * node answers. Also reserves top-ups. Each step is one database transaction under the order's fence. The database
 * rejects a refund while a transaction of the order may still live.
 */
import { Injectable } from '@nestjs/common';
import { Ledger } from '../../billing/ledger.js';
import type { Credits, Sun } from '../../../domain/units.js';
import type { OrderKind, TopUpCause } from '../../../domain/order-state.js';
import { TRANSACTIONS_PER_LEG } from '../../pool/bandwidth.js';
import { LEGS_MAX } from '../../../domain/order-state.js';
import { Database, isRefusal, type Queryable } from '../../../platform/database/database.js';
import { RECLAIM_ORDERS } from '../follow/inclusion.js';
import { FulfilmentEvents } from '../fulfilment-events.js';
import { RECOVERY_IS_DONE } from '../recovery-condition.js';
import type { ClaimedLeg, ClaimedOrder, ReceiverUsage } from '../loop/claimed-order.js';

const LOCK = {
  name: 'lock_order_fenced',
  text: `SELECT id FROM open_orders WHERE id = $1 AND fence = $2 AND ${RECOVERY_IS_DONE} FOR NO KEY UPDATE`,
};

const RELEASE_LEGS = {
  name: 'release_legs',
  text: `UPDATE open_leg SET status = 'released', changed_at = clock_timestamp()
    WHERE id = ANY ($1::bigint[]) AND status IN ('reserved', 'placed') RETURNING id, kind, wallet_id, amount_sun`,
};

const DROP_UNSENT = {
  name: 'drop_unsent_of_legs',
  text: `UPDATE open_chain_tx SET status = 'dropped' WHERE leg_id = ANY ($1::bigint[]) AND status IN ('built', 'signed')`,
};

const RESERVE_TOP_UP = {
  name: 'reserve_top_up',
  text: `SELECT reserve_capacity($1, 'rental', $2, $3, $4)`,
};

/** The limit of legs counts from the existing ones: a move or a top-up may be spread over as many legs as an order. */
const RESERVE = {
  name: 'reserve_further',
  text: `SELECT reserve_capacity($1, $2, $3, $4, $5,
    (SELECT coalesce(max(leg_no), 0) FROM open_leg WHERE order_id = $1)::integer + ${LEGS_MAX.toString()})`,
};

const KEEP_AGE = {
  name: 'keep_leg_age',
  text: `UPDATE open_leg SET changed_at = least(changed_at, clock_timestamp() - $2 * interval '1 second')
    WHERE order_id = $1 AND status = 'reserved'`,
};

/**
 * Any slot of the wallet will do; the leg's id spreads them. Takes a slot that no session holds, or else waits for a
 * bounded time. A rental's two transactions are free again together with its stake.
 */
const RETURN_CAPACITY = {
  name: 'return_capacity',
  text: `UPDATE pool_slot s SET free_sun = s.free_sun + $3, free_transactions = s.free_transactions + $4 WHERE s.wallet_id = $1 AND s.slot_no = coalesce(
      (SELECT slot_no FROM pool_slot WHERE wallet_id = $1
        ORDER BY slot_no < $2::bigint % (SELECT count(*) FROM pool_slot WHERE wallet_id = $1), slot_no
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED),
      (SELECT min(slot_no) FROM pool_slot WHERE wallet_id = $1))`,
};

const UNDO = {
  name: 'undo_order',
  text: `UPDATE open_orders SET undoing = true WHERE id = $1 AND fence = $2 AND NOT settled AND ${RECOVERY_IS_DONE} RETURNING id`,
};

/** Pause after a top-up that failed or found no capacity. */
const TOP_UP_REST_SEC = 30;
/** The network's stake may fall again, and the shortfall with it. */
const PAST_TOP_UPS_REST_SEC = 3600;

const LOCK_RUNNING = {
  name: 'lock_running_fenced',
  text: `SELECT (SELECT max(leg_no) FROM open_leg WHERE order_id = o.id)::int AS leg_no FROM open_orders o
    WHERE id = $1 AND fence = $2 AND settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
    FOR NO KEY UPDATE`,
};

const MARK_TOP_UP = {
  name: 'mark_top_up',
  text: `UPDATE open_leg SET top_up = true, top_up_cause = $3 WHERE order_id = $1 AND leg_no > $2 AND status = 'reserved'`,
};

/** First key of the advisory locks that serialise top-ups of one receiver. */
const TOPPING_UP = 4205;
const HOLD_RECEIVER = `SELECT pg_advisory_xact_lock(${TOPPING_UP.toString()}, hashtext($1))`;

const NEWEST_TOP_UP = {
  name: 'newest_top_up_of_receiver',
  text: `SELECT max(l.id) AS id FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = $1
    AND l.status IN ('reserved', 'placed', 'active', 'reclaiming') AND l.top_up`,
};

/**
 * Marks reclaims as weighed: their leftover is made up for, or needs no top-up. Only under the fence of the rental that
 * carries the top-ups.
 */
const WEIGH = {
  name: 'weigh_reclaims',
  text: `UPDATE reclaim_usage SET weighed_at = clock_timestamp(), left_energy = $2
    WHERE tx_id = ANY ($1::bigint[]) AND weighed_at IS NULL
      AND EXISTS (SELECT FROM open_orders WHERE id = $3 AND fence = $4)`,
};

/** After a failed top-up the receiver's loss is due again, through its newest reclaim. */
const WEIGH_AGAIN = {
  name: 'weigh_reclaims_again',
  text: `UPDATE reclaim_usage SET weighed_at = NULL WHERE tx_id = (
    SELECT u.tx_id FROM reclaim_usage u JOIN open_chain_tx t ON t.id = u.tx_id
     WHERE u.receive_address = $1 AND t.status IN ('included', 'solid') ORDER BY u.tx_id DESC LIMIT 1)`,
};

/** Stake per sold energy, delegated or about to be. Short rentals are found by this figure. */
const RECOUNT = {
  name: 'recount_standing',
  text: `UPDATE open_orders o SET sun_per_energy_e6 = div(s.sun * 1000000, o.energy)::bigint,
      top_up_after = clock_timestamp() + $2::int * interval '1 second'
    FROM (SELECT order_id, sum(amount_sun) AS sun FROM open_leg
           WHERE order_id = $1 AND status NOT IN ('released', 'reclaimed') GROUP BY order_id) s
    WHERE o.id = s.order_id AND o.kind = 'rental'`,
};

const REST_TOP_UPS = {
  name: 'rest_top_ups',
  text: `UPDATE open_orders SET top_up_after = clock_timestamp() + $3::int * interval '1 second' WHERE id = $1 AND fence = $2`,
};

const REFUND = {
  name: 'refund_order',
  text: `UPDATE open_orders SET status = 'refunded', settled = true, needs_attention = false, next_run_at = NULL,
      error_code = 'SUPPLIER_REFUSED', error = $3, delivered_at = NULL, ends_at = NULL, delivered_energy = NULL
    WHERE id = $1 AND fence = $2 AND status <> 'refunded' AND ${RECOVERY_IS_DONE}
    RETURNING extract(epoch FROM clock_timestamp() - created_at)::float8 AS age_sec`,
};

const UNRESOLVED = {
  name: 'order_unresolved',
  text: `UPDATE open_orders SET status = 'unresolved', needs_attention = true, error_code = 'SUPPLIER_UNKNOWN', error = $3
    WHERE id = $1 AND fence = $2 AND status = 'placed' RETURNING id`,
};

const ATTENTION = {
  name: 'order_attention',
  text: `UPDATE open_orders SET needs_attention = true WHERE id = $1 AND fence = $2 AND NOT needs_attention`,
};

const UNRESOLVED_REASON =
  'The outcome of the delegation is unknown, because the chain cannot be read. The order resolves itself.';

/** A top-up to reserve. */
export interface ReservedTopUp {
  readonly amountSun: Sun;
  readonly slackSun: Sun;
  readonly cause: TopUpCause;
  /** The usage that reclaims left at the receiver, if this top-up makes up for it. */
  readonly left: bigint | undefined;
}

/**
 * Serialises top-ups for the receiver's rentals until this transaction ends. Returns false if a rental was topped up
 * after the usage was read.
 */
async function holdReceiver(tx: Queryable, receiver: string, usage: ReceiverUsage): Promise<boolean> {
  await tx.query(HOLD_RECEIVER, [receiver]);
  const [newest] = await tx.query<{ id: bigint | null }>(NEWEST_TOP_UP, [receiver]);
  return (newest?.id ?? undefined) === usage.newestTopUp;
}

async function recordLeftover(tx: Queryable, order: ClaimedOrder, left: bigint): Promise<void> {
  const reclaims = (order.usage?.reclaims ?? []).map(({ txId }) => txId);
  await tx.query(WEIGH, [reclaims, left, order.id, order.fence]);
}

@Injectable()
export class OrderTermination {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly fulfilmentEvents: FulfilmentEvents,
  ) {}

  /** Ends legs that can no longer deliver and returns their capacity, once. */
  async releaseLegs(order: ClaimedOrder, legs: readonly ClaimedLeg[]): Promise<void> {
    if (legs.length === 0) return;
    const over = await this.database.transaction(async (tx) => {
      if (!(await this.lockOrder(tx, order))) return [];
      const released = await tx.query<{ id: bigint; kind: OrderKind; wallet_id: number; amount_sun: bigint }>(
        RELEASE_LEGS,
        [legs.map((leg) => leg.id)],
      );
      const sorted = [...released].sort((a, b) => a.wallet_id - b.wallet_id);
      for (const leg of sorted) {
        const transactions = leg.kind === 'rental' ? TRANSACTIONS_PER_LEG : 0n;
        await tx.query(RETURN_CAPACITY, [leg.wallet_id, leg.id, leg.amount_sun, transactions]);
      }
      if (!order.isSettled) return [];
      await tx.query(RECOUNT, [order.id, TOP_UP_REST_SEC]);
      if (legs.some(({ isTopUp }) => isTopUp)) await tx.query(WEIGH_AGAIN, [order.receiver]);
      // The rental's end may have waited for these legs alone.
      return tx.query<{ late_sec: number | null }>(RECLAIM_ORDERS, [[order.id]]);
    });
    for (const { late_sec: lateSec } of over)
      if (lateSec !== null) this.fulfilmentEvents.reportReclaimed(order, lateSec);
  }

  /**
   * Moves legs that can no longer deliver to other wallets: drops unsent bytes, releases the legs and reserves their
   * sun again. Returns false, with nothing changed, if no other wallet has capacity or another worker has the order.
   */
  async moveLegs(order: ClaimedOrder, legs: readonly ClaimedLeg[], slackSun: Sun): Promise<boolean> {
    try {
      const isMoved = await this.database.transaction(async (tx) => {
        if (!(await this.lockOrder(tx, order))) return false;
        const ids = legs.map((leg) => leg.id);
        await tx.query(DROP_UNSENT, [ids]);
        const released = await tx.query<{ id: bigint; amount_sun: bigint }>(RELEASE_LEGS, [ids]);
        if (released.length !== legs.length) throw new Error('a leg that was to be moved has been sent meanwhile');
        // Do not return their capacity here. The pool's next pass frees that of a wallet that sells nothing. Locking
        // the slots of two wallets in this order could deadlock with sessions that lock them in the other order.
        const amountSun = released.reduce((sum, leg) => sum + leg.amount_sun, 0n);
        await tx.query(RESERVE, [order.id, order.kind, order.receiver, amountSun, slackSun]);
        if (order.isSettled) {
          const cause = legs.find(({ topUpCause }) => topUpCause !== undefined)?.topUpCause ?? null;
          await tx.query(MARK_TOP_UP, [order.id, Math.max(...order.legs.map((leg) => leg.legNo)), cause]);
          await tx.query(RECOUNT, [order.id, null]);
        }
        // Keep the age: the limit for unsent legs covers a leg and its replacements together.
        await tx.query(KEEP_AGE, [order.id, Math.max(...legs.map((leg) => leg.ageSec))]);
        return true;
      });
      if (isMoved) this.fulfilmentEvents.reportMovedLegs(order, legs);
      return isMoved;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return false;
    }
  }

  /** Marks the order as being undone, even if parts of it still arrive. */
  async undo(order: ClaimedOrder): Promise<void> {
    await this.database.query(UNDO, [order.id, order.fence]);
  }

  /**
   * Refunds the charge and ends the order with `reason`, which the caller reads. One transaction; the database rejects
   * it unless every leg has ended.
   */
  async refund(order: ClaimedOrder, reason: string): Promise<void> {
    const refunded = await this.database.transaction(async (tx) => {
      const [ended] = await tx.query<{ age_sec: number }>(REFUND, [order.id, order.fence, reason]);
      if (ended !== undefined) await this.ledger.refund(tx, order.id, order.projectId, order.credits as Credits);
      return ended;
    });
    if (refunded !== undefined) {
      this.fulfilmentEvents.reportOrders('refunded', [{ order, kind: order.kind, ageSec: refunded.age_sec }]);
    }
  }

  /** Marks the order unresolved. It resumes when a node answers. */
  async markUnresolved(order: ClaimedOrder): Promise<void> {
    const moved = await this.database.query(UNRESOLVED, [order.id, order.fence, UNRESOLVED_REASON]);
    if (moved.length > 0) this.fulfilmentEvents.reportOrders('unresolved', [{ order, kind: order.kind }]);
  }

  /** Flags the order for the operator, because a step takes longer than it should. */
  async callAttention(order: ClaimedOrder): Promise<void> {
    await this.database.query(ATTENTION, [order.id, order.fence]);
  }

  /** Reserves a further leg for the missing energy. Returns false if the pool lacks capacity. */
  async reserveTopUp(order: ClaimedOrder, missingSun: Sun, slackSun: Sun): Promise<boolean> {
    try {
      await this.database.transaction(async (tx) => {
        if (!(await this.lockOrder(tx, order))) return;
        await tx.query(RESERVE_TOP_UP, [order.id, order.receiver, missingSun, slackSun]);
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return false;
    }
    return true;
  }

  /**
   * Reserves a further leg, at our cost, for a running rental with too little energy. Also records that it makes up for
   * the reclaims' leftover at the receiver. Returns false if the pool lacks capacity, another rental of the receiver
   * was topped up meanwhile, the rental is over, or another worker holds it. It is retried a little later.
   */
  async reserveRunningTopUp(
    order: ClaimedOrder,
    { amountSun, slackSun, cause, left }: ReservedTopUp,
  ): Promise<boolean> {
    try {
      const isReserved = await this.database.transaction(async (tx) => {
        if (order.usage !== undefined && !(await holdReceiver(tx, order.receiver, order.usage))) return false;
        const [last] = await tx.query<{ leg_no: number }>(LOCK_RUNNING, [order.id, order.fence]);
        if (last === undefined) return false;
        await tx.query(RESERVE, [order.id, order.kind, order.receiver, amountSun, slackSun]);
        await tx.query(MARK_TOP_UP, [order.id, last.leg_no, cause]);
        await tx.query(RECOUNT, [order.id, null]);
        if (left !== undefined) await recordLeftover(tx, order, left);
        return true;
      });
      if (isReserved) this.fulfilmentEvents.reportTopUp(order, amountSun, cause);
      return isReserved;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.database.query(REST_TOP_UPS, [order.id, order.fence, TOP_UP_REST_SEC]);
      return false;
    }
  }

  /** Records that the reclaims' leftover at the order's receiver costs no running rental any energy. */
  async recordHarmlessLeftover(order: ClaimedOrder, left: bigint): Promise<void> {
    await recordLeftover(this.database, order, left);
  }

  /** Postpones top-ups of a running rental that will get none, so that it is not claimed ahead of others. */
  async postponeTopUps(order: ClaimedOrder): Promise<void> {
    await this.database.query(REST_TOP_UPS, [order.id, order.fence, PAST_TOP_UPS_REST_SEC]);
  }

  private async lockOrder(tx: Queryable, order: ClaimedOrder): Promise<boolean> {
    return (await tx.query(LOCK, [order.id, order.fence])).length === 1;
  }
}
