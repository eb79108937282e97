/**
 * Compares the records with their rules and the chain, every minute and at a worker's start, one worker at a time. Each
 * disagreement is named, counted and contained: its wallet stops selling, or all sales stop until the operator explains
 * it. Repairs no record; it only stops sales and has orphans reclaimed.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { Database } from '../../platform/database/database.js';
import type { Report } from '../verify/finding.js';
import { verifyRecords } from '../verify/verify.js';
import { ChainSearch } from './chain-search.js';
import { NodeGauges } from './node-gauges.js';
import { ReconcilerGauges } from './reconciler-gauges.js';
import { ReconciliationLease } from './reconciliation-lease.js';
import { FINDINGS_MAX, ReportActions } from './report-actions.js';

/** Rest after a pass, as a multiple of the database time that judging the records took. */
const REST_FACTOR = 10;
/** Upper bound of the rest: `ReconcileStale` and a starting worker treat ten minutes without a pass as an outage. */
const REST_MAX_SEC = 300;
/** Longest time that a pass waits for a search that makes no progress towards the head; same reason. */
const SEARCH_WAIT_MAX_SEC = 300;
/** Interval of checks for a due pass. */
const CHECK_MS = 5000;
/**
 * Blocks of newly final transactions that a pass reads again: twice the blocks that one minute settles and reclaims.
 */
const BLOCKS_MAX = 60;
/**
 * Blocks read in parallel while the worker's start waits for the pass. Later passes read one at a time, to leave nodes
 * to deliveries.
 */
const FIRST_CONCURRENCY = 4;

@Injectable()
export class Reconciler {
  private isFirst = true;
  private restSec: number;
  /** Monotonic time from which this process searches the chain again, also while the next pass is not due. */
  private searchDueAtMs = 0;
  /** Monotonic time until which this process makes no pass after a failed one; another worker may. */
  private restsUntilMs = 0;
  /** While a due pass waits for the search: the fewest blocks left so far, and since when. */
  private searchWait: { readonly left: number; readonly sinceMs: number } | undefined;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly reconciliationLease: ReconciliationLease,
    private readonly chainSearch: ChainSearch,
    private readonly reportActions: ReportActions,
    private readonly reconcilerGauges: ReconcilerGauges,
    private readonly nodeGauges: NodeGauges,
    private readonly config: Config,
  ) {
    this.restSec = config.worker.reconcileSec;
  }

  /**
   * Makes a pass if one is due, or if this process never made one. Searches the chain every `reconcileSec`, however long
   * the rest between passes is: an owner's act must not wait for it. Returns ms until the next call.
   */
  async reconcile(): Promise<number> {
    await Promise.all([this.reconcilerGauges.sample(), this.nodeGauges.checkHistory()]);
    const isForced = this.isFirst;
    const restMs = Math.min(CHECK_MS, this.config.worker.reconcileSec * 1000);
    if (monotonicMs() < this.restsUntilMs) return restMs;
    const isWanted = isForced || monotonicMs() >= this.searchDueAtMs;
    const lease = await this.reconciliationLease.take(isWanted, this.restSec);
    if (lease === undefined) return restMs;
    const { fence } = lease;
    const done = new AbortController();
    void this.reconciliationLease.keepUntil(fence, done.signal);
    let isMade = false;
    let left: number | undefined;
    let report: Report | undefined;
    try {
      this.searchDueAtMs = monotonicMs() + this.config.worker.reconcileSec * 1000;
      left = await this.chainSearch.search();
      if ((isForced || lease.isPassDue) && this.trackSearch(left)) {
        report = await this.passOrPostpone(fence, isForced ? FIRST_CONCURRENCY : 1);
        isMade = true;
        await this.chainSearch.reclaimOrphans();
      }
    } finally {
      done.abort();
      const ended = await this.reconciliationLease.end(fence, isMade);
      if (isMade) this.isFirst = false;
      // If the lease was lost, the worker that took it over shows its own findings.
      if (isMade && ended !== undefined) {
        if (report !== undefined) this.reconcilerGauges.setReport(report, left);
        this.reconcilerGauges.setPassEnd(ended.passedAt);
      }
    }
    await this.reconcilerGauges.sample();
    return restMs;
  }

  /**
   * Returns false while the search advances: judging would report errors that the search is about to correct. Returns
   * true once the search is at the head, cannot continue, or makes no progress.
   */
  private trackSearch(left: number | undefined): boolean {
    if (left === undefined || left === 0) {
      this.searchWait = undefined;
      return true;
    }
    if (this.searchWait === undefined || left < this.searchWait.left)
      this.searchWait = { left, sinceMs: monotonicMs() };
    return monotonicMs() - this.searchWait.sinceMs > SEARCH_WAIT_MAX_SEC * 1000;
  }

  /** Makes a pass, and postpones the next one if it fails. A failing pass would otherwise repeat at every check. */
  private async passOrPostpone(fence: number, concurrency: number): Promise<Report> {
    try {
      return await this.pass(fence, concurrency);
    } catch (error) {
      this.restsUntilMs = monotonicMs() + this.restSec * 1000;
      throw error;
    }
  }

  private async pass(fence: number, concurrency: number): Promise<Report> {
    const report = await verifyRecords(this.database, {
      chain: this.client,
      depth: 'newer',
      pairs: 'suspicious',
      blocksMax: BLOCKS_MAX,
      concurrency,
      scanBlocks: 0,
      findingsMax: FINDINGS_MAX,
    });
    this.restSec = restSec(this.config.worker.reconcileSec, report.recordsMs / 1000);
    await this.reportActions.apply(report, fence);
    return report;
  }
}

/** Returns the seconds from one pass to the next, given the database time that judging took. */
export function restSec(intervalSec: number, tookSec: number): number {
  return Math.max(intervalSec, Math.min(tookSec * REST_FACTOR, REST_MAX_SEC));
}
