/**
 * Marks transactions as included once their own bytes were found in a block, and moves their legs and orders. A
 * reverted block undoes this. The block's bytes decide, never a node's answer alone.
 */
import { Injectable } from '@nestjs/common';
import type { BlockHead } from '../../../platform/chain/block.js';
import type { EnergyRatio } from '../../pool/energy-ratio.js';
import { Database, type Queryable } from '../../../platform/database/database.js';
import type { ChainTxPurpose, OrderKind } from '../../../domain/order-state.js';
import { allOrEach } from '../../../platform/database/all-or-each.js';
import { identityOf, FulfilmentEvents, type IdentityRow, type TxNews } from '../fulfilment-events.js';
import { ReceiverEnergy } from './receiver-energy.js';
import { SOLID_WAIT } from '../loop/order-claims.js';

const FIND_SENDING = {
  name: 'find_sending_by_txid',
  text: `SELECT id, order_id, txid FROM open_chain_tx WHERE txid = ANY ($1::bytea[]) AND status = 'sending' ORDER BY order_id, id`,
};

/**
 * A transaction moves together with its order and its leg, so all three rows are locked first, ordered by order id.
 * Rows that another session holds are skipped, so that one held row does not block the rest. The caller retries them.
 */
const LOCK_SENDING = {
  name: 'lock_sending',
  text: `SELECT t.id AS tx_id, o.id, o.project_id, o.request_id
    FROM open_chain_tx t JOIN open_orders o ON o.id = t.order_id JOIN open_leg l ON l.id = t.leg_id
    WHERE t.id = ANY ($1::bigint[]) AND t.status = 'sending'
    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
};

const MARK_INCLUDED = {
  name: 'mark_included',
  text: `UPDATE open_chain_tx SET status = 'included', block_number = $2, block_id = $3, block_at = $4
    WHERE id = ANY ($1::bigint[]) AND status = 'sending' RETURNING id, leg_id, order_id, purpose, attempt, txid`,
};

/** TRON: energy of a delegation = floor(sun / 10^6 × TotalEnergyLimit / TotalEnergyWeight). */
const ACTIVATE_LEGS = {
  name: 'activate_legs',
  text: `UPDATE open_leg SET status = 'active', active_at = $2, changed_at = clock_timestamp(),
      energy = CASE kind WHEN 'rental' THEN div(amount_sun::numeric * $3::numeric, 1000000 * $4::numeric)::bigint END
    WHERE id = ANY ($1::bigint[]) AND status = 'placed'`,
};

/**
 * Makes an unleased order due again after SOLID_WAIT. The worker that holds a leased order sets its next run on
 * release.
 */
const REST_UNTIL_SOLID = `next_run_at = CASE WHEN o.lease_until IS NULL THEN clock_timestamp() + ${SOLID_WAIT}
      ELSE o.next_run_at END`;

/** An order is delivered once every leg that is not released is active and together they hold the sold energy. */
const DELIVER_ORDERS = {
  name: 'deliver_orders',
  text: `UPDATE open_orders o SET status = 'delivered', delivered_at = s.at,
      ends_at = s.at + o.duration_sec * interval '1 second', delivered_energy = s.energy,
      sun_per_energy_e6 = div(s.sun * 1000000, o.energy)::bigint,
      needs_attention = false, error_code = NULL, error = NULL, ${REST_UNTIL_SOLID}
    FROM (SELECT order_id, max(active_at) AS at, sum(energy)::bigint AS energy,
             sum(amount_sun) AS sun FROM open_leg
           WHERE order_id = ANY ($1::bigint[]) AND status <> 'released'
           GROUP BY order_id HAVING bool_and(status = 'active')) s
    WHERE o.id = s.order_id AND o.status IN ('placed', 'unresolved') AND NOT o.undoing
      AND (o.kind = 'activation' OR s.energy >= o.energy)
    RETURNING o.id, o.kind, extract(epoch FROM clock_timestamp() - o.created_at)::float8 AS age_sec`,
};

/** All legs are on chain, but they hold less than was sold: the order is due immediately for a further leg. */
const WAKE_SHORT = {
  name: 'wake_short',
  text: `UPDATE open_orders o SET next_run_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) AND status = 'placed'
      AND NOT EXISTS (SELECT FROM open_leg WHERE order_id = o.id AND status NOT IN ('active', 'released'))`,
};

/**
 * A rental is over once every leg's undelegation, ours or foreign, is in a block. If one is reverted, the rental runs
 * again.
 */
export const RECLAIM_ORDERS = {
  name: 'reclaim_orders',
  text: `UPDATE open_orders o SET reclaimed_at = s.at, ${REST_UNTIL_SOLID}
    FROM (SELECT l.order_id, max(coalesce(t.block_at, l.closed_at)) AS at FROM open_leg l
            LEFT JOIN open_chain_tx t ON t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')
           WHERE l.order_id = ANY ($1::bigint[]) AND l.status <> 'released'
           GROUP BY l.order_id HAVING bool_and(t.id IS NOT NULL OR l.closed_at IS NOT NULL)) s
    WHERE o.id = s.order_id AND o.status = 'delivered'
    RETURNING o.id, CASE WHEN NOT o.undoing THEN extract(epoch FROM s.at - o.ends_at)::float8 END AS late_sec`,
};

const LOCK_INCLUDED = {
  name: 'lock_included',
  text: `SELECT t.id AS tx_id, o.id, o.project_id, o.request_id
    FROM open_chain_tx t JOIN open_orders o ON o.id = t.order_id JOIN open_leg l ON l.id = t.leg_id
    WHERE t.id = ANY ($1::bigint[]) AND t.status = 'included'
    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
};

const MARK_REVERTED = {
  name: 'mark_reverted',
  text: `UPDATE open_chain_tx t SET status = 'sending', block_number = NULL, block_id = NULL, block_at = NULL,
      fee_sun = NULL
    FROM unnest($1::bigint[], $2::bytea[]) AS v(id, block_id)
    WHERE t.id = v.id AND t.status = 'included' AND t.block_id = v.block_id
    RETURNING t.id, t.leg_id, t.order_id, t.purpose, t.attempt, t.txid`,
};

const REVERTED_LEGS = {
  name: 'reverted_legs',
  text: `UPDATE open_leg SET status = 'placed', active_at = NULL, energy = NULL, changed_at = clock_timestamp()
    WHERE id = ANY ($1::bigint[]) AND status = 'active'`,
};

const REVERTED_ORDERS = {
  name: 'reverted_orders',
  text: `UPDATE open_orders SET status = 'placed', delivered_at = NULL, ends_at = NULL, delivered_energy = NULL
    WHERE id = ANY ($1::bigint[]) AND status = 'delivered' AND NOT settled`,
};

const REVERTED_DUE = {
  name: 'reverted_due',
  text: `UPDATE open_orders SET reclaimed_at = NULL, next_run_at = clock_timestamp() WHERE id = ANY ($1::bigint[])`,
};

/** Deletes the reading that was taken at a block which is no longer in the chain. */
const FORGET_AFTER = {
  name: 'forget_energy_after',
  text: `UPDATE receiver_energy SET after_energy = NULL, after_block = NULL WHERE order_id = ANY ($1::bigint[])`,
};

export interface MovedTx {
  id: bigint;
  leg_id: bigint;
  order_id: bigint;
  purpose: ChainTxPurpose;
  attempt: number;
  txid: Buffer;
}

/** The changes of one database transaction, reported after its commit. */
interface Included {
  readonly orders: readonly LockedRow[];
  readonly moved: readonly MovedTx[];
  readonly delivered: readonly { id: bigint; kind: OrderKind; age_sec: number }[];
  readonly reclaimed: readonly { id: bigint; late_sec: number | null }[];
}

export interface RevertedTx {
  readonly id: bigint;
  readonly orderId: bigint;
  readonly blockId: string;
}

/** The result of applying one block. */
export interface Applied {
  /** Ids of the orders that the block delivered. */
  readonly delivered: readonly bigint[];
  /** Transactions of the block that were not recorded: another session holds a row, or recording failed. */
  readonly left: readonly string[];
}

/** A locked transaction with its order. */
export interface LockedRow extends IdentityRow {
  tx_id: bigint;
}

interface SendingTx {
  readonly id: bigint;
  readonly order_id: bigint;
  readonly txid: Buffer;
}

function legsOf(moved: readonly MovedTx[], isReclaim: boolean): bigint[] {
  return moved.filter((tx) => (tx.purpose === 'reclaim') === isReclaim).map((tx) => tx.leg_id);
}

/** Returns moved transactions together with their orders. */
export function newsOf(moved: readonly MovedTx[], orders: readonly IdentityRow[]): TxNews[] {
  const byId = new Map(orders.map((row) => [row.id, identityOf(row)]));
  return moved.flatMap(({ order_id, txid, purpose, attempt }) => {
    const order = byId.get(order_id);
    return order === undefined ? [] : [{ order, txid: txid.toString('hex'), purpose, attempt }];
  });
}

@Injectable()
export class Inclusion {
  constructor(
    private readonly database: Database,
    private readonly fulfilmentEvents: FulfilmentEvents,
    private readonly receiverEnergy: ReceiverEnergy,
  ) {}

  /**
   * Marks our transactions in `block` as included and moves their legs and orders. `txids` must come from the block's
   * own bytes. An order that fails is logged and does not stop the others.
   */
  async includeBlock(block: BlockHead, txids: readonly string[], ratio: EnergyRatio): Promise<Applied> {
    if (txids.length === 0) return NOTHING;
    const ids = txids.map((txid) => Buffer.from(txid, 'hex'));
    const waiting = await this.database.query<SendingTx>(FIND_SENDING, [ids]);
    if (waiting.length === 0) return NOTHING;
    const delivered: bigint[] = [];
    const done = new Set<bigint>();
    const failed = await allOrEach(
      waiting,
      (tx) => tx.order_id,
      async (some) => {
        const included = await this.database.transaction(async (tx) => this.recordIncluded(tx, block, some, ratio));
        this.report(included, block);
        delivered.push(...included.delivered.map(({ id }) => id));
        for (const { tx_id: id } of included.orders) done.add(id);
      },
    );
    for (const { order, error } of failed) this.fulfilmentEvents.reportNotAdvanced('included', order, error);
    const left = waiting.filter(({ id }) => !done.has(id)).map(({ txid }) => txid.toString('hex'));
    return { delivered, left };
  }

  /**
   * Takes transactions out of reverted blocks: their orders are under way again, or will be reclaimed later. Rows that
   * another session holds are left for the next call. Returns the number of transactions left.
   */
  async revertTransactions(reverted: readonly RevertedTx[]): Promise<number> {
    if (reverted.length === 0) return 0;
    let done = 0;
    const failed = await allOrEach(
      reverted,
      ({ orderId }) => orderId,
      async (some) => {
        const moved = await this.database.transaction(async (tx) => recordReverted(tx, some));
        this.fulfilmentEvents.reportTransactions('fallen', moved.news);
        done += moved.locked;
      },
    );
    for (const { order, error } of failed) this.fulfilmentEvents.reportNotAdvanced('fallen', order, error);
    return reverted.length - done;
  }

  private report({ orders, moved, delivered, reclaimed }: Included, block: BlockHead): void {
    const byId = new Map(orders.map((row) => [row.id, identityOf(row)]));
    this.fulfilmentEvents.reportTransactions('included', newsOf(moved, orders), { block: block.number });
    this.fulfilmentEvents.reportOrders(
      'delivered',
      delivered.flatMap(({ id, kind, age_sec: ageSec }) => {
        const order = byId.get(id);
        return order === undefined ? [] : [{ order, kind, ageSec }];
      }),
    );
    this.receiverEnergy.startReadsAfter(
      delivered.map(({ id }) => id),
      block,
    );
    for (const { id, late_sec: lateSec } of reclaimed) {
      const order = byId.get(id);
      if (order !== undefined && lateSec !== null) this.fulfilmentEvents.reportReclaimed(order, lateSec);
    }
  }

  private async recordIncluded(
    tx: Queryable,
    block: BlockHead,
    waiting: readonly SendingTx[],
    ratio: EnergyRatio,
  ): Promise<Included> {
    const locked = await tx.query<LockedRow>(LOCK_SENDING, [waiting.map(({ id }) => id)]);
    if (locked.length === 0) return { orders: [], moved: [], delivered: [], reclaimed: [] };
    const ids = locked.map((row) => row.tx_id);
    const at = new Date(block.timestampMs);
    const moved = await tx.query<MovedTx>(MARK_INCLUDED, [ids, block.number, Buffer.from(block.id, 'hex'), at]);
    const orders = [...new Set(moved.map((entry) => entry.order_id))];
    const arrived = legsOf(moved, false);
    let delivered: Included['delivered'] = [];
    let reclaimed: Included['reclaimed'] = [];
    if (arrived.length > 0) {
      await tx.query(ACTIVATE_LEGS, [arrived, at, ratio.totalEnergyLimit, ratio.totalEnergyWeight]);
      delivered = await tx.query<Included['delivered'][number]>(DELIVER_ORDERS, [orders]);
      if (delivered.length < orders.length) await tx.query(WAKE_SHORT, [orders]);
    }
    if (arrived.length < moved.length) {
      reclaimed = await tx.query<Included['reclaimed'][number]>(RECLAIM_ORDERS, [orders]);
    }
    return { orders: locked, moved, delivered, reclaimed };
  }
}

const NOTHING: Applied = { delivered: [], left: [] };

async function recordReverted(
  tx: Queryable,
  reverted: readonly RevertedTx[],
): Promise<{ news: TxNews[]; locked: number }> {
  const locked = await tx.query<LockedRow>(LOCK_INCLUDED, [reverted.map(({ id }) => id)]);
  const held = new Set(locked.map((row) => row.tx_id));
  const mine = reverted.filter(({ id }) => held.has(id));
  const moved = await tx.query<MovedTx>(MARK_REVERTED, [
    mine.map(({ id }) => id),
    mine.map(({ blockId }) => Buffer.from(blockId, 'hex')),
  ]);
  const orders = moved.map((entry) => entry.order_id);
  await tx.query(REVERTED_LEGS, [legsOf(moved, false)]);
  await tx.query(REVERTED_ORDERS, [orders]);
  await tx.query(REVERTED_DUE, [orders]);
  await tx.query(FORGET_AFTER, [orders]);
  return { news: newsOf(moved, locked), locked: locked.length };
}
