/**
 * Delegations and undelegations of our wallets in the newest blocks, as the follower reads them. Added to the solid
 * amount of a delegation, they give its exact amount at a height. A node's head state alone changes with every block.
 */
import { Injectable } from '@nestjs/common';
import type { Block } from '../../../platform/chain/block.js';
import type { Resource } from '../../../domain/resource.js';
import { DELEGATE_TYPE, UNDELEGATE_TYPE } from '../../../platform/chain/transaction-owner.js';

export interface RecentAct {
  readonly txid: string;
  readonly owner: string;
  readonly receiver: string;
  readonly resource: Resource;
  /** Change of the delegation in sun; negative for an undelegation. */
  readonly changeSun: bigint;
  readonly blockNumber: number;
}

interface RecentBlock {
  readonly id: string;
  readonly parentId: string;
  /** The wallets whose acts were searched for. */
  readonly wallets: ReadonlySet<string>;
  readonly acts: readonly RecentAct[];
}

/** More than the solid block lags on a healthy chain (about 20), and more than the follower reads back. */
const BLOCKS_KEPT = 128;

@Injectable()
export class RecentActs {
  private readonly blocks = new Map<number, RecentBlock>();
  private newest = -1;

  /** Adds the next block. It replaces earlier blocks at its height and above. */
  record(block: Block, wallets: ReadonlySet<string>): void {
    for (const number of this.blocks.keys()) {
      if (number >= block.number || number <= block.number - BLOCKS_KEPT) this.blocks.delete(number);
    }
    const { id, parentId } = block;
    // An unreadable block shows no wallet's acts.
    const seen = block.isWhole ? wallets : new Set<string>();
    this.blocks.set(block.number, { id, parentId, wallets: seen, acts: actsIn(block, wallets) });
    this.newest = block.number;
  }

  /**
   * Returns the acts of `owner` in the blocks above `height`, and the height of the newest block. Returns undefined if
   * one of these blocks is missing or was read before the wallet was known.
   */
  since(height: number, owner: string): { readonly height: number; readonly acts: readonly RecentAct[] } | undefined {
    const acts: RecentAct[] = [];
    let parentId: string | undefined;
    for (let number = this.newest; number > height; number -= 1) {
      const block = this.blocks.get(number);
      if (!block?.wallets.has(owner)) return undefined;
      if ((parentId ?? block.id) !== block.id) return undefined;
      acts.push(...block.acts.filter((act) => act.owner === owner));
      ({ parentId } = block);
    }
    return this.newest < height ? undefined : { height: this.newest, acts };
  }
}

function actsIn(block: Block, wallets: ReadonlySet<string>): RecentAct[] {
  return block.transactions.flatMap(({ txid, signed, succeeded }) => {
    const act = succeeded ? signed?.act : undefined;
    if (act === undefined || !wallets.has(act.owner)) return [];
    const { owner, receiver, amountSun, type, resource } = act;
    if (receiver === undefined || amountSun === undefined || resource === undefined) return [];
    if (type !== DELEGATE_TYPE && type !== UNDELEGATE_TYPE) return [];
    const changeSun: bigint = type === DELEGATE_TYPE ? amountSun : 0n - amountSun;
    return [{ txid, owner, receiver, resource, changeSun, blockNumber: block.number }];
  });
}
