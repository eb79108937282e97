/**
 * Payments in solid blocks that could not be taken in with their block, because another transaction had locked their
 * project or row. They are taken in as soon as the lock is gone. The only writer of parked_payment.
 */
import type { DepositAsset } from '../../domain/deposit-state.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import type { Transaction } from '../../platform/database/database.js';
import type { ProjectPayment } from './block-payments.js';

const PARK = {
  name: 'park_payments',
  text: `INSERT INTO parked_payment (txid, kind, place, project_id, address, from_address, asset, contract, amount, is_agreed,
      is_paid_by_us, block_number, block_id, block_at)
    SELECT v.*, $1, $2, $3 FROM unnest($4::bytea[], $5::text[], $6::integer[], $7::uuid[], $8::text[], $9::text[], $10::text[],
      $11::text[], $12::numeric[], $13::boolean[], $14::boolean[]) v
    ON CONFLICT (txid, kind, place) DO NOTHING`,
};

/** $1: id after which to continue, $2: limit. */
const NEXT_PARKED = {
  name: 'next_parked_payments',
  text: `SELECT id, encode(txid, 'hex') AS txid, kind, place, project_id, address, from_address, asset, contract, amount::text,
      is_agreed, is_paid_by_us, block_number, encode(block_id, 'hex') AS block_id, block_at
    FROM parked_payment WHERE id > $1 ORDER BY id LIMIT $2`,
};

const UNPARK = { name: 'unpark_payments', text: `DELETE FROM parked_payment WHERE id = ANY ($1::bigint[])` };

/** The addresses to which the next parked USDT was paid. $1: id after which to continue, $2: limit. */
export const PARKED_ADDRESSES = {
  name: 'parked_addresses',
  text: `SELECT DISTINCT address FROM (SELECT address FROM parked_payment WHERE asset = 'USDT' AND id > $1 ORDER BY id LIMIT $2) p`,
};

interface ParkedRow {
  readonly id: bigint;
  readonly txid: string;
  readonly kind: 'native' | 'log' | 'internal';
  readonly place: number;
  readonly project_id: string;
  readonly address: string;
  readonly from_address: string;
  readonly asset: DepositAsset;
  readonly contract: string | null;
  readonly amount: string;
  readonly is_agreed: boolean;
  readonly is_paid_by_us: boolean;
  readonly block_number: bigint;
  readonly block_id: string;
  readonly block_at: Date;
}

/** The block that a deposit is recorded with. */
export type DepositBlock = Pick<WitnessedBlock, 'number' | 'id' | 'timestampMs'>;

export interface ParkedPayment extends ProjectPayment {
  readonly id: bigint;
  readonly block: DepositBlock;
}

/** Returns the block's columns, and those that a parked payment and a deposit begin with. */
export function paymentColumns(block: DepositBlock, payments: readonly ProjectPayment[]): readonly unknown[] {
  return [
    block.number,
    Buffer.from(block.id, 'hex'),
    new Date(block.timestampMs),
    payments.map(({ payment }) => Buffer.from(payment.txid, 'hex')),
    payments.map(({ payment }) => payment.kind),
    payments.map(({ payment }) => payment.position),
    payments.map(({ projectId }) => projectId),
    payments.map(({ payment }) => payment.to),
    payments.map(({ payment }) => payment.from),
    payments.map(({ asset }) => asset),
  ];
}

export async function parkPayments(
  tx: Transaction,
  block: DepositBlock,
  payments: readonly ProjectPayment[],
): Promise<void> {
  if (payments.length === 0) return;
  const column = <T>(of: (payment: ProjectPayment) => T): T[] => payments.map(of);
  await tx.query(PARK, [
    ...paymentColumns(block, payments),
    column(({ payment }) => payment.contract ?? null),
    column(({ payment }) => payment.amount),
    column(({ payment }) => payment.isAgreed),
    column(({ isPaidByUs }) => isPaidByUs),
  ]);
}

/** Returns the next parked payments after the given id, in the order in which they were parked. */
export async function nextParked(tx: Transaction, after: bigint, limit: number): Promise<readonly ParkedPayment[]> {
  return (await tx.query<ParkedRow>(NEXT_PARKED, [after, limit])).map((row) => {
    return {
      id: row.id,
      projectId: row.project_id,
      asset: row.asset,
      isPaidByUs: row.is_paid_by_us,
      payment: {
        txid: row.txid,
        kind: row.kind,
        position: row.place,
        to: row.address,
        from: row.from_address,
        amount: BigInt(row.amount),
        isAgreed: row.is_agreed,
        contract: row.contract ?? undefined,
      },
      block: { number: Number(row.block_number), id: row.block_id, timestampMs: row.block_at.getTime() },
    };
  });
}

/** Deletes parked payments that are recorded as deposits. */
export async function unpark(tx: Transaction, parked: readonly ParkedPayment[]): Promise<void> {
  if (parked.length > 0) await tx.query(UNPARK, [parked.map(({ id }) => id)]);
}
