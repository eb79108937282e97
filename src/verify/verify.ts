/**
 * The proof that the books are true, as one call: the rules over the live tables in one snapshot, then the chain's own
 * word against it. Reads only; serves the command line, the tests, the crash and chaos programmes and the reconciler.
 */
import { monotonicMs, sleep } from '../clock.js';
import { messageOf } from '../errors.js';
import type { Database } from '../store/database.js';
import type { TronClient } from '../chain/tron.client.js';
import { runBookCheck, type BookCheck, type BookTerms } from './book-check.js';
import { covers, FINDINGS_MAX, type CheckResult, type Report } from './finding.js';
import { GUARD_CHECKS } from './guard-checks.js';
import { LEDGER_CHECKS } from './ledger-checks.js';
import { ORDER_CHECKS } from './order-checks.js';
import { POOL_CHECKS } from './pool-checks.js';
import { checkChain, CHAIN_CHECK_NAMES, type ChainTerms } from './chain-checks.js';

export interface VerifyTerms extends Partial<BookTerms>, Partial<Omit<ChainTerms, 'findingsMax'>> {
  /** The chain to hold the books against; without it the books are judged alone. */
  readonly chain?: TronClient | undefined;
}

/** An order takes a minute or two, a refund some five; longer than this it is stuck. */
const SETTLE_WITHIN_SEC = 900;
/** The snapshot's reads go over whole tables; the connection's own limit is for requests. */
const SNAPSHOT = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  `SET LOCAL statement_timeout = '300s'`,
  `SET LOCAL idle_in_transaction_session_timeout = '60s'`,
  `SET LOCAL jit = off`,
];
/**
 * What the pool's next pass over the chain sets right is no finding: looked at again after it. Definitions are printed
 * as they are now, not as of the snapshot: a migration that commits in between would look like a change by hand.
 */
const TRANSIENT = new Set(['capacity', 'guard-definitions']);
const TRANSIENT_LOOKS = 5;
const TRANSIENT_REST_MS = 1000;

const BOOK_CHECKS: readonly BookCheck[] = [...LEDGER_CHECKS, ...ORDER_CHECKS, ...POOL_CHECKS, ...GUARD_CHECKS];

/** Judges the books, and with `terms.chain` the chain against them. Throws only when the database is away. */
export async function verifyBooks(database: Database, terms: VerifyTerms = {}): Promise<Report> {
  const startedMs = monotonicMs();
  const { checks, unmade } = await readBooks(database, terms);
  if (terms.chain !== undefined) {
    const fromChain = await checkChain(database, terms.chain, terms);
    checks.push(...fromChain.checks);
    unmade.push(...fromChain.unmade);
  } else unmade.push(...CHAIN_CHECK_NAMES.map((check) => ({ check, why: 'the chain was not asked' })));
  const told = await withoutExplained(database, checks);
  return { tookMs: Math.round(monotonicMs() - startedMs), checks: told, unmade };
}

/** What a person has explained is counted apart. */
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
}

async function readBooks(database: Database, terms: VerifyTerms): Promise<Outcome> {
  const bookTerms = {
    settleWithinSec: terms.settleWithinSec ?? SETTLE_WITHIN_SEC,
    findingsMax: terms.findingsMax ?? FINDINGS_MAX,
  };
  const first = await inSnapshot(database, BOOK_CHECKS, bookTerms, true);
  for (let look = 1; look < TRANSIENT_LOOKS; look += 1) {
    const again = first.checks.filter((result) => result.count > 0 && TRANSIENT.has(result.check));
    if (again.length === 0) break;
    await sleep(TRANSIENT_REST_MS);
    const names = new Set(again.map((result) => result.check));
    const chosen = BOOK_CHECKS.filter(({ check }) => names.has(check));
    const later = await inSnapshot(database, chosen, bookTerms, false);
    first.checks = first.checks.map((result) => later.checks.find(({ check }) => check === result.check) ?? result);
  }
  return first;
}

async function inSnapshot(
  database: Database,
  checks: readonly BookCheck[],
  terms: BookTerms,
  withContents: boolean,
): Promise<Outcome> {
  // Loaded here: it brings all of tronweb, which no other command of the CLI needs.
  const contents = withContents ? await import('./transaction-content.js') : undefined;
  return database.transaction(async (tx) => {
    for (const statement of SNAPSHOT) await tx.query(statement);
    const outcome: Outcome = { checks: [], unmade: [] };
    const tryCheck = async (check: string, run: () => Promise<CheckResult>): Promise<void> => {
      await tx.query('SAVEPOINT one_check');
      try {
        outcome.checks.push(await run());
      } catch (error) {
        // Data so broken that a check cannot read it must not hide what the other checks see.
        await tx.query('ROLLBACK TO SAVEPOINT one_check');
        outcome.unmade.push({ check, why: messageOf(error) });
      }
      await tx.query('RELEASE SAVEPOINT one_check');
    };
    for (const check of checks) await tryCheck(check.check, () => runBookCheck(tx, check, terms));
    if (contents !== undefined)
      await tryCheck('transaction-content', () => contents.checkContents(tx, terms.findingsMax));
    return outcome;
  });
}
