// One node's view of the chain: its own head (possibly behind), its solid head, and the state that each port reads.
import type { Block } from './block.js';
import type { Chain } from './chain.js';
import type { Context } from './fees.js';
import { type Json, Printed, printJson } from './json.js';
import { Overlay } from './state.js';

/**
 * Internal transactions that a node stores with its receipts. TRON: `none` without vm.saveInternalTx; `transfers`
 * without vm.saveFeaturedInternalTx, which omits staking actions.
 */
const SAVE_INTERNAL = ['all', 'transfers', 'none'] as const;
type SaveInternal = (typeof SAVE_INTERNAL)[number];

export interface NodeSettings {
  /** Blocks that this node's head is behind the chain's. With 0 it makes all blocks and sees the mempool. */
  behind: number;
  /** Blocks that the solid head is behind this node's head. */
  solidLag: number;
  saveInternal: SaveInternal;
  /** CPU time of a constant call, ms; 0 means that of a transaction. TRON: vm.constantCallTimeoutMs. */
  readonly constantCallMs: number;
}

/** Parses a `SAVE_INTERNAL` value. Throws RangeError with the valid ones. */
export function saveInternalOf(given: string): SaveInternal {
  const found = SAVE_INTERNAL.find((one) => one === given);
  if (found === undefined) throw new RangeError(`save-internal must be one of ${SAVE_INTERNAL.join(', ')}`);
  return found;
}

/** Enough for the newest blocks, which every reader of the chain requests repeatedly. */
const PRINTED_MAX = 8;

export class NodeView {
  /** Printed transactions of blocks, most recently used last. */
  private readonly printed = new Map<string, Printed>();

  constructor(
    readonly chain: Chain,
    readonly settings: NodeSettings,
  ) {}

  get head(): Block {
    return this.chain.block(Math.max(0, this.chain.head.number - this.settings.behind));
  }

  get solid(): Block {
    return this.chain.block(Math.max(0, this.head.number - this.settings.solidLag));
  }

  /** Returns the newest block that a port can read. */
  top(isSolid: boolean): Block {
    return isSolid ? this.solid : this.head;
  }

  /** Returns the cached output of `print`. `key` must identify everything the output depends on. */
  printedOnce(key: string, print: () => Json): Printed {
    const text = this.printed.get(key) ?? new Printed(printJson(print()), print);
    this.printed.delete(key);
    this.printed.set(key, text);
    for (const oldest of this.printed.keys()) {
      if (this.printed.size <= PRINTED_MAX) break;
      this.printed.delete(oldest);
    }
    return text;
  }

  /**
   * Returns the context of a port's reads: the full port reads the pending state, the solid port the solid block's
   * state.
   */
  read(isSolid: boolean, isBuilding = false): Context {
    const { chain } = this;
    if (!isSolid && this.settings.behind === 0) return chain.context(new Overlay(chain.store), chain.head, isBuilding);
    const block = this.top(isSolid);
    return chain.context(new Overlay(chain.store.at(block.number)), block, isBuilding);
  }
}
