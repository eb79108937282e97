/**
 * Reads a block even if no node returns it in a readable form. It tries every healthy node for the whole block, then
 * the block's list of transaction ids, then a look-up of each of our own transactions. So an unreadable block delays
 * only itself.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import type { Block, BlockHeader, BlockTransaction } from '../../../platform/chain/block.js';
import { NodeError, ignoreNodeError } from '../../../platform/chain/errors.js';
import type { PortName } from '../../../platform/chain/node-blocks.js';
import type { TronNode } from '../../../platform/chain/node.js';
import { placeOf, signedActOf, solidPlaceOf, TronClient } from '../../../platform/chain/tron.client.js';
import { DeadlineError, withDeadline } from '../../../platform/support/clock.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';

/**
 * The fallbacks for an unreadable block. `unsearched`: the block was skipped, and may hold acts that we do not know.
 */
const OTHER_WAYS = ['listed', 'ours', 'unsearched'] as const;
export type OtherWay = (typeof OTHER_WAYS)[number];

const CONCURRENT_LOOK_UPS = 8;
const REPORTED_MAX = 1000;
/** Connection failures and request limits are problems of the node, not of the block. */
const ABOUT_THE_NODE: ReadonlySet<NodeError['kind']> = new Set(['unreachable', 'throttled', 'unhealthy']);

@Injectable()
export class BlockReader {
  private readonly unreadable;
  private readonly reported = new Set<string>();

  constructor(
    private readonly client: TronClient,
    private readonly log: Log,
    { registry }: Metrics,
  ) {
    this.unreadable = new Counter({
      name: 'unreadable_blocks_total',
      help: 'Unreadable blocks, by how they were `read` (`unsearched`: some acts of our wallets are unknown).',
      labelNames: ['read'] as const,
      registers: [registry],
    });
    // Start each series at zero, so that the first unreadable block counts as an increase.
    for (const read of OTHER_WAYS) this.unreadable.inc({ read }, 0);
  }

  /**
   * Returns the block of a header that `node` returned. `ours` lists the transactions to look up one by one if no node
   * returns the block or its list. Throws NodeError only for faults of the nodes, never for the block's content.
   */
  async read(
    node: TronNode,
    header: BlockHeader,
    port: PortName,
    ours: () => Promise<readonly string[]>,
  ): Promise<Block> {
    let listed: Block | undefined;
    const faults: NodeError[] = [];
    for (const each of [node, ...this.client.pool.healthy().filter((other) => other !== node)]) {
      try {
        const block = await sameBlock(each, header, port, each === node);
        if (block?.isWhole === true) return block;
        listed ??= block;
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        // The node's chain now has another block at this height.
        if (each === node && error.kind === 'unhealthy') throw error;
        faults.push(error);
      }
    }
    const [first] = faults;
    if (listed === undefined && first !== undefined && faults.every(({ kind }) => ABOUT_THE_NODE.has(kind)))
      throw first;
    this.report(header, listed === undefined ? 'ours' : 'listed', first);
    if (listed !== undefined) return listed;
    const transactions = await this.found(header, port, await ours());
    return { ...header, transactions, isWhole: false, unknown: undefined };
  }

  /**
   * Returns the block with the acts that its list lacks, read one by one. Returns undefined if the block has no list,
   * or if reading takes longer than `withinMs`. A transaction that is unreadable even by itself counts as foreign.
   */
  async withActs(block: Block, port: PortName, withinMs: number): Promise<Block | undefined> {
    const { unknown } = block;
    if (block.isWhole) return block;
    if (unknown === undefined) return undefined;
    try {
      const acts = await withDeadline(this.acts(unknown, port), withinMs, 'reading a block one by one');
      const transactions = block.transactions.map((tx) => ({ ...tx, signed: acts.get(tx.txid) }));
      return { ...block, transactions, isWhole: true };
    } catch (error) {
      if (error instanceof DeadlineError || error instanceof NodeError) return undefined;
      throw error;
    }
  }

  /** Counts and logs each block once per fallback. */
  report(header: BlockHeader, read: OtherWay, fault?: unknown): void {
    const key = `${read}/${header.id}`;
    if (this.reported.has(key)) return;
    if (this.reported.size >= REPORTED_MAX) this.reported.clear();
    this.reported.add(key);
    this.unreadable.inc({ read });
    const fields = { block: header.number, id: header.id, read, fault: fault === undefined ? null : messageOf(fault) };
    this.log.error(fields, 'failed to read a block; using a fallback');
  }

  private async acts(txids: readonly string[], port: PortName): Promise<Map<string, BlockTransaction['signed']>> {
    const acts = new Map<string, BlockTransaction['signed']>();
    await forEachConcurrently(txids, CONCURRENT_LOOK_UPS, async (txid) => {
      let fault: NodeError | undefined;
      for (const node of this.client.pool.healthy()) {
        try {
          acts.set(txid, await signedActOf(node, port, txid));
          return;
        } catch (error) {
          if (!(error instanceof NodeError)) throw error;
          fault = error;
        }
      }
      if (fault === undefined || ABOUT_THE_NODE.has(fault.kind)) {
        throw fault ?? new NodeError('none', 'unhealthy', 'no healthy node');
      }
      this.log.warn({ txid, fault: messageOf(fault) }, 'failed to read a transaction');
    });
    return acts;
  }

  /**
   * Returns those of `ours` that are in the block according to two nodes, or to one node while the others are
   * unavailable.
   */
  private async found(header: BlockHeader, port: PortName, ours: readonly string[]): Promise<BlockTransaction[]> {
    const { agreement } = this.client.pool;
    const nodes: { readonly node: TronNode; readonly witness: TronNode }[] = [];
    for (const witness of agreement.witnesses) {
      const node = this.client.pool.healthy().find((each) => each.witness === witness.witness);
      const same = await node?.blocks.header(port, header.number).catch(ignoreNodeError);
      if (node !== undefined && same?.id === header.id) nodes.push({ node, witness });
    }
    const found: BlockTransaction[] = [];
    await forEachConcurrently(ours, CONCURRENT_LOOK_UPS, async (txid) => {
      const look = port === 'full' ? placeOf : solidPlaceOf;
      const agreeing: TronNode[] = [];
      for (const { node, witness } of nodes) {
        const place = await look(node, txid).catch(ignoreNodeError);
        if (place?.blockNumber === header.number && place.succeeded) agreeing.push(witness);
        if (!agreement.suffices(agreeing)) continue;
        found.push({ txid, succeeded: true, signed: undefined });
        break;
      }
    });
    return found;
  }
}

/** Returns this block as `node` has it, or undefined if the node's chain has another block at this height. */
async function sameBlock(
  node: TronNode,
  header: BlockHeader,
  port: PortName,
  isItsOwn: boolean,
): Promise<Block | undefined> {
  if (!isItsOwn && (await node.blocks.header(port, header.number))?.id !== header.id) return undefined;
  return node.blocks.contentOf(port, header);
}
