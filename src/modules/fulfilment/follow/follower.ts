/**
 * Follows the chain block by block: renews the view, passes new blocks to inclusion, detects replaced blocks and
 * triggers settlement. Nothing is missed for good. Each step retries failed records, and an order's own look-up finds
 * anything that the follower did not see.
 */
import { Injectable } from '@nestjs/common';
import type { BlockHead } from '../../../platform/chain/block.js';
import { TronClient } from '../../../platform/chain/tron.client.js';
import { Log } from '../../../platform/observability/logger.js';
import { monotonicMs } from '../../../platform/support/clock.js';
import { ChainView } from './chain-view.js';
import { NetworkRatio } from './network-ratio.js';
import { NewBlocks } from './new-blocks.js';
import { Settlement, type Unsettled } from './settlement.js';
import { SolidHeads } from './solid-heads.js';

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
  private settledTo = -1;
  private unsettled: Unsettled = { left: 0, fromBlock: undefined };
  /** End of the last complete step; `settledAtMs` is the same for settlement. */
  private followedAtMs = monotonicMs();
  private settledAtMs = monotonicMs();

  constructor(
    private readonly client: TronClient,
    private readonly solidHeads: SolidHeads,
    private readonly networkRatio: NetworkRatio,
    private readonly newBlocks: NewBlocks,
    private readonly settlement: Settlement,
    private readonly chainView: ChainView,
    private readonly log: Log,
  ) {}

  /** Reads the chain once. Throws ChainUnavailableError if no node answers. */
  async step(): Promise<ChainStep> {
    let isHeadKnown = false;
    const step = this.client.pool.ask('the head', async (node) => {
      const head = await node.readHead();
      isHeadKnown = true;
      const advanced = !this.newBlocks.isFollowed(head);
      const { dispute } = this.client.pool.agreement;
      const clockMs = this.client.pool.undisputedClockMs(head);
      this.chainView.advanceClock(clockMs);
      if (!advanced) {
        const delivered = await this.newBlocks.retryPendingInclusions();
        this.followedAtMs = monotonicMs();
        return { head, clockMs, advanced, delivered };
      }
      const [solid, ratio] = await Promise.all([this.solidHeads.readSolidHead(node, head), this.networkRatio.read()]);
      const reference = await this.solidHeads.readReferenceBlock(node, head, solid);
      if (dispute !== undefined) this.log.error({ ...dispute }, 'nodes disagree');
      this.chainView.update({ head, solid, reference, ratio, isDisputed: dispute !== undefined });
      const delivered = await this.newBlocks.follow(node, head, ratio);
      if (this.newBlocks.isFollowed(head)) this.followedAtMs = monotonicMs();
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
      heldTransactions: this.newBlocks.pending + left,
      // Measured from the solid head of that settlement. The view may since show a lower one, from another node.
      unsettledBlocks: fromBlock === undefined ? 0 : this.settledTo - fromBlock + 1,
    };
  }
}
