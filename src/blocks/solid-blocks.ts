/**
 * Solid blocks as single nodes have them, each read once by this process, whoever takes something from it: the block for
 * everybody, its receipts when the first one wants them. Kept for a while for who comes later; what is doubted is read
 * anew.
 */
import { Injectable } from '@nestjs/common';
import type { Block, GivenBlock } from '../chain/block.js';
import { execute, givenBlockOf, type ExecutedBlock } from '../chain/executed-block.js';
import type { TronNode } from '../chain/node.js';
import { invariant } from '../domain/errors.js';

/** Of a node: the last three minutes of the main network, or what is read at once while a worker catches up. */
const KEPT_BLOCKS_MAX = 64;
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
/** Of a transaction, by an estimate: what it is and moved, beside its bytes. */
const TRANSACTION_BYTES = 500;

@Injectable()
export class SolidBlocks {
  private readonly read = new WeakMap<TronNode, Map<number, Reading>>();

  /** The block at a height of the node's solid chain. Throws NodeError, also where that is not so high. */
  async block(node: TronNode, number: number): Promise<Block> {
    return this.reading(node, number).block;
  }

  /** What moved in it, by its receipts. Throws NodeError, also where one of them is missing. */
  async executed(node: TronNode, number: number): Promise<ExecutedBlock> {
    return this.reading(node, number).executed();
  }

  /** What was read of a node from a height on is doubted, or is of another chain than what was read before. */
  forgetFrom(node: TronNode, number: number): void {
    const read = this.readOf(node);
    for (const [each, reading] of read) {
      if (each < number) continue;
      read.delete(each);
      // Of one that failed nothing is kept anywhere.
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
  /** With all its bytes, until its receipts are matched with them. */
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

  /** Where it failed, whoever asks next has the receipts asked for again; the block is not. */
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

/** The oldest make way. One that is read just now counts nothing yet, and whoever waits for it has it all the same. */
function trim(read: Map<number, Reading>): void {
  let bytes = [...read.values()].reduce((sum, reading) => sum + reading.bytes, 0);
  for (const [number, oldest] of read) {
    if (read.size <= KEPT_BLOCKS_MAX && bytes <= KEPT_BYTES_MAX) return;
    read.delete(number);
    bytes -= oldest.bytes;
  }
}

function ignore(): void {
  // Whoever asked for it has its error.
}
