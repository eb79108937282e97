// The query for ledger entries with their subjects, and its row type.
import type { DepositAsset } from '../../domain/deposit-state.js';

export interface EntryRow {
  readonly id: bigint;
  readonly kind: 'charge' | 'refund' | 'topup' | 'adjustment' | 'compensation';
  readonly entry_key: string;
  readonly credits: bigint;
  /** With microseconds, because the next read starts after it. */
  readonly at: string;
  readonly order_key: string | null;
  readonly order_kind: 'rental' | 'activation' | null;
  readonly receive_address: string | null;
  readonly energy: bigint | null;
  readonly bandwidth: bigint | null;
  /** True for an order of a rental with the activation of its receiver; the other for a refund that keeps its price. */
  readonly has_activation: boolean;
  readonly keeps_activation: boolean;
  /** For an extension, the time that it added. */
  readonly duration_sec: number | null;
  readonly is_extension: boolean;
  readonly trx_usd_e8: bigint | null;
  readonly deposit_id: bigint | null;
  readonly asset: DepositAsset | null;
  readonly amount: string | null;
  readonly rate_e8: bigint | null;
  readonly returned_id: bigint | null;
  /** Transactions of the delegations or the activation paid for, once final; for a deposit, its own. */
  readonly txids: readonly string[] | null;
}

/**
 * Columns of credit_entry, and the parts of its key: a deposit's place on chain, or an order's extension. The key is
 * parsed before the joins. Under row-level security Postgres may apply a function only to rows that the policy has
 * allowed. Parsing in the join would therefore read all of a project's deposits first.
 */
const ENTRY = `id, kind, entry_key, credits, created_at, order_id,
    CASE WHEN entry_key LIKE 'deposit:%' THEN decode(split_part(entry_key, ':', 2), 'hex') END AS deposit_txid,
    CASE WHEN entry_key LIKE 'deposit:%' THEN split_part(entry_key, ':', 3) END AS deposit_kind,
    CASE WHEN entry_key LIKE 'deposit:%' THEN split_part(entry_key, ':', 4)::integer END AS deposit_place,
    CASE WHEN kind = 'charge' AND entry_key LIKE 'charge:%:ext:%' THEN split_part(entry_key, ':', 4)::smallint END AS extension`;

const COLUMNS = ` e.id, e.kind, e.entry_key, e.credits,
    to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at,
    o.key AS order_key, o.kind AS order_kind, o.receive_address, o.energy, o.bandwidth,
    o.activation_credits IS NOT NULL AS has_activation, o.kept_credits IS NOT NULL AS keeps_activation,
    coalesce(x.duration_sec, o.duration_sec) AS duration_sec, x.number IS NOT NULL AS is_extension,
    coalesce(x.trx_usd_e8, o.trx_usd_e8) AS trx_usd_e8,
    d.id AS deposit_id, d.asset, d.amount::text, d.rate_e8, r.deposit_id AS returned_id,
    CASE WHEN d.id IS NOT NULL THEN ARRAY[encode(d.txid, 'hex')]
         WHEN e.kind = 'charge' THEN (
           SELECT array_agg(encode(t.txid, 'hex') ORDER BY l.leg_no) FROM leg l
             JOIN chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status = 'solid'
            WHERE l.order_id = e.order_id) END AS txids`;

/** Finds a deposit by its place on chain, which is in its entry's key. */
const SUBJECTS = `LEFT JOIN orders o ON o.id = e.order_id
  LEFT JOIN order_extension x ON x.order_id = e.order_id AND x.number = e.extension
  LEFT JOIN deposit d ON d.txid = e.deposit_txid AND d.kind = e.deposit_kind AND d.place = e.deposit_place
  LEFT JOIN deposit_return r ON r.entry_key = e.entry_key AND e.kind = 'adjustment'`;

/**
 * Returns the query for the entries that a condition selects. `CONDITION` must end with a LIMIT, which keeps the
 * selection separate from the joins.
 */
export const entriesWhere = (CONDITION: string, ORDER: string): string => `SELECT ${COLUMNS}
  FROM (SELECT ${ENTRY} FROM credit_entry WHERE ${CONDITION}) e
  ${SUBJECTS}
 ORDER BY ${ORDER}`;
