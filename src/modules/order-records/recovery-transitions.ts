/** Records acts found on chain that the records lack: those of waiting orders, and delegations of no order. */
import { delegationKind, type Resource } from '../../domain/resource.js';
import type { ChainTxPurpose } from '../../domain/order-state.js';
import type { Queryable } from '../../platform/database/database.js';
import { RECOVERY_HOLD_SEC, RECOVERY_IS_DONE } from './recovery-condition.js';

/** An act on chain of our own key that belongs to a leg. */
export interface FoundAct {
  readonly legId: bigint;
  readonly purpose: ChainTxPurpose;
  readonly walletId: number;
  readonly txid: Buffer;
  readonly rawData: Buffer;
  readonly signature: Buffer;
  readonly block: number;
  readonly expiresAtMs: number;
}

/**
 * Takes the order under a new fence, so the previous claim holder can write nothing more. A delivery keeps a short
 * lease, so that the search finds its reclaim before a worker sends another one. No lease is needed while the start-up
 * gate is closed, because nothing is claimed then. A reclaim before the order was delivered shows that the order is
 * being undone.
 */
const TAKE_ORDER = `UPDATE open_orders o SET fence = o.fence + 1, next_run_at = clock_timestamp(),
    undoing = o.undoing OR $2 = 'reclaim' AND o.status IN ('placed', 'unresolved'),
    lease_until = CASE WHEN $2 <> 'reclaim' AND ${RECOVERY_IS_DONE}
      THEN clock_timestamp() + interval '${RECOVERY_HOLD_SEC.toString()} seconds' END,
    status = CASE WHEN o.status = 'reserved' AND $2 <> 'reclaim' THEN 'placed' ELSE o.status END,
    placed_at = coalesce(o.placed_at, clock_timestamp())
  FROM open_leg l WHERE l.id = $1 AND o.id = l.order_id RETURNING o.id`;

/** Takes the order of the leg that an act belongs to. Returns its id, or undefined without such an order. */
export async function takeOrderOfAct(tx: Queryable, { legId, purpose }: FoundAct): Promise<bigint | undefined> {
  const [order] = await tx.query<{ id: bigint }>(TAKE_ORDER, [legId, purpose]);
  return order?.id;
}

const DROP_UNSENT = `UPDATE open_chain_tx SET status = 'dropped'
  WHERE leg_id = $1 AND purpose = $2 AND txid <> $3 AND status IN ('built', 'signed')`;

/** Drops the leg's other unsent transactions of the act's purpose. */
export async function dropUnsentBeside(tx: Queryable, { legId, purpose, txid }: FoundAct): Promise<void> {
  await tx.query(DROP_UNSENT, [legId, purpose, txid]);
}

const RECORD = `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature,
    ref_block_number, expires_at, sends, sent_at)
  SELECT $1, $2, $3, 1 + coalesce(max(attempt), 0), $4, 'sending', $5, $6, $7, $8, $9, 1, clock_timestamp()
    FROM open_chain_tx WHERE leg_id = $2 AND purpose = $3
  ON CONFLICT DO NOTHING RETURNING id`;

/** Records an act without a record as sent. Returns false if the leg has another live transaction. */
export async function recordFoundAct(tx: Queryable, orderId: bigint, act: FoundAct): Promise<boolean> {
  const record = [orderId, act.legId, act.purpose, act.walletId, act.txid, act.rawData, act.signature, act.block];
  return (await tx.query(RECORD, [...record, new Date(act.expiresAtMs)])).length > 0;
}

const SIGN = `UPDATE open_chain_tx SET status = 'signed', signature = $2 WHERE txid = $1 AND status = 'built'`;

/** Records the signature of an act whose record has none. */
export async function markFoundActSigned(tx: Queryable, { txid, signature }: FoundAct): Promise<void> {
  await tx.query(SIGN, [txid, signature]);
}

const SEND = `UPDATE open_chain_tx SET status = 'sending', sends = 1, sent_at = clock_timestamp() WHERE txid = $1 AND status = 'signed'`;

/** Marks the record of an act as sent, if it says that it was never sent. */
export async function markFoundActSent(tx: Queryable, { txid }: FoundAct): Promise<void> {
  await tx.query(SEND, [txid]);
}

const MOVE_LEG = `UPDATE open_leg SET status = CASE status WHEN 'reserved' THEN 'placed' ELSE 'reclaiming' END,
    changed_at = clock_timestamp() WHERE id = $1 AND status = CASE WHEN $2 = 'reclaim' THEN 'active' ELSE 'reserved' END`;

/** Marks the act's leg as one whose transaction is on its way. */
export async function moveLegOfAct(tx: Queryable, { legId, purpose }: FoundAct): Promise<void> {
  await tx.query(MOVE_LEG, [legId, purpose]);
}

/** A solid delegation that belongs to no order. */
export interface OrphanDelegation {
  readonly txid: Buffer;
  readonly wallet_id: number;
  readonly receive_address: string;
  readonly amount_sun: bigint;
  readonly resource: Resource;
  readonly raw_data: Buffer;
  readonly signature: Buffer | null;
  readonly block_number: bigint;
  readonly block_id: Buffer;
  readonly block_at: Date;
}

/**
 * A free order of the recovery project that ended immediately, so its reclaim is due at the next pass. It counts as one
 * unit of the resource that it adopts.
 */
const ADOPT_ORDER = `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec,
    price_sun, credits, trx_usd_e8, settled, delivered_energy, delivered_bandwidth, created_at, delivered_at, ends_at)
  VALUES ($1, $2, $3, 'rental', 'delivered', $4, 1, 1, 1, 1, 1, true, 1, CASE $6 WHEN 'BANDWIDTH' THEN 1 END, clock_timestamp(), $5,
    $5::timestamptz + interval '1 second')
  ON CONFLICT DO NOTHING RETURNING id`;

/** The order that adopts a delegation, by its key within a project. */
export interface AdoptingOrder {
  readonly projectId: string;
  readonly key: string;
  readonly requestHash: Buffer;
}

/** Inserts the order that adopts a delegation. Returns its id, or undefined if the key already has an order. */
export async function insertAdoptingOrder(
  tx: Queryable,
  { projectId, key, requestHash }: AdoptingOrder,
  orphan: OrphanDelegation,
): Promise<bigint | undefined> {
  const params = [projectId, key, requestHash, orphan.receive_address, orphan.block_at, orphan.resource];
  const [order] = await tx.query<{ id: bigint }>(ADOPT_ORDER, params);
  return order?.id;
}

const ADOPT_LEG = `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, bandwidth, status, active_at)
  VALUES ($1, 1, $6, $2, $3, $4, CASE $6 WHEN 'rental' THEN 1 END, CASE $6 WHEN 'bandwidth' THEN 1 END, 'active', $5) RETURNING id`;

/** Inserts the active leg of an adopted delegation. Returns its id. */
export async function insertAdoptedLeg(
  tx: Queryable,
  orderId: bigint,
  orphan: OrphanDelegation,
): Promise<bigint | undefined> {
  const kind = delegationKind(orphan.resource);
  const params = [orderId, orphan.wallet_id, orphan.receive_address, orphan.amount_sun, orphan.block_at, kind];
  const [leg] = await tx.query<{ id: bigint }>(ADOPT_LEG, params);
  return leg?.id;
}

/** The order and the leg of an adopted delegation. */
export interface AdoptedLeg {
  readonly orderId: bigint;
  readonly legId: bigint | undefined;
}

/** Revives a record whose bytes were given up although they are on chain. */
const ADOPT_GIVEN_UP = `UPDATE open_chain_tx SET order_id = $1, leg_id = $2, purpose = 'delegate', attempt = 1, status = 'solid',
    signature = $4, block_number = $5, block_id = $6, block_at = $7
  WHERE txid = $3 AND status IN ('dead', 'dropped') RETURNING id`;

/** Revives a given-up record of an adopted delegation as solid. Returns false without such a record. */
export async function reviveGivenUp(
  tx: Queryable,
  { orderId, legId }: AdoptedLeg,
  orphan: OrphanDelegation,
): Promise<boolean> {
  const place = [orphan.block_number, orphan.block_id, orphan.block_at];
  return (await tx.query(ADOPT_GIVEN_UP, [orderId, legId, orphan.txid, orphan.signature, ...place])).length > 0;
}

const ADOPT_TX = `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature,
    ref_block_number, expires_at, block_number, block_id, block_at)
  VALUES ($1, $2, 'delegate', 1, $3, 'solid', $4, $5, $6, $7, $8, $7, $9, $10)
  ON CONFLICT DO NOTHING`;

/** Inserts the solid transaction of an adopted delegation. */
export async function insertAdoptedTransaction(
  tx: Queryable,
  { orderId, legId }: AdoptedLeg,
  orphan: OrphanDelegation,
  expiresAtMs: number,
): Promise<void> {
  const { wallet_id: walletId, txid, raw_data: rawData, signature, block_number: block } = orphan;
  const bytes = [walletId, txid, rawData, signature, block, new Date(expiresAtMs)];
  await tx.query(ADOPT_TX, [orderId, legId, ...bytes, orphan.block_id, orphan.block_at]);
}
