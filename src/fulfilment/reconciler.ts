/**
 * Holds the books against their rules and the chain, every minute and when a worker starts, one worker at a time; what
 * disagrees is named, counted and contained: the wallet stops selling, or everything does until a person has explained
 * it. Never repairs a record: it only stops sales, and has orphans taken back.
 */
import { Inject, Injectable } from '@nestjs/common';
import { ChainUnavailableError } from '../chain/errors.js';
import { TronClient } from '../chain/tron.client.js';
import { monotonicMs } from '../clock.js';
import { messageOf } from '../errors.js';
import { Log } from '../http/logger.js';
import { SalesHold } from '../pool/sales-hold.js';
import { Database } from '../store/database.js';
import { findingsOf, type CheckResult, type Finding, type Report } from '../verify/finding.js';
import { verifyBooks } from '../verify/verify.js';
import { ForeignEnds } from './foreign-ends.js';
import { Judgements } from './judgements.js';
import { NodeFigures } from './node-figures.js';
import { ReconcilerFigures } from './reconciler-figures.js';
import { Orphans, type Turn } from './reconciler-orphans.js';

const INTERVAL_SEC = 60;
/** The database gets ten times as long to do its other work as a pass takes. */
const REST_FACTOR = 10;
const LEASE_SEC = 30;
/** How soon it is looked again whether a pass is due. */
const LOOK_MS = 5000;
const FINDINGS_MAX = 10_000;
/** Blocks of newly final transactions that a pass reads again: what a minute settles, and what it ends, twice over. */
const BLOCKS_MAX = 60;
/** Blocks read at once while the worker's start waits for it; later one by one, so that few are held by what delivers. */
const FIRST_LANES = 4;
const NAMED_MAX = 3;

const TAKE_TURN = `UPDATE reconcile_state SET lease_until = clock_timestamp() + $1 * interval '1 second', fence = fence + 1
  WHERE (lease_until IS NULL OR lease_until < clock_timestamp() OR lease_until > clock_timestamp() + ($1 + 1) * interval '1 second')
    AND ($2 OR passed_at IS NULL OR passed_at <= clock_timestamp() - $3 * interval '1 second'
      OR passed_at > clock_timestamp() + interval '1 second')
  RETURNING fence, scanned_to`;

const END_TURN = `UPDATE reconcile_state SET lease_until = NULL, passed_at = clock_timestamp() WHERE fence = $1`;

@Injectable()
export class Reconciler {
  private isFirst = true;
  private restSec = INTERVAL_SEC;
  /** Fingerprints of the last pass, so that each disagreement is told once. */
  private told = new Set<string>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TronClient) private readonly client: TronClient,
    @Inject(SalesHold) private readonly hold: SalesHold,
    @Inject(Orphans) private readonly orphans: Orphans,
    @Inject(ForeignEnds) private readonly foreignEnds: ForeignEnds,
    @Inject(Judgements) private readonly judgements: Judgements,
    @Inject(ReconcilerFigures) private readonly figures: ReconcilerFigures,
    @Inject(NodeFigures) private readonly nodes: NodeFigures,
    @Inject(Log) private readonly log: Log,
  ) {}

  /** One look: a pass if one is due, or if this process never made one. Returns ms until the next look. */
  async look(): Promise<number> {
    await Promise.all([this.figures.sample(), this.nodes.look()]);
    const isForced = this.isFirst;
    const [row] = await this.database.query<{ fence: number; scanned_to: bigint | null }>(TAKE_TURN, [
      LEASE_SEC,
      isForced,
      this.restSec,
    ]);
    if (row === undefined) return LOOK_MS;
    this.isFirst = false;
    const scannedTo = row.scanned_to === null ? undefined : Number(row.scanned_to);
    await this.pass({ fence: row.fence, leaseSec: LEASE_SEC, scannedTo }, isForced ? FIRST_LANES : 1);
    await this.figures.sample();
    return LOOK_MS;
  }

  private async pass(turn: Turn, lanes: number): Promise<void> {
    const startedMs = monotonicMs();
    try {
      const left = await this.onChain('searching for orphans', () => this.orphans.search(turn));
      await this.onChain('holding acts of others against orders', () => this.foreignEnds.close());
      const report = await verifyBooks(this.database, {
        chain: this.client,
        depth: 'newer',
        pairs: 'suspicious',
        blocksMax: BLOCKS_MAX,
        lanes,
        scanBlocks: 0,
        findingsMax: FINDINGS_MAX,
      });
      await this.contain(report);
      this.tell(report);
      await this.judgements.keep(turn.fence, report);
      this.figures.report(report, left);
      await this.onChain('taking orphans back', () => this.orphans.takeBack());
    } finally {
      this.restSec = Math.max(INTERVAL_SEC, ((monotonicMs() - startedMs) / 1000) * REST_FACTOR);
      await this.database.query(END_TURN, [turn.fence]);
    }
  }

  /** The books are judged also while no node answers. */
  private async onChain<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      this.log.warn({ fault: messageOf(error) }, `${what} has to wait`);
      return undefined;
    }
  }

  private async contain(report: Report): Promise<void> {
    const stopping = report.checks.filter((check) => stopsEverything(check));
    if (stopping.length > 0) {
      const reason = `the books are in question: ${stopping.map(nameOf).join('; ')}`;
      const findings = stopping.flatMap((check) => check.findings.filter((finding) => isForAll(check, finding)));
      if (await this.hold.stopSales(reason, findings.slice(0, FINDINGS_MAX))) {
        this.log.fatal({ reason }, 'nothing is sold until a person has explained what disagrees (`verify explain`)');
      }
    }
    // A wallet that could not be compared just now keeps what it was held for.
    if (report.unmade.some(({ check }) => check === 'open-delegations')) return;
    const changed = await this.hold.holdWallets(walletFaults(report));
    for (const { address, books_fault } of changed) {
      if (books_fault === null) this.log.warn({ wallet: address }, 'the wallet agrees with the chain again');
      else this.log.error({ wallet: address, fault: books_fault }, 'the wallet stops selling');
    }
  }

  private tell(report: Report): void {
    const findings = findingsOf(report);
    for (const finding of findings) {
      if (!this.told.has(finding.fingerprint)) this.log.error({ ...finding }, `${finding.rule} ${finding.check}`);
    }
    this.told = new Set(findings.map(({ fingerprint }) => fingerprint));
    for (const { check, why } of report.unmade) this.log.warn({ check, why }, 'a rule could not be judged');
  }
}

function isForAll(check: CheckResult, finding: Finding): boolean {
  return check.stops === 'everything' || finding.walletId === undefined;
}

/** Also when more is wrong than was listed: nobody knows then whose wallets the rest are. */
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
