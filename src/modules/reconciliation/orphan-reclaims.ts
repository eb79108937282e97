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
import {
  insertAdoptedLeg,
  insertAdoptedTransaction,
  insertAdoptingOrder,
  reviveGivenUp,
  type OrphanDelegation,
} from '../order-records/recovery-transitions.js';
import { excessOf } from '../verify/delegation-check.js';
import { RECOVERY_PROJECT } from '../verify/recovery.js';
import { ActPages, IS_NEXT_ACT } from './act-pages.js';
import { runForAct } from './run-for-act.js';

const ADOPTIONS_MAX = 200;

const SEEN_SEC = steadyAgeSec('o.seen_at');

const DUE = `SELECT o.txid, o.wallet_id, w.address, o.receive_address, o.amount_sun, coalesce(o.resource, 'ENERGY') AS resource, o.raw_data, o.signature,
    o.block_number, o.block_id, o.block_at
  FROM orphan_tx o JOIN pool_wallet w ON w.id = o.wallet_id
  WHERE ${IS_NEXT_ACT} AND o.type = $3 AND o.order_id IS NULL AND o.gone_at IS NULL AND ${SEEN_SEC} >= $4
  ORDER BY o.block_number, o.txid LIMIT $5`;

interface DueRow extends OrphanDelegation {
  readonly address: string;
}

@Injectable()
export class OrphanReclaims {
  private readonly pages: ActPages<DueRow>;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    config: Config,
    private readonly log: Log,
  ) {
    this.pages = new ActPages(ADOPTIONS_MAX, (after) =>
      database.query<DueRow>(DUE, [...after, DELEGATE_TYPE, config.pool.orphanGraceSec, ADOPTIONS_MAX]),
    );
  }

  /** Turns the next delegations older than their grace time into orders that are due. Throws ChainUnavailableError. */
  async reclaim(): Promise<void> {
    // Sequentially: a delegation that one order adopts is no longer in excess for the next of the same receiver.
    for (const row of await this.pages.next()) await runForAct(this.log, row, () => this.adopt(row));
  }

  private async adopt(row: DueRow): Promise<void> {
    const excess = await excessOf(this.database, this.client, {
      wallet: { id: row.wallet_id, address: row.address },
      receiver: row.receive_address,
      resource: row.resource,
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
      const requestHash = createHash('sha256').update(key).digest();
      const orderId = await insertAdoptingOrder(tx, { projectId: RECOVERY_PROJECT, key, requestHash }, row);
      if (orderId === undefined) return undefined;
      const leg = { orderId, legId: await insertAdoptedLeg(tx, orderId, row) };
      if (!(await reviveGivenUp(tx, leg, row))) await insertAdoptedTransaction(tx, leg, row, expiresAtMs);
      await tx.query(`UPDATE orphan_tx SET order_id = $2 WHERE txid = $1`, [row.txid, orderId]);
      return orderId;
    });
  }
}
