/** Interfaces of the worker's parts that process the solid blocks read by the follower. */
import type { Transaction } from '../database/database.js';
import type { WitnessedBlock } from './witnessed-blocks.js';

/** Injects all consumers, in the order in which they consume a block. */
export const BLOCK_CONSUMERS = Symbol('block consumers');

/** Injects the search of solid blocks, which has its own cursor. */
export const BLOCK_SEARCH = Symbol('block search');

/** Processes solid blocks from the same reading without waiting for the consumers. */
export interface BlockSearch {
  /**
   * Searches the next few blocks; effects and cursor share one transaction. `hasLease`: true when this process also
   * reads blocks for the consumers. Another process searches only while no process with the lease does. Returns the
   * number of blocks left; undefined when another worker searches. Throws ChainUnavailableError.
   */
  searchNext(hasLease: boolean): Promise<number | undefined>;
}

export interface BlockConsumer {
  /** True when enough nodes must agree on the data that it takes; otherwise one node suffices. */
  readonly needsWitnesses?: boolean;

  /** Runs under the lease of `fence`, before the readable height is known. */
  prepare?(fence: bigint): Promise<void>;

  /** Loads the watched accounts, after the readable height is known. */
  loadWatched?(): Promise<void>;

  /** Returns true when it wants the incoming and outgoing payments and burnt fees of an address. */
  watchesPayments?(address: string): boolean;

  /** Returns true when it wants the burnt fee of each transaction of an address. */
  watchesCosts?(address: string): boolean;

  /** Reads additional chain data for a block, before the block's transaction. Throws ChainUnavailableError. */
  inspect?(block: WitnessedBlock): Promise<void>;

  /**
   * Takes in the next block, in the transaction that moves the cursor past it. Returns the action to run after the
   * commit.
   */
  consumeBlock(tx: Transaction, block: WitnessedBlock): Promise<() => void>;

  /** Called when another worker has the lease. That worker then reports the metrics of the reading. */
  loseLease?(): void;

  /** Called when no block is left to read. Throws ChainUnavailableError. */
  workBetweenBlocks?(fence: bigint, solid: number): Promise<void>;
}
