// SQL of the ledger, with the row types.
import { ownedBy } from '../../platform/database/owner-order.js';

export interface AccountRow {
  readonly balance_credits: bigint;
  readonly is_postpaid: boolean;
  readonly floor_credits: bigint | null;
  readonly read_at: Date;
}

export const CREATE_ACCOUNT = {
  name: 'ledger-create-account',
  text: `INSERT INTO credit_account (project_id, is_postpaid, floor_credits) VALUES ($1, $2, $3)`,
};

/**
 * An entry of a test project has the contra account `test`, since no real money is behind it. $3: the contra account of
 * a live project's entry.
 */
export const INSERT_ENTRY = {
  name: 'ledger-insert-entry',
  text: `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
         VALUES ($1, $2, CASE WHEN (SELECT p.test FROM project p WHERE p.id = $2) THEN 'test' ELSE $3 END, $4, $5, $6, $7)
         ON CONFLICT (entry_key) DO NOTHING RETURNING id`,
};

export const FIND_ENTRY = {
  name: 'ledger-find-entry',
  text: `SELECT project_id, credits FROM credit_entry WHERE entry_key = $1`,
};

/**
 * Checks and moves the balance under one row lock. The upper bound keeps every balance an exact JSON integer
 * (docs/interface.md §1).
 */
export const MOVE_BALANCE = {
  name: 'ledger-move-balance',
  text: `UPDATE credit_account SET balance_credits = balance_credits + $2
          WHERE project_id = $1 AND balance_credits + $2 <= 9007199254740991
            AND ($2 > 0 OR floor_credits IS NULL OR balance_credits + $2 >= floor_credits)
          RETURNING balance_credits`,
};

/**
 * Up to this balance (2^51 credits) the refunds of open charges have room without being summed: they would have to be
 * worth hundreds of millions of dollars. The sum reads a project's whole open history.
 */
export const ROOMY_BALANCE = 2_251_799_813_685_248n;
const ROOMY = ROOMY_BALANCE.toString();

/** Charges that may still be refunded. Every balance has room for them, so that a refund never fails. */
const OPEN_CHARGES = `(SELECT coalesce(sum(o.credits), 0) FROM open_orders o WHERE o.project_id = a.project_id AND NOT o.settled)`;

export const HAS_ROOM = {
  name: 'ledger-has-room',
  text: `SELECT a.balance_credits + ${OPEN_CHARGES} <= 9007199254740991::bigint AS fits FROM credit_account a WHERE a.project_id = $1`,
};

/**
 * Credits that a balance can still take in. Above 2^53 − 1 a JSON number is not exact (docs/interface.md §1). The
 * charges of open orders keep their room.
 */
export const ROOM = {
  name: 'ledger-room',
  text: `SELECT (9007199254740991::bigint - a.balance_credits
      - CASE WHEN a.balance_credits > ${ROOMY} THEN ${OPEN_CHARGES} ELSE 0 END)::bigint AS room
    FROM credit_account a WHERE a.project_id = $1`,
};

/**
 * Only against a charge of the same order, project and amount. Only the share of the order's activation may be kept
 * ($4), if the chain has it. A refund on the day of its charge does not count towards that day's caps of the API key
 * and the auto-delegation.
 */
export const INSERT_REFUND = {
  name: 'ledger-insert-refund',
  text: `WITH entry AS (
           INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
           SELECT 'refund:' || c.order_id, c.project_id, c.contra, 'refund', -c.credits - $4::bigint, c.order_id
             FROM credit_entry c
            WHERE c.entry_key = 'charge:' || $1::bigint AND c.project_id = $2 AND c.credits = -$3::bigint
              AND ($4::bigint = 0 OR EXISTS (
                SELECT FROM open_orders o WHERE o.id = $1::bigint AND o.kept_credits = $4::bigint))
           ON CONFLICT (entry_key) DO NOTHING RETURNING order_id, project_id, credits)
         SELECT return_to_caps(order_id, project_id, credits) FROM entry`,
};

export const FIND_REFUND = {
  name: 'ledger-find-refund',
  text: `SELECT project_id = $2 AND credits = $3::bigint AS same FROM credit_entry
          WHERE entry_key = 'refund:' || $1::bigint`,
};

/**
 * A charge refunded on its day does not count towards that day's cap. Its ledger entry has the day on which the cap
 * counted it, which is later than the order's if the charge waited over midnight.
 */
export const MOVE_BALANCE_BY_REFUND = {
  name: 'ledger-move-balance-by-refund',
  text: `UPDATE credit_account a SET balance_credits = a.balance_credits + $2::bigint,
                spent_credits = CASE WHEN a.spent_on = (c.created_at AT TIME ZONE 'UTC')::date
                                     THEN greatest(a.spent_credits - $2::bigint, 0) ELSE a.spent_credits END
           FROM credit_entry c WHERE c.entry_key = 'charge:' || $3::bigint AND a.project_id = $1
          RETURNING a.balance_credits`,
};

/** Serializes the compensations of one order on its row. */
export const LOCK_ORDER = {
  name: 'ledger-lock-order',
  text: `SELECT project_id, settled FROM orders WHERE id = $1 FOR NO KEY UPDATE`,
};

export const COMPENSATED = {
  name: 'ledger-compensated',
  text: `SELECT coalesce(-sum(credits), 0)::bigint AS left_credits, count(*) FILTER (WHERE kind = 'compensation')::integer AS count
    FROM credit_entry
   WHERE entry_key = ANY (ARRAY['charge:' || $1::bigint, 'refund:' || $1::bigint] || ARRAY(
           SELECT 'charge:' || order_id || ':ext:' || number FROM order_extension WHERE order_id = $1::bigint))
      OR (kind = 'compensation' AND order_id = $1::bigint)`,
};

export const INSERT_COMPENSATION = {
  name: 'ledger-insert-compensation',
  text: `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, actor, reason)
         SELECT 'compensation:' || c.order_id || ':' || $2::integer, c.project_id, c.contra, 'compensation', $3::bigint,
                c.order_id, $4, $5 FROM credit_entry c WHERE c.entry_key = 'charge:' || $1::bigint RETURNING id`,
};

export const SET_TERMS = {
  name: 'ledger-set-terms',
  text: `UPDATE credit_account SET is_postpaid = $2, floor_credits = $3 WHERE project_id = $1 RETURNING project_id`,
};

const IS_OF_PROJECT = ownedBy('project_id', '$1::uuid');

export const NEWEST_ENTRY = {
  name: 'ledger-newest-entry',
  text: `SELECT id FROM credit_entry WHERE ${IS_OF_PROJECT} ORDER BY project_id DESC, id DESC LIMIT 1`,
};

export const SET_FROZEN = {
  name: 'ledger-set-frozen',
  text: `UPDATE credit_account SET frozen = $2 WHERE project_id = $1 RETURNING project_id`,
};

export const SET_DAILY_CAP = {
  name: 'ledger-set-daily-cap',
  text: `UPDATE credit_account SET daily_cap_credits = $2 WHERE project_id = $1 RETURNING project_id`,
};

export const SET_LOW_BALANCE = {
  name: 'ledger-set-low-balance',
  text: `UPDATE credit_account SET low_balance_credits = $2 WHERE project_id = $1 RETURNING project_id`,
};

const ACCOUNT = 'balance_credits, is_postpaid, floor_credits, clock_timestamp() AS read_at';

export const FIND_ACCOUNT = {
  name: 'ledger-find-account',
  text: `SELECT ${ACCOUNT} FROM credit_account WHERE project_id = $1`,
};

/**
 * Does the same as FIND_ACCOUNT for many projects ($1). `LIMIT` forces an index look-up for each, regardless of the
 * planner's estimates.
 */
export const FIND_ACCOUNTS = {
  name: 'ledger-find-accounts',
  text: `SELECT wanted.place::int, account.*
           FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (project_id, place)
           CROSS JOIN LATERAL (SELECT ${ACCOUNT} FROM credit_account WHERE project_id = wanted.project_id LIMIT 1) account`,
};
