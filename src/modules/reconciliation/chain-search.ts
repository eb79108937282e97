/** Searches the chain for acts that the records lack, and reclaims orphans. A search waits for nodes without failing. */
import { Injectable } from '@nestjs/common';
import { messageOf } from '../../domain/errors.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { ForeignUndelegations } from './foreign-undelegations.js';
import { OrphanReclaims } from './orphan-reclaims.js';
import { ReconcilerGauges } from './reconciler-gauges.js';
import { UnrecordedSearch } from './unrecorded-search.js';

@Injectable()
export class ChainSearch {
  constructor(
    private readonly unrecordedSearch: UnrecordedSearch,
    private readonly foreignUndelegations: ForeignUndelegations,
    private readonly orphanReclaims: OrphanReclaims,
    private readonly reconcilerGauges: ReconcilerGauges,
    private readonly log: Log,
  ) {}

  /**
   * Searches the chain, and matches foreign undelegations with orders. Returns the number of blocks left, or undefined
   * if the chain could not be searched.
   */
  async search(): Promise<number | undefined> {
    const left = await this.tryOnChain('search for orphans', () => this.unrecordedSearch.searchToHead());
    if (left !== undefined) this.reconcilerGauges.setBlocksLeft(left);
    await this.tryOnChain('search skipped blocks', () => this.unrecordedSearch.retryUnsearched());
    await this.tryOnChain('match foreign undelegations with orders', () => this.foreignUndelegations.closeLegs());
    return left;
  }

  async reclaimOrphans(): Promise<void> {
    await this.tryOnChain('reclaim orphans', () => this.orphanReclaims.reclaim());
  }

  /** The records are judged even if no node answers. */
  private async tryOnChain<T>(task: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      this.log.warn({ fault: messageOf(error) }, `failed to ${task}; will retry`);
      return undefined;
    }
  }
}
