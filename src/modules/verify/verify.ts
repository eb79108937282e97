/**
 * Proves the records in one call: the rules over the live tables in one snapshot, then a comparison with the chain.
 * Covers everything, or only unjudged records plus the next judged ones in turn, so that its cost does not grow with
 * history. Reads only. Used by the command line, the tests, the crash and chaos programmes and the reconciler.
 */
import { monotonicMs, sleep } from '../../platform/support/clock.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { messageOf } from '../../domain/errors.js';
import type { HoldingsReport } from '../../domain/holdings-report.js';
import { OperatorError } from '../../domain/operator-error.js';
import type { Database, Queryable } from '../../platform/database/database.js';
import type { TronClient } from '../../platform/chain/tron.client.js';
import { runRecordCheck, runOrderCheck, type RecordCheck, type RecordTerms, type TryCheck } from './record-check.js';
import { covers, FINDINGS_MAX, type CheckResult, type Judged, type Report } from './finding.js';
import { DELIVERIES_ATTEMPTED } from './delivery-checks.js';
import { COSTS_RECORDED, RENTAL_USES } from './cost-checks.js';
import { DEPOSIT_CHECKS, DEPOSIT_HOLDINGS, holdingsCheck, NEWER_DEPOSIT_CHECKS } from './deposit-checks.js';
import { DEPOSIT_ACT_CHECKS } from './deposit-act-checks.js';
import { EVENT_POSITIONS } from './event-checks.js';
import { GUARD_CHECKS } from './guard-checks.js';
import { LEDGER_ACT_CHECKS } from './ledger-act-checks.js';
import { LEDGER_CHECKS } from './ledger-checks.js';
import { LOG_CHECKS } from './log-checks.js';
import { NewerRecords } from './newer-records.js';
import { DOUBLE_CHECKS, ORDER_CHECKS } from './order-checks.js';
import { NEWER_STATEMENT_CHECKS, STATEMENT_CHECKS } from './statement-checks.js';
import { TEST_PROJECTS_APART } from './test-project-checks.js';
import { POOL_CHECKS } from './pool-checks.js';
import { checkChain, CHAIN_CHECK_NAMES, type ChainTerms } from './chain-checks.js';

export interface VerifyTerms
  extends Partial<RecordTerms>, Partial<Omit<ChainTerms, 'findingsMax' | 'ofOrders' | 'onProgress'>> {
  /** The chain to compare with; without it only the records are judged. */
  readonly chain?: TronClient | undefined;
  /**
   * Reads the holdings of deposit addresses; returns undefined if deposits are not in use. Without it they are not
   * judged.
   */
  readonly holdings?: (() => Promise<HoldingsReport | undefined>) | undefined;
  /** `newer`: unjudged records, and some judged ones in turn. Default: everything. */
  readonly depth?: 'everything' | 'newer';
  /** Called before each check, and during a long one with the number of judged rows. */
  readonly onProgress?: (step: Progress) => void;
}

/** Progress of a verification. */
export interface Progress {
  readonly check: string;
  readonly made: number;
  readonly of: number;
  readonly rows?: number;
}

/** An order takes a minute or two, a refund about five; beyond this limit it is stuck. */
const SETTLE_WITHIN_SEC = 900;
/** The snapshot's reads cover whole tables; the connection's usual limits are for requests. */
const SNAPSHOT = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  `SET LOCAL statement_timeout = '300s'`,
  `SET LOCAL idle_in_transaction_session_timeout = '60s'`,
  `SET LOCAL jit = off`,
];
/**
 * The pool's next pass corrects some disagreements, so these checks are read again after it. Definitions are printed in
 * their present form, not as of the snapshot: a migration that commits in between would look like a manual change.
 */
const TRANSIENT = new Set(['capacity', 'guard-definitions']);
const TRANSIENT_READS = 5;
const TRANSIENT_REST_MS = 1000;

const STANDING_CHECKS: readonly RecordCheck[] = [...POOL_CHECKS, ...GUARD_CHECKS];
const WHOLE_CHECKS: readonly RecordCheck[] = [
  TEST_PROJECTS_APART,
  ...LEDGER_CHECKS,
  ...LEDGER_ACT_CHECKS,
  ...DOUBLE_CHECKS,
  ...DEPOSIT_CHECKS,
  ...DEPOSIT_ACT_CHECKS,
  COSTS_RECORDED,
  RENTAL_USES,
  ...STATEMENT_CHECKS,
  EVENT_POSITIONS,
  ...LOG_CHECKS,
  DELIVERIES_ATTEMPTED,
  ...STANDING_CHECKS,
];
const CONTENTS = 'transaction-content';
const BOOK_STEPS = WHOLE_CHECKS.length + ORDER_CHECKS.length + 1;

/**
 * Judges the records, and compares them with the chain if `terms.chain` is given. Throws only if the database is
 * unavailable.
 */
export async function verifyRecords(database: Database, terms: VerifyTerms = {}): Promise<Report> {
  const startedMs = monotonicMs();
  const { checks, unmade, judged, recordsMs } = await readRecords(database, terms);
  let blocksTo: bigint | undefined;
  if (terms.chain !== undefined) {
    const fromChain = await checkChain(database, terms.chain, {
      ...terms,
      ofOrders: judged?.orders.map(({ id }) => id),
      onProgress: (check, made, of) => terms.onProgress?.({ check, made: BOOK_STEPS + made, of: BOOK_STEPS + of }),
    });
    checks.push(...fromChain.checks);
    unmade.push(...fromChain.unmade);
    ({ blocksTo } = fromChain);
  } else unmade.push(...CHAIN_CHECK_NAMES.map((check) => ({ check, why: 'the chain was not checked' })));
  try {
    const held = await terms.holdings?.();
    if (held !== undefined) checks.push(holdingsCheck(held, terms.findingsMax ?? FINDINGS_MAX));
  } catch (error) {
    if (!(error instanceof ChainUnavailableError || error instanceof OperatorError)) throw error;
    unmade.push({ check: DEPOSIT_HOLDINGS, why: error.message });
  }
  const open = await withoutExplained(database, checks);
  const tookMs = Math.round(monotonicMs() - startedMs);
  if (judged === undefined) return { tookMs, recordsMs, checks: open, unmade };
  return {
    tookMs,
    recordsMs,
    checks: open,
    unmade,
    judged: { ...judged, ...(blocksTo === undefined ? {} : { blocksTo }) },
  };
}

/** Counts explained findings separately. */
async function withoutExplained(database: Database, checks: readonly CheckResult[]): Promise<CheckResult[]> {
  const found = checks.flatMap((check) => check.findings.map(({ fingerprint }) => fingerprint));
  if (found.length === 0) return [...checks];
  const rows = await database.query<{ fingerprint: string; amount: string | null }>(
    `SELECT fingerprint, amount::text FROM explained_finding WHERE fingerprint = ANY ($1::text[])`,
    [found],
  );
  const explained = new Map(rows.map((row) => [row.fingerprint, row.amount === null ? null : BigInt(row.amount)]));
  return checks.map((check) => {
    const findings = check.findings.filter((finding) => {
      const upTo = explained.get(finding.fingerprint);
      return upTo === undefined || !covers(upTo, finding);
    });
    const known = check.findings.length - findings.length;
    return known === 0 ? check : { ...check, findings, count: check.count - known, explained: known };
  });
}

interface Outcome {
  checks: CheckResult[];
  unmade: { check: string; why: string }[];
  judged?: Judged;
  recordsMs: number;
}

async function readRecords(database: Database, terms: VerifyTerms): Promise<Outcome> {
  const bookTerms = {
    settleWithinSec: terms.settleWithinSec ?? SETTLE_WITHIN_SEC,
    findingsMax: terms.findingsMax ?? FINDINGS_MAX,
  };
  const first = await inSnapshot(database, (tx, tryCheck, outcome) =>
    terms.depth === 'newer'
      ? readNewer(tx, tryCheck, outcome, bookTerms)
      : readEverything(tx, tryCheck, bookTerms, terms.onProgress),
  );
  for (let look = 1; look < TRANSIENT_READS; look += 1) {
    const again = first.checks.filter((result) => result.count > 0 && TRANSIENT.has(result.check));
    if (again.length === 0) break;
    await sleep(TRANSIENT_REST_MS);
    const names = new Set(again.map((result) => result.check));
    const later = await inSnapshot(database, async (tx, tryCheck) => {
      for (const check of STANDING_CHECKS.filter((each) => names.has(each.check)))
        await tryCheck(check.check, () => runRecordCheck(tx, check, bookTerms));
    });
    first.recordsMs += later.recordsMs;
    first.checks = first.checks.map((result) => later.checks.find(({ check }) => check === result.check) ?? result);
  }
  return first;
}

async function readEverything(
  tx: Queryable,
  tryCheck: TryCheck,
  terms: RecordTerms,
  onProgress: VerifyTerms['onProgress'],
): Promise<void> {
  let made = 0;
  const next = async (check: string, run: () => Promise<CheckResult>): Promise<void> => {
    onProgress?.({ check, made, of: BOOK_STEPS });
    await tryCheck(check, run);
    made += 1;
  };
  for (const check of WHOLE_CHECKS) await next(check.check, () => runRecordCheck(tx, check, terms));
  for (const check of ORDER_CHECKS) await next(check.check, () => runOrderCheck(tx, check, terms, { kind: 'all' }));
  // Imported lazily: it loads all of tronweb, which no other CLI command needs.
  const { checkContents } = await import('./transaction-content.js');
  await next(CONTENTS, () =>
    checkContents(tx, terms.findingsMax, { kind: 'all' }, (rows) =>
      onProgress?.({ check: CONTENTS, made, of: BOOK_STEPS, rows }),
    ),
  );
}

async function readNewer(tx: Queryable, tryCheck: TryCheck, outcome: Outcome, terms: RecordTerms): Promise<void> {
  for (const check of [...STANDING_CHECKS, ...NEWER_DEPOSIT_CHECKS, ...NEWER_STATEMENT_CHECKS]) {
    await tryCheck(check.check, () => runRecordCheck(tx, check, terms));
  }
  outcome.judged = await new NewerRecords(tx, tryCheck, terms).judge();
}

async function inSnapshot(
  database: Database,
  read: (tx: Queryable, tryCheck: TryCheck, outcome: Outcome) => Promise<void>,
): Promise<Outcome> {
  return database.transaction(async (tx) => {
    const startedMs = monotonicMs();
    for (const statement of SNAPSHOT) await tx.query(statement);
    const outcome: Outcome = { checks: [], unmade: [], recordsMs: 0 };
    const tryCheck: TryCheck = async (check, run) => {
      await tx.query('SAVEPOINT one_check');
      let result: CheckResult | undefined;
      try {
        result = await run();
        add(outcome.checks, result);
      } catch (error) {
        // Data too broken for one check must not hide the findings of the others.
        await tx.query('ROLLBACK TO SAVEPOINT one_check');
        if (!outcome.unmade.some((each) => each.check === check)) outcome.unmade.push({ check, why: messageOf(error) });
      }
      await tx.query('RELEASE SAVEPOINT one_check');
      return result;
    };
    await read(tx, tryCheck, outcome);
    outcome.recordsMs = monotonicMs() - startedMs;
    return outcome;
  });
}

/** Merges the pieces of one check; a finding of two pieces counts once. */
function add(checks: CheckResult[], piece: CheckResult): void {
  const index = checks.findIndex(({ check }) => check === piece.check);
  const before = checks[index];
  if (before === undefined) {
    checks.push(piece);
    return;
  }
  const known = new Set(before.findings.map(({ fingerprint }) => fingerprint));
  const findings = piece.findings.filter(({ fingerprint }) => !known.has(fingerprint));
  const twice = piece.findings.length - findings.length;
  checks[index] = {
    ...before,
    count: before.count + piece.count - twice,
    findings: [...before.findings, ...findings],
  };
}
