/**
 * Acts of our wallets that stand on chain without a record, after a restored backup or behind our back: searched block
 * by block in the solid chain, kept, and after a grace time reclaimed, each as an order of its own through the very
 * machinery that ends rentals. Nobody else adds to orphan_tx.
 */
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError, NodeError } from '../chain/errors.js';
import { parseTransaction } from '../chain/signed-transaction.js';
import { DELEGATE_TYPE } from '../chain/transaction-owner.js';
import type { TronNode } from '../chain/node.js';
import { solidHeaderOf, solidHeadOf, solidPlaceOf, TronClient } from '../chain/tron.client.js';
import { Config } from '../config/config.js';
import { Log } from '../observability/logger.js';
import { DELEGATION_MIN_SUN } from '../pool/energy-ratio.js';
import { Database } from '../store/database.js';
import { excessSun } from '../verify/delegation-check.js';
import { forEachConcurrently } from '../base/concurrency.js';
import { RECOVERY_PROJECT } from '../verify/recovery.js';
import {
  OWN_WALLETS,
  Signatories,
  unrecordedActsIn,
  type OwnWallet,
  type UnrecordedAct,
} from '../verify/unrecorded-acts.js';
import type { Block } from '../chain/block.js';
import { BlockReader } from '../fulfilment/follow/block-reader.js';
import { BackupRecovery } from './backup-recovery.js';

/** Where a service that never searched begins, before the solid head: what it bought before it existed is not ours. */
const FIRST_SEARCH_BLOCKS = 60;
/** Held at once while it catches up; else one by one: as JSON a full block is some megabytes. */
const CHUNK_BLOCKS = 8;
/** Twice what a minute brings; fewer are read one by one. */
const CATCHING_UP_BLOCKS = 40;
/** A pass is bounded; an older gap is closed by the passes that follow. Some 17 hours of the main network. */
const PASS_BLOCKS_MAX = 20_000;
const BLOCKS_AT_ONCE = 4;
const ADOPTIONS_MAX = 200;
/** How long the transactions of a block that cannot be read are asked after one by one. */
const ACTS_WAIT_MS = 30_000;
/** Passes, a minute apart, at which a block that was passed unsearched is tried again; and how many such blocks. */
const UNSEARCHED_TRIES = 60;
const UNSEARCHED_MAX = 100;
const UNSEARCHED_OFFSET = (UNSEARCHED_MAX - 1).toString();

const KEEP = `INSERT INTO orphan_tx (txid, wallet_id, type, by_own_key, receive_address, amount_sun, raw_data, signature,
    block_number, block_id, block_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING RETURNING txid`;

const MOVE_CURSOR = `UPDATE reconcile_state SET scanned_to = $1, scanned_at = coalesce($4, scanned_at), lease_until = clock_timestamp() + $3 * interval '1 second'
  WHERE fence = $2 RETURNING true`;

const UNSEARCHED = `SELECT number, tries FROM unsearched_block ORDER BY number`;
const SEARCHED = `DELETE FROM unsearched_block WHERE number = $1`;
const TRIED = `UPDATE unsearched_block SET tries = tries + 1 WHERE number = $1`;
/** The oldest make way: they were tried most. */
const PASS_UNSEARCHED = `WITH old AS (DELETE FROM unsearched_block WHERE number <= (
    SELECT number FROM unsearched_block ORDER BY number DESC OFFSET ${UNSEARCHED_OFFSET} LIMIT 1))
  INSERT INTO unsearched_block (number) VALUES ($1) ON CONFLICT DO NOTHING`;

const CAUGHT_UP = `UPDATE reconcile_state SET searched_at = clock_timestamp() WHERE fence = $1`;

const DUE = `SELECT o.txid, o.wallet_id, w.address, w.permission_id, o.receive_address, o.amount_sun, o.raw_data, o.signature,
    o.block_number, o.block_id, o.block_at
  FROM orphan_tx o JOIN pool_wallet w ON w.id = o.wallet_id
  WHERE o.type = $1 AND o.order_id IS NULL AND o.gone_at IS NULL AND o.seen_at <= clock_timestamp() - $2 * interval '1 second'
  ORDER BY o.block_number, o.txid LIMIT $3`;

/** As if it had been sold for nothing to nobody and had ended at once: its return is due at the next look. */
const ADOPT_ORDER = `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec,
    price_sun, credits, trx_usd_e8, settled, delivered_energy, created_at, delivered_at, ends_at)
  VALUES ($1, $2, $3, 'rental', 'delivered', $4, 1, 1, 1, 1, 1, true, 1, clock_timestamp(), $5, $5::timestamptz + interval '1 second')
  ON CONFLICT DO NOTHING RETURNING id`;

const ADOPT_LEG = `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at)
  VALUES ($1, 1, 'rental', $2, $3, $4, 1, 'active', $5) RETURNING id`;

const ADOPT_TX = `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature,
    ref_block_number, expires_at, block_number, block_id, block_at)
  VALUES ($1, $2, 'delegate', 1, $3, 'solid', $4, $5, $6, $7, $8, $7, $9, $10)
  ON CONFLICT (txid) DO UPDATE SET order_id = excluded.order_id, leg_id = excluded.leg_id, purpose = excluded.purpose,
    attempt = excluded.attempt, status = excluded.status, signature = excluded.signature, block_number = excluded.block_number,
    block_id = excluded.block_id, block_at = excluded.block_at
    WHERE chain_tx.status IN ('dead', 'dropped')`;

interface DueRow {
  readonly txid: Buffer;
  readonly wallet_id: number;
  readonly address: string;
  readonly permission_id: number;
  readonly receive_address: string;
  readonly amount_sun: bigint;
  readonly raw_data: Buffer;
  readonly signature: Buffer | null;
  readonly block_number: bigint;
  readonly block_id: Buffer;
  readonly block_at: Date;
}

/** The reconciler's turn: who lost it changes nothing more. */
export interface Turn {
  readonly fence: number;
  readonly leaseSec: number;
  readonly scannedTo: number | undefined;
}

@Injectable()
export class UnrecordedTransactions {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly blocks: BlockReader,
    private readonly recovery: BackupRecovery,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /**
   * Searches the solid blocks since the last pass. Returns how many blocks are left unsearched. Throws
   * ChainUnavailableError; what was searched by then stays searched.
   */
  async search(turn: Turn): Promise<number> {
    const wallets = await this.database.query<OwnWallet>(OWN_WALLETS);
    const signatories = new Signatories(this.database, this.client);
    const head = await this.client.pool.ask('the solid head', (node) => solidHeadOf(node));
    let next = Math.max(0, turn.scannedTo ?? head.number - FIRST_SEARCH_BLOCKS) + 1;
    const last = Math.min(head.number, next + PASS_BLOCKS_MAX - 1);
    const chunk = last - next < CATCHING_UP_BLOCKS ? 1 : CHUNK_BLOCKS;
    const searchBlock = async (block: Block): Promise<void> => {
      const acts = await unrecordedActsIn(this.database, signatories, block, wallets);
      await this.confirm(block, acts);
      for (const act of acts) {
        if (!(await this.recovery.recall(act, block))) await this.keep(act, block);
      }
    };
    await this.searchAgain(searchBlock);
    while (next <= last) {
      const to = Math.min(last, next + chunk - 1);
      let scannedAt: Date | undefined;
      for (const block of await this.solidBlocks(next, to)) {
        await searchBlock(block);
        scannedAt = new Date(block.timestampMs);
      }
      if ((await this.database.query(MOVE_CURSOR, [to, turn.fence, turn.leaseSec, scannedAt ?? null])).length === 0)
        return 0;
      next = to + 1;
    }
    if (last >= head.number) await this.database.query(CAUGHT_UP, [turn.fence]);
    return Math.max(0, head.number - last);
  }

  /**
   * One node's word is no accusation, for a block's id says nothing of the bytes in it: where two are configured, two
   * must have these acts there. Throws ChainUnavailableError while they do not; the block is then searched again.
   */
  private async confirm(block: Block, acts: readonly UnrecordedAct[]): Promise<void> {
    const nodes = this.client.pool.nodes.filter(
      (node, index, all) => all.findIndex(({ witness }) => witness === node.witness) === index,
    );
    if (acts.length === 0 || nodes.length < 2) return;
    const faults: unknown[] = [];
    let agreed = 0;
    for (const node of nodes) {
      try {
        if (await hasThere(node, block, acts)) agreed += 1;
        else faults.push(new NodeError(node.name, 'nonsense', 'its solid block holds other acts of our wallets'));
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        faults.push(error);
      }
      if (agreed === 2) return;
    }
    throw new ChainUnavailableError('a solid block as two nodes have it', faults);
  }

  /** Reclaims what stands longer than its grace, as orders that are due at once. Throws ChainUnavailableError. */
  async reclaim(): Promise<void> {
    const due = await this.database.query<DueRow>(DUE, [DELEGATE_TYPE, this.config.pool.orphanGraceSec, ADOPTIONS_MAX]);
    // One by one: what one takes on is no longer in excess for the next of the same receiver.
    for (const row of due) await this.adopt(row);
  }

  private async keep(
    { txid, rawData, signature, walletId, byOwnKey, act }: UnrecordedAct,
    block: Block,
  ): Promise<void> {
    const kept = await this.database.query(KEEP, [
      Buffer.from(txid, 'hex'),
      walletId,
      act.type,
      byOwnKey,
      act.receiver ?? null,
      act.amountSun ?? null,
      rawData,
      signature ?? null,
      block.number,
      Buffer.from(block.id, 'hex'),
      new Date(block.timestampMs),
    ]);
    if (kept.length === 0) return;
    this.log.error(
      { txid, walletId, byOwnKey, type: act.type, receiver: act.receiver, block: block.number },
      'an act of a wallet of ours stands on chain without a record',
    );
  }

  private async adopt(row: DueRow): Promise<void> {
    const wallet = { id: row.wallet_id, address: row.address, permission_id: row.permission_id };
    const excess = await excessSun(this.database, this.client, wallet, row.receive_address);
    if (excess === 0n) {
      await this.database.query(`UPDATE orphan_tx SET gone_at = clock_timestamp() WHERE txid = $1`, [row.txid]);
      return;
    }
    const parsed = parseTransaction(row.raw_data);
    const fields = { txid: row.txid.toString('hex'), wallet: row.address, receiver: row.receive_address };
    // Reclaiming more than stands in excess would take it from a rental of the same receiver: delegations merge.
    if (excess < row.amount_sun || row.amount_sun < DELEGATION_MIN_SUN) {
      this.log.warn({ ...fields, excess: excess.toString() }, 'an orphan is not reclaimed: less than it stands there');
      return;
    }
    if (parsed === undefined || row.signature === null) {
      this.log.warn(fields, 'an orphan is not reclaimed by itself: locked, or signed by several');
      return;
    }
    const orderId = await this.insert(row, parsed.expiresAtMs);
    if (orderId !== undefined) this.log.warn({ ...fields, orderId: orderId.toString() }, 'an orphan is reclaimed');
  }

  /** The order's key makes it happen once, whoever else does the same at the same time. */
  private async insert(row: DueRow, expiresAtMs: number): Promise<bigint | undefined> {
    return this.database.transaction(async (tx) => {
      const key = `orphan:${row.txid.toString('hex')}`;
      const hash = createHash('sha256').update(key).digest();
      const orderParams = [RECOVERY_PROJECT, key, hash, row.receive_address, row.block_at];
      const [order] = await tx.query<{ id: bigint }>(ADOPT_ORDER, orderParams);
      if (order === undefined) return undefined;
      const legParams = [order.id, row.wallet_id, row.receive_address, row.amount_sun, row.block_at];
      const [leg] = await tx.query<{ id: bigint }>(ADOPT_LEG, legParams);
      await tx.query(ADOPT_TX, [
        order.id,
        leg?.id,
        row.wallet_id,
        row.txid,
        row.raw_data,
        row.signature,
        row.block_number,
        new Date(expiresAtMs),
        row.block_id,
        row.block_at,
      ]);
      await tx.query(`UPDATE orphan_tx SET order_id = $2 WHERE txid = $1`, [row.txid, order.id]);
      return order.id;
    });
  }

  /** Blocks that were passed unsearched, by whichever worker; a node may have mended meanwhile. */
  private async searchAgain(searchBlock: (block: Block) => Promise<void>): Promise<void> {
    for (const { number, tries } of await this.database.query<{ number: bigint; tries: number }>(UNSEARCHED)) {
      const block = await this.solidBlock(Number(number));
      if (block !== undefined) await searchBlock(block);
      const isOver = block !== undefined || tries + 1 >= UNSEARCHED_TRIES;
      await this.database.query(isOver ? SEARCHED : TRIED, [number]);
    }
  }

  /** Read side by side, processed in their order: a return is understood only after its delivery. */
  private async solidBlocks(from: number, to: number): Promise<Block[]> {
    const blocks = new Map<number, Block>();
    const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    await forEachConcurrently(numbers, BLOCKS_AT_ONCE, async (number) => {
      const block = await this.solidBlock(number);
      // Before the cursor moves past it.
      if (block === undefined) await this.database.query(PASS_UNSEARCHED, [number]);
      else blocks.set(number, block);
    });
    return [...blocks.values()].sort((a, b) => a.number - b.number);
  }

  /** undefined when what it holds cannot be read in any way: such a block is passed, and read again for a while. */
  private async solidBlock(number: number): Promise<Block | undefined> {
    const { node, block } = await this.client.pool.ask('a solid block', async (node) => {
      const header = await solidHeaderOf(node, number);
      if (header === undefined) throw new NodeError(node.name, 'unhealthy', `has no solid block ${number.toString()}`);
      return { node, block: await this.blocks.read(node, header, 'solid', () => Promise.resolve([])) };
    });
    const known = await this.blocks.withActs(block, 'solid', ACTS_WAIT_MS);
    if (known !== undefined) {
      await this.compare(node, known);
      return known;
    }
    this.blocks.report(block, 'unsearched');
    return undefined;
  }

  /**
   * What one node leaves out of a block is not missed: another witness has the same transactions in it, or cannot say.
   * Throws ChainUnavailableError while they contradict each other; then the block is read anew.
   */
  private async compare(node: TronNode, block: Block): Promise<void> {
    const contradicting: TronNode[] = [];
    for (const other of this.client.pool.agreement.witnesses) {
      if (other.witness === node.witness) continue;
      const outcomes = await outcomesAt(other, block);
      if (outcomes === undefined) continue;
      if (outcomes === outcomesOf(block)) return;
      contradicting.push(other);
    }
    if (contradicting.length === 0) return;
    for (const each of [node, ...contradicting]) each.blocks.forget(block);
    const faults = contradicting.map(({ name }) => new NodeError(name, 'nonsense', 'has other transactions in it'));
    throw new ChainUnavailableError(`the transactions of the solid block ${block.number.toString()}`, faults);
  }
}

/** The transactions of a block with how each ended, in order, as one text. */
function outcomesOf({ transactions }: Block): string {
  return transactions.map(({ txid, succeeded }) => `${txid} ${succeeded.toString()}`).join(' ');
}

/** The same by this witness; undefined when it has no such block, or does not answer. */
async function outcomesAt(node: TronNode, block: Block): Promise<string | undefined> {
  try {
    const header = await solidHeaderOf(node, block.number);
    return header?.id === block.id ? outcomesOf(await node.blocks.contentOf('solid', header)) : undefined;
  } catch (error) {
    if (error instanceof NodeError) return undefined;
    throw error;
  }
}

/** Whether the node's solid chain has these acts in this very block. Throws NodeFault. */
async function hasThere(node: TronNode, block: Block, acts: readonly UnrecordedAct[]): Promise<boolean> {
  if ((await solidHeaderOf(node, block.number))?.id !== block.id) return false;
  for (const { txid } of acts) {
    if ((await solidPlaceOf(node, txid))?.blockNumber !== block.number) return false;
  }
  return true;
}
