/**
 * Records transactions until they are sent or dead. Every write covers many transactions and takes effect only under the
 * fence of their orders' claims. It skips rows that another session holds.
 */
import type { ChainTxPurpose } from '../../domain/order-state.js';
import type { Queryable } from '../../platform/database/database.js';
import { RECOVERY_IS_DONE } from './recovery-condition.js';

/** A recorded transaction under the fence of its order's claim. */
export interface FencedTx {
  readonly id: bigint;
  readonly fence: number;
}

export interface BuiltTx {
  readonly orderId: bigint;
  readonly fence: number;
  readonly legId: bigint;
  readonly walletId: number;
  readonly purpose: ChainTxPurpose;
  readonly attempt: number;
  readonly txid: string;
  readonly rawData: Buffer;
  readonly refBlockNumber: number;
  readonly expiresAtMs: number;
}

export interface InsertedTx {
  readonly id: bigint;
  readonly leg_id: bigint;
  readonly purpose: string;
}

const idsOf = (txs: readonly FencedTx[]): bigint[] => txs.map(({ id }) => id);
const fencesOf = (txs: readonly FencedTx[]): number[] => txs.map(({ fence }) => fence);

/**
 * A conflict means that the leg has another live transaction, or that the id exists: nothing is recorded and nothing
 * follows. The order's row is locked, so that no session ends a leg between this check of the fence and the insert.
 */
const RECORD_BUILT = {
  name: 'record_built',
  text: `WITH held AS (
      SELECT o.id FROM open_orders o JOIN (SELECT DISTINCT * FROM unnest($1::bigint[], $2::int[])) AS v(id, fence)
          ON o.id = v.id AND o.fence = v.fence
       WHERE ${RECOVERY_IS_DONE} ORDER BY o.id FOR NO KEY UPDATE OF o SKIP LOCKED)
    INSERT INTO chain_tx (order_id, leg_id, wallet_id, purpose, attempt, status, txid, raw_data, ref_block_number, expires_at)
    SELECT v.order_id, v.leg_id, v.wallet_id, v.purpose, v.attempt, 'built', v.txid, v.raw_data, v.ref_block, v.expires_at
      FROM unnest($1::bigint[], $3::bigint[], $4::int[], $5::text[], $6::int[], $7::bytea[], $8::bytea[],
                  $9::bigint[], $10::timestamptz[])
        AS v(order_id, leg_id, wallet_id, purpose, attempt, txid, raw_data, ref_block, expires_at)
      JOIN held ON held.id = v.order_id
    ON CONFLICT DO NOTHING RETURNING id, leg_id, purpose`,
};

/** Records bytes and ids before anything is signed. Returns the recorded ones. */
export async function insertBuilt(database: Queryable, built: readonly BuiltTx[]): Promise<InsertedTx[]> {
  return database.query<InsertedTx>(RECORD_BUILT, [
    built.map((record) => record.orderId),
    built.map((record) => record.fence),
    built.map((record) => record.legId),
    built.map((record) => record.walletId),
    built.map((record) => record.purpose),
    built.map((record) => record.attempt),
    built.map((record) => Buffer.from(record.txid, 'hex')),
    built.map((record) => record.rawData),
    built.map((record) => record.refBlockNumber),
    built.map((record) => new Date(record.expiresAtMs)),
  ]);
}

const RECORD_SIGNED = {
  name: 'record_signed',
  text: `WITH held AS (
      SELECT t.id, v.signature FROM unnest($1::bigint[], $2::int[], $3::bytea[]) AS v(id, fence, signature)
        JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence
       WHERE t.status = 'built' ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
    UPDATE open_chain_tx t SET status = 'signed', signature = held.signature FROM held WHERE t.id = held.id RETURNING t.id`,
};

/** Records signatures of built transactions. Returns the recorded ones. */
export async function markSigned(
  database: Queryable,
  signed: readonly (FencedTx & { readonly signature: Buffer })[],
): Promise<{ readonly id: bigint }[]> {
  const signatures = signed.map(({ signature }) => signature);
  return database.query<{ id: bigint }>(RECORD_SIGNED, [idsOf(signed), fencesOf(signed), signatures]);
}

const LOCK_SIGNED = {
  name: 'lock_signed',
  text: `SELECT t.id FROM unnest($1::bigint[], $2::int[]) AS v(id, fence)
      JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence JOIN open_leg l ON l.id = t.leg_id
    WHERE t.status = 'signed' AND ${RECOVERY_IS_DONE} ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
};

/** Locks signed transactions with their legs and orders, ordered by order id. Returns the locked ids. */
export async function lockSigned(tx: Queryable, signed: readonly FencedTx[]): Promise<bigint[]> {
  const rows = await tx.query<{ id: bigint }>(LOCK_SIGNED, [idsOf(signed), fencesOf(signed)]);
  return rows.map(({ id }) => id);
}

const MARK_SENDING = {
  name: 'mark_sending',
  text: `UPDATE open_chain_tx SET status = 'sending', sent_at = clock_timestamp(), sends = 1
    WHERE id = ANY ($1::bigint[]) AND status = 'signed' RETURNING id, leg_id, order_id, purpose`,
};

export interface SendingTx {
  readonly id: bigint;
  readonly leg_id: bigint;
  readonly order_id: bigint;
  readonly purpose: ChainTxPurpose;
}

/** Marks locked transactions as sending, before the first byte is sent. Returns them. */
export async function markSending(tx: Queryable, ids: readonly bigint[]): Promise<SendingTx[]> {
  return tx.query<SendingTx>(MARK_SENDING, [ids]);
}

const DROP = {
  name: 'drop_unsent',
  text: `WITH held AS (
      SELECT t.id FROM unnest($1::bigint[], $2::int[]) AS v(id, fence)
        JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence
       WHERE t.status IN ('built', 'signed') AND ${RECOVERY_IS_DONE} ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
    UPDATE open_chain_tx t SET status = 'dropped' FROM held WHERE t.id = held.id RETURNING t.id`,
};

/** Drops transactions that were never sent. */
export async function dropUnsent(database: Queryable, txs: readonly FencedTx[]): Promise<void> {
  await database.query(DROP, [idsOf(txs), fencesOf(txs)]);
}

const DROP_OF_LEGS = {
  name: 'drop_unsent_of_legs',
  text: `UPDATE open_chain_tx SET status = 'dropped' WHERE leg_id = ANY ($1::bigint[]) AND status IN ('built', 'signed')`,
};

/** Drops the unsent transactions of legs whose orders the caller has locked. */
export async function dropUnsentOfLegs(tx: Queryable, legIds: readonly bigint[]): Promise<void> {
  await tx.query(DROP_OF_LEGS, [legIds]);
}

const DROP_RECLAIMS = `UPDATE open_chain_tx SET status = 'dropped'
  WHERE leg_id = ANY ($1::bigint[]) AND purpose = 'reclaim' AND status IN ('built', 'signed')`;

/** Drops the unsent reclaims of legs that a foreign act ended. */
export async function dropUnsentReclaims(tx: Queryable, legIds: readonly bigint[]): Promise<void> {
  await tx.query(DROP_RECLAIMS, [legIds]);
}

const COUNT_SENDS = {
  name: 'count_sends',
  text: `UPDATE open_chain_tx SET sends = sends + 1, sent_at = clock_timestamp()
    WHERE id IN (SELECT id FROM open_chain_tx WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)`,
};

/** Counts one more send of each transaction. */
export async function countSends(database: Queryable, ids: readonly bigint[]): Promise<void> {
  await database.query(COUNT_SENDS, [ids]);
}

/** A first send is counted before it is tried, so that a crash never hides one. */
const UNCOUNT_SENDS = {
  name: 'uncount_sends',
  text: `UPDATE open_chain_tx SET sends = sends - 1
    WHERE id IN (SELECT id FROM open_chain_tx WHERE id = ANY ($1::bigint[]) AND sends > 0 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)`,
};

/** Takes back the count of sends that reached no node. */
export async function uncountSends(database: Queryable, ids: readonly bigint[]): Promise<void> {
  await database.query(UNCOUNT_SENDS, [ids]);
}

const RECORD_DEAD = {
  name: 'record_dead',
  text: `WITH held AS (
      SELECT t.id, v.evidence FROM unnest($1::bigint[], $2::int[], $3::jsonb[]) AS v(id, fence, evidence)
        JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence
       WHERE t.status = 'sending' ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
    UPDATE open_chain_tx t SET status = 'dead', evidence = held.evidence FROM held WHERE t.id = held.id RETURNING t.id`,
};

/** Records proofs of death of sent transactions. Returns the recorded ones. */
export async function markDead(
  database: Queryable,
  dead: readonly (FencedTx & { readonly evidence: object })[],
): Promise<{ readonly id: bigint }[]> {
  const proofs = dead.map(({ evidence }) => JSON.stringify(evidence));
  return database.query<{ id: bigint }>(RECORD_DEAD, [idsOf(dead), fencesOf(dead), proofs]);
}
