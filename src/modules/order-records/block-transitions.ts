/**
 * Records which blocks hold our transactions: included, reverted or solid, and the burnt fee. The caller moves the
 * transactions' legs and orders in the same transaction.
 */
import type { ChainTxPurpose } from '../../domain/order-state.js';
import type { BlockHead } from '../../platform/chain/block.js';
import type { Queryable } from '../../platform/database/database.js';

/** A locked transaction with its order. */
export interface LockedTx {
  readonly tx_id: bigint;
  /** Id of the order. */
  readonly id: bigint;
  readonly project_id: string;
  readonly request_id: string | null;
}

export interface MovedTx {
  readonly id: bigint;
  readonly leg_id: bigint;
  readonly order_id: bigint;
  readonly purpose: ChainTxPurpose;
  readonly attempt: number;
  readonly txid: Buffer;
}

/**
 * A transaction moves together with its order and its leg, so all three rows are locked first, ordered by order id.
 * Rows that another session holds are skipped, so that one held row does not block the rest. The caller retries them.
 */
const LOCK_SENDING = {
  name: 'lock_sending',
  text: `SELECT t.id AS tx_id, o.id, o.project_id, o.request_id
    FROM open_chain_tx t JOIN open_orders o ON o.id = t.order_id JOIN open_leg l ON l.id = t.leg_id
    WHERE t.id = ANY ($1::bigint[]) AND t.status = 'sending'
    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
};

/** Locks transactions that are being sent, with their orders and legs. Returns those that could be locked. */
export async function lockSending(tx: Queryable, ids: readonly bigint[]): Promise<LockedTx[]> {
  return tx.query<LockedTx>(LOCK_SENDING, [ids]);
}

const MARK_INCLUDED = {
  name: 'mark_included',
  text: `UPDATE open_chain_tx SET status = 'included', block_number = $2, block_id = $3, block_at = $4
    WHERE id = ANY ($1::bigint[]) AND status = 'sending' RETURNING id, leg_id, order_id, purpose, attempt, txid`,
};

/** Marks locked transactions as included in `block`. Returns them. */
export async function markIncluded(tx: Queryable, ids: readonly bigint[], block: BlockHead): Promise<MovedTx[]> {
  const at = new Date(block.timestampMs);
  return tx.query<MovedTx>(MARK_INCLUDED, [ids, block.number, Buffer.from(block.id, 'hex'), at]);
}

const LOCK_INCLUDED = {
  name: 'lock_included',
  text: `SELECT t.id AS tx_id, o.id, o.project_id, o.request_id
    FROM open_chain_tx t JOIN open_orders o ON o.id = t.order_id JOIN open_leg l ON l.id = t.leg_id
    WHERE t.id = ANY ($1::bigint[]) AND t.status = 'included'
    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
};

/** Locks included transactions with their orders and legs. Returns those that could be locked. */
export async function lockIncluded(tx: Queryable, ids: readonly bigint[]): Promise<LockedTx[]> {
  return tx.query<LockedTx>(LOCK_INCLUDED, [ids]);
}

const MARK_REVERTED = {
  name: 'mark_reverted',
  text: `UPDATE open_chain_tx t SET status = 'sending', block_number = NULL, block_id = NULL, block_at = NULL,
      fee_sun = NULL
    FROM unnest($1::bigint[], $2::bytea[]) AS v(id, block_id)
    WHERE t.id = v.id AND t.status = 'included' AND t.block_id = v.block_id
    RETURNING t.id, t.leg_id, t.order_id, t.purpose, t.attempt, t.txid`,
};

/** An included transaction with the id of its block, in hex. */
export interface TxInBlock {
  readonly id: bigint;
  readonly blockId: string;
}

/** Returns locked transactions to `sending`, unless they are in another block by now. Returns the changed ones. */
export async function markReverted(tx: Queryable, reverted: readonly TxInBlock[]): Promise<MovedTx[]> {
  return tx.query<MovedTx>(MARK_REVERTED, [
    reverted.map(({ id }) => id),
    reverted.map(({ blockId }) => Buffer.from(blockId, 'hex')),
  ]);
}

const MARK_SOLID = {
  name: 'mark_solid',
  text: `UPDATE open_chain_tx SET status = 'solid' WHERE id = ANY ($1::bigint[]) AND status = 'included' AND block_id = $2
    RETURNING id, leg_id, order_id, purpose, attempt, txid`,
};

/** Marks locked transactions of this block as solid. Returns them. */
export async function markSolid(tx: Queryable, ids: readonly bigint[], blockId: string): Promise<MovedTx[]> {
  return tx.query<MovedTx>(MARK_SOLID, [ids, Buffer.from(blockId, 'hex')]);
}

/**
 * Records the fee once per row, for rows recorded in exactly this block. Rows locked by another session are left to the
 * look-up, so that reading blocks never waits for an order.
 */
const RECORD_FEES = {
  name: 'record_costs',
  text: `WITH seen AS (
      SELECT t.id, v.fee_sun FROM unnest($1::text[], $2::bigint[]) AS v(txid, fee_sun)
        JOIN open_chain_tx t ON t.txid = decode(v.txid, 'hex')
       WHERE t.fee_sun IS NULL AND t.status IN ('included', 'solid') AND t.block_number = $3
       ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
    UPDATE open_chain_tx t SET fee_sun = seen.fee_sun FROM seen, pool_wallet w
     WHERE t.id = seen.id AND w.id = t.wallet_id RETURNING t.purpose, w.address AS wallet, t.fee_sun`,
};

/** The fee of a transaction in its solid receipt. */
export interface ReceiptFee {
  readonly txid: string;
  readonly feeSun: bigint;
}

export interface RecordedFee {
  readonly purpose: string;
  readonly wallet: string;
  readonly fee_sun: bigint;
}

/** Records fees of transactions in this block. Returns the newly recorded ones. */
export async function recordFees(
  database: Queryable,
  block: number,
  fees: readonly ReceiptFee[],
): Promise<RecordedFee[]> {
  return database.query<RecordedFee>(RECORD_FEES, [
    fees.map(({ txid }) => txid),
    fees.map(({ feeSun }) => feeSun),
    block,
  ]);
}
