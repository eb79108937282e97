/** Reads the chain's solid head. A silent solid port delays settlement alone. */
import { Injectable } from '@nestjs/common';
import type { BlockHead, BlockHeader } from '../../../platform/chain/block.js';
import { ChainUnavailableError, NodeError } from '../../../platform/chain/errors.js';
import type { TronNode } from '../../../platform/chain/node.js';
import { headerOf, solidHeadOf, TronClient } from '../../../platform/chain/tron.client.js';
import { Log } from '../../../platform/observability/logger.js';
import { DeadlineError, withDeadline } from '../../../platform/support/clock.js';

/** Limit of a step's wait for the solid head. The next step uses a late answer. */
const SOLID_WAIT_MS = 1_500;
/** TRON: a block is solid once 19 of 27 producers have built on it. More than twice that depth is beyond doubt. */
const FINAL_BLOCKS = 60;
/**
 * An older solid head (half an hour) is no reference: a proof of death reads every block from the reference on, and
 * TRON knows the last 65 536 blocks only.
 */
const REFERENCE_AGE_MAX_BLOCKS = 600;
/** Placeholder until a solid head is known. Nothing is final by it. */
const NO_BLOCK: BlockHead = { number: 0, id: '0'.repeat(64), timestampMs: 0 };

function isKnown(solid: BlockHead): boolean {
  return solid !== NO_BLOCK;
}

@Injectable()
export class SolidHeads {
  private lastSolid: BlockHead = NO_BLOCK;
  private readingSolid: Promise<BlockHead> | undefined;
  private solidFault: string | undefined;

  constructor(
    private readonly client: TronClient,
    private readonly log: Log,
  ) {}

  /**
   * Returns the solid head, or the last known one while the solid port does not answer. Deliveries and reclaims follow
   * the head, so only settlement waits. A silent port is waited for only briefly.
   */
  async readSolidHead(node: TronNode, head: BlockHeader): Promise<BlockHead> {
    this.readingSolid ??= this.readAnySolidHead(node).finally(() => {
      this.readingSolid = undefined;
    });
    try {
      const solid = await withDeadline(this.readingSolid, SOLID_WAIT_MS, 'the solid head');
      if (this.solidFault !== undefined) this.log.warn({ node: node.name }, 'solid port answered again');
      this.solidFault = undefined;
      // Another node may be ahead of the node that returned this head.
      if (solid.number <= head.number) this.lastSolid = solid;
    } catch (error) {
      const isOutage =
        error instanceof NodeError || error instanceof DeadlineError || error instanceof ChainUnavailableError;
      if (!isOutage) throw error;
      if (this.solidFault === undefined) {
        this.log.error(
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
   * Returns the block that new transactions refer to: the solid head, or a block of the full port that is final on any
   * healthy network while no recent solid head is known.
   */
  async readReferenceBlock(node: TronNode, head: BlockHeader, solid: BlockHead): Promise<BlockHead> {
    if (isKnown(solid) && head.number - solid.number <= REFERENCE_AGE_MAX_BLOCKS) return solid;
    return (await headerOf(node, Math.max(0, head.number - FINAL_BLOCKS))) ?? head;
  }
}
