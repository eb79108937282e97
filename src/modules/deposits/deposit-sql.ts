// SQL of deposits and ignored transfers, with the row types.
import type { DepositAsset, DepositStatus } from '../../domain/deposit-state.js';
import { KNOWN_BY } from './rate-history.js';

/** Only seen at the head; the deposit's solid block decides. */
const UNSOLID = `d.status = 'dropped' OR d.status = 'pending' AND d.reason = 'not_solid'`;

/** All movements at deposit addresses in solid blocks, including parked payments. */
export const EVERY_MOVEMENT = `SELECT d.address, d.asset, d.amount, d.block_number, d.block_at FROM deposit d WHERE NOT (${UNSOLID})
  UNION ALL SELECT address, asset, amount, block_number, block_at FROM deposit_movement
  UNION ALL SELECT p.address, p.asset, p.amount, p.block_number, p.block_at FROM parked_payment p
    WHERE NOT EXISTS (SELECT FROM deposit d WHERE d.txid = p.txid AND d.kind = p.kind AND d.place = p.place AND NOT (${UNSOLID}))`;

/** All deposit addresses. */
export const ADDRESSES = { name: 'deposit_addresses', text: `SELECT address FROM deposit_address` };

export const ADDRESSES_AMONG = {
  name: 'deposit_addresses_among',
  text: `SELECT address, project_id FROM deposit_address WHERE address = ANY ($1::text[])`,
};

/** Selects our own addresses among these. Transfers from them are no payments. */
export const OWN_SENDERS = {
  name: 'deposit_own_senders',
  text: `SELECT address FROM deposit_address WHERE address = ANY ($1::text[])
    UNION SELECT address FROM pool_wallet WHERE address = ANY ($1::text[])
    UNION SELECT address FROM deposit_sweep_address WHERE address = ANY ($1::text[])`,
};

/**
 * Selects the addresses that a deposit address paid outside a recorded return. $2, $3: receivers and ids of this
 * block's outgoing transfers.
 */
export const PAID_BY_US = {
  name: 'addresses_paid_by_deposit_addresses',
  text: `SELECT v.address FROM unnest($1::text[]) AS v(address) WHERE EXISTS (SELECT FROM deposit_movement m
     WHERE m.counterparty = v.address AND m.amount < 0 AND m.kind <> 'fee'
       AND NOT EXISTS (SELECT FROM deposit_return r WHERE r.txid = m.txid AND r.to_address = v.address))
    UNION SELECT v.address FROM unnest($2::text[], $3::bytea[]) AS v(address, txid)
     WHERE NOT EXISTS (SELECT FROM deposit_return r WHERE r.txid = v.txid AND r.to_address = v.address)`,
};

/** A transfer recorded as a deposit before its sender was known as ours stays a deposit. */
export const INSERT_MOVEMENTS = {
  name: 'insert_deposit_movements',
  text: `INSERT INTO deposit_movement (txid, kind, place, address, asset, amount, counterparty, contract, block_number, block_at)
    SELECT v.txid, v.kind, v.place, v.address, v.asset, v.amount, v.counterparty, v.contract, $1, $2
      FROM unnest($3::bytea[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::numeric[], $9::text[], $10::text[])
        AS v(txid, kind, place, address, asset, amount, counterparty, contract)
     WHERE (v.amount < 0 OR NOT EXISTS (SELECT FROM deposit d
         WHERE d.txid = v.txid AND d.kind = v.kind AND d.place = v.place AND NOT (${UNSOLID})))
    ON CONFLICT DO NOTHING`,
};

/** Selects the transfers that have a row, and if the row comes from a solid block. */
export const KNOWN = {
  name: 'known_deposits',
  text: `SELECT encode(d.txid, 'hex') AS txid, d.kind, d.place, NOT (${UNSOLID}) AS is_taken_in FROM deposit d
    JOIN unnest($1::bytea[], $2::text[], $3::integer[]) AS v(txid, kind, place)
      ON d.txid = v.txid AND d.kind = v.kind AND d.place = v.place`,
};

/** Locks the rows of transfers that were only seen at the head. Skips rows that others have locked. */
export const LOCK_UNSOLID = {
  name: 'lock_unsolid_deposits',
  text: `SELECT encode(d.txid, 'hex') AS txid, d.kind, d.place, false AS is_taken_in FROM deposit d
    JOIN unnest($1::bytea[], $2::text[], $3::integer[]) AS v(txid, kind, place)
      ON d.txid = v.txid AND d.kind = v.kind AND d.place = v.place
   WHERE ${UNSOLID} FOR UPDATE OF d SKIP LOCKED`,
};

export interface KnownRow {
  readonly txid: string;
  readonly kind: string;
  readonly place: number;
  readonly is_taken_in: boolean;
}

/** All recorded internal transfers (sent by contracts) of these transactions. */
export const INTERNAL_ROWS = {
  name: 'deposit_internal_rows',
  text: `SELECT encode(d.txid, 'hex') AS txid, d.place, d.from_address, d.address AS to_address, d.amount::text FROM deposit d
     WHERE d.txid = ANY ($1::bytea[]) AND d.kind = 'internal' AND NOT (${UNSOLID})
    UNION ALL SELECT encode(txid, 'hex'), place, counterparty, address, amount::text FROM deposit_movement
     WHERE txid = ANY ($1::bytea[]) AND kind = 'internal'
    UNION ALL SELECT encode(txid, 'hex'), place, from_address, address, amount::text FROM parked_payment
     WHERE txid = ANY ($1::bytea[]) AND kind = 'internal'`,
};

export interface InternalRow {
  readonly txid: string;
  readonly place: number;
  readonly from_address: string;
  readonly to_address: string;
  readonly amount: string;
}

export const INSERT = {
  name: 'insert_deposits',
  text: `INSERT INTO deposit AS d (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id,
      block_at, status, reason, rate_e8, entry_key, credits, contract, sum_id)
    SELECT v.txid, v.kind, v.place, v.project_id, v.address, v.from_address, v.asset, v.amount, $1, $2, $3,
           v.status, v.reason, v.rate_e8, v.entry_key, v.credits, v.contract, v.sum_id
      FROM unnest($4::bytea[], $5::text[], $6::integer[], $7::uuid[], $8::text[], $9::text[], $10::text[], $11::numeric[],
                  $12::text[], $13::text[], $14::bigint[], $15::text[], $16::bigint[], $17::text[], $18::bigint[])
        AS v(txid, kind, place, project_id, address, from_address, asset, amount, status, reason, rate_e8, entry_key, credits,
             contract, sum_id)
    ON CONFLICT (txid, kind, place) DO UPDATE SET project_id = excluded.project_id, address = excluded.address,
      from_address = excluded.from_address, asset = excluded.asset, amount = excluded.amount,
      block_number = excluded.block_number, block_id = excluded.block_id, block_at = excluded.block_at,
      status = excluded.status, reason = excluded.reason, rate_e8 = excluded.rate_e8, entry_key = excluded.entry_key,
      credits = excluded.credits, contract = excluded.contract, sum_id = excluded.sum_id, changed_at = clock_timestamp()
      WHERE ${UNSOLID}`,
};

/**
 * Deposits seen at the head at or below height $1 that are in no solid block up to it. Parked payments are in a solid
 * block. $2: limit.
 */
export const REVERTED = {
  name: 'reverted_deposits',
  text: `SELECT d.id, d.project_id FROM deposit d
    WHERE d.status = 'pending' AND d.reason = 'not_solid' AND d.block_number <= $1
      AND NOT EXISTS (SELECT FROM parked_payment p WHERE p.txid = d.txid AND p.kind = d.kind AND p.place = d.place)
    LIMIT $2 FOR UPDATE OF d SKIP LOCKED`,
};

export const DROP_REVERTED = {
  name: 'drop_reverted_deposits',
  text: `UPDATE deposit SET status = 'dropped', reason = NULL, changed_at = clock_timestamp() WHERE id = ANY ($1::bigint[])`,
};

/**
 * Deposits that wait for a rate that has since arrived. $1: limit. $2: lowest rate at which a dollar token keeps its
 * peg; only such a rate ends the wait for the peg. $3: id after which to continue.
 */
export const WAITING = {
  name: 'waiting_deposits',
  text: `WITH newest AS MATERIALIZED (
      SELECT v.asset, v.reason, (SELECT r.minute FROM asset_rate r
          WHERE r.asset = v.asset AND r.rate_e8 >= v.lowest AND r.minute <= ${KNOWN_BY} ORDER BY r.minute DESC LIMIT 1) AS minute
        FROM (VALUES ('TRX', 'no_rate', 0), ('USDT', 'no_rate', 0), ('USDT', 'below_peg', $2::bigint)) v (asset, reason, lowest))
    SELECT d.id, d.project_id, d.asset, d.address FROM deposit d JOIN newest n ON n.asset = d.asset AND n.reason = d.reason
     WHERE d.status = 'pending' AND d.reason IN ('no_rate', 'below_peg') AND n.minute >= date_trunc('minute', d.block_at)
       AND d.id > $3 ORDER BY d.id LIMIT $1`,
};

export type WaitingRow = Pick<DepositRow, 'id' | 'project_id' | 'asset' | 'address'>;

/** The columns of `DepositRow`. */
export const DEPOSIT_ROW = `id, encode(txid, 'hex') AS txid, kind, place, project_id, address, asset, amount::text, block_at, status, reason, rate_e8`;

/** Locks the deposits $1 of the projects $2 that still wait. Skips rows that others have locked. */
export const LOCK_WAITING = {
  name: 'lock_waiting_deposits',
  text: `SELECT ${DEPOSIT_ROW} FROM deposit
    WHERE id = ANY ($1::bigint[]) AND project_id = ANY ($2::uuid[])
     AND status = 'pending' AND reason IN ('no_rate', 'below_peg')
   ORDER BY id FOR UPDATE SKIP LOCKED`,
};

/** $1: address after which to continue, $2: limit. */
export const BLACKLISTED_ADDRESSES = {
  name: 'blacklisted_deposit_addresses',
  text: `SELECT DISTINCT address FROM deposit WHERE status = 'held' AND reason = 'blacklisted' AND address > $1
    ORDER BY address LIMIT $2`,
};

export const LOCK_BLACKLISTED = {
  name: 'lock_blacklisted_deposits',
  text: `SELECT d.id, encode(d.txid, 'hex') AS txid, d.kind, d.place, d.project_id, d.address, d.asset, d.amount::text, d.block_at,
      d.status, d.reason, d.rate_e8, EXISTS (SELECT FROM deposit_movement m WHERE m.address = d.address
        AND m.kind = 'destroyed' AND m.block_number >= d.block_number) AS is_destroyed
    FROM deposit d WHERE d.status = 'held' AND d.reason = 'blacklisted' AND d.address = ANY ($1::text[])
   ORDER BY d.id LIMIT $2 FOR UPDATE OF d SKIP LOCKED`,
};

export interface BlacklistedRow extends DepositRow {
  /** True if the token's owner has since destroyed the tokens at the address. */
  readonly is_destroyed: boolean;
}

export const LOCK_ONE = {
  name: 'lock_deposit',
  text: `SELECT ${DEPOSIT_ROW} FROM deposit
    WHERE id = $1 FOR UPDATE`,
};

export interface DepositRow {
  readonly id: bigint;
  readonly txid: string;
  readonly kind: 'native' | 'log' | 'internal';
  readonly place: number;
  readonly project_id: string;
  readonly address: string;
  readonly asset: DepositAsset;
  readonly amount: string;
  readonly block_at: Date;
  readonly status: DepositStatus;
  readonly reason: string | null;
  readonly rate_e8: bigint | null;
}

export const DECIDE = {
  name: 'decide_deposit',
  text: `UPDATE deposit SET status = $2, reason = $3, rate_e8 = $4, entry_key = $5, credits = $6, sum_id = $7,
      changed_at = clock_timestamp() WHERE id = $1`,
};

/** The start of the database's UTC day. As a subquery it bounds the read of the index. */
const TODAY = `date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC')`;

/**
 * Credits granted today without the operator. A later day is that of a clock that was ahead. Each entry is looked up by
 * its key: for a join, the planner may read the whole ledger.
 */
export const CREDITED_TODAY = {
  name: 'deposits_credited_today',
  text: `SELECT coalesce(sum(d.credits), 0)::text AS credits
    FROM deposit d WHERE (SELECT e.actor FROM credit_entry e WHERE e.entry_key = d.entry_key) = 'chain'
      AND d.status = 'credited' AND d.credits IS NOT NULL
      AND d.changed_at >= (SELECT ${TODAY} AT TIME ZONE 'UTC')
      AND d.changed_at < (SELECT (${TODAY} + interval '1 day') AT TIME ZONE 'UTC')`,
};

export const COUNT_IGNORED = {
  name: 'count_ignored_transfers',
  text: `INSERT INTO ignored_transfer AS i (address, contract, day, transfers, amount, last_txid, last_block)
    SELECT v.address, v.contract, ($1::timestamptz AT TIME ZONE 'UTC')::date, v.transfers, v.amount, v.txid, $7
      FROM unnest($2::text[], $3::text[], $4::bigint[], $5::numeric[], $6::bytea[])
        AS v(address, contract, transfers, amount, txid)
    ON CONFLICT (address, contract, day) DO UPDATE SET transfers = i.transfers + excluded.transfers,
      amount = i.amount + excluded.amount, last_txid = excluded.last_txid, last_block = excluded.last_block`,
};
