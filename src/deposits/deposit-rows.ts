/** Writes what is known of payments in a block as rows of `deposit`; over those that were only seen at the head. */
import type { Transaction } from '../store/database.js';
import type { ProjectPayment } from './block-payments.js';
import { INSERT } from './deposit-sql.js';
import type { WitnessedBlock } from '../blocks/witnessed-blocks.js';

/** What one transfer came to; a small one may still be credited with one that comes after it. */
export interface Outcome {
  readonly status: 'credited' | 'held' | 'pending';
  readonly reason: string | null;
  readonly rateE8: bigint | null;
  readonly entryKey: string | null;
  readonly credits: bigint | null;
}

export interface DepositToWrite extends ProjectPayment {
  readonly outcome: Outcome;
}

export async function insertDeposits(
  tx: Transaction,
  block: Pick<WitnessedBlock, 'number' | 'id' | 'timestampMs'>,
  rows: readonly DepositToWrite[],
): Promise<void> {
  if (rows.length === 0) return;
  const column = <T>(of: (row: DepositToWrite) => T): T[] => rows.map(of);
  await tx.query(INSERT, [
    block.number,
    Buffer.from(block.id, 'hex'),
    new Date(block.timestampMs),
    column(({ payment }) => Buffer.from(payment.txid, 'hex')),
    column(({ payment }) => payment.kind),
    column(({ payment }) => payment.position),
    column(({ projectId }) => projectId),
    column(({ payment }) => payment.to),
    column(({ payment }) => payment.from),
    column(({ asset }) => asset),
    column(({ payment }) => payment.amount),
    column(({ outcome }) => outcome.status),
    column(({ outcome }) => outcome.reason),
    column(({ outcome }) => outcome.rateE8),
    column(({ outcome }) => outcome.entryKey),
    column(({ outcome }) => outcome.credits),
    column(({ payment }) => payment.contract ?? null),
  ]);
}
