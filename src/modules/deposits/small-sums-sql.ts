// SQL of small deposits and their sums, with the row types.
import type { DepositAsset } from '../../domain/deposit-state.js';
import { DEPOSIT_ROW } from './deposit-sql.js';
import { KNOWN_BY } from './rate-history.js';

/** $1: project, $2: asset, $3: the reason for which the deposits wait. Each combination has at most one open sum. */
export const OPEN_SUM = {
  name: 'open_deposit_sum',
  text: `SELECT id, amount::text, worth::text FROM deposit_sum
    WHERE project_id = $1 AND asset = $2 AND wait_reason = $3 AND entry_key IS NULL`,
};

export const BEGIN_SUM = {
  name: 'begin_deposit_sum',
  text: `INSERT INTO deposit_sum (project_id, asset, wait_reason) VALUES ($1, $2, $3) RETURNING id`,
};

export const WRITE_SUM = {
  name: 'write_deposit_sum',
  text: `UPDATE deposit_sum SET amount = $2, worth = $3 WHERE id = $1`,
};

/** $4: key of the deposit that the sum is decided with, $5: decision, $6: its reason. */
export const CLOSE_SUM = {
  name: 'close_deposit_sum',
  text: `UPDATE deposit_sum SET amount = $2, worth = $3, entry_key = $4, decision = $5, reason = $6 WHERE id = $1`,
};

/** $1: key of a deposit that was held with its sum, $2: decision, $3: its reason. */
export const DECIDE_SUM = {
  name: 'decide_deposit_sum',
  text: `UPDATE deposit_sum SET decision = $2, reason = $3, is_settled = false WHERE entry_key = $1`,
};

/**
 * The order of the index of deposits in sums. Statements that ask for it read a few rows of a sum by the index, even if
 * most deposits are in that sum. Otherwise the planner reads the whole table. They do not compare `entry_key` with the
 * sum's, although each key in a sum equals it: only the id would be left to order by, and the planner would read all
 * deposits in the order of their ids.
 */
const BY_SUM = 'm.sum_id, m.entry_key, m.id';

/** Copies the decision on closed sums to their deposits. $1: limit. */
const settling = (name: string, CONDITION: string) => ({
  name,
  text: `UPDATE deposit d SET status = CASE s.decision WHEN 'held' THEN 'pending' ELSE s.decision END, reason = s.reason,
      entry_key = CASE s.decision WHEN 'ignored' THEN NULL ELSE s.entry_key END, changed_at = clock_timestamp()
    FROM deposit_sum s
   WHERE s.id = d.sum_id AND d.id = ANY (ARRAY(
      SELECT m.id FROM deposit_sum c CROSS JOIN LATERAL (
          SELECT m.id FROM deposit m WHERE m.sum_id = c.id AND m.status = 'pending' AND ${CONDITION}
           ORDER BY ${BY_SUM} LIMIT $1 FOR UPDATE SKIP LOCKED) m
       WHERE NOT c.is_settled AND c.entry_key IS NOT NULL LIMIT $1))
  RETURNING d.id`,
});

/** Deposits whose sum was closed while they were in it. */
export const SETTLE_SUMMED = settling('settle_summed_deposits', 'm.entry_key IS NULL');

/** Deposits that were held with their sum, after the decision on it. */
export const SETTLE_HELD = settling('settle_held_deposits', `m.entry_key IS NOT NULL AND c.decision <> 'held'`);

/**
 * Locks closed sums before MARK_SETTLED looks at their deposits. In one statement, a decision that it waited for would
 * change the sum and not the deposits that it sees.
 */
export const LOCK_CLOSED = {
  name: 'lock_closed_sums',
  text: `SELECT id FROM deposit_sum WHERE NOT is_settled AND entry_key IS NOT NULL ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`,
};

/** $1: locked sums. */
export const MARK_SETTLED = {
  name: 'mark_settled_sums',
  text: `UPDATE deposit_sum s SET is_settled = true WHERE id = ANY ($1::bigint[])
      AND (SELECT m.id FROM deposit m WHERE m.sum_id = s.id AND m.status = 'pending' AND m.entry_key IS NULL
            ORDER BY ${BY_SUM} LIMIT 1) IS NULL
      AND (SELECT m.id FROM deposit m
            WHERE m.sum_id = s.id AND m.status = 'pending' AND m.entry_key IS NOT NULL AND s.decision <> 'held'
            ORDER BY ${BY_SUM} LIMIT 1) IS NULL`,
};

/** Small deposits that have got a rate since they were recorded, and are in no sum yet. $1: limit. */
export const UNSUMMED = {
  name: 'unsummed_deposits',
  text: `SELECT id, project_id, asset, reason, amount::text, rate_e8 FROM deposit
    WHERE status = 'pending' AND reason IN ('below_minimum', 'one_node') AND entry_key IS NULL AND rate_e8 IS NOT NULL
      AND sum_id IS NULL
    ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`,
};

export interface UnsummedRow {
  readonly id: bigint;
  readonly project_id: string;
  readonly asset: DepositAsset;
  readonly reason: string;
  readonly amount: string;
  readonly rate_e8: bigint;
}

/** $1: deposits, $2: the sum of each. */
export const JOIN_SUMS = {
  name: 'join_deposit_sums',
  text: `UPDATE deposit d SET sum_id = v.sum_id FROM unnest($1::bigint[], $2::bigint[]) AS v(id, sum_id) WHERE d.id = v.id`,
};

const passingOf = (ASSET: DepositAsset, MINIMUM: '$1' | '$2') =>
  `SELECT id, project_id, asset, wait_reason FROM deposit_sum
    WHERE entry_key IS NULL AND asset = '${ASSET}' AND amount >= ${MINIMUM}::numeric AND worth >= $3::numeric AND id > $4`;
const PASSING_TRX = passingOf('TRX', '$1');
const PASSING_USDT = passingOf('USDT', '$2');

/**
 * Open sums that reach the minimum. $1: minimum of TRX, $2: minimum of USDT, $3: worth of one credit, $4: id after
 * which to continue, $5: limit.
 */
export const PASSING_SUMS = {
  name: 'passing_deposit_sums',
  text: `${PASSING_TRX} UNION ALL ${PASSING_USDT} ORDER BY id LIMIT $5`,
};

export interface PassingRow {
  readonly id: bigint;
  readonly project_id: string;
  readonly asset: DepositAsset;
  readonly wait_reason: string;
}

export const NEWEST_OF_SUM = {
  name: 'newest_deposit_of_sum',
  text: `SELECT ${DEPOSIT_ROW} FROM deposit
    WHERE sum_id = $1 AND status = 'pending' AND entry_key IS NULL
    ORDER BY sum_id DESC, entry_key DESC, id DESC LIMIT 1 FOR UPDATE SKIP LOCKED`,
};

/** The sum that is held with the deposit of key $1. */
export const WORTH_HELD_WITH = {
  name: 'worth_held_with_deposit',
  text: `SELECT coalesce(sum(amount), 0)::text AS amount, coalesce(sum(worth), 0)::text AS worth FROM deposit_sum
    WHERE entry_key = $1`,
};

const UNRATED = `status = 'pending' AND reason IN ('below_minimum', 'one_node') AND rate_e8 IS NULL`;

/** The oldest small deposit of each asset that waits for an undoubted rate, and the minute of the newest rate. */
export const OLDEST_UNRATED = {
  name: 'oldest_unrated_deposits',
  text: `SELECT v.asset, o.block_at AS oldest, n.minute AS newest FROM (VALUES ('TRX'), ('USDT')) v (asset)
    CROSS JOIN LATERAL (SELECT block_at FROM deposit WHERE asset = v.asset AND ${UNRATED} ORDER BY block_at LIMIT 1) o
    CROSS JOIN LATERAL (SELECT minute FROM asset_rate WHERE asset = v.asset AND minute <= ${KNOWN_BY}
      ORDER BY minute DESC LIMIT 1) n`,
};

export interface UnratedRow {
  readonly asset: DepositAsset;
  readonly oldest: Date;
  readonly newest: Date;
}

/** $1: asset, $2: rate, $3: its minute, which bounds the payments' time, $4: limit. */
export const RATE_SMALL_ONES = {
  name: 'rate_small_deposits',
  text: `UPDATE deposit SET rate_e8 = $2, changed_at = clock_timestamp() WHERE id = ANY (ARRAY(
      SELECT id FROM deposit WHERE asset = $1 AND ${UNRATED} AND block_at < $3::timestamptz + interval '1 minute'
       ORDER BY block_at LIMIT $4 FOR UPDATE SKIP LOCKED))`,
};

/** Addresses with small USDT payments that wait for a rate. */
export const WAITING_ADDRESSES = {
  name: 'waiting_deposit_addresses',
  text: `SELECT DISTINCT address FROM (SELECT address FROM deposit
      WHERE asset = 'USDT' AND ${UNRATED} ORDER BY block_at LIMIT $1) w`,
};
