/** Acts on the report of a pass: stops sales, logs each finding once, and stores the judged records. */
import { Injectable } from '@nestjs/common';
import { Log } from '../../platform/observability/logger.js';
import { SalesHold } from '../pool/sales-hold.js';
import { findingsOf, type CheckResult, type Finding, type Report } from '../verify/finding.js';
import { JudgedRecords } from './judged-records.js';

export const FINDINGS_MAX = 10_000;
const NAMED_MAX = 3;

@Injectable()
export class ReportActions {
  /** Fingerprints of the last pass, so that each disagreement is logged once. */
  private reported = new Set<string>();

  constructor(
    private readonly salesHold: SalesHold,
    private readonly judgedRecords: JudgedRecords,
    private readonly log: Log,
  ) {}

  /** `fence` is that of the lease. A worker that lost the lease changes nothing. */
  async apply(report: Report, fence: number): Promise<void> {
    await this.stopSales(report, fence);
    this.logFindings(report);
    await this.judgedRecords.storeJudged(fence, report);
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
