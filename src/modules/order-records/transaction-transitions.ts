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

/*
 * The statements below take their first array as `(SELECT $1…)`, which hides its length from the planner. Otherwise a
 * plan for one or two elements looks cheaper than the kept plan, which expects ten, and every call is planned again.
 */

const idsOf = (txs: readonly FencedTx[]): bigint[] => txs.map(({ id }) => id);
const fencesOf = (txs: readonly FencedTx[]): number[] => txs.map(({ fence }) => fence);

/**
 * A conflict means that the leg has another live transaction, or that the id exists: nothing is recorded and nothing
 * follows. The order's row is locked, so that no session ends a leg between this check of the fence and the insert.
 */
const RECORD_BUILT = {
  name: 'record_built',
  text: `WITH held AS (
      SELECT o.id FROM open_orders o JOIN (SELECT DISTINCT * FROM unnest((SELECT $1::bigint[]), $2::int[])) AS v(id, fence)
          ON o.id = v.id AND o.fence = v.fence
       WHERE ${RECOVERY_IS_DONE} ORDER BY o.id FOR NO KEY UPDATE OF o SKIP LOCKED)
    INSERT INTO chain_tx (order_id, leg_id, wallet_id, purpose, attempt, status, txid, raw_data, ref_block_number, expires_at)
    SELECT v.order_id, v.leg_id, v.wallet_id, v.purpose, v.attempt, 'built', v.txid, v.raw_data, v.ref_block, v.expires_at
      FROM unnest((SELECT $1::bigint[]), $3::bigint[], $4::int[], $5::text[], $6::int[], $7::bytea[], $8::bytea[],
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
      SELECT t.id, v.signature FROM unnest((SELECT $1::bigint[]), $2::int[], $3::bytea[]) AS v(id, fence, signature)
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

/**
 * Locks the transactions with their legs and orders, ordered by order id, and moves all three: the leg is placed or
 * reclaiming, and a reserved order is placed. One statement, because a transaction of four takes six round trips. An
 * order with a delay in $4 is released: it is due after the delay, or earlier if it was woken since $3.
 */
const MARK_SENDING = {
  name: 'mark_sending',
  text: `WITH held AS (
      SELECT t.id, v.due_at, clock_timestamp() + v.delay_ms * interval '1 millisecond' AS next_at
        FROM unnest((SELECT $1::bigint[]), $2::int[], $3::timestamptz[], $4::int[]) AS v(id, fence, due_at, delay_ms)
        JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence JOIN open_leg l ON l.id = t.leg_id
       WHERE t.status = 'signed' AND ${RECOVERY_IS_DONE} ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED),
    sent AS (
      UPDATE open_chain_tx t SET status = 'sending', sent_at = clock_timestamp(), sends = 1
        FROM held WHERE t.id = held.id AND t.status = 'signed'
      RETURNING t.id, t.leg_id, t.order_id, t.purpose, held.due_at, held.next_at),
    moved AS (
      UPDATE open_leg l SET status = CASE l.status WHEN 'reserved' THEN 'placed' ELSE 'reclaiming' END, changed_at = clock_timestamp()
        FROM sent WHERE l.id = sent.leg_id AND l.status = CASE sent.purpose WHEN 'reclaim' THEN 'active' ELSE 'reserved' END),
    placed AS (
      UPDATE open_orders o SET status = CASE o.status WHEN 'reserved' THEN 'placed' ELSE o.status END,
          placed_at = CASE o.status WHEN 'reserved' THEN clock_timestamp() ELSE o.placed_at END,
          lease_until = CASE WHEN s.next_at IS NULL THEN o.lease_until END,
          next_run_at = CASE WHEN s.next_at IS NULL THEN o.next_run_at
            WHEN o.next_run_at IS DISTINCT FROM s.due_at THEN least(o.next_run_at, s.next_at) ELSE s.next_at END
        FROM (SELECT DISTINCT ON (order_id) order_id, due_at, next_at FROM sent ORDER BY order_id, next_at) s
       WHERE o.id = s.order_id AND (o.status = 'reserved' OR s.next_at IS NOT NULL))
    SELECT id FROM sent`,
};

/** A transaction to send; `release` releases its order, unless the caller still needs its claim. */
export interface SendableTx extends FencedTx {
  /** When the claimed order became due, and the ms until its next run. */
  readonly release?: { readonly dueAt: string | null; readonly delayMs: number } | undefined;
}

/**
 * Marks signed transactions as sending, and moves their legs and orders, before the first byte is sent. Returns the
 * marked ones.
 */
export async function markSending(
  database: Queryable,
  signed: readonly SendableTx[],
): Promise<{ readonly id: bigint }[]> {
  return database.query<{ id: bigint }>(MARK_SENDING, [
    idsOf(signed),
    fencesOf(signed),
    signed.map(({ release }) => release?.dueAt ?? null),
    signed.map(({ release }) => (release === undefined ? null : Math.round(release.delayMs))),
  ]);
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
