/** What a check of the records is, and what it finds: rules, findings, reports. Pure; nothing here reads anything. */
import { fingerprintOf } from '../domain/fingerprint.js';

/** The rules of the records by their number, as they are reported. */
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
  /** What is wrong, e.g. `order 17` or `T… → T…`. */
  readonly subject: string;
  /** The wallet whose sales must stop; absent when the records as a whole are in question. */
  readonly walletId?: number;
  /** The order that it is about, where there is one. */
  readonly orderId?: bigint;
  readonly facts: Readonly<Record<string, Fact>>;
  /** Names what it is about, whatever the figures are just now. */
  readonly fingerprint: string;
  /** How large it is at least, where it has a size; its sign says which way. */
  readonly amount?: bigint;
  /** What it may be at most, where something is on its way; an explanation covers that. */
  readonly amountMost?: bigint;
}

/**
 * What must stop while a rule is broken: every sale, the sales of the wallet that a finding names (every sale when it
 * names none), or nothing, when something is late rather than wrong.
 */
export type Stops = 'everything' | 'wallet' | 'nothing';

/** One check and what it found. */
export interface CheckResult {
  readonly check: string;
  readonly rule: RuleId;
  /** What must hold, as a sentence. */
  readonly says: string;
  /** What may not be sold while it is broken. */
  readonly stops: Stops;
  /** How many rows break it; `findings` holds the first of them. */
  readonly count: number;
  /** How many more the operator has explained. */
  readonly explained?: number;
  readonly findings: readonly Finding[];
  /** What was checked, where a check covers a part only. */
  readonly covered?: string;
}

/** What a look at the newer records alone has judged: whoever keeps that keeps it with the rows as they were. */
export interface Judged {
  /** Orders at rest, with the version of the row that was judged. */
  readonly orders: readonly { readonly id: bigint; readonly version: string }[];
  /** Final transactions were read again in their blocks up to this one; all of them when absent. */
  readonly blocksTo?: bigint;
  /** Where the turn through the older records ended. */
  readonly ordersAfter: bigint;
  readonly entriesAfter: bigint;
  /** What was found in that turn, by its fingerprints. */
  readonly inTurn: ReadonlySet<string>;
  /** The sums kept of older entries are wrong, and the ledger is not. */
  readonly areSumsAstray: boolean;
}

export interface Report {
  readonly tookMs: number;
  /** What of it the database judged the records in; the rest went to nodes, or waited. */
  readonly recordsMs: number;
  readonly checks: CheckResult[];
  /** Checks that could not be made, and why. */
  readonly unmade: { readonly check: string; readonly why: string }[];
  /** Absent when everything was judged. */
  readonly judged?: Judged;
}

/** How many rows of a broken rule are listed. */
export const FINDINGS_MAX = 100;

export function findingsOf(report: Report): Finding[] {
  return report.checks.flatMap((check) => check.findings);
}

/** How many rows break any rule. */
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
  /** Facts that make it this disagreement and no other on the same subject; never a sum. */
  readonly identity?: readonly string[] | undefined;
  readonly amount?: bigint | undefined;
  readonly amountMost?: bigint | undefined;
}

/**
 * Makes a finding of a row; bigints become texts, since facts are printed and stored as JSON. Its fingerprint is of the
 * check and the subject: sums move while a disagreement stands.
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

/** Whether an explanation up to `explained` (null: of something without a size) covers a finding. */
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
