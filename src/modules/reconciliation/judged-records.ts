/**
 * Stores the judgements of a reconciliation pass, so that the next pass need not repeat them. Final orders are marked
 * at the version of their row; ledger entries are stored in ranges with a digest. The only writer of judged_entries and
 * judged_credits.
 */
import { Injectable } from '@nestjs/common';
import { Log } from '../../platform/observability/logger.js';
import { Database } from '../../platform/database/database.js';
import { markJudged } from '../order-records/order-transitions.js';
import type { Judged, Report } from '../verify/finding.js';
import { ENTRIES_DIGEST, ENTRIES_RANGE } from '../verify/ledger-checks.js';

/** Rows marked per statement, which keeps the locks short. */
const BATCH = 2000;
/**
 * Ledger ranges stored per pass: enough for a busy service's entries of a day, and for a long history within some
 * minutes.
 */
const RANGES_MAX = 200;
/** Longer than any transaction of ours is open, so that no entry can still appear in a range. */
const ENTRY_AGE_SEC = 600;

const MOVE_ORDERS = `UPDATE reconcile_state SET orders_after = $2 WHERE fence = $1`;
const MOVE_ENTRIES = `UPDATE reconcile_state SET entries_after = $2 WHERE fence = $1`;

const RANGE = ENTRIES_RANGE.toString();

/** Stores the next range once entries exist beyond it, with its digest and its sums. */
const KEEP_RANGE = `WITH next AS (
    SELECT entries_to AS after, entries_to + ${RANGE} AS to_id FROM reconcile_state r
     WHERE fence = $1 AND EXISTS (SELECT FROM credit_entry WHERE id > r.entries_to + ${RANGE})
       AND NOT EXISTS (SELECT FROM credit_entry WHERE id > r.entries_to AND id <= r.entries_to + ${RANGE}
         AND created_at > clock_timestamp() - $2 * interval '1 second')
     FOR NO KEY UPDATE),
  kept AS (
    INSERT INTO judged_entries (to_id, digest)
    SELECT n.to_id, (SELECT ${ENTRIES_DIGEST} FROM credit_entry e WHERE e.id > n.after AND e.id <= n.to_id) FROM next n
    ON CONFLICT DO NOTHING),
  added AS (
    INSERT INTO judged_credits AS j (project_id, credits)
    SELECT e.project_id, sum(e.credits) FROM next n
      JOIN credit_entry e ON e.id > n.after AND e.id <= n.to_id AND e.contra <> 'test' GROUP BY e.project_id
    ON CONFLICT (project_id) DO UPDATE SET credits = j.credits + excluded.credits)
  UPDATE reconcile_state r SET entries_to = next.to_id FROM next RETURNING r.entries_to`;

/**
 * Rebuilds the sums from the first entry on. The digests of the ranges stay, so that checking them again reveals a
 * changed range.
 */
const REBUILD_SUMS = `WITH gone AS (DELETE FROM judged_credits)
  UPDATE reconcile_state SET entries_to = 0 WHERE fence = $1`;

const LEDGER = ['ledger-balance', 'ledger-entry', 'ledger-kept', 'ledger-shape'];

@Injectable()
export class JudgedRecords {
  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /**
   * Stores the records that `report` judged as right or explained. `fence` is that of the lease; a process that lost the
   * lease stores nothing.
   */
  async storeJudged(fence: number, report: Report): Promise<void> {
    const { judged } = report;
    if (judged === undefined) return;
    const found = new Set(report.checks.flatMap(({ findings }) => findings.map(({ fingerprint }) => fingerprint)));
    // An unmade check judged nothing. If findings exceed the listed ones, the orders of the rest are unknown.
    if (report.unmade.length > 0 || report.checks.some((check) => check.count > check.findings.length)) return;
    await this.markOrders(report, judged);
    if (![...judged.inTurn].some((fingerprint) => found.has(fingerprint))) {
      await this.database.query(MOVE_ORDERS, [fence, judged.ordersAfter]);
      await this.database.query(MOVE_ENTRIES, [fence, judged.entriesAfter]);
    }
    if (judged.areSumsWrong) {
      this.log.warn({ effect: 'the sums are rebuilt' }, 'ledger sums differ from the entries');
      await this.database.query(REBUILD_SUMS, [fence]);
    } else if (report.checks.every(({ check, count }) => !LEDGER.includes(check) || count === 0)) {
      await this.keepLedger(fence);
    }
  }

  private async markOrders(report: Report, { orders, blocksTo }: Judged): Promise<void> {
    const wrong = new Set(report.checks.flatMap(({ findings }) => findings.map(({ orderId }) => orderId)));
    const right = orders.filter(({ id }) => !wrong.has(id));
    for (let from = 0; from < right.length; from += BATCH) {
      await markJudged(this.database, right.slice(from, from + BATCH), blocksTo);
    }
  }

  private async keepLedger(fence: number): Promise<void> {
    for (let ranges = 0; ranges < RANGES_MAX; ranges += 1) {
      const kept = await this.database.query(KEEP_RANGE, [fence, ENTRY_AGE_SEC]);
      if (kept.length === 0) return;
    }
  }
}
