/**
 * From solid blocks to final states: an included transaction whose block became solid is final; one whose block did
 * not, falls away. Every healthy node that reached the height must agree on the block.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { Block, BlockHead } from '../chain/block.js';
import { solidBlockOf, TronClient } from '../chain/tron.client.js';
import { crashPoint } from '../crash-point.js';
import { messageOf } from '../errors.js';
import { Log } from '../http/logger.js';
import { Database, type Queryable } from '../store/database.js';
import { Inclusion, newsOf, type FallenTx, type MovedTx } from './inclusion.js';
import { identityOf, Progress, type IdentityRow } from './progress.js';

const WAITING = {
  name: 'txs_waiting_for_solid',
  text: `SELECT id, txid, block_number, block_id, block_at FROM chain_tx
    WHERE status = 'included' AND block_number <= $1 ORDER BY block_number LIMIT 2000`,
};

const LOCK_ORDERS = {
  name: 'lock_orders_by_tx_ids',
  text: `SELECT id, project_id, request_id FROM orders
    WHERE id IN (SELECT order_id FROM chain_tx WHERE id = ANY ($1::bigint[])) ORDER BY id FOR NO KEY UPDATE`,
};

const MARK_SOLID = {
  name: 'mark_solid',
  text: `UPDATE chain_tx SET status = 'solid' WHERE id = ANY ($1::bigint[]) AND status = 'included' AND block_id = $2
    RETURNING leg_id, order_id, purpose, attempt, txid`,
};

const RECLAIMED_LEGS = {
  name: 'reclaimed_legs',
  text: `UPDATE leg SET status = 'reclaimed', changed_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) AND status = 'reclaiming'`,
};

/** Settled once every delivery of it is solid; from here on only the chain's clock wakes it. */
const SETTLE_ORDERS = {
  name: 'settle_orders',
  text: `UPDATE orders o SET settled = true, next_run_at = NULL
    WHERE o.id = ANY ($1::bigint[]) AND o.status = 'delivered' AND NOT o.settled AND NOT EXISTS (
      SELECT FROM leg l WHERE l.order_id = o.id AND l.status <> 'released' AND NOT EXISTS (
        SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status = 'solid'))
    RETURNING o.id, extract(epoch FROM clock_timestamp() - o.created_at)::float8 AS age_sec`,
};

/** The last leg is back: nothing more to do or to look after, unless the order is being undone and wants its refund. */
const FINISH_ORDERS = {
  name: 'finish_orders',
  text: `UPDATE orders o SET next_run_at = CASE WHEN o.undoing THEN clock_timestamp() END,
      needs_attention = o.needs_attention AND o.undoing
    WHERE o.id = ANY ($1::bigint[]) AND (o.undoing OR NOT EXISTS (
      SELECT FROM leg WHERE order_id = o.id AND status NOT IN ('reclaimed', 'released')))`,
};

interface WaitingTx {
  id: bigint;
  txid: Buffer;
  block_number: bigint;
  block_id: Buffer;
  block_at: Date;
}

@Injectable()
export class Settlement {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TronClient) private readonly client: TronClient,
    @Inject(Inclusion) private readonly inclusion: Inclusion,
    @Inject(Progress) private readonly progress: Progress,
    @Inject(Log) private readonly logger: Log,
  ) {}

  /** Settles everything whose block lies at or below the solid head. */
  async settle(solid: BlockHead): Promise<void> {
    const waiting = await this.database.query<WaitingTx>(WAITING, [solid.number]);
    const byBlock = new Map<number, WaitingTx[]>();
    for (const tx of waiting) {
      const number = Number(tx.block_number);
      byBlock.set(number, [...(byBlock.get(number) ?? []), tx]);
    }
    for (const [number, txs] of byBlock) await this.settleBlock(number, txs);
  }

  private async settleBlock(number: number, txs: readonly WaitingTx[]): Promise<void> {
    crashPoint('solid.before');
    const block = await this.agreedBlock(number);
    crashPoint('solid.after');
    if (block === undefined) return;
    const present = new Set(block.transactions.filter((tx) => tx.succeeded).map((tx) => tx.txid));
    const final: WaitingTx[] = [];
    const fallen: FallenTx[] = [];
    for (const tx of txs) {
      const blockId = tx.block_id.toString('hex');
      // What was recorded by a node that told another time falls away too: rentals are counted from the block's own.
      const stands = blockId === block.id && tx.block_at.getTime() === block.timestampMs;
      if (stands && present.has(tx.txid.toString('hex'))) final.push(tx);
      else fallen.push({ id: tx.id, blockId });
    }
    if (final.length > 0) {
      crashPoint('record-solid.before');
      const { orders, moved, settled } = await this.database.transaction(async (tx) => recordSolid(tx, final, block));
      crashPoint('record-solid.after');
      this.progress.transactions('solid', newsOf(moved, orders), { block: number });
      const byId = new Map(orders.map((row) => [row.id, identityOf(row)]));
      this.progress.orders(
        'settled',
        settled.flatMap(({ id, age_sec: ageSec }) => {
          const order = byId.get(id);
          return order === undefined ? [] : [{ order, ageSec }];
        }),
      );
    }
    if (fallen.length > 0) this.logger.warn({ block: number, count: fallen.length }, 'a block fell away');
    await this.inclusion.fallAway(fallen);
  }

  /** The solid block at `number` that all healthy nodes which have one agree on; undefined when none or no agreement. */
  private async agreedBlock(number: number): Promise<Block | undefined> {
    const answers = await Promise.all(
      this.client.pool.healthy().map(async (node) =>
        solidBlockOf(node, number).catch((error: unknown) => {
          this.logger.warn({ node: node.name, fault: messageOf(error) }, 'no solid block from a node');
          return undefined;
        }),
      ),
    );
    const blocks = answers.flatMap((block) => block ?? []);
    const [first] = blocks;
    const isSame = (block: Block): boolean => block.id === first?.id && block.timestampMs === first.timestampMs;
    if (first === undefined || blocks.every(isSame)) return first;
    this.logger.error({ block: number }, 'nodes disagree on a solid block');
    return undefined;
  }
}

interface Solid {
  readonly orders: readonly IdentityRow[];
  readonly moved: readonly MovedTx[];
  readonly settled: readonly { id: bigint; age_sec: number }[];
}

async function recordSolid(tx: Queryable, final: readonly WaitingTx[], block: Block): Promise<Solid> {
  const ids = final.map((entry) => entry.id);
  const locked = await tx.query<IdentityRow>(LOCK_ORDERS, [ids]);
  const moved = await tx.query<MovedTx>(MARK_SOLID, [ids, Buffer.from(block.id, 'hex')]);
  const orders = [...new Set(moved.map((entry) => entry.order_id))];
  const returned = moved.filter((entry) => entry.purpose === 'reclaim').map((entry) => entry.leg_id);
  if (returned.length > 0) await tx.query(RECLAIMED_LEGS, [returned]);
  const settled =
    returned.length < moved.length ? await tx.query<Solid['settled'][number]>(SETTLE_ORDERS, [orders]) : [];
  await tx.query(FINISH_ORDERS, [orders]);
  return { orders: locked, moved, settled };
}
