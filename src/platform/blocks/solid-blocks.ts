/**
 * Caches solid blocks of single nodes, so that each is read once per process: the block for all consumers, its receipts
 * when first needed. Doubtful blocks are read again.
 */
import { Injectable } from '@nestjs/common';
import type { Block, GivenBlock } from '../chain/block.js';
import { execute, givenBlockOf, type ExecutedBlock } from '../chain/executed-block.js';
import type { TronNode } from '../chain/node.js';
import { invariant } from '../../domain/errors.js';

/** Per node: the last three minutes of the main network, or the concurrent reads of a worker that catches up. */
const KEPT_BLOCKS_MAX = 64;
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
/** Estimated size of a transaction and its transfers, besides its bytes. */
const TRANSACTION_BYTES = 500;

@Injectable()
export class SolidBlocks {
  private readonly read = new WeakMap<TronNode, Map<number, Reading>>();

  /**
   * Returns the block at a height of the node's solid chain. Throws NodeError, also when the chain is not that high.
   */
  async block(node: TronNode, number: number): Promise<Block> {
    return this.reading(node, number).block;
  }

  /** Returns the transfers of the block, by its receipts. Throws NodeError, also when a receipt is missing. */
  async executed(node: TronNode, number: number): Promise<ExecutedBlock> {
    return this.reading(node, number).executed();
  }

  /** Drops a node's blocks from a height on, because they are in doubt or belong to another chain. */
  forgetFrom(node: TronNode, number: number): void {
    const read = this.readOf(node);
    for (const [each, reading] of read) {
      if (each < number) continue;
      read.delete(each);
      // A failed read left nothing in the node's cache.
      reading.block.then((block) => {
        node.blocks.forget(block);
      }, ignore);
    }
  }

  private readOf(node: TronNode): Map<number, Reading> {
    const read = this.read.get(node) ?? new Map<number, Reading>();
    this.read.set(node, read);
    return read;
  }

  private reading(node: TronNode, number: number): Reading {
    const read = this.readOf(node);
    const known = read.get(number);
    if (known !== undefined) return known;
    const reading = new Reading(node, number);
    read.set(number, reading);
    reading.block.then(
      () => {
        trim(read);
      },
      () => {
        if (read.get(number) === reading) read.delete(number);
      },
    );
    return reading;
  }
}

/** One block of one node. */
class Reading {
  readonly block: Promise<Block>;
  bytes = 0;
  /** The block with all its bytes, until its receipts are matched. */
  private given: GivenBlock | undefined;
  private matched: Promise<ExecutedBlock> | undefined;

  constructor(
    private readonly node: TronNode,
    number: number,
  ) {
    this.block = givenBlockOf(node, number, 'solid').then((given) => {
      this.given = given;
      this.bytes = given.given.reduce((sum, { rawData }) => sum + rawData.length + TRANSACTION_BYTES, 0);
      node.blocks.keep(given.block);
      return given.block;
    });
  }

  /** After a failure, the next call requests the receipts again, but not the block. */
  async executed(): Promise<ExecutedBlock> {
    this.matched ??= this.match().catch((error: unknown) => {
      this.matched = undefined;
      throw error;
    });
    return this.matched;
  }

  private async match(): Promise<ExecutedBlock> {
    const { transactions } = await this.block;
    const { given } = this;
    invariant(given !== undefined, 'the bytes of a block are kept until its receipts are read');
    const executed = await execute(this.node, given, 'solid');
    this.given = undefined;
    this.bytes = transactions.length * TRANSACTION_BYTES;
    return executed;
  }
}

/** Evicts the oldest blocks. A block being read counts as zero bytes, and its callers get it even if it is evicted. */
function trim(read: Map<number, Reading>): void {
  let bytes = [...read.values()].reduce((sum, reading) => sum + reading.bytes, 0);
  for (const [number, oldest] of read) {
    if (read.size <= KEPT_BLOCKS_MAX && bytes <= KEPT_BYTES_MAX) return;
    read.delete(number);
    bytes -= oldest.bytes;
  }
}

function ignore(): void {
  // The caller that requested it has the error.
}
