/**
 * Follows the chain block by block: renews the view, passes new blocks to inclusion, detects replaced blocks and
 * triggers settlement. Nothing is missed for good. Each step retries failed records, and an order's own look-up finds
 * anything that the follower did not see.
 */
import { Injectable } from '@nestjs/common';
import { BackendWait } from '../../../platform/chain/backend-wait.js';
import type { Block, BlockHead, BlockHeader } from '../../../platform/chain/block.js';
import { ChainUnavailableError, NodeError } from '../../../platform/chain/errors.js';
import type { TronNode } from '../../../platform/chain/node.js';
import { UseObserver } from '../../auto-delegations/use-observer.js';
import { headerOf, placeOf, solidHeadOf, TronClient } from '../../../platform/chain/tron.client.js';
import { Config } from '../../../platform/config/config.js';
import { DeadlineError, monotonicMs, withDeadline } from '../../../platform/support/clock.js';
import { AgreedRatio, DOUBTFUL_RATIO, DOUBTFUL_RATIO_EFFECT } from '../../pool/agreed-ratio.js';
import type { EnergyRatio } from '../../pool/energy-ratio.js';
import { Log } from '../../../platform/observability/logger.js';
import { Database, isDatabaseAway, isLockTimeout } from '../../../platform/database/database.js';
import { PendingInclusions, type PendingInclusion } from './pending-inclusions.js';
import { BlockReader } from './block-reader.js';
import { ChainView } from './chain-view.js';
import { Inclusion, type RevertedTx } from './inclusion.js';
import { RecentActs } from './recent-acts.js';
import { Settlement, type Unsettled } from './settlement.js';

/**
 * Limits how far back replaced blocks are looked for, and how many missed blocks are read. It exceeds any real fork.
 */
const BLOCKS_BACK_MAX = 64;
/** Limit of a step's wait for blocks. The next step continues to wait for them. */
const FOLLOW_WAIT_MS = 5_000;
/** Time limit for reading the transactions of an unreadable block one by one. */
const ACTS_WAIT_MS = 5_000;

/** Limit of a step's wait for the solid head. The next step uses a late answer. */
const SOLID_WAIT_MS = 1_500;
/** TRON: a block is solid once 19 of 27 producers have built on it. More than twice that depth is beyond doubt. */
const FINAL_BLOCKS = 60;
/** Placeholder until a solid head is known. Nothing is final by it. */
const NO_BLOCK: BlockHead = { number: 0, id: '0'.repeat(64), timestampMs: 0 };

const INCLUDED_BETWEEN = {
  name: 'txs_included_between',
  text: `SELECT id, order_id, txid, block_number, block_id FROM open_chain_tx
    WHERE status = 'included' AND block_number BETWEEN $1 AND $2 LIMIT 5000`,
};

/**
 * The first block that may hold a transaction not yet final. That is the block of an included one, or the block after
 * the reference of a sent one. Read once, at the start.
 */
const OLDEST_OPEN = {
  name: 'oldest_open',
  text: `SELECT least((SELECT min(block_number) FROM open_chain_tx WHERE status = 'included' AND block_number > $1),
      (SELECT min(ref_block_number) + 1 FROM open_chain_tx WHERE status = 'sending' AND ref_block_number > $1)) AS number`,
};

const ANY_WALLET = { name: 'any_wallet', text: `SELECT address FROM pool_wallet ORDER BY id LIMIT 1` };
/** The transactions to look up in a block that nodes cannot return whole. */
const EXPECTED = {
  name: 'txs_expected',
  text: `SELECT txid FROM (SELECT id, txid FROM open_chain_tx WHERE status = 'sending'
      UNION ALL SELECT id, txid FROM open_chain_tx WHERE status = 'included') t ORDER BY id DESC LIMIT 5000`,
};

const WALLETS = { name: 'own_addresses', text: `SELECT address FROM pool_wallet` };

function isKnown(solid: BlockHead): boolean {
  return solid !== NO_BLOCK;
}

export interface ChainStep {
  readonly head: BlockHead;
  /** The chain time that no node contradicts; 0 while nodes contradict each other. */
  readonly clockMs: number;
  readonly advanced: boolean;
  readonly delivered: readonly bigint[];
}

/** The lag of the records behind the known chain. */
export interface FollowerLag {
  /** Seconds since the last step that processed every new block. */
  readonly followAgeSec: number;
  /** Seconds since settlement last processed all waiting transactions. */
  readonly settleAgeSec: number;
  /** Transactions in blocks that could not be recorded: another session holds their rows, or recording fails. */
  readonly heldTransactions: number;
  /** Number of blocks from the oldest one with unsettled transactions up to the solid head. */
  readonly unsettledBlocks: number;
}

@Injectable()
export class Follower {
  /** Block number → id of each followed block. */
  private readonly followed = new Map<number, string>();
  private lastFollowed: number | undefined;
  private readonly parentWait = new BackendWait();
  private readonly pendingInclusions = new PendingInclusions();
  private readonly agreedRatio: AgreedRatio;
  private following: Promise<bigint[]> | undefined;
  private settledTo = -1;
  private unsettled: Unsettled = { left: 0, fromBlock: undefined };
  /** End of the last complete step; `settledAtMs` is the same for settlement. */
  private followedAtMs = monotonicMs();
  private lastSolid: BlockHead = NO_BLOCK;
  private readingSolid: Promise<BlockHead> | undefined;
  private solidFault: string | undefined;
  private settledAtMs = monotonicMs();

  constructor(
    private readonly client: TronClient,
    private readonly database: Database,
    private readonly blockReader: BlockReader,
    private readonly inclusion: Inclusion,
    private readonly settlement: Settlement,
    private readonly chainView: ChainView,
    private readonly recentActs: RecentActs,
    private readonly useObserver: UseObserver,
    private readonly config: Config,
    private readonly logger: Log,
  ) {
    this.agreedRatio = new AgreedRatio(client, (nodes) =>
      logger.warn({ nodes, effect: DOUBTFUL_RATIO_EFFECT }, DOUBTFUL_RATIO),
    );
  }

  /** Reads the chain once. Throws ChainUnavailableError if no node answers. */
  async step(): Promise<ChainStep> {
    let isHeadKnown = false;
    const step = this.client.pool.ask('the head', async (node) => {
      const head = await node.readHead();
      isHeadKnown = true;
      const advanced = this.followed.get(head.number) !== head.id;
      const { agreement } = this.client.pool;
      const { dispute } = agreement;
      // One node that alone reports a later time must not end a rental early. An earlier time only delays the end.
      const clockMs = dispute === undefined ? Math.min(head.timestampMs, agreement.clockMs) : 0;
      this.chainView.advanceClock(clockMs);
      if (!advanced) {
        const delivered = await this.retryPendingInclusions();
        this.followedAtMs = monotonicMs();
        return { head, clockMs, advanced, delivered };
      }
      const [solid, ratio] = await Promise.all([this.readSolidHead(node, head), this.readRatio()]);
      const reference = isKnown(solid) ? solid : await this.readReferenceBlock(node, head);
      if (dispute !== undefined) this.logger.error({ ...dispute }, 'nodes disagree');
      this.chainView.update({ head, solid, reference, ratio, isDisputed: dispute !== undefined });
      const delivered = await this.followWithin(node, head, ratio);
      if (this.followed.get(head.number) === head.id) this.followedAtMs = monotonicMs();
      return { head, clockMs, advanced, delivered };
    });
    return step.finally(() => {
      // Without a known head the follower cannot lag.
      if (!isHeadKnown) this.followedAtMs = monotonicMs();
    });
  }

  /** Settles the transactions of new solid blocks, and those left from the last call. */
  async settle(): Promise<void> {
    const { current } = this.chainView;
    if (current === undefined || this.client.pool.agreement.dispute !== undefined) {
      this.settledAtMs = monotonicMs();
      return;
    }
    if (current.solid.number !== this.settledTo || this.unsettled.left > 0) {
      this.unsettled = await this.settlement.settle(current.solid);
      this.settledTo = current.solid.number;
    }
    this.settledAtMs = monotonicMs();
  }

  get lag(): FollowerLag {
    const { left, fromBlock } = this.unsettled;
    return {
      followAgeSec: (monotonicMs() - this.followedAtMs) / 1000,
      settleAgeSec: (monotonicMs() - this.settledAtMs) / 1000,
      heldTransactions: this.pendingInclusions.size + left,
      // Measured from the solid head of that settlement. The view may since show a lower one, from another node.
      unsettledBlocks: fromBlock === undefined ? 0 : this.settledTo - fromBlock + 1,
    };
  }

  /**
   * Returns the solid head, or the last known one while the solid port does not answer. Deliveries and reclaims follow
   * the head, so only settlement waits. A silent port is waited for only briefly.
   */
  private async readSolidHead(node: TronNode, head: BlockHeader): Promise<BlockHead> {
    this.readingSolid ??= this.readAnySolidHead(node).finally(() => {
      this.readingSolid = undefined;
    });
    try {
      const solid = await withDeadline(this.readingSolid, SOLID_WAIT_MS, 'the solid head');
      if (this.solidFault !== undefined) this.logger.warn({ node: node.name }, 'solid port answered again');
      this.solidFault = undefined;
      // Another node may be ahead of the node that returned this head.
      if (solid.number <= head.number) this.lastSolid = solid;
    } catch (error) {
      const isOutage =
        error instanceof NodeError || error instanceof DeadlineError || error instanceof ChainUnavailableError;
      if (!isOutage) throw error;
      if (this.solidFault === undefined) {
        this.logger.error(
          { node: node.name, fault: error.message, effect: 'settlement waits' },
          'failed to reach the solid port',
        );
      }
      this.solidFault = error.message;
    }
    return this.lastSolid;
  }

  /** Asks the node that returned the head first, then any other whose solid port answers. */
  private async readAnySolidHead(node: TronNode): Promise<BlockHead> {
    try {
      return await solidHeadOf(node);
    } catch (error) {
      if (!(error instanceof NodeError) || this.client.pool.nodes.length === 1) throw error;
      return this.client.pool.ask('the solid head', solidHeadOf);
    }
  }

  /**
   * Returns a block of the full port that is final on any healthy network. Transactions refer to it until a solid head
   * is known.
   */
  private async readReferenceBlock(node: TronNode, head: BlockHeader): Promise<BlockHead> {
    return (await headerOf(node, Math.max(0, head.number - FINAL_BLOCKS))) ?? head;
  }

  /**
   * Reads the network's totals. The resources of any existing account show them: the token contract, or a wallet of
   * ours.
   */
  private async readRatio(): Promise<EnergyRatio> {
    const wallets = await this.database.query<{ address: string }>(ANY_WALLET);
    let fault: unknown;
    for (const address of [this.config.chain.tokenContract, ...wallets.map((wallet) => wallet.address)]) {
      try {
        return await this.agreedRatio.read(address);
      } catch (error) {
        fault = error;
      }
    }
    throw fault;
  }

  /** Follows blocks beside the step, so that a slow block does not keep the view from being renewed. */
  private async followWithin(node: TronNode, head: BlockHeader, ratio: EnergyRatio): Promise<bigint[]> {
    this.following ??= this.follow(node, head, ratio).finally(() => {
      this.following = undefined;
    });
    try {
      return await withDeadline(this.following, FOLLOW_WAIT_MS, 'following the chain');
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      return [];
    }
  }

  private async follow(node: TronNode, head: BlockHeader, ratio: EnergyRatio): Promise<bigint[]> {
    const chain: BlockHeader[] = [head];
    const isFirst = this.lastFollowed === undefined;
    const oldest = isFirst ? await this.findFirstToRead(head.number) : head.number - BLOCKS_BACK_MAX;
    // Walk back until the parent is a known block. This one rule fills gaps and finds where a fork began.
    for (let number = head.number - 1; number >= Math.max(0, oldest); number -= 1) {
      const child = chain.at(-1);
      if (child === undefined || this.followed.get(number) === child.parentId) break;
      const header = await headerOf(node, number);
      // A gap would never be filled: the next step finds its own parent followed.
      if (header === undefined && this.parentWait.mayWait()) return [];
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

  /** Retries pending inclusions when no block is new. */
  private async retryPendingInclusions(): Promise<bigint[]> {
    return this.includeBlocks(this.pendingInclusions.due((block) => this.followed.get(block.number) === block.id));
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
