// The statement that reads entries of the ledger with what they are about, and the shape of its rows.
import type { DepositAsset } from '../domain/deposit-state.js';

export interface EntryRow {
  readonly id: bigint;
  readonly kind: 'charge' | 'refund' | 'topup' | 'adjustment' | 'compensation';
  readonly entry_key: string;
  readonly credits: bigint;
  /** To the microsecond: what is read next begins behind it. */
  readonly at: string;
  readonly order_key: string | null;
  readonly order_kind: 'rental' | 'activation' | null;
  readonly receive_address: string | null;
  readonly energy: bigint | null;
  /** Of an extension the time that it added. */
  readonly duration_sec: number | null;
  readonly is_extension: boolean;
  readonly trx_usd_e8: bigint | null;
  readonly deposit_id: bigint | null;
  readonly asset: DepositAsset | null;
  readonly amount: string | null;
  readonly rate_e8: bigint | null;
  readonly returned_id: bigint | null;
  /** Of the delegations or the activation that were paid for, once they are final; of a deposit its own. */
  readonly txids: readonly string[] | null;
}

/** What is wanted of each row of credit_entry. */
export const OF_ENTRY = 'id, kind, entry_key, credits, created_at, order_id';

/** Before a query for rows of credit_entry, in brackets; behind it OF_WHAT. */
export const ENTRIES = `SELECT e.id, e.kind, e.entry_key, e.credits,
    to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at,
    o.key AS order_key, o.kind AS order_kind, o.receive_address, o.energy,
    coalesce(x.duration_sec, o.duration_sec) AS duration_sec, x.number IS NOT NULL AS is_extension,
    coalesce(x.trx_usd_e8, o.trx_usd_e8) AS trx_usd_e8,
    d.id AS deposit_id, d.asset, d.amount::text, d.rate_e8, r.deposit_id AS returned_id,
    CASE WHEN d.id IS NOT NULL THEN ARRAY[encode(d.txid, 'hex')]
         WHEN e.kind = 'charge' THEN (
           SELECT array_agg(encode(t.txid, 'hex') ORDER BY l.leg_no) FROM leg l
             JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status = 'solid'
            WHERE l.order_id = e.order_id) END AS txids
  FROM`;

/** A deposit is found by its place on chain, which is the key of its entry. */
export const OF_WHAT = `e
  LEFT JOIN orders o ON o.id = e.order_id
  LEFT JOIN order_extension x ON x.order_id = e.order_id AND x.number = CASE WHEN e.kind = 'charge'
    AND e.entry_key LIKE 'charge:%:ext:%' THEN split_part(e.entry_key, ':', 4)::smallint END
  LEFT JOIN deposit d ON e.entry_key LIKE 'deposit:%' AND d.kind = split_part(e.entry_key, ':', 3)
    AND d.txid = CASE WHEN e.entry_key LIKE 'deposit:%' THEN decode(split_part(e.entry_key, ':', 2), 'hex') END
    AND d.place = CASE WHEN e.entry_key LIKE 'deposit:%' THEN split_part(e.entry_key, ':', 4)::integer END
  LEFT JOIN deposit_return r ON e.kind = 'adjustment' AND r.entry_key = e.entry_key`;
