/**
 * Records our transactions until they are sent or dead: each step is recorded before the next one begins. Every write
 * covers many transactions and takes effect only under the fence of their orders' claims. It skips rows that another
 * session holds; those orders are retried.
 */
import { Injectable } from '@nestjs/common';
import { sleep } from '../../../platform/support/clock.js';
import { allOrEach, type OrderFailure } from '../../../platform/database/all-or-each.js';
import { Database, type Queryable } from '../../../platform/database/database.js';
import type { ChainTxPurpose } from '../../../domain/order-state.js';
import { RECOVERY_IS_DONE } from '../recovery-condition.js';
import type { ReceiverReading } from '../plan/reclaim-readings.js';

export interface BuiltRecord {
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
  /** Set for a reclaim if other rentals of its receiver continue. */
  readonly reading: ReceiverReading | undefined;
}

export interface TxRef {
  readonly id: bigint;
  readonly orderId: bigint;
  readonly fence: number;
}

export interface BroadcastRecord {
  readonly txId: bigint;
  readonly node: string;
  readonly answer: string;
  readonly message: string | undefined;
  /** True if the node may have received it; false if no byte was sent, or a gateway refused it. */
  readonly isSent: boolean;
}

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

/**
 * Records the receiver's energy together with the bytes of a reclaim. TRON: a node's answer includes pending
 * transactions. A reading that may already contain another reclaim is replaced by the one from before that reclaim was
 * sent.
 */
const RECORD_USAGE = {
  name: 'record_reclaim_usage',
  text: `INSERT INTO reclaim_usage (tx_id, order_id, receive_address, used_energy, limit_energy, pool_energy, sold_energy, taken_energy, read_block)
    SELECT v.tx_id, o.id, l.receive_address, coalesce(e.used_energy, v.used), coalesce(e.limit_energy, v.energy_limit),
        coalesce(e.pool_energy, div(p.sun * v.total_limit, 1000000::numeric * v.total_weight)::bigint),
        ceil(o.energy * l.amount_sun::numeric / s.sun)::bigint,
        div(l.amount_sun::numeric * v.total_limit, 1000000::numeric * v.total_weight)::bigint, coalesce(e.read_block, v.block)
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
        AS v(tx_id, leg_id, used, energy_limit, total_limit, total_weight, block)
      JOIN open_leg l ON l.id = v.leg_id JOIN open_orders o ON o.id = l.order_id
      CROSS JOIN LATERAL (SELECT sum(amount_sun) AS sun FROM open_leg WHERE order_id = o.id AND status <> 'released') s
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(x.amount_sun), 0) AS sun FROM pool_wallet w
          JOIN open_leg x ON x.wallet_id = w.id AND x.receive_address = l.receive_address
            AND x.status IN ('placed', 'active', 'reclaiming')
         WHERE NOT EXISTS (SELECT FROM open_chain_tx r
                            WHERE r.leg_id = x.id AND r.purpose = 'reclaim' AND r.status IN ('included', 'solid'))) p
      LEFT JOIN LATERAL (
        SELECT u.used_energy, u.limit_energy, u.pool_energy, u.read_block FROM reclaim_usage u JOIN open_chain_tx t ON t.id = u.tx_id
         WHERE u.receive_address = l.receive_address AND u.read_block <= v.block
           AND (t.status = 'sending' OR t.status IN ('included', 'solid') AND t.block_number > v.block)
         ORDER BY u.tx_id DESC LIMIT 1) e ON true
    ON CONFLICT DO NOTHING`,
};

const RECORD_SIGNED = {
  name: 'record_signed',
  text: `WITH held AS (
      SELECT t.id, v.signature FROM unnest($1::bigint[], $2::int[], $3::bytea[]) AS v(id, fence, signature)
        JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence
       WHERE t.status = 'built' ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
    UPDATE open_chain_tx t SET status = 'signed', signature = held.signature FROM held WHERE t.id = held.id RETURNING t.id`,
};

const LOCK_SIGNED = {
  name: 'lock_signed',
  text: `SELECT t.id FROM unnest($1::bigint[], $2::int[]) AS v(id, fence)
      JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence JOIN open_leg l ON l.id = t.leg_id
    WHERE t.status = 'signed' AND ${RECOVERY_IS_DONE} ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
};

const MARK_SENDING = {
  name: 'mark_sending',
  text: `UPDATE open_chain_tx SET status = 'sending', sent_at = clock_timestamp(), sends = 1
    WHERE id = ANY ($1::bigint[]) AND status = 'signed' RETURNING id, leg_id, order_id, purpose`,
};

const MOVE_LEGS = {
  name: 'legs_on_their_way',
  text: `UPDATE open_leg SET status = v.status, changed_at = clock_timestamp()
    FROM unnest($1::bigint[], $2::text[]) AS v(id, status)
    WHERE open_leg.id = v.id AND (open_leg.status, v.status) IN (('reserved', 'placed'), ('active', 'reclaiming'))`,
};

const MOVE_ORDERS = {
  name: 'orders_placed',
  text: `UPDATE open_orders SET status = 'placed', placed_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) AND status = 'reserved'`,
};

const DROP = {
  name: 'drop_unsent',
  text: `WITH held AS (
      SELECT t.id FROM unnest($1::bigint[], $2::int[]) AS v(id, fence)
        JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence
       WHERE t.status IN ('built', 'signed') AND ${RECOVERY_IS_DONE} ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
    UPDATE open_chain_tx t SET status = 'dropped' FROM held WHERE t.id = held.id RETURNING t.id`,
};

const COUNT_SENDS = {
  name: 'count_sends',
  text: `UPDATE open_chain_tx SET sends = sends + 1, sent_at = clock_timestamp()
    WHERE id IN (SELECT id FROM open_chain_tx WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)`,
};

/** A first send is counted before it is tried, so that a crash never hides one. */
const UNCOUNT_SENDS = {
  name: 'uncount_sends',
  text: `UPDATE open_chain_tx SET sends = sends - 1
    WHERE id IN (SELECT id FROM open_chain_tx WHERE id = ANY ($1::bigint[]) AND sends > 0 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)`,
};

/** The same bytes are sent repeatedly. A node's answer is stored only if it differs from its earlier ones. */
const RECORD_BROADCASTS = {
  name: 'record_broadcasts',
  text: `INSERT INTO broadcast (chain_tx_id, node, answer, message)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS v(tx_id, node, answer, message)
     WHERE NOT EXISTS (SELECT FROM broadcast b WHERE b.chain_tx_id = v.tx_id AND b.node = v.node AND b.answer = v.answer)`,
};

const RECORD_DEAD = {
  name: 'record_dead',
  text: `WITH held AS (
      SELECT t.id, v.evidence FROM unnest($1::bigint[], $2::int[], $3::jsonb[]) AS v(id, fence, evidence)
        JOIN open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence
       WHERE t.status = 'sending' ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
    UPDATE open_chain_tx t SET status = 'dead', evidence = held.evidence FROM held WHERE t.id = held.id RETURNING t.id`,
};

/** Pauses before each try to write skipped rows. Our own sessions hold rows for milliseconds. */
const RESTS_MS = [0, 20, 100];

/** Writes all free rows and soon retries the held ones. Returns the ids written. */
async function withSecondTries<T extends { readonly id: bigint }>(
  refs: readonly T[],
  write: (refs: readonly T[]) => Promise<readonly { id: bigint }[]>,
): Promise<Set<bigint>> {
  const written = new Set<bigint>();
  for (const restMs of RESTS_MS) {
    const left = refs.filter(({ id }) => !written.has(id));
    if (left.length === 0) break;
    if (restMs > 0) await sleep(restMs);
    for (const { id } of await write(left)) written.add(id);
  }
  return written;
}

interface InsertedTx {
  readonly id: bigint;
  readonly leg_id: bigint;
  readonly purpose: string;
}

async function insertBuilt(tx: Queryable, built: readonly BuiltRecord[]): Promise<readonly InsertedTx[]> {
  return tx.query<InsertedTx>(RECORD_BUILT, [
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

async function insertUsage(
  tx: Queryable,
  read: readonly BuiltRecord[],
  inserted: readonly InsertedTx[],
): Promise<void> {
  const ids = new Map(inserted.filter(({ purpose }) => purpose === 'reclaim').map((row) => [row.leg_id, row.id]));
  const rows = read.flatMap(({ legId, reading }) => {
    const id = ids.get(legId);
    return id === undefined || reading === undefined ? [] : [{ id, legId, reading }];
  });
  if (rows.length === 0) return;
  await tx.query(RECORD_USAGE, [
    rows.map(({ id }) => id),
    rows.map(({ legId }) => legId),
    rows.map(({ reading }) => reading.used),
    rows.map(({ reading }) => reading.limit),
    rows.map(({ reading }) => reading.totalEnergyLimit),
    rows.map(({ reading }) => reading.totalEnergyWeight),
    rows.map(({ reading }) => reading.block),
  ]);
}

@Injectable()
export class TransactionLog {
  constructor(private readonly database: Database) {}

  /**
   * Records bytes and ids before anything is signed and, in the same transaction, the receivers' energy. Returns the
   * recorded ids by `legId/purpose`.
   */
  async recordBuilt(built: readonly BuiltRecord[]): Promise<Map<string, bigint>> {
    const read = built.filter(({ reading }) => reading !== undefined);
    const rows =
      read.length === 0
        ? await insertBuilt(this.database, built)
        : await this.database.transaction(async (tx) => {
            const inserted = await insertBuilt(tx, built);
            await insertUsage(tx, read, inserted);
            return inserted;
          });
    return new Map(rows.map((row) => [`${row.leg_id.toString()}/${row.purpose}`, row.id]));
  }

  /** Records signatures. Returns the ids that were still under this claim. */
  async recordSigned(signed: readonly (TxRef & { readonly signature: Buffer })[]): Promise<Set<bigint>> {
    const recorded = await withSecondTries(signed, (some) =>
      this.database.query<{ id: bigint }>(RECORD_SIGNED, [
        some.map((record) => record.id),
        some.map((record) => record.fence),
        some.map((record) => record.signature),
      ]),
    );
    return recorded;
  }

  /**
   * Marks signed transactions as sending, and moves their legs and orders, before the first byte is sent. From then on
   * only a block or a proof of death decides. Returns the ids that may be sent, and the orders that could not be moved.
   */
  async recordSending(
    refs: readonly TxRef[],
  ): Promise<{ readonly marked: ReadonlySet<bigint>; readonly failed: readonly OrderFailure[] }> {
    const failed: OrderFailure[] = [];
    const marked = await withSecondTries(refs, async (some) => {
      const rows: { readonly id: bigint }[] = [];
      const left = some.filter(({ orderId }) => !failed.some(({ order }) => order === orderId));
      const faults = await allOrEach(
        left,
        ({ orderId }) => orderId,
        async (few) => {
          rows.push(...(await this.database.transaction((tx) => this.markSending(tx, few))));
        },
      );
      failed.push(...faults);
      return rows;
    });
    return { marked, failed };
  }

  /** Drops transactions that were never sent. */
  async recordDropped(refs: readonly TxRef[]): Promise<void> {
    if (refs.length === 0) return;
    await this.database.query(DROP, [refs.map((ref) => ref.id), refs.map((ref) => ref.fence)]);
  }

  /**
   * Records the nodes' answers to a broadcast for the operator; nothing depends on them. `resent` were sent once more.
   * `unheard` reached no node, so their first send does not count.
   */
  async recordBroadcasts(
    records: readonly BroadcastRecord[],
    { resent = [], unheard = [] }: { readonly resent?: readonly bigint[]; readonly unheard?: readonly bigint[] },
  ): Promise<void> {
    if (resent.length > 0) await this.database.query(COUNT_SENDS, [resent]);
    if (unheard.length > 0) await this.database.query(UNCOUNT_SENDS, [unheard]);
    if (records.length > 0) {
      await this.database.query(RECORD_BROADCASTS, [
        records.map((record) => record.txId),
        records.map((record) => record.node),
        records.map((record) => record.answer),
        records.map((record) => record.message ?? null),
      ]);
    }
  }

  /** Records proofs of death. Returns the ids that were still undecided. */
  async recordDead(proofs: readonly (TxRef & { readonly evidence: object })[]): Promise<Set<bigint>> {
    const recorded = await withSecondTries(proofs, (some) =>
      this.database.query<{ id: bigint }>(RECORD_DEAD, [
        some.map((proof) => proof.id),
        some.map((proof) => proof.fence),
        some.map((proof) => JSON.stringify(proof.evidence)),
      ]),
    );
    return recorded;
  }

  private async markSending(tx: Queryable, refs: readonly TxRef[]): Promise<{ id: bigint }[]> {
    const params = [refs.map((ref) => ref.id), refs.map((ref) => ref.fence)];
    const locked = await tx.query<{ id: bigint }>(LOCK_SIGNED, params);
    if (locked.length === 0) return [];
    const rows = await tx.query<{ id: bigint; leg_id: bigint; order_id: bigint; purpose: ChainTxPurpose }>(
      MARK_SENDING,
      [locked.map((row) => row.id)],
    );
    await tx.query(MOVE_LEGS, [
      rows.map((row) => row.leg_id),
      rows.map((row) => (row.purpose === 'reclaim' ? 'reclaiming' : 'placed')),
    ]);
    await tx.query(MOVE_ORDERS, [rows.map((row) => row.order_id)]);
    return rows;
  }
}
