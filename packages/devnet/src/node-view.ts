// One node's view of the chain: its own head (possibly behind), its own solid head, and which state a port reads.
import type { Block } from './block.js';
import type { Chain } from './chain.js';
import type { Context } from './fees.js';
import { type Json, Printed, printJson } from './json.js';
import { Overlay } from './state.js';

/**
 * Which internal transactions a node keeps with its receipts. TRON: `none` without vm.saveInternalTx; `transfers`
 * without vm.saveFeaturedInternalTx, which leaves out what was done with stake.
 */
const SAVE_INTERNAL = ['all', 'transfers', 'none'] as const;
type SaveInternal = (typeof SAVE_INTERNAL)[number];

export interface NodeSettings {
  /** Blocks this node's head is behind the chain's; 0 = it makes and sees everything, mempool included. */
  behind: number;
  /** Blocks the solid head is behind this node's head. */
  solidLag: number;
  saveInternal: SaveInternal;
}

/** Reads one of `SAVE_INTERNAL`. Throws RangeError that names them. */
export function saveInternalOf(given: string): SaveInternal {
  const found = SAVE_INTERNAL.find((one) => one === given);
  if (found === undefined) throw new RangeError(`save-internal must be one of ${SAVE_INTERNAL.join(', ')}`);
  return found;
}

/** Enough for the newest blocks, which every reader of the chain asks for again and again. */
const PRINTED_MAX = 8;

export class NodeView {
  /** Transactions of blocks as text, the latest last. */
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

  /** The block a port's reads end at. */
  top(isSolid: boolean): Block {
    return isSolid ? this.solid : this.head;
  }

  /** What `print` makes of `key`, which must name all that it depends on; made once while it is asked for. */
  printedOnce(key: string, print: () => Json): Printed {
    const text = this.printed.get(key) ?? new Printed(printJson(print()));
    this.printed.delete(key);
    this.printed.set(key, text);
    for (const oldest of this.printed.keys()) {
      if (this.printed.size <= PRINTED_MAX) break;
      this.printed.delete(oldest);
    }
    return text;
  }

  /** What a port's reads see: the full port the pending state, the solid port the state at the solid block. */
  read(isSolid: boolean, isBuilding = false): Context {
    const { chain } = this;
    if (!isSolid && this.settings.behind === 0) return chain.context(new Overlay(chain.store), chain.head, isBuilding);
    const block = this.top(isSolid);
    return chain.context(new Overlay(chain.store.at(block.number)), block, isBuilding);
  }
}
