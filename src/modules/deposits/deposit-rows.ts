/** Writes payments of a block as rows of `deposit`, replacing rows that were only seen at the head. */
import type { Transaction } from '../../platform/database/database.js';
import type { ProjectPayment } from './block-payments.js';
import { DECIDE, INSERT, type DepositRow } from './deposit-sql.js';
import type { Candidate } from './deposit-batch.js';
import { paymentColumns, type DepositBlock } from './parked-payments.js';

/** The decision on one transfer. A pending small deposit may still be credited together with a later one. */
export interface Outcome {
  readonly status: 'credited' | 'held' | 'pending';
  readonly reason: string | null;
  readonly rateE8: bigint | null;
  readonly entryKey: string | null;
  readonly credits: bigint | null;
  /** The sum of small deposits that includes it. */
  readonly sumId: bigint | null;
}

export interface DepositToWrite extends ProjectPayment {
  readonly outcome: Outcome;
}

export async function insertDeposits(
  tx: Transaction,
  block: DepositBlock,
  rows: readonly DepositToWrite[],
): Promise<void> {
  if (rows.length === 0) return;
  const column = <T>(of: (row: DepositToWrite) => T): T[] => rows.map(of);
  await tx.query(INSERT, [
    ...paymentColumns(block, rows),
    column(({ payment }) => payment.amount),
    column(({ outcome }) => outcome.status),
    column(({ outcome }) => outcome.reason),
    column(({ outcome }) => outcome.rateE8),
    column(({ outcome }) => outcome.entryKey),
    column(({ outcome }) => outcome.credits),
    column(({ payment }) => payment.contract ?? null),
    column(({ outcome }) => outcome.sumId),
  ]);
}

/** Returns the ledger key of a deposit. The format never changes. */
export function entryKeyOf(txid: string, kind: string, place: number): string {
  return `deposit:${txid}:${kind}:${place.toString()}`;
}

export function candidateOf(row: DepositRow): Candidate {
  return {
    key: entryKeyOf(row.txid, row.kind, row.place),
    projectId: row.project_id,
    asset: row.asset,
    amount: BigInt(row.amount),
    at: row.block_at,
    address: row.address,
    isAgreed: true,
  };
}

export async function writeDecision(tx: Transaction, id: bigint, decision: Outcome): Promise<void> {
  const { status, reason, rateE8, entryKey, credits, sumId } = decision;
  await tx.query(DECIDE, [id, status, reason, rateE8, entryKey, credits, sumId]);
}
