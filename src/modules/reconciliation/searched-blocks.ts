/**
 * Reads solid blocks for the search: from one node, through the shared reading. Any other node that answers must have
 * the same transactions in them. If no node can show a whole block, other ways are tried before it counts as
 * unavailable.
 */
import { Injectable } from '@nestjs/common';
import { DeadlineError, withDeadline } from '../../platform/support/clock.js';
import { SolidBlocks } from '../../platform/blocks/solid-blocks.js';
import type { Block } from '../../platform/chain/block.js';
import { ChainUnavailableError, NodeError, ignoreNodeError } from '../../platform/chain/errors.js';
import { History } from '../../platform/chain/history.js';
import type { TronNode } from '../../platform/chain/node.js';
import { solidHeightOf, type SolidHeight } from '../../platform/chain/solid-height.js';
import { solidHeaderOf, solidPlaceOf, TronClient } from '../../platform/chain/tron.client.js';
import { BlockReader } from '../fulfilment/follow/block-reader.js';
import type { UnrecordedAct } from '../verify/unrecorded-acts.js';

/** Time limit for reading the transactions of an unreadable block one by one. */
const ACTS_WAIT_MS = 30_000;
/** Time limit for another node to show its content of a block. Then the search continues without it. */
const COMPARE_WAIT_MS = 15_000;

@Injectable()
export class SearchedBlocks {
  constructor(
    private readonly client: TronClient,
    private readonly history: History,
    private readonly solid: SolidBlocks,
    private readonly reader: BlockReader,
  ) {}

  /**
   * Returns the height up to which blocks can be searched, and the nodes that have them. Throws ChainUnavailableError.
   */
  async searchableHeight(): Promise<SolidHeight> {
    return solidHeightOf(this.client.pool);
  }

  /**
   * Returns the block, or undefined if its content cannot be read in any way. Such a block is skipped, and retried for
   * a while. Throws ChainUnavailableError, also while nodes contradict each other.
   */
  async read(number: number, { node: first, others }: SolidHeight): Promise<Block | undefined> {
    const { node, block } = await this.readSomehow(number, first);
    const known = await this.reader.withActs(block, 'solid', ACTS_WAIT_MS);
    if (known === undefined) {
      this.reader.report(block, 'unsearched');
      return undefined;
    }
    await this.compare(node, known, others);
    return known;
  }

  /**
   * Confirms acts before they are recorded. One node's word does not suffice, because a block's id does not cover our
   * reading of its bytes. If two witnesses are configured, two must show these acts, or one if the others have been
   * away long enough.
   *
   * Throws ChainUnavailableError until then, and while an answering node contradicts; the block is then searched again.
   */
  async confirm(block: Block, acts: readonly UnrecordedAct[]): Promise<void> {
    const { agreement } = this.client.pool;
    if (acts.length === 0 || agreement.witnesses.length < 2) return;
    const faults: unknown[] = [];
    const agreeing: TronNode[] = [];
    let isContradicted = false;
    for (const node of agreement.witnesses) {
      try {
        if (await hasThere(node, block, acts)) agreeing.push(node);
        else {
          isContradicted = true;
          faults.push(new NodeError(node.name, 'nonsense', 'its solid block holds other acts of our wallets'));
        }
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        faults.push(error);
        // As in settlement, a node without history gives no evidence. `keeps` records the time since which the node
        // lacks it.
        if (error.kind === 'unreadable') await this.history.keeps(node).catch(ignoreNodeError);
      }
      if (agreeing.length === 2) return;
    }
    const isOut = (node: TronNode): boolean => this.history.isOut(node, agreement);
    if (!isContradicted && agreement.suffices(agreeing, isOut)) return;
    this.forgetDoubtful(agreement.witnesses, block);
    throw new ChainUnavailableError('a solid block as two nodes have it', faults);
  }

  /** Reads through the shared reading of solid blocks, and in any other way only if that fails. */
  private async readSomehow(
    number: number,
    first: TronNode,
  ): Promise<{ readonly node: TronNode; readonly block: Block }> {
    const block = await this.solid.block(first, number).catch(ignoreNodeError);
    if (block !== undefined) return { node: first, block };
    return this.client.pool.ask('a solid block', async (node) => {
      const header = await solidHeaderOf(node, number);
      if (header === undefined) throw new NodeError(node.name, 'unhealthy', `has no solid block ${number.toString()}`);
      return { node, block: await this.reader.read(node, header, 'solid', () => Promise.resolve([])) };
    });
  }

  /**
   * Guards against a node that omits transactions: another witness must have the same ones in the block, or be unable
   * to show it. Throws ChainUnavailableError while they contradict each other; the block is then read again.
   */
  private async compare(node: TronNode, block: Block, others: readonly TronNode[]): Promise<void> {
    const contradicting: TronNode[] = [];
    for (const other of others) {
      if (other.witness === node.witness) continue;
      const outcomes = await this.outcomesAt(other, block);
      if (outcomes === undefined) continue;
      if (outcomes === outcomesOf(block)) return;
      contradicting.push(other);
    }
    if (contradicting.length === 0) return;
    this.forgetDoubtful([node, ...contradicting], block);
    const faults = contradicting.map(({ name }) => new NodeError(name, 'nonsense', 'has other transactions in it'));
    throw new ChainUnavailableError(`the transactions of the solid block ${block.number.toString()}`, faults);
  }

  /** Returns this witness's transactions of the block; undefined if it lacks the block or does not answer. */
  private async outcomesAt(node: TronNode, block: Block): Promise<string | undefined> {
    const read = async (): Promise<Block | undefined> => {
      const whole = await this.solid.block(node, block.number).catch(ignoreNodeError);
      if (whole !== undefined) return whole;
      const header = await solidHeaderOf(node, block.number);
      return header?.id === block.id ? node.blocks.contentOf('solid', header) : undefined;
    };
    try {
      const same = await withDeadline(read(), COMPARE_WAIT_MS, 'comparing a block');
      return same?.id === block.id ? outcomesOf(same) : undefined;
    } catch (error) {
      if (error instanceof NodeError || error instanceof DeadlineError) return undefined;
      throw error;
    }
  }

  private forgetDoubtful(nodes: readonly TronNode[], block: Block): void {
    for (const node of nodes) {
      this.solid.forgetFrom(node, block.number);
      node.blocks.forget(block);
    }
  }
}

/** Returns the transactions of a block with their outcomes, in order, as one text. */
function outcomesOf({ transactions }: Block): string {
  return transactions.map(({ txid, succeeded }) => `${txid} ${succeeded.toString()}`).join(' ');
}

/**
 * Returns true if the node's solid chain has these acts in this very block. Throws NodeError, also if the node is not
 * that high.
 */
async function hasThere(node: TronNode, block: Block, acts: readonly UnrecordedAct[]): Promise<boolean> {
  const header = await solidHeaderOf(node, block.number);
  if (header === undefined)
    throw new NodeError(node.name, 'unhealthy', `has no solid block ${block.number.toString()}`);
  if (header.id !== block.id) return false;
  // The block's content is better evidence than the node's index, which a node without history does not keep.
  const same = await node.blocks.contentOf('solid', header).catch(ignoreNodeError);
  if (same?.isWhole === true) {
    const there = new Set(same.transactions.flatMap((tx) => (tx.succeeded ? tx.txid : [])));
    return acts.every(({ txid }) => there.has(txid));
  }
  for (const { txid } of acts) {
    const place = await solidPlaceOf(node, txid);
    if (place === undefined) {
      throw new NodeError(node.name, 'unreadable', 'it can show neither the block nor the act');
    }
    if (place.blockNumber !== block.number) return false;
  }
  return true;
}
