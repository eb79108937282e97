/**
 * Marks transactions as included once their own bytes were found in a block, and moves their legs and orders. A
 * reverted block undoes this. The block's bytes decide, never a node's answer alone.
 */
import { Injectable } from '@nestjs/common';
import type { BlockHead } from '../../../platform/chain/block.js';
import type { NetworkTotals } from '../../pool/bandwidth-stake.js';
import { Database, type Queryable } from '../../../platform/database/database.js';
import { allOrEach } from '../../../platform/database/all-or-each.js';
import { ownedBy } from '../../../platform/database/owner-order.js';
import {
  lockIncluded,
  lockSending,
  markIncluded,
  markReverted,
  type LockedTx,
  type MovedTx,
} from '../../order-records/block-transitions.js';
import { activateLegs, revertLegs, startWaitsAfterActivation } from '../../order-records/leg-transitions.js';
import { wakeRevertedOrders, wakeShortOrders } from '../../order-records/order-schedule.js';
import {
  deliverOrders,
  recordReclaimedOrders,
  revertDeliveries,
  type DeliveredOrder,
  type ReclaimedOrder,
} from '../../order-records/order-transitions.js';
import { identityOf, FulfilmentEvents, type IdentityRow, type TxNews } from '../fulfilment-events.js';
import { ReceiverEnergy } from './receiver-energy.js';

const FIND_SENDING = {
  name: 'find_sending_by_txid',
  text: `SELECT id, order_id, txid FROM open_chain_tx WHERE txid = ANY ($1::bytea[]) AND status = 'sending' ORDER BY order_id, id`,
};

/** Deletes the reading that was taken at a block which is no longer in the chain. */
const FORGET_AFTER = {
  name: 'forget_energy_after',
  text: `UPDATE receiver_energy SET after_energy = NULL, after_block = NULL WHERE order_id = ANY ($1::bigint[])`,
};

const IS_OF_RECEIVER = ownedBy('receive_address', 'r.receive_address');

/**
 * Reclaims and delegations of the same receivers may come into other blocks now, in another order: the usage that the
 * newest reclaims leave there is weighed again.
 */
export const WEIGH_AGAIN = {
  name: 'weigh_reclaims_of_reverted',
  text: `UPDATE reclaim_usage u SET weighed_at = NULL
    FROM (SELECT DISTINCT receive_address FROM open_leg WHERE id = ANY ($1::bigint[])) r CROSS JOIN LATERAL (
      SELECT tx_id FROM reclaim_usage WHERE ${IS_OF_RECEIVER}
       ORDER BY receive_address DESC, tx_id DESC LIMIT 10) newest
    WHERE u.tx_id = newest.tx_id AND u.weighed_at IS NOT NULL`,
};

/** The changes of one database transaction, reported after its commit. */
interface Included {
  readonly orders: readonly LockedTx[];
  readonly moved: readonly MovedTx[];
  readonly delivered: readonly DeliveredOrder[];
  readonly reclaimed: readonly ReclaimedOrder[];
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
  async includeBlock(block: BlockHead, txids: readonly string[], ratio: NetworkTotals): Promise<Applied> {
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
    ratio: NetworkTotals,
  ): Promise<Included> {
    const locked = await lockSending(
      tx,
      waiting.map(({ id }) => id),
    );
    if (locked.length === 0) return { orders: [], moved: [], delivered: [], reclaimed: [] };
    const moved = await markIncluded(
      tx,
      locked.map((row) => row.tx_id),
      block,
    );
    const orders = [...new Set(moved.map((entry) => entry.order_id))];
    const arrived = legsOf(moved, false);
    let delivered: Included['delivered'] = [];
    let reclaimed: Included['reclaimed'] = [];
    if (arrived.length > 0) {
      await activateLegs(tx, arrived, new Date(block.timestampMs), ratio);
      if (moved.some(({ purpose }) => purpose === 'activate')) await startWaitsAfterActivation(tx, arrived);
      delivered = await deliverOrders(tx, orders);
      if (delivered.length < orders.length) await wakeShortOrders(tx, orders);
    }
    if (arrived.length < moved.length) reclaimed = await recordReclaimedOrders(tx, orders);
    return { orders: locked, moved, delivered, reclaimed };
  }
}

const NOTHING: Applied = { delivered: [], left: [] };

async function recordReverted(
  tx: Queryable,
  reverted: readonly RevertedTx[],
): Promise<{ news: TxNews[]; locked: number }> {
  const locked = await lockIncluded(
    tx,
    reverted.map(({ id }) => id),
  );
  const held = new Set(locked.map((row) => row.tx_id));
  const moved = await markReverted(
    tx,
    reverted.filter(({ id }) => held.has(id)),
  );
  const orders = moved.map((entry) => entry.order_id);
  await revertLegs(tx, legsOf(moved, false));
  await revertDeliveries(tx, orders);
  await wakeRevertedOrders(tx, orders);
  await tx.query(FORGET_AFTER, [orders]);
  await tx.query(WEIGH_AGAIN, [moved.map((entry) => entry.leg_id)]);
  return { news: newsOf(moved, locked), locked: locked.length };
}
