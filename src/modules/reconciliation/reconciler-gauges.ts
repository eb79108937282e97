/** Gauges of the reconciler and the pool, sampled in the background and never by a scrape. */
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { Metrics, addGauge } from '../../platform/observability/metrics.js';
import { Database } from '../../platform/database/database.js';
import { IS_RETIRED } from '../pool/pool-wallets.js';
import type { Report } from '../verify/finding.js';

/** True for a pause by the operator of a wallet without a fault. Only the pauses of faults must wake anyone. */
const IS_WOUND_DOWN = `(w.status = 'paused' AND coalesce(w.pause_reason, '') NOT LIKE 'auto:%'
  AND coalesce(w.books_fault, w.wallet_fault, w.delivery_fault) IS NULL)`;

const POOL = {
  name: 'figures_pool',
  text: `SELECT w.address, w.role, w.status = 'paused' AS paused, ${IS_WOUND_DOWN} AS wound_down, w.staked_sun, w.delegated_sun, w.recovering_sun, w.balance_sun,
      (SELECT coalesce(sum(free_sun), 0)::bigint FROM pool_slot WHERE wallet_id = w.id) AS free_sun,
      (SELECT coalesce(sum(amount_sun), 0)::bigint FROM leg WHERE wallet_id = w.id AND kind <> 'bandwidth' AND status IN ('reserved', 'placed')) AS reserved_sun,
      w.staked_bandwidth_sun, w.delegated_bandwidth_sun,
      (SELECT coalesce(sum(free_bandwidth_sun), 0)::bigint FROM pool_slot WHERE wallet_id = w.id) AS free_bandwidth_sun,
      (SELECT coalesce(sum(amount_sun), 0)::bigint FROM leg WHERE wallet_id = w.id AND kind = 'bandwidth' AND status IN ('reserved', 'placed')) AS reserved_bandwidth_sun
    FROM pool_wallet w WHERE NOT ${IS_RETIRED} ORDER BY w.id`,
};

/** Age of due work without a lease: the one figure that reveals a stuck worker regardless of its own reports. */
const DUE = {
  name: 'figures_due',
  text: `SELECT CASE WHEN status = 'delivered' THEN CASE WHEN settled THEN 'reclaim' ELSE 'settle' END ELSE 'deliver' END AS purpose,
      max(extract(epoch FROM clock_timestamp() - next_run_at))::float8 AS sec
    FROM orders WHERE next_run_at <= clock_timestamp() AND (lease_until IS NULL OR lease_until < clock_timestamp()) GROUP BY 1`,
};

const STOPPED = {
  name: 'figures_stopped',
  text: `SELECT (SELECT count(*) FROM sales_stop)::int AS stops, passed_at FROM reconcile_state`,
};

const PURPOSES = ['deliver', 'settle', 'reclaim'] as const;
const PARTS = ['staked', 'delegated', 'reserved', 'recovering', 'free', 'balance'] as const;
const BANDWIDTH_PARTS = ['staked', 'delegated', 'reserved', 'free'] as const;

interface PoolRow {
  readonly address: string;
  readonly role: string;
  readonly paused: boolean;
  readonly wound_down: boolean;
  readonly staked_sun: bigint;
  readonly delegated_sun: bigint;
  readonly recovering_sun: bigint;
  readonly balance_sun: bigint;
  readonly free_sun: bigint;
  readonly reserved_sun: bigint;
  readonly staked_bandwidth_sun: bigint;
  readonly delegated_bandwidth_sun: bigint;
  readonly reserved_bandwidth_sun: bigint;
  readonly free_bandwidth_sun: bigint;
}

@Injectable()
export class ReconcilerGauges {
  private readonly pool;
  private readonly bandwidth;
  private readonly paused;
  private readonly due;
  private readonly stopped;
  private readonly drift;
  private readonly orphans;
  private readonly mismatches;
  private readonly violations;
  private readonly unmade;
  private readonly unsearched;
  private passedAtMs = Number.NEGATIVE_INFINITY;
  /** End of this process's last pass, by the database's clock. */
  private ownPassAt: Date | undefined;

  constructor(
    private readonly database: Database,
    { registry }: Metrics,
  ) {
    const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Gauge({ name, help, labelNames, registers: [registry] });
    this.pool = gauge('pool_sun', 'Sun of the pool, by `wallet` and `part`.', 'wallet', 'part');
    this.bandwidth = gauge(
      'pool_bandwidth_sun',
      'Sun staked for bandwidth, by `wallet` and `part` (`free`: for sale and top-ups).',
      'wallet',
      'part',
    );
    this.paused = gauge(
      'pool_wallet_paused',
      '1 while a `wallet` sells nothing, `by` a fault or the operator; retired wallets have no series.',
      'wallet',
      'by',
    );
    this.due = gauge('oldest_due_seconds', 'Longest wait of due work, by `purpose`.', 'purpose');
    this.stopped = gauge('sales_stopped', '1 while an unexplained disagreement stops all sales.');
    this.drift = gauge('ledger_drift_credits', 'Balances minus their entries: must be 0.');
    this.orphans = gauge('orphan_chain_tx', 'Unexplained transactions of our wallets: must be 0.');
    this.mismatches = gauge('delegation_mismatch', 'Receivers whose delegations differ from the records: must be 0.');
    this.violations = gauge(
      'book_violations',
      'Rows that break a rule of the records, by `check`: must be 0.',
      'check',
    );
    this.unmade = gauge('checks_not_made', '1 for a `check` that the newest pass omitted: must be 0.', 'check');
    this.unsearched = gauge('orphan_search_blocks_left', 'Solid blocks not yet searched for orphans.');
    addGauge(
      registry,
      'reconcile_age_seconds',
      'Time since this worker made every check (use the `min`).',
      () => (monotonicMs() - this.passedAtMs) / 1000,
    );
  }

  /**
   * Shows the findings of a pass. `blocksLeft` is undefined if the chain could not be searched. An incomplete pass does
   * not reset the age.
   */
  setReport(report: Report, blocksLeft: number | undefined): void {
    const unmade = report.unmade.map(({ check }) => check);
    if (blocksLeft === undefined) unmade.push('orphan-search');
    this.unmade.reset();
    for (const check of unmade) this.unmade.set({ check }, 1);
    if (unmade.length === 0) this.passedAtMs = monotonicMs();
    for (const check of report.checks) {
      this.violations.set({ check: check.check }, check.count);
      if (check.check === 'orphan-transactions') this.orphans.set(check.count);
      if (check.check === 'open-delegations') this.mismatches.set(check.count);
      if (check.check !== 'ledger-balance') continue;
      const drift = check.findings.reduce((sum, { facts }) => sum + magnitude(BigInt(facts['drift'] as string)), 0n);
      this.drift.set(Number.parseFloat(drift.toString()));
    }
  }

  /** Shows how many blocks this worker's search has left. */
  setBlocksLeft(blocksLeft: number): void {
    this.unsearched.set(blocksLeft);
  }

  /** Stores when the reported pass ended, by the database's clock. */
  setPassEnd(at: Date | null): void {
    this.ownPassAt = at ?? undefined;
  }

  /** Another worker made a newer pass and shows its findings, so this process clears its own. */
  private forget(): void {
    for (const gauge of [this.violations, this.unmade, this.orphans, this.mismatches, this.drift, this.unsearched]) {
      gauge.reset();
    }
  }

  /** Samples the pool and the due work; every worker shows these. */
  async sample(): Promise<void> {
    const [wallets, due, [state]] = await Promise.all([
      this.database.query<PoolRow>(POOL),
      this.database.query<{ purpose: string; sec: number }>(DUE),
      this.database.query<{ stops: number; passed_at: Date | null }>(STOPPED),
    ]);
    this.stopped.set(state?.stops ?? 0);
    if (state?.passed_at?.getTime() !== this.ownPassAt?.getTime()) this.forget();
    for (const purpose of PURPOSES) {
      this.due.set({ purpose }, due.find((row) => row.purpose === purpose)?.sec ?? 0);
    }
    // A retired wallet would otherwise keep its last figures.
    for (const gauge of [this.pool, this.bandwidth, this.paused]) gauge.reset();
    for (const row of wallets) {
      for (const part of PARTS) {
        this.pool.set({ wallet: row.address, part }, Number.parseFloat(row[`${part}_sun`].toString()));
      }
      for (const part of BANDWIDTH_PARTS) {
        const amount = row[`${part}_bandwidth_sun`];
        this.bandwidth.set({ wallet: row.address, part }, Number.parseFloat(amount.toString()));
      }
      this.paused.set({ wallet: row.address, by: row.wound_down ? 'operator' : 'fault' }, row.paused ? 1 : 0);
    }
  }
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}
