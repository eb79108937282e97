/** What a part of the worker does with the solid blocks that the follower reads. */
import type { Transaction } from '../store/database.js';
import type { WitnessedBlock } from './witnessed-blocks.js';

/** Injects them all, in the order in which they take a block in. */
export const BLOCK_CONSUMERS = Symbol('what takes something from solid blocks');

/** Injects what searches solid blocks with a cursor of its own. */
export const BLOCK_SEARCH = Symbol('what searches solid blocks by itself');

/** Takes from the same reading what must not wait for what others wait for. */
export interface BlockSearch {
  /**
   * Searches the next few blocks, its effects and its cursor in one transaction. `hasTurn`: whether this process reads
   * blocks for the consumers too; another one searches only while nobody else does. Returns how many blocks are left;
   * undefined when another worker searches. Throws ChainUnavailableError.
   */
  pass(hasTurn: boolean): Promise<number | undefined>;
}

export interface BlockConsumer {
  /** Whether enough nodes must say what it takes from blocks; else one node's word is enough. */
  readonly needsWitnesses: boolean;

  /** Under the turn of `fence`, before it is known how far blocks can be read. */
  prepare(fence: bigint): Promise<void>;

  /** Loads which accounts it watches, once it is known how far blocks can be read. */
  watch(): Promise<void>;

  /** Whether it wants to see what an address was sent, sent and burnt. */
  watchesPayments(address: string): boolean;

  /** Whether it wants to see what each transaction of an address burnt. */
  watchesCosts(address: string): boolean;

  /** Reads what it must know of a block from the chain, before the block's transaction. Throws ChainUnavailableError. */
  inspect?(block: WitnessedBlock): Promise<void>;

  /**
   * Takes in what it wants of the next block, in the transaction that moves the cursor past it. Returns what there is to
   * do once that is committed.
   */
  takeIn(tx: Transaction, block: WitnessedBlock): Promise<() => void>;

  /** When another worker reads: whatever is shown of the reading is that one's to show. */
  loseTurn(): void;

  /** When nothing is left to read. Throws ChainUnavailableError. */
  rest(fence: bigint, solid: number): Promise<void>;
}
