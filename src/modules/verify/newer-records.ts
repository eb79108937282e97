/**
 * Applies the rules to records that are not judged yet: orders whose row changed, and newer ledger entries. Each pass
 * also re-judges the next older records in turn, so that a change past every guard is found eventually. The cost
 * depends on open and new records, not on history.
 */
import type { Queryable } from '../../platform/database/database.js';
import {
  runRecordCheck,
  runOrderCheck,
  type RecordCheck,
  type RecordTerms,
  type OrderScope,
  type TryCheck,
} from './record-check.js';
import type { CheckResult, Judged } from './finding.js';
import { newerLedgerChecks, NEXT_ENTRIES_AFTER, WHOLE_BALANCE, type LedgerCursor } from './ledger-checks.js';
import { ORDER_CHECKS } from './order-checks.js';

/** Limits the orders per pass. Orders at rest come first; the next pass judges the others. */
const UNJUDGED_MAX = 20_000;
/** Orders judged per statement. */
const CHUNK = 1000;
/** Judged orders that each pass judges again. */
const AGAIN = 1000;
/** Above every id: the end of a turn also covers rows without an order. */
const LAST_ID = 9_223_372_036_854_775_807n;

const CURSOR = `SELECT orders_after, entries_to, entries_after FROM reconcile_state`;

/** `version` reveals whether a row changed since it was judged. `rests`: only the order's end can still change it. */
const UNJUDGED = `SELECT id, xmin::text AS version, settled AND next_run_at IS NULL AS rests FROM orders WHERE NOT judged
  ORDER BY settled AND next_run_at IS NULL DESC, id LIMIT ${UNJUDGED_MAX.toString()}`;

const AGAIN_TO = `SELECT max(id) AS id, count(*) AS orders
  FROM (SELECT id FROM orders WHERE id > $1::bigint ORDER BY id LIMIT ${AGAIN.toString()}) next`;

interface UnjudgedRow {
  readonly id: bigint;
  readonly version: string;
  readonly rests: boolean;
}

interface Cursor extends LedgerCursor {
  readonly orders_after: bigint;
}

export class NewerRecords {
  private readonly inTurn = new Set<string>();

  constructor(
    private readonly tx: Queryable,
    private readonly tryCheck: TryCheck,
    private readonly terms: RecordTerms,
  ) {}

  async judge(): Promise<Judged> {
    const [cursor] = await this.tx.query<Cursor>(CURSOR);
    if (cursor === undefined) throw new Error('the row of reconcile_state is missing');
    const areSumsWrong = await this.judgeLedger(cursor);
    const [next] = await this.tx.query<{ to_id: bigint }>(NEXT_ENTRIES_AFTER, [cursor.entries_after]);
    const unjudged = await this.tx.query<UnjudgedRow>(UNJUDGED);
    for (let from = 0; from < unjudged.length; from += CHUNK) {
      const ids = unjudged.slice(from, from + CHUNK).map(({ id }) => id);
      await this.judgeOrders({ kind: 'some', ids });
    }
    const ordersAfter = await this.judgeAgain(cursor.orders_after);
    return {
      orders: unjudged.filter(({ rests }) => rests),
      ordersAfter,
      entriesAfter: next?.to_id ?? 0n,
      inTurn: this.inTurn,
      areSumsWrong,
    };
  }

  /** Returns true if the stored sums are wrong although the ledger is right. */
  private async judgeLedger(cursor: LedgerCursor): Promise<boolean> {
    const { balance, kept, others } = newerLedgerChecks(cursor);
    const make = async (check: RecordCheck): Promise<CheckResult | undefined> =>
      this.tryCheck(check.check, () => runRecordCheck(this.tx, check, this.terms));
    for (const check of others) await make(check);
    const changed = await make(kept);
    if (changed !== undefined) this.note([changed]);
    const isChanged = changed !== undefined && changed.count > 0;
    let areSumsWrong = false;
    await this.tryCheck(balance.check, async () => {
      const newer = await runRecordCheck(this.tx, balance, this.terms);
      if (newer.count === 0 && !isChanged) return newer;
      const whole = await runRecordCheck(this.tx, WHOLE_BALANCE, this.terms);
      areSumsWrong = newer.count > 0 && whole.count === 0 && !isChanged;
      return whole;
    });
    return areSumsWrong;
  }

  /** Judges the next orders in turn, with all rows of ids up to theirs. Returns the last id; 0 at the end of a turn. */
  private async judgeAgain(after: bigint): Promise<bigint> {
    const [next] = await this.tx.query<{ id: bigint | null; orders: bigint }>(AGAIN_TO, [after]);
    const isLast = next === undefined || Number(next.orders) < AGAIN || next.id === null;
    const upTo = isLast ? LAST_ID : (next.id ?? LAST_ID);
    this.note(await this.judgeOrders({ kind: 'between', after, upTo }));
    return isLast ? 0n : upTo;
  }

  private async judgeOrders(scope: OrderScope): Promise<readonly CheckResult[]> {
    const results: (CheckResult | undefined)[] = [];
    for (const check of ORDER_CHECKS)
      results.push(await this.tryCheck(check.check, () => runOrderCheck(this.tx, check, this.terms, scope)));
    const { checkContents } = await import('./transaction-content.js');
    results.push(
      await this.tryCheck('transaction-content', () => checkContents(this.tx, this.terms.findingsMax, scope)),
    );
    return results.filter((result) => result !== undefined);
  }

  /** Lateness is reported while it lasts; other errors must be reported in every turn. */
  private note(results: readonly CheckResult[]): void {
    for (const { stops, findings } of results) {
      if (stops === 'nothing') continue;
      for (const { fingerprint } of findings) this.inTurn.add(fingerprint);
    }
  }
}
