/** Writes payments of a block as rows of `deposit`, replacing rows that were only seen at the head. */
import type { Transaction } from '../../platform/database/database.js';
import type { ProjectPayment } from './block-payments.js';
import { DECIDE, INSERT, type DepositRow } from './deposit-sql.js';
import type { Candidate } from './deposit-batch.js';
import type { Decision } from './judgement.js';
import { paymentColumns, type DepositBlock } from './parked-payments.js';

export interface DepositToWrite extends ProjectPayment {
  readonly decision: Readonly<Decision>;
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
    column(({ decision }) => decision.status),
    column(({ decision }) => decision.reason),
    column(({ decision }) => decision.rateE8),
    column(({ decision }) => decision.entryKey),
    column(({ decision }) => decision.credits),
    column(({ payment }) => payment.contract ?? null),
    column(({ decision }) => decision.sumId),
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

export async function writeDecision(tx: Transaction, id: bigint, decision: Readonly<Decision>): Promise<void> {
  const { status, reason, rateE8, entryKey, credits, sumId } = decision;
  await tx.query(DECIDE, [id, status, reason, rateE8, entryKey, credits, sumId]);
}
