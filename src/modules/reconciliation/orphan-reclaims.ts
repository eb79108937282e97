/**
 * Reclaims delegations of our wallets that are on chain without a record, after a grace time. Each becomes an order, so
 * that the ordinary reclaim of rentals ends it.
 */
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { parseTransaction } from '../../platform/chain/signed-transaction.js';
import { DELEGATE_TYPE } from '../../platform/chain/transaction-owner.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { Log } from '../../platform/observability/logger.js';
import { DELEGATION_MIN_SUN } from '../pool/energy-ratio.js';
import { steadyAgeSec } from '../../platform/database/confirmed-clock.js';
import { Database } from '../../platform/database/database.js';
import { excessOf } from '../verify/delegation-check.js';
import { RECOVERY_PROJECT } from '../verify/recovery.js';
import { runForAct } from './run-for-act.js';

const ADOPTIONS_MAX = 200;

const SEEN_SEC = steadyAgeSec('o.seen_at');

const DUE = `SELECT o.txid, o.wallet_id, w.address, o.receive_address, o.amount_sun, o.raw_data, o.signature,
    o.block_number, o.block_id, o.block_at
  FROM orphan_tx o JOIN pool_wallet w ON w.id = o.wallet_id
  WHERE o.type = $1 AND o.order_id IS NULL AND o.gone_at IS NULL AND ${SEEN_SEC} >= $2
  ORDER BY o.block_number, o.txid LIMIT $3`;

/** A free order of the recovery project that ended immediately, so its reclaim is due at the next pass. */
const ADOPT_ORDER = `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec,
    price_sun, credits, trx_usd_e8, settled, delivered_energy, created_at, delivered_at, ends_at)
  VALUES ($1, $2, $3, 'rental', 'delivered', $4, 1, 1, 1, 1, 1, true, 1, clock_timestamp(), $5, $5::timestamptz + interval '1 second')
  ON CONFLICT DO NOTHING RETURNING id`;

const ADOPT_LEG = `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at)
  VALUES ($1, 1, 'rental', $2, $3, $4, 1, 'active', $5) RETURNING id`;

const ADOPT_TX = `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature,
    ref_block_number, expires_at, block_number, block_id, block_at)
  VALUES ($1, $2, 'delegate', 1, $3, 'solid', $4, $5, $6, $7, $8, $7, $9, $10)
  ON CONFLICT DO NOTHING`;

/** Revives a record whose bytes were given up although they are on chain. */
const ADOPT_GIVEN_UP = `UPDATE open_chain_tx SET order_id = $1, leg_id = $2, purpose = 'delegate', attempt = 1, status = 'solid',
    signature = $4, block_number = $5, block_id = $6, block_at = $7
  WHERE txid = $3 AND status IN ('dead', 'dropped') RETURNING id`;

interface DueRow {
  readonly txid: Buffer;
  readonly wallet_id: number;
  readonly address: string;
  readonly receive_address: string;
  readonly amount_sun: bigint;
  readonly raw_data: Buffer;
  readonly signature: Buffer | null;
  readonly block_number: bigint;
  readonly block_id: Buffer;
  readonly block_at: Date;
}

@Injectable()
export class OrphanReclaims {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Turns delegations older than their grace time into orders that are due. Throws ChainUnavailableError. */
  async reclaim(): Promise<void> {
    const due = await this.database.query<DueRow>(DUE, [DELEGATE_TYPE, this.config.pool.orphanGraceSec, ADOPTIONS_MAX]);
    // Sequentially: a delegation that one order adopts is no longer in excess for the next of the same receiver.
    for (const row of due) await runForAct(this.log, row.txid.toString('hex'), () => this.adopt(row));
  }

  private async adopt(row: DueRow): Promise<void> {
    const excess = await excessOf(this.database, this.client, {
      wallet: { id: row.wallet_id, address: row.address },
      receiver: row.receive_address,
      leastHeight: row.block_number,
    });
    // This mark is permanent, so it requires that no pending transaction can hide an excess.
    if (excess.most <= 0n) {
      await this.database.query(`UPDATE orphan_tx SET gone_at = clock_timestamp() WHERE txid = $1`, [row.txid]);
      return;
    }
    const parsed = parseTransaction(row.raw_data);
    const fields = { txid: row.txid.toString('hex'), wallet: row.address, receiver: row.receive_address };
    // Delegations of a pair merge on chain. Reclaiming more than the excess would take stake from a rental of the same
    // receiver.
    if (excess.least < row.amount_sun || row.amount_sun < DELEGATION_MIN_SUN) {
      this.log.warn(
        { ...fields, excess: excess.least.toString(), reason: 'less than its amount is left on chain' },
        'orphan not reclaimed',
      );
      return;
    }
    if (parsed === undefined || row.signature === null) {
      this.log.warn({ ...fields, reason: 'locked, or signed by several keys' }, 'orphan not reclaimed');
      return;
    }
    const orderId = await this.insert(row, parsed.expiresAtMs);
    if (orderId !== undefined) this.log.warn({ ...fields, orderId: orderId.toString() }, 'orphan queued for reclaim');
  }

  /** The order's key makes the adoption happen once, also under concurrency. */
  private async insert(row: DueRow, expiresAtMs: number): Promise<bigint | undefined> {
    return this.database.transaction(async (tx) => {
      const key = `orphan:${row.txid.toString('hex')}`;
      const hash = createHash('sha256').update(key).digest();
      const orderParams = [RECOVERY_PROJECT, key, hash, row.receive_address, row.block_at];
      const [order] = await tx.query<{ id: bigint }>(ADOPT_ORDER, orderParams);
      if (order === undefined) return undefined;
      const legParams = [order.id, row.wallet_id, row.receive_address, row.amount_sun, row.block_at];
      const [leg] = await tx.query<{ id: bigint }>(ADOPT_LEG, legParams);
      const { txid, signature } = row;
      const standing = [row.block_number, row.block_id, row.block_at];
      const givenUp = await tx.query(ADOPT_GIVEN_UP, [order.id, leg?.id, txid, signature, ...standing]);
      if (givenUp.length === 0) {
        const bytes = [row.wallet_id, txid, row.raw_data, signature, row.block_number, new Date(expiresAtMs)];
        await tx.query(ADOPT_TX, [order.id, leg?.id, ...bytes, row.block_id, row.block_at]);
      }
      await tx.query(`UPDATE orphan_tx SET order_id = $2 WHERE txid = $1`, [row.txid, order.id]);
      return order.id;
    });
  }
}
