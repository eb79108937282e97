/**
 * Follows new blocks: fills gaps, reverts replaced blocks and passes the blocks' transactions to inclusion. A failed
 * record is retried at each call.
 */
import { Injectable } from '@nestjs/common';
import { BackendWait } from '../../../platform/chain/backend-wait.js';
import type { Block, BlockHeader } from '../../../platform/chain/block.js';
import { NodeError } from '../../../platform/chain/errors.js';
import type { TronNode } from '../../../platform/chain/node.js';
import { headerOf, placeOf, TronClient } from '../../../platform/chain/tron.client.js';
import { Database, isDatabaseAway, isLockTimeout } from '../../../platform/database/database.js';
import { DeadlineError, withDeadline } from '../../../platform/support/clock.js';
import { UseObserver } from '../../auto-delegations/use-observer.js';
import type { NetworkTotals } from '../../pool/bandwidth-stake.js';
import { BlockReader } from './block-reader.js';
import { Inclusion, type RevertedTx } from './inclusion.js';
import { PendingInclusions, type PendingInclusion } from './pending-inclusions.js';
import { RecentActs } from './recent-acts.js';

/**
 * Limits how far back replaced blocks are looked for, and how many missed blocks are read. It exceeds any real fork.
 */
const BLOCKS_BACK_MAX = 64;
/** Limit of a step's wait for blocks. The next step continues to wait for them. */
const FOLLOW_WAIT_MS = 5_000;
/** Time limit for reading the transactions of an unreadable block one by one. */
const ACTS_WAIT_MS = 5_000;

const INCLUDED_BETWEEN = {
  name: 'txs_included_between',
  text: `SELECT id, order_id, txid, block_number, block_id FROM open_chain_tx
    WHERE stage = 'open' AND status = 'included' AND block_number BETWEEN $1 AND $2 LIMIT 5000`,
};

/**
 * The first block that may hold a transaction not yet final. That is the block of an included one, or the block after
 * the reference of a sent one. Read once, at the start.
 */
const OLDEST_OPEN = {
  name: 'oldest_open',
  text: `SELECT least((SELECT min(block_number) FROM open_chain_tx WHERE stage = 'open' AND status = 'included' AND block_number > $1),
      (SELECT min(ref_block_number) + 1 FROM open_chain_tx WHERE stage = 'open' AND status = 'sending' AND ref_block_number > $1)) AS number`,
};

/** The transactions to look up in a block that nodes cannot return whole. */
const EXPECTED = {
  name: 'txs_expected',
  text: `SELECT txid FROM open_chain_tx WHERE stage = 'open' AND status IN ('sending', 'included') ORDER BY id DESC LIMIT 5000`,
};

const WALLETS = { name: 'own_addresses', text: `SELECT address FROM pool_wallet` };

@Injectable()
export class NewBlocks {
  /** Block number → id of each followed block. */
  private readonly followed = new Map<number, string>();
  private lastFollowed: number | undefined;
  private readonly parentWait = new BackendWait();
  private readonly pendingInclusions = new PendingInclusions();
  private following: Promise<bigint[]> | undefined;

  constructor(
    private readonly client: TronClient,
    private readonly database: Database,
    private readonly blockReader: BlockReader,
    private readonly inclusion: Inclusion,
    private readonly recentActs: RecentActs,
    private readonly useObserver: UseObserver,
  ) {}

  isFollowed(head: BlockHeader): boolean {
    return this.followed.get(head.number) === head.id;
  }

  /** The number of transactions in followed blocks that could not be recorded yet. */
  get pending(): number {
    return this.pendingInclusions.size;
  }

  /**
   * Follows blocks up to `head`. Ends its wait before a slow block keeps the view from being renewed; the next call
   * continues. Returns the ids of the delivered orders.
   */
  async follow(node: TronNode, head: BlockHeader, ratio: NetworkTotals): Promise<bigint[]> {
    this.following ??= this.followTo(node, head, ratio).finally(() => {
      this.following = undefined;
    });
    try {
      return await withDeadline(this.following, FOLLOW_WAIT_MS, 'following the chain');
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      return [];
    }
  }

  /** Retries pending inclusions when no block is new. */
  async retryPendingInclusions(): Promise<bigint[]> {
    return this.includeBlocks(this.pendingInclusions.due((block) => this.followed.get(block.number) === block.id));
  }

  private async followTo(node: TronNode, head: BlockHeader, ratio: NetworkTotals): Promise<bigint[]> {
    const chain: BlockHeader[] = [head];
    const isFirst = this.lastFollowed === undefined;
    const oldest = isFirst ? await this.findFirstToRead(head.number) : head.number - BLOCKS_BACK_MAX;
    // Walk back until the parent is a known block. This one rule fills gaps and finds where a fork began.
    for (let number = head.number - 1; number >= Math.max(0, oldest); number -= 1) {
      const child = chain.at(-1);
      if (child === undefined || this.followed.get(number) === child.parentId) break;
      const header = await headerOf(node, number);
      // A gap would never be filled: the next step finds its own parent followed.
      if (header === undefined && this.parentWait.keepWaiting()) return [];
      if (header?.id !== child.parentId) break;
      chain.push(header);
    }
    const fresh: Block[] = [];
    for (const header of chain) {
      const block = await this.readBlock(node, header);
      // The block was replaced after its header was read. The next step sees its replacement.
      if (block === undefined) return [];
      fresh.push(block);
    }
    fresh.reverse();
    await this.revertReplaced(node, fresh, isFirst);
    const wallets = new Set((await this.database.query<{ address: string }>(WALLETS)).map(({ address }) => address));
    for (const block of fresh) {
      const known = await this.blockReader.withActs(block, 'full', ACTS_WAIT_MS);
      if (known !== undefined) this.recentActs.record(known, wallets);
    }
    await this.useObserver.observeBlocks(fresh);
    for (const block of fresh) this.followed.set(block.number, block.id);
    this.lastFollowed = head.number;
    this.parentWait.end();
    const late = this.pendingInclusions.due((block) => this.followed.get(block.number) === block.id);
    const news = fresh.map((block) => ({
      block,
      ratio,
      txids: block.transactions.filter((tx) => tx.succeeded).map((tx) => tx.txid),
    }));
    const delivered = await this.includeBlocks([...late, ...news]);
    // Keep blocks above a head that a fork lowered: new blocks at the same heights replace them.
    for (const number of this.followed.keys()) {
      if (number < head.number - BLOCKS_BACK_MAX) this.followed.delete(number);
    }
    return delivered;
  }

  /**
   * Records the transactions of blocks. A failing block does not stop the others; the first error is thrown at the end.
   */
  private async includeBlocks(parts: readonly PendingInclusion[]): Promise<bigint[]> {
    const delivered: bigint[] = [];
    let fault: { readonly error: unknown } | undefined;
    for (const { block, txids, ratio } of parts) {
      // If the whole database is unavailable, do not try it again for every block.
      const isHopeless = fault !== undefined && (isDatabaseAway(fault.error) || isLockTimeout(fault.error));
      try {
        const applied = isHopeless ? undefined : await this.inclusion.includeBlock(block, txids, ratio);
        this.pendingInclusions.set(block, applied?.left ?? txids, ratio);
        delivered.push(...(applied?.delivered ?? []));
      } catch (error) {
        this.pendingInclusions.set(block, txids, ratio);
        fault ??= { error };
      }
    }
    if (fault !== undefined) throw fault.error;
    return delivered;
  }

  /** Returns the block of a header, or undefined if the chain now has another block there. Throws NodeError. */
  private async readBlock(node: TronNode, header: BlockHeader): Promise<Block | undefined> {
    try {
      return await this.blockReader.read(node, header, 'full', async () => {
        const rows = await this.database.query<{ txid: Buffer }>(EXPECTED);
        return rows.map(({ txid }) => txid.toString('hex'));
      });
    } catch (error) {
      if (error instanceof NodeError && error.kind === 'unhealthy') return undefined;
      throw error;
    }
  }

  /**
   * A starting process reads back to the first block that may hold a live transaction in any state, at most 64 blocks.
   * Forks and inclusions may have happened while it was down. Older transactions are found by their order's look-up or
   * proven dead.
   */
  private async findFirstToRead(headNumber: number): Promise<number> {
    const [row] = await this.database.query<{ number: bigint | null }>(OLDEST_OPEN, [headNumber - BLOCKS_BACK_MAX]);
    const oldest = row?.number ?? null;
    return Math.min(headNumber - 1, oldest === null ? headNumber - 1 : Number(oldest));
  }

  /**
   * Reverts transactions recorded in blocks that `fresh` replaced, unless another healthy node still has them there.
   */
  private async revertReplaced(node: TronNode, fresh: readonly Block[], isFirst: boolean): Promise<void> {
    const [first, last] = [fresh[0], fresh.at(-1)];
    if (first === undefined || last === undefined) return;
    const replaced = fresh.some((block) => {
      const known = this.followed.get(block.number);
      return known !== undefined && known !== block.id;
    });
    if (!replaced && !isFirst) return;
    const rows = await this.database.query<{
      id: bigint;
      order_id: bigint;
      txid: Buffer;
      block_number: bigint;
      block_id: Buffer;
    }>(INCLUDED_BETWEEN, [first.number, last.number]);
    const current = new Map(fresh.map((block) => [block.number, block.id]));
    const reverted: RevertedTx[] = [];
    for (const row of rows) {
      const blockId = row.block_id.toString('hex');
      if (current.get(Number(row.block_number)) === blockId) continue;
      if (await this.isOnAnotherNode(node, row.txid.toString('hex'), Number(row.block_number), blockId)) continue;
      reverted.push({ id: row.id, orderId: row.order_id, blockId });
    }
    await this.inclusion.revertTransactions(reverted);
  }

  private async isOnAnotherNode(asked: TronNode, txid: string, number: number, blockId: string): Promise<boolean> {
    for (const node of this.client.pool.healthy()) {
      if (node === asked) continue;
      const place = await placeOf(node, txid).catch(() => undefined);
      if (place?.blockNumber !== number) continue;
      const block = await headerOf(node, number).catch(() => undefined);
      if (block?.id === blockId) return true;
    }
    return false;
  }
}
