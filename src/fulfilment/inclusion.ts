/**
 * From a block to the books: marks transactions as included that were found in a block by their own bytes, and moves
 * legs and orders with them. A block that falls away takes all of it back. Judges by the block, never by a node's word.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { Block } from '../chain/block.js';
import { crashPoint } from '../crash-point.js';
import type { EnergyRatio } from '../pool/energy-ratio.js';
import { Database, type Queryable } from '../store/database.js';

/** Orders are locked first, in order of id, by everyone who writes several of them. */
const LOCK_BY_TXID = {
  name: 'lock_orders_by_txid',
  text: `SELECT id FROM orders WHERE id IN (SELECT order_id FROM chain_tx WHERE txid = ANY ($1::bytea[]))
    ORDER BY id FOR NO KEY UPDATE`,
};

const MARK_INCLUDED = {
  name: 'mark_included',
  text: `UPDATE chain_tx SET status = 'included', block_number = $2, block_id = $3, block_at = $4
    WHERE txid = ANY ($1::bytea[]) AND status = 'sending' RETURNING leg_id, order_id, purpose`,
};

/** TRON: energy of a delegation = floor(sun / 10^6 × TotalEnergyLimit / TotalEnergyWeight). */
const ACTIVATE_LEGS = {
  name: 'activate_legs',
  text: `UPDATE leg SET status = 'active', active_at = $2, changed_at = clock_timestamp(),
      energy = CASE kind WHEN 'rental' THEN div(amount_sun::numeric * $3::numeric, 1000000 * $4::numeric)::bigint END
    WHERE id = ANY ($1::bigint[]) AND status = 'placed'`,
};

/** Delivered when every leg that is not released is active and together they hold what was sold. */
const DELIVER_ORDERS = {
  name: 'deliver_orders',
  text: `UPDATE orders o SET status = 'delivered', delivered_at = s.at,
      ends_at = s.at + o.duration_sec * interval '1 second', delivered_energy = s.energy,
      needs_attention = false, error_code = NULL, error = NULL
    FROM (SELECT order_id, max(active_at) AS at, sum(energy)::bigint AS energy FROM leg
           WHERE order_id = ANY ($1::bigint[]) AND status <> 'released'
           GROUP BY order_id HAVING bool_and(status = 'active')) s
    WHERE o.id = s.order_id AND o.status IN ('placed', 'unresolved') AND NOT o.undoing
      AND (o.kind = 'activation' OR s.energy >= o.energy) RETURNING o.id`,
};

/** Whole on chain but short of what was sold: due at once for a further leg. */
const WAKE_SHORT = {
  name: 'wake_short',
  text: `UPDATE orders o SET next_run_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) AND status = 'placed'
      AND NOT EXISTS (SELECT FROM leg WHERE order_id = o.id AND status NOT IN ('active', 'released'))`,
};

/** The rental is over once every leg's undelegation is in a block; if one falls away, this is taken back. */
const RECLAIM_ORDERS = {
  name: 'reclaim_orders',
  text: `UPDATE orders o SET reclaimed_at = s.at
    FROM (SELECT l.order_id, max(t.block_at) AS at FROM leg l
            LEFT JOIN chain_tx t ON t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')
           WHERE l.order_id = ANY ($1::bigint[]) AND l.status <> 'released'
           GROUP BY l.order_id HAVING bool_and(t.id IS NOT NULL)) s
    WHERE o.id = s.order_id AND o.status = 'delivered'`,
};

const LOCK_BY_TX_IDS = {
  name: 'lock_orders_by_tx_ids',
  text: `SELECT id FROM orders WHERE id IN (SELECT order_id FROM chain_tx WHERE id = ANY ($1::bigint[]))
    ORDER BY id FOR NO KEY UPDATE`,
};

const MARK_FALLEN = {
  name: 'mark_fallen',
  text: `UPDATE chain_tx t SET status = 'sending', block_number = NULL, block_id = NULL, block_at = NULL
    FROM unnest($1::bigint[], $2::bytea[]) AS v(id, block_id)
    WHERE t.id = v.id AND t.status = 'included' AND t.block_id = v.block_id RETURNING t.leg_id, t.order_id, t.purpose`,
};

const FALLEN_LEGS = {
  name: 'fallen_legs',
  text: `UPDATE leg SET status = 'placed', active_at = NULL, energy = NULL, changed_at = clock_timestamp()
    WHERE id = ANY ($1::bigint[]) AND status = 'active'`,
};

const FALLEN_ORDERS = {
  name: 'fallen_orders',
  text: `UPDATE orders SET status = 'placed', delivered_at = NULL, ends_at = NULL, delivered_energy = NULL
    WHERE id = ANY ($1::bigint[]) AND status = 'delivered' AND NOT settled`,
};

const FALLEN_DUE = {
  name: 'fallen_due',
  text: `UPDATE orders SET reclaimed_at = NULL, next_run_at = clock_timestamp() WHERE id = ANY ($1::bigint[])`,
};

interface MovedTx {
  leg_id: bigint;
  order_id: bigint;
  purpose: 'delegate' | 'reclaim' | 'activate';
}

export interface FallenTx {
  readonly id: bigint;
  readonly blockId: string;
}

function legsOf(moved: readonly MovedTx[], isReclaim: boolean): bigint[] {
  return moved.filter((tx) => (tx.purpose === 'reclaim') === isReclaim).map((tx) => tx.leg_id);
}

@Injectable()
export class Inclusion {
  constructor(@Inject(Database) private readonly database: Database) {}

  /**
   * Marks those of our transactions as included that stand in `block`, and what follows for legs and orders.
   * `txids`: of transactions read from the block's own bytes. Returns the orders delivered by it.
   */
  async apply(block: Block, txids: readonly string[], ratio: EnergyRatio): Promise<bigint[]> {
    if (txids.length === 0) return [];
    crashPoint('record-included.before');
    const delivered = await this.database.transaction(async (tx) => this.include(tx, block, txids, ratio));
    crashPoint('record-included.after');
    return delivered;
  }

  /** Takes back what stood in blocks that are no longer of the chain; the same bytes are sent again. */
  async fallAway(fallen: readonly FallenTx[]): Promise<void> {
    if (fallen.length === 0) return;
    crashPoint('fall-away.before');
    await this.database.transaction(async (tx) => {
      await tx.query(LOCK_BY_TX_IDS, [fallen.map((entry) => entry.id)]);
      const moved = await tx.query<MovedTx>(MARK_FALLEN, [
        fallen.map((entry) => entry.id),
        fallen.map((entry) => Buffer.from(entry.blockId, 'hex')),
      ]);
      const orders = moved.map((entry) => entry.order_id);
      await tx.query(FALLEN_LEGS, [legsOf(moved, false)]);
      await tx.query(FALLEN_ORDERS, [orders]);
      await tx.query(FALLEN_DUE, [orders]);
    });
    crashPoint('fall-away.after');
  }

  private async include(tx: Queryable, block: Block, txids: readonly string[], ratio: EnergyRatio): Promise<bigint[]> {
    const ids = txids.map((txid) => Buffer.from(txid, 'hex'));
    const locked = await tx.query(LOCK_BY_TXID, [ids]);
    if (locked.length === 0) return [];
    const at = new Date(block.timestampMs);
    const moved = await tx.query<MovedTx>(MARK_INCLUDED, [ids, block.number, Buffer.from(block.id, 'hex'), at]);
    const orders = [...new Set(moved.map((entry) => entry.order_id))];
    const arrived = legsOf(moved, false);
    let delivered: { id: bigint }[] = [];
    if (arrived.length > 0) {
      await tx.query(ACTIVATE_LEGS, [arrived, at, ratio.totalEnergyLimit, ratio.totalEnergyWeight]);
      delivered = await tx.query<{ id: bigint }>(DELIVER_ORDERS, [orders]);
      if (delivered.length < orders.length) await tx.query(WAKE_SHORT, [orders]);
    }
    if (arrived.length < moved.length) await tx.query(RECLAIM_ORDERS, [orders]);
    return delivered.map((row) => row.id);
  }
}
