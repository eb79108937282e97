/** Types of checks, findings and reports, with their pure functions. Reads nothing. */
import { fingerprintOf } from '../../domain/fingerprint.js';

/** Numbers of the rules of the records, as they are reported. */
export type RuleId =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I10'
  | 'I11'
  | 'I13'
  | 'I14'
  | 'I15'
  | 'I16'
  | 'I17'
  | 'I18';

export type Fact = string | number | boolean | null;

/** One row that breaks a rule. */
export interface Finding {
  readonly check: string;
  readonly rule: RuleId;
  /** The affected subject, e.g. `order 17` or `T… → T…`. */
  readonly subject: string;
  /** The wallet whose sales must stop; absent if the records as a whole are in doubt. */
  readonly walletId?: number;
  /** The order concerned, if any. */
  readonly orderId?: bigint;
  readonly facts: Readonly<Record<string, Fact>>;
  /** Identifies the disagreement independently of its present figures. */
  readonly fingerprint: string;
  /** Its least size, if it has one; the sign gives the direction. */
  readonly amount?: bigint;
  /** Its largest possible size while transactions are pending; an explanation covers up to that. */
  readonly amountMost?: bigint;
}

/**
 * Sales to stop while a rule is broken. `wallet` stops those of the wallet that a finding names, or all if it names
 * none. `nothing` is for rules about lateness.
 */
export type Stops = 'everything' | 'wallet' | 'nothing';

/** One check with its findings. */
export interface CheckResult {
  readonly check: string;
  readonly rule: RuleId;
  /** The rule as a sentence. */
  readonly says: string;
  /** Sales to stop while it is broken. */
  readonly stops: Stops;
  /** Number of rows that break it; `findings` holds the first of them. */
  readonly count: number;
  /** Number of further rows that the operator has explained. */
  readonly explained?: number;
  readonly findings: readonly Finding[];
  /** Coverage of a check that covers only a part. */
  readonly covered?: string;
}

/** The records judged by a pass over newer records. They may be stored as judged only with their row versions. */
export interface Judged {
  /** Orders that no longer change by themselves, with the judged row version. */
  readonly orders: readonly { readonly id: bigint; readonly version: string }[];
  /** Highest block up to which final transactions were read again; absent means all. */
  readonly blocksTo?: bigint;
  /** Positions at which the turn through the older records ended. */
  readonly ordersAfter: bigint;
  readonly entriesAfter: bigint;
  /** Fingerprints of the findings in that turn. */
  readonly inTurn: ReadonlySet<string>;
  /** True if the stored sums of older entries are wrong although the ledger is right. */
  readonly areSumsWrong: boolean;
}

export interface Report {
  readonly tookMs: number;
  /** The part in which the database judged records; the rest was spent on nodes and pauses. */
  readonly recordsMs: number;
  readonly checks: CheckResult[];
  /** Checks that could not be made, with the reason. */
  readonly unmade: { readonly check: string; readonly why: string }[];
  /** Absent if everything was judged. */
  readonly judged?: Judged;
}

/** Default for the listed rows of a broken rule. */
export const FINDINGS_MAX = 100;

export function findingsOf(report: Report): Finding[] {
  return report.checks.flatMap((check) => check.findings);
}

/** Returns the number of rows that break any rule. */
export function countOf(report: Report): number {
  return report.checks.reduce((sum, check) => sum + check.count, 0);
}

/** A row that breaks a rule. */
export interface FoundRow {
  readonly check: string;
  readonly rule: RuleId;
  readonly subject: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly walletId?: number | undefined;
  readonly orderId?: bigint | undefined;
  /** Facts that distinguish this disagreement from others on the same subject; never a sum. */
  readonly identity?: readonly string[] | undefined;
  readonly amount?: bigint | undefined;
  readonly amountMost?: bigint | undefined;
}

/**
 * Makes a finding of a row. Bigints become text, because facts are printed and stored as JSON. The fingerprint covers
 * check, subject and identity only, since sums change while a disagreement persists.
 */
export function findingOf(found: FoundRow): Finding {
  const { check, rule, subject, facts, walletId, orderId, identity = [], amount, amountMost = amount } = found;
  const plain = Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, factOf(value)]));
  const same = identity.map((name) => plain[name] ?? null);
  const fingerprint = fingerprintOf(check, subject, same);
  return {
    ...{ check, rule, subject, facts: plain, fingerprint },
    ...(walletId === undefined ? {} : { walletId }),
    ...(orderId === undefined ? {} : { orderId }),
    ...(amount === undefined ? {} : { amount }),
    ...(amountMost === undefined ? {} : { amountMost }),
  };
}

/** Returns true if an explanation up to `explained` (null: it had no size) covers a finding. */
export function covers(explained: bigint | null, { amount }: Finding): boolean {
  if (amount === undefined || amount === 0n) return true;
  if (explained === null) return false;
  return amount > 0n ? amount <= explained : amount >= explained;
}

function factOf(value: unknown): Fact {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return value.toString();
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return JSON.stringify(value);
}
