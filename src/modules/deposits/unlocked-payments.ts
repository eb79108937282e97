/** Finds the payments of a block whose project and row no other transaction has locked. */
import type { Transaction } from '../../platform/database/database.js';
import type { ProjectPayment } from './block-payments.js';
import { entryKeyOf } from './deposit-rows.js';
import * as sql from './deposit-sql.js';
import { claimProjects } from './project-claims.js';

const keyOf = ({ payment }: ProjectPayment): string => entryKeyOf(payment.txid, payment.kind, payment.position);
const rowKeyOf = ({ txid, kind, place }: sql.KnownRow): string => entryKeyOf(txid, kind, place);

/** Splits the payments that were not taken in from a solid block before into recordable and locked ones. */
export async function splitByLocks<P extends ProjectPayment>(
  tx: Transaction,
  payments: readonly P[],
): Promise<{ readonly ready: readonly P[]; readonly locked: readonly P[] }> {
  if (payments.length === 0) return { ready: [], locked: [] };
  const params = [
    payments.map(({ payment }) => Buffer.from(payment.txid, 'hex')),
    payments.map(({ payment }) => payment.kind),
    payments.map(({ payment }) => payment.position),
  ];
  const rows = await tx.query<sql.KnownRow>(sql.KNOWN, params);
  const known = new Set(rows.filter((row) => row.is_taken_in).map(rowKeyOf));
  const isUnknown = (payment: P): boolean => !known.has(keyOf(payment));
  const claimed = await claimProjects(
    tx,
    payments.filter(isUnknown).map(({ projectId }) => projectId),
  );
  const blocked = new Set(rows.filter((row) => !row.is_taken_in).map(rowKeyOf));
  if (blocked.size > 0) {
    for (const row of await tx.query<sql.KnownRow>(sql.LOCK_UNSOLID, params)) blocked.delete(rowKeyOf(row));
  }
  const isReady = (payment: P): boolean => claimed.has(payment.projectId) && !blocked.has(keyOf(payment));
  const unknown = payments.filter(isUnknown);
  return { ready: unknown.filter(isReady), locked: unknown.filter((payment) => !isReady(payment)) };
}
