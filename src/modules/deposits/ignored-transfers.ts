/** Transfers to deposit addresses that were no deposits, because their token was not accepted at that block. */
import { Injectable } from '@nestjs/common';
import type { Payment } from '../../platform/blocks/agreed-payments.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import * as sql from './deposit-sql.js';

export interface IgnoredTransfers {
  readonly day: string;
  readonly contract: string;
  /**
   * `paid before`: deposits were or are paid in this token, in other blocks. `successor`: the successor of a deprecated
   * token of ours.
   */
  readonly token: 'paid before' | 'successor' | 'other';
  readonly projectId: string;
  readonly address: string;
  readonly transfers: bigint;
  /** In the token's smallest unit. */
  readonly amount: string;
  readonly lastTxid: Buffer | null;
  readonly lastBlock: bigint | null;
}

const LIST = {
  name: 'list_ignored_transfers',
  text: `SELECT i.day::text AS day, i.contract,
      CASE WHEN t.contract IS NOT NULL THEN 'paid before' WHEN s.contract IS NOT NULL THEN 'successor' ELSE 'other' END AS token,
      a.project_id AS "projectId", i.address, i.transfers, i.amount::text AS amount,
      i.last_txid AS "lastTxid", i.last_block AS "lastBlock"
    FROM ignored_transfer i JOIN deposit_address a ON a.address = i.address
    LEFT JOIN deposit_token t ON t.contract = i.contract
    LEFT JOIN LATERAL (SELECT contract FROM token_state WHERE successor = i.contract LIMIT 1) s ON true
   WHERE $2::uuid IS NULL OR a.project_id = $2
   ORDER BY (t.contract IS NULL AND s.contract IS NULL), i.day DESC, i.last_block DESC NULLS LAST, i.address, i.contract
   LIMIT $1`,
};

@Injectable()
export class IgnoredTransferList {
  constructor(private readonly database: Database) {}

  /** Lists transfers in tokens of deposits and their successors first, then the newest. */
  async list(limit: number, projectId?: string): Promise<readonly IgnoredTransfers[]> {
    return this.database.query<IgnoredTransfers>(LIST, [limit, projectId ?? null]);
  }
}

/**
 * Counts ignored transfers by address, contract and day. Single rows would be unbounded: anyone can send a token of
 * their own by the million.
 */
export async function countIgnored(
  tx: Transaction,
  block: WitnessedBlock,
  payments: readonly Payment[],
): Promise<void> {
  const sums = new Map<string, { transfers: number; amount: bigint; readonly last: Payment }>();
  for (const payment of payments) {
    const place = `${payment.to} ${payment.contract ?? ''}`;
    const { transfers = 0, amount = 0n } = sums.get(place) ?? {};
    sums.set(place, { transfers: transfers + 1, amount: amount + payment.amount, last: payment });
  }
  if (sums.size === 0) return;
  // Sorted, so that concurrent writers lock rows in the same order.
  const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
  await tx.query(sql.COUNT_IGNORED, [
    new Date(block.timestampMs),
    rows.map(({ last }) => last.to),
    rows.map(({ last }) => last.contract ?? ''),
    rows.map(({ transfers }) => transfers),
    rows.map(({ amount }) => amount),
    rows.map(({ last }) => Buffer.from(last.txid, 'hex')),
    block.number,
  ]);
}
