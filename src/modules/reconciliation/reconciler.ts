/**
 * Compares the records with their rules and the chain, every minute and at a worker's start, one worker at a time. Each
 * disagreement is named, counted and contained: its wallet stops selling, or all sales stop until the operator explains
 * it. Repairs no record; it only stops sales and has orphans reclaimed.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { keepLease } from '../../platform/support/lease.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { SalesHold } from '../pool/sales-hold.js';
import { Database } from '../../platform/database/database.js';
import { leaseIsFree } from '../../platform/database/lease-sql.js';
import { findingsOf, type CheckResult, type Finding, type Report } from '../verify/finding.js';
import { verifyRecords } from '../verify/verify.js';
import { ForeignUndelegations } from './foreign-undelegations.js';
import { JudgedRecords } from './judged-records.js';
import { NodeGauges } from './node-gauges.js';
import { OrphanReclaims } from './orphan-reclaims.js';
import { ReconcilerGauges } from './reconciler-gauges.js';
import { UnrecordedSearch } from './unrecorded-search.js';

/** Rest after a pass, as a multiple of the database time that judging the records took. */
const REST_FACTOR = 10;
/** Upper bound of the rest: `ReconcileStale` and a starting worker treat ten minutes without a pass as an outage. */
const REST_MAX_SEC = 300;
/** Longest time that a pass waits for a search that makes no progress towards the head; same reason. */
const SEARCH_WAIT_MAX_SEC = 300;
const LEASE_SEC = 30;
/** A longer pass is stuck: its lease expires, and another worker makes one. */
const LEASE_MAX_MS = 600_000;
/** Interval of checks for a due pass. */
const CHECK_MS = 5000;
const FINDINGS_MAX = 10_000;
/**
 * Blocks of newly final transactions that a pass reads again: twice the blocks that one minute settles and reclaims.
 */
const BLOCKS_MAX = 60;
/**
 * Blocks read in parallel while the worker's start waits for the pass. Later passes read one at a time, to leave nodes
 * to deliveries.
 */
const FIRST_CONCURRENCY = 4;
const NAMED_MAX = 3;

const LEASE_IS_FREE = leaseIsFree('lease_until', '$1');

const TAKE_LEASE = `UPDATE reconcile_state s SET lease_until = clock_timestamp() + $1 * interval '1 second', fence = fence + 1
  WHERE ${LEASE_IS_FREE}
    AND ($2 OR passed_at IS NULL OR passed_at <= clock_timestamp() - $3 * interval '1 second'
      OR passed_at > clock_timestamp() + interval '1 second')
  RETURNING fence`;

/** Requires a lease: a renewal that arrives after the lease's end must not revive it. */
const RENEW_LEASE = `UPDATE reconcile_state SET lease_until = clock_timestamp() + $2 * interval '1 second'
  WHERE fence = $1 AND lease_until IS NOT NULL`;

const END_LEASE = `UPDATE reconcile_state SET lease_until = NULL,
    passed_at = CASE WHEN $2 THEN clock_timestamp() ELSE passed_at END WHERE fence = $1 RETURNING passed_at`;

@Injectable()
export class Reconciler {
  private isFirst = true;
  private restSec: number;
  /** Monotonic time until which this process makes no pass after a failed one; another worker may. */
  private restsUntilMs = 0;
  /** While a due pass waits for the search: the fewest blocks left so far, and since when. */
  private searchWait: { readonly left: number; readonly sinceMs: number } | undefined;
  /** Fingerprints of the last pass, so that each disagreement is logged once. */
  private reported = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly salesHold: SalesHold,
    private readonly unrecordedSearch: UnrecordedSearch,
    private readonly orphanReclaims: OrphanReclaims,
    private readonly foreignUndelegations: ForeignUndelegations,
    private readonly judgedRecords: JudgedRecords,
    private readonly reconcilerGauges: ReconcilerGauges,
    private readonly nodeGauges: NodeGauges,
    private readonly config: Config,
    private readonly log: Log,
  ) {
    this.restSec = config.worker.reconcileSec;
  }

  /** Makes a pass if one is due, or if this process never made one. Returns ms until the next call. */
  async reconcile(): Promise<number> {
    await Promise.all([this.reconcilerGauges.sample(), this.nodeGauges.checkHistory()]);
    const isForced = this.isFirst;
    const restMs = Math.min(CHECK_MS, this.config.worker.reconcileSec * 1000);
    if (monotonicMs() < this.restsUntilMs) return restMs;
    const [lease] = await this.database.query<{ fence: number }>(TAKE_LEASE, [LEASE_SEC, isForced, this.restSec]);
    if (lease === undefined) return restMs;
    const done = new AbortController();
    void this.keepLeaseUntil(lease.fence, done.signal);
    let isMade = false;
    let left: number | undefined;
    let report: Report | undefined;
    try {
      left = await this.search();
      if (this.isPassDue(left)) {
        report = await this.passOrPostpone(lease.fence, isForced ? FIRST_CONCURRENCY : 1);
        isMade = true;
        await this.tryOnChain('reclaim orphans', () => this.orphanReclaims.reclaim());
      }
    } finally {
      done.abort();
      const [ended] = await this.database.query<{ passed_at: Date | null }>(END_LEASE, [lease.fence, isMade]);
      if (isMade) this.isFirst = false;
      // If the lease was lost, the worker that took it over shows its own findings.
      if (isMade && ended !== undefined) {
        if (report !== undefined) this.reconcilerGauges.setReport(report, left);
        this.reconcilerGauges.setPassEnd(ended.passed_at);
      }
    }
    await this.reconcilerGauges.sample();
    return restMs;
  }

  private async keepLeaseUntil(fence: number, done: AbortSignal): Promise<void> {
    const options = {
      leaseSec: LEASE_SEC,
      maxMs: LEASE_MAX_MS,
      renew: async () => {
        await this.database.query(RENEW_LEASE, [fence, LEASE_SEC]);
      },
      onFailure: (error: unknown) => {
        this.log.warn({ fault: messageOf(error) }, 'failed to renew the reconciliation lease');
      },
    };
    await keepLease(options, done);
  }

  /**
   * Searches the chain, and matches foreign undelegations with orders. Returns the number of blocks left, or undefined
   * if the chain could not be searched.
   */
  private async search(): Promise<number | undefined> {
    const left = await this.tryOnChain('search for orphans', () => this.unrecordedSearch.searchToHead());
    if (left !== undefined) this.reconcilerGauges.setBlocksLeft(left);
    await this.tryOnChain('search skipped blocks', () => this.unrecordedSearch.retryUnsearched());
    await this.tryOnChain('match foreign undelegations with orders', () => this.foreignUndelegations.closeLegs());
    return left;
  }

  /**
   * Returns false while the search advances: judging would report errors that the search is about to correct. Returns
   * true once the search is at the head, cannot continue, or makes no progress.
   */
  private isPassDue(left: number | undefined): boolean {
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
    await this.stopSales(report, fence);
    this.logFindings(report);
    await this.judgedRecords.storeJudged(fence, report);
    return report;
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

  private async stopSales(report: Report, fence: number): Promise<void> {
    const stopping = report.checks.filter((check) => stopsEverything(check));
    if (stopping.length > 0) {
      const reason = `the records have findings: ${stopping.map(nameOf).join('; ')}`;
      const findings = stopping.flatMap((check) => check.findings.filter((finding) => isForAll(check, finding)));
      if (await this.salesHold.stopSales(reason, findings.slice(0, FINDINGS_MAX), fence)) {
        this.log.fatal({ reason, todo: 'explain each finding with `verify explain`' }, 'sales stopped');
      }
    }
    // A wallet that could not be compared in this pass keeps its hold.
    if (report.unmade.some(({ check }) => check === 'open-delegations')) return;
    const changed = await this.salesHold.holdWallets(walletFaults(report), fence);
    for (const { address, books_fault } of changed) {
      if (books_fault === null) this.log.warn({ wallet: address }, 'wallet agrees with the chain again');
      else this.log.error({ wallet: address, fault: books_fault }, 'wallet stopped selling');
    }
  }

  private logFindings(report: Report): void {
    const findings = findingsOf(report);
    for (const finding of findings) {
      if (!this.reported.has(finding.fingerprint)) this.log.error({ ...finding }, `${finding.rule} ${finding.check}`);
    }
    this.reported = new Set(findings.map(({ fingerprint }) => fingerprint));
    for (const { check, why } of report.unmade) this.log.warn({ check, why }, 'failed to check a rule');
  }
}

/** Returns the seconds from one pass to the next, given the database time that judging took. */
export function restSec(intervalSec: number, tookSec: number): number {
  return Math.max(intervalSec, Math.min(tookSec * REST_FACTOR, REST_MAX_SEC));
}

function isForAll(check: CheckResult, finding: Finding): boolean {
  return check.stops === 'everything' || finding.walletId === undefined;
}

/** Also true if the check found more than it listed: the wallets of the rest are unknown. */
function stopsEverything(check: CheckResult): boolean {
  if (check.count === 0 || check.stops === 'nothing') return false;
  return check.count > check.findings.length || check.findings.some((finding) => isForAll(check, finding));
}

function nameOf(check: CheckResult): string {
  const named = check.findings.slice(0, NAMED_MAX).map((finding) => finding.subject);
  const more = check.count > named.length ? ` and ${(check.count - named.length).toString()} more` : '';
  return `${check.check} (${named.join(', ')}${more})`;
}

function walletFaults(report: Report): Map<number, string> {
  const faults = new Map<number, string>();
  for (const check of report.checks.filter(({ stops }) => stops !== 'nothing')) {
    for (const { walletId, subject } of check.findings) {
      if (walletId !== undefined && !faults.has(walletId)) faults.set(walletId, `${check.check}: ${subject}`);
    }
  }
  return faults;
}
