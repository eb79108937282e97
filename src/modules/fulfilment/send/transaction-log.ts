/**
 * Records our transactions until they are sent or dead: each step is recorded before the next one begins. Every write
 * covers many transactions and takes effect only under the fence of their orders' claims. It skips rows that another
 * session holds; those orders are retried.
 */
import { Injectable } from '@nestjs/common';
import { sleep } from '../../../platform/support/clock.js';
import { allOrEach, type OrderFailure } from '../../../platform/database/all-or-each.js';
import { Database, type Queryable } from '../../../platform/database/database.js';
import { ownedBy } from '../../../platform/database/owner-order.js';
import {
  countSends,
  dropUnsent,
  insertBuilt,
  markDead,
  markSending,
  markSigned,
  uncountSends,
  type BuiltTx,
  type FencedTx,
  type InsertedTx,
  type SendableTx,
} from '../../order-records/transaction-transitions.js';
import type { ReceiverReading } from '../plan/reclaim-readings.js';

export interface BuiltRecord extends BuiltTx {
  /** Set for a reclaim if other rentals of its receiver continue. */
  readonly reading: ReceiverReading | undefined;
}

export interface TxRef extends FencedTx {
  readonly orderId: bigint;
}

type SendRef = TxRef & SendableTx;

export interface BroadcastRecord {
  readonly txId: bigint;
  readonly node: string;
  readonly answer: string;
  readonly message: string | undefined;
  /** True if the node may have received it; false if no byte was sent, or a gateway refused it. */
  readonly isSent: boolean;
}

const IS_OF_RECEIVER = ownedBy('u.receive_address', 'r.receive_address');

/**
 * Records the receiver's energy together with the bytes of a reclaim. TRON: a node's answer includes pending
 * transactions. A reading that may already contain another reclaim is replaced by the one from before that reclaim was
 * sent.
 */
export const RECORD_USAGE = {
  name: 'record_reclaim_usage',
  text: `WITH reclaim AS MATERIALIZED (
      SELECT v.*, o.id AS order_id, o.energy, l.receive_address, l.amount_sun
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
          AS v(tx_id, leg_id, used, energy_limit, total_limit, total_weight, block)
        JOIN open_leg l ON l.id = v.leg_id JOIN open_orders o ON o.id = l.order_id),
    -- Once for all reclaims of a receiver: it may have a thousand rentals that end together.
    receiver AS MATERIALIZED (
      SELECT r.receive_address, r.block, p.sun, e.* FROM (SELECT DISTINCT receive_address, block FROM reclaim) r
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(x.amount_sun), 0) AS sun FROM pool_wallet w
            JOIN open_leg x ON x.wallet_id = w.id AND x.receive_address = r.receive_address
              AND x.kind = 'rental' AND x.status IN ('placed', 'active', 'reclaiming')
           WHERE (SELECT c.id FROM open_chain_tx c
                   WHERE c.leg_id = x.id AND c.purpose = 'reclaim' AND c.status IN ('included', 'solid')) IS NULL) p
        LEFT JOIN LATERAL (
          SELECT u.used_energy, u.limit_energy, u.pool_energy, u.read_block FROM reclaim_usage u JOIN open_chain_tx t ON t.id = u.tx_id
           WHERE ${IS_OF_RECEIVER} AND u.read_block <= r.block
             AND (t.status = 'sending' OR t.status IN ('included', 'solid') AND t.block_number > r.block)
           ORDER BY u.receive_address DESC, u.tx_id DESC LIMIT 1) e ON true)
    INSERT INTO reclaim_usage (tx_id, order_id, receive_address, used_energy, limit_energy, pool_energy, sold_energy, taken_energy, read_block)
    SELECT v.tx_id, v.order_id, v.receive_address, coalesce(e.used_energy, v.used), coalesce(e.limit_energy, v.energy_limit),
        coalesce(e.pool_energy, div(e.sun * v.total_limit, 1000000::numeric * v.total_weight)::bigint),
        ceil(v.energy * v.amount_sun::numeric / s.sun)::bigint,
        div(v.amount_sun::numeric * v.total_limit, 1000000::numeric * v.total_weight)::bigint, coalesce(e.read_block, v.block)
      FROM reclaim v JOIN receiver e USING (receive_address, block)
      CROSS JOIN LATERAL (SELECT sum(amount_sun) AS sun FROM open_leg
                           WHERE order_id = v.order_id AND kind = 'rental' AND status <> 'released') s
    ON CONFLICT DO NOTHING`,
};

/** The same bytes are sent repeatedly. A node's answer is stored only if it differs from its earlier ones. */
const RECORD_BROADCASTS = {
  name: 'record_broadcasts',
  text: `INSERT INTO broadcast (chain_tx_id, node, answer, message)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS v(tx_id, node, answer, message)
     WHERE NOT EXISTS (SELECT FROM broadcast b WHERE b.chain_tx_id = v.tx_id AND b.node = v.node AND b.answer = v.answer)`,
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
    return withSecondTries(signed, (some) => markSigned(this.database, some));
  }

  /**
   * Marks signed transactions as sending, and moves their legs and orders, before the first byte is sent. From then on
   * only a block or a proof of death decides. Returns the ids that may be sent, and the orders that could not be moved.
   */
  async recordSending(
    refs: readonly SendRef[],
  ): Promise<{ readonly marked: ReadonlySet<bigint>; readonly failed: readonly OrderFailure[] }> {
    const failed: OrderFailure[] = [];
    const marked = await withSecondTries(refs, async (some) => {
      const rows: { readonly id: bigint }[] = [];
      const left = some.filter(({ orderId }) => !failed.some(({ order }) => order === orderId));
      const faults = await allOrEach(
        left,
        ({ orderId }) => orderId,
        async (few) => {
          rows.push(...(await markSending(this.database, few)));
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
    await dropUnsent(this.database, refs);
  }

  /**
   * Records the nodes' answers to a broadcast for the operator; nothing depends on them. `resent` were sent once more.
   * `unheard` reached no node, so their first send does not count.
   */
  async recordBroadcasts(
    records: readonly BroadcastRecord[],
    { resent = [], unheard = [] }: { readonly resent?: readonly bigint[]; readonly unheard?: readonly bigint[] },
  ): Promise<void> {
    if (resent.length > 0) await countSends(this.database, resent);
    if (unheard.length > 0) await uncountSends(this.database, unheard);
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
    return withSecondTries(proofs, (some) => markDead(this.database, some));
  }
}
