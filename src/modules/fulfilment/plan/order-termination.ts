/**
 * Ends undelivered orders: releases capacity, undoes the order, refunds the charge, or marks it unresolved while no
 * node answers. Also reserves top-ups. Each step is one database transaction under the order's fence. The database
 * rejects a refund while a transaction of the order may still live.
 */
import { Injectable } from '@nestjs/common';
import { Ledger } from '../../billing/ledger.js';
import type { Credits, Sun } from '../../../domain/units.js';
import type { LegKind, TopUpCause } from '../../../domain/order-state.js';
import { resourceOf, type Resource } from '../../../domain/resource.js';
import { TRANSACTIONS_PER_LEG } from '../../pool/bandwidth.js';
import { Database, isRefusal, type Queryable } from '../../../platform/database/database.js';
import {
  closeActivationsOf,
  keepLegAge,
  markTopUps,
  releaseLegs,
  reserveFurther,
  type PartReservation,
  type ReleasedLeg,
} from '../../order-records/leg-transitions.js';
import { TOP_UP_REST_MAX_SEC } from '../../order-records/order-leases.js';
import { postponeTopUps } from '../../order-records/order-schedule.js';
import {
  flagForAttention,
  lockClaimedOrder,
  lockRunningRental,
  markRefunded,
  markUndoing,
  markUnresolved,
  recordReclaimedOrders,
  recountStake,
} from '../../order-records/order-transitions.js';
import { dropUnsentOfLegs } from '../../order-records/transaction-transitions.js';
import { FulfilmentEvents } from '../fulfilment-events.js';
import type { ClaimedLeg, ClaimedOrder, ReceiverUsage } from '../loop/claimed-order.js';

/**
 * Any slot of the wallet will do; the leg's id spreads them. Takes a slot that no session holds, or else waits for a
 * bounded time. The two transactions of a delegation are free again together with its stake.
 */
const RETURN_CAPACITY = {
  name: 'return_capacity',
  text: `UPDATE pool_slot s SET free_sun = s.free_sun + $3, free_transactions = s.free_transactions + $4,
      free_bandwidth_sun = s.free_bandwidth_sun + $5 WHERE s.wallet_id = $1 AND s.slot_no = coalesce(
      (SELECT slot_no FROM pool_slot WHERE wallet_id = $1
        ORDER BY slot_no < $2::bigint % (SELECT count(*) FROM pool_slot WHERE wallet_id = $1), slot_no
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED),
      (SELECT min(slot_no) FROM pool_slot WHERE wallet_id = $1))`,
};

/** Pause after a top-up that failed or found no capacity. */
const TOP_UP_REST_SEC = 30;
/** The network's stake may fall again, and the shortfall with it. */
const PAST_TOP_UPS_REST_SEC = TOP_UP_REST_MAX_SEC;

/** First key of the advisory locks that serialise top-ups of one receiver. */
const TOPPING_UP = 4205;
const HOLD_RECEIVER = `SELECT pg_advisory_xact_lock(${TOPPING_UP.toString()}, hashtext($1))`;

const NEWEST_TOP_UP = {
  name: 'newest_top_up_of_receiver',
  text: `SELECT max(l.id) AS id FROM pool_wallet w JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = $1
    AND l.kind = 'rental' AND l.status IN ('reserved', 'placed', 'active', 'reclaiming') AND l.top_up`,
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

const UNRESOLVED_REASON =
  'The outcome of the delegation is unknown, because the chain cannot be read. The order resolves itself.';

/** A top-up to reserve. */
export interface ReservedTopUp {
  readonly part: PartReservation;
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

/** Returns the capacity of released legs, to be reserved elsewhere. */
function partsOf(released: readonly ReleasedLeg[], slackSunOf: (kind: LegKind) => Sun): PartReservation[] {
  const kinds = [...new Set(released.map(({ kind }) => kind))];
  return kinds.map((kind) => ({
    kind,
    amountSun: released.reduce((sum, leg) => (leg.kind === kind ? sum + leg.amount_sun : sum), 0n),
    slackSun: slackSunOf(kind),
  }));
}

const kindsOf = (legs: readonly ClaimedLeg[]): readonly LegKind[] => [...new Set(legs.map(({ kind }) => kind))];

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
      if (!(await lockClaimedOrder(tx, order))) return [];
      const released = await releaseLegs(
        tx,
        legs.map((leg) => leg.id),
      );
      const sorted = [...released].sort((a, b) => a.wallet_id - b.wallet_id);
      for (const leg of sorted) {
        const transactions = leg.kind === 'activation' ? 0n : TRANSACTIONS_PER_LEG;
        const [free, bandwidth] = leg.kind === 'bandwidth' ? [0n, leg.amount_sun] : [leg.amount_sun, 0n];
        await tx.query(RETURN_CAPACITY, [leg.wallet_id, leg.id, free, transactions, bandwidth]);
      }
      if (!order.isSettled) return [];
      await recountStake(tx, order.id, TOP_UP_REST_SEC, kindsOf(legs));
      if (legs.some(({ isTopUp, kind }) => isTopUp && kind === 'rental')) await tx.query(WEIGH_AGAIN, [order.receiver]);
      // The rental's end may have waited for these legs alone.
      return recordReclaimedOrders(tx, [order.id]);
    });
    for (const { late_sec: lateSec } of over)
      if (lateSec !== null) this.fulfilmentEvents.reportReclaimed(order, lateSec);
  }

  /**
   * Moves legs that can no longer deliver to other wallets: drops unsent bytes, releases the legs and reserves their
   * sun again. Returns false, with nothing changed, if no other wallet has capacity or another worker has the order.
   */
  async moveLegs(
    order: ClaimedOrder,
    legs: readonly ClaimedLeg[],
    slackSunOf: (kind: LegKind) => Sun,
  ): Promise<boolean> {
    try {
      const isMoved = await this.database.transaction(async (tx) => {
        if (!(await lockClaimedOrder(tx, order))) return false;
        const ids = legs.map((leg) => leg.id);
        await dropUnsentOfLegs(tx, ids);
        const released = await releaseLegs(tx, ids);
        if (released.length !== legs.length) throw new Error('a leg that was to be moved has been sent meanwhile');
        // Do not return their capacity here. The pool's next pass frees that of a wallet that sells nothing. Locking
        // the slots of two wallets in this order could deadlock with sessions that lock them in the other order.
        await reserveFurther(tx, order, partsOf(released, slackSunOf));
        if (order.isSettled) {
          const afterLegNo = Math.max(...order.legs.map((leg) => leg.legNo));
          for (const kind of kindsOf(legs)) {
            const cause = legs.find((leg) => leg.kind === kind && leg.topUpCause !== undefined)?.topUpCause;
            await markTopUps(tx, order.id, { afterLegNo, kind, cause });
          }
          await recountStake(tx, order.id, null, kindsOf(legs));
        }
        // Keep the age: the limit for unsent legs covers a leg and its replacements together.
        await keepLegAge(tx, order.id, Math.max(...legs.map((leg) => leg.ageSec)));
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
    await markUndoing(this.database, order);
  }

  /**
   * Refunds the charge, except the share of an activation that the chain has, and ends the order with `reason`, which
   * the caller reads. One transaction; the database rejects it unless every leg has ended.
   */
  async refund(order: ClaimedOrder, reason: string): Promise<void> {
    const ageSec = await this.database.transaction(async (tx) => {
      if (!(await lockClaimedOrder(tx, order))) return undefined;
      await closeActivationsOf(tx, [order.id]);
      const refunded = await markRefunded(tx, order, reason);
      if (refunded === undefined) return undefined;
      const charge = { credits: order.credits as Credits, kept: refunded.kept_credits as Credits };
      await this.ledger.refund(tx, order.id, order.projectId, charge);
      return refunded.age_sec;
    });
    if (ageSec !== undefined) {
      this.fulfilmentEvents.reportOrders('refunded', [{ order, kind: order.kind, ageSec }]);
    }
  }

  /** Marks the order unresolved. It resumes when a node answers. */
  async markUnresolved(order: ClaimedOrder): Promise<void> {
    const isChanged = await markUnresolved(this.database, order, UNRESOLVED_REASON);
    if (isChanged) this.fulfilmentEvents.reportOrders('unresolved', [{ order, kind: order.kind }]);
  }

  /** Flags the order for the operator, because a step takes longer than it should. */
  async callAttention(order: ClaimedOrder): Promise<void> {
    await flagForAttention(this.database, order);
  }

  /** Reserves further legs for what an undelivered order lacks. Returns false if the pool lacks capacity. */
  async reserveTopUp(order: ClaimedOrder, missing: PartReservation): Promise<boolean> {
    try {
      await this.database.transaction(async (tx) => {
        if (!(await lockClaimedOrder(tx, order))) return;
        await reserveFurther(tx, order, [missing]);
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return false;
    }
    return true;
  }

  /**
   * Reserves a further leg, at our cost, for a running rental with too little energy or bandwidth. Also records that it
   * makes up for the reclaims' leftover at the receiver. Returns false if the pool lacks capacity, another rental of
   * the receiver was topped up meanwhile, the rental is over, or another worker holds it. It is retried a little later.
   */
  async reserveRunningTopUp(order: ClaimedOrder, { part, cause, left }: ReservedTopUp): Promise<boolean> {
    const { kind, amountSun } = part;
    try {
      const isReserved = await this.database.transaction(async (tx) => {
        // The receiver's rentals share the energy that reclaims cost; each makes up for its own bandwidth.
        if (kind === 'rental' && order.usage !== undefined && !(await holdReceiver(tx, order.receiver, order.usage)))
          return false;
        const afterLegNo = await lockRunningRental(tx, order);
        if (afterLegNo === undefined) return false;
        await reserveFurther(tx, order, [part]);
        await markTopUps(tx, order.id, { afterLegNo, kind, cause });
        await recountStake(tx, order.id, null, [kind]);
        if (left !== undefined) await recordLeftover(tx, order, left);
        return true;
      });
      if (isReserved) this.fulfilmentEvents.reportTopUp(order, amountSun, resourceOf(kind), cause);
      return isReserved;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await postponeTopUps(this.database, order, resourceOf(kind), TOP_UP_REST_SEC);
      return false;
    }
  }

  /** Records that the reclaims' leftover at the order's receiver costs no running rental any energy. */
  async recordHarmlessLeftover(order: ClaimedOrder, left: bigint): Promise<void> {
    await recordLeftover(this.database, order, left);
  }

  /**
   * Postpones top-ups of a resource that a running rental gets no more of, so that it is not claimed ahead of others.
   */
  async postponeTopUps(order: ClaimedOrder, resource: Resource): Promise<void> {
    await postponeTopUps(this.database, order, resource, PAST_TOP_UPS_REST_SEC);
  }
}
