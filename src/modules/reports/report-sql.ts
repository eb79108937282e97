// Queries of reports, each one aggregate over a time range, and their row types. $1 is the inclusive start, $2 the
// exclusive end. Sums are text, because they have no bound.
import { ACTIVATIONS_OF_ENTRY } from '../../platform/database/order-details-sql.js';
import { EVERY_MOVEMENT } from '../deposits/deposit-sql.js';
import { RECOVERY_PROJECT } from '../verify/recovery.js';

/** Grouping of a report's rows. */
export type ReportBy = 'day' | 'project' | 'wallet';

export interface EntriesRow {
  readonly key: string | null;
  readonly revenue: string;
  readonly refunds: string;
  readonly compensations: string;
  readonly topups: string;
  readonly adjustments: string;
  readonly net_sun: string;
  readonly energy_sec: string;
  readonly bandwidth_sec: string;
}

export interface CostsRow {
  readonly key: string | null;
  readonly transactions: string;
  readonly missing: string;
  readonly cost_sun: string;
  readonly unrated_sun: string;
  readonly cost_usd_e14: string;
}

export interface FreeTopUpsRow {
  readonly key: string | null;
  readonly energy: string;
  readonly bandwidth: string;
  readonly cost_sun: string;
}

export interface CapacityRow {
  readonly key: string | null;
  readonly measured_ms: string;
  readonly idle_energy_ms: string;
  readonly recovering_energy_ms: string;
}

export interface StandingRow {
  readonly owed: string;
  readonly debts: string;
}

export interface HeldRow {
  readonly asset: 'TRX' | 'USDT';
  readonly amount: string;
  readonly rate_e8: bigint | null;
}

/** Charges count when they are made, for postpaid and prepaid projects alike. */
const SUMS = `coalesce(-sum(x.credits) FILTER (WHERE x.kind = 'charge'), 0)::text AS revenue,
    coalesce(sum(x.credits) FILTER (WHERE x.kind = 'refund'), 0)::text AS refunds,
    coalesce(sum(x.credits) FILTER (WHERE x.kind = 'compensation'), 0)::text AS compensations,
    coalesce(sum(x.credits) FILTER (WHERE x.kind = 'topup'), 0)::text AS topups,
    coalesce(sum(x.credits) FILTER (WHERE x.kind = 'adjustment'), 0)::text AS adjustments,
    coalesce(sum(x.sun), 0)::text AS net_sun, coalesce(sum(x.energy_sec), 0)::text AS energy_sec,
    coalesce(sum(x.bandwidth_sec), 0)::text AS bandwidth_sec`;

/**
 * Entries with their worth in sun, and the energy and bandwidth times seconds that they sold or returned. The worth is
 * the price of the order or extension; a refund leaves out the activation that it keeps. A compensation has no price:
 * its credits count at the order's rate, truncated to whole sun. Excludes test projects.
 */
const ENTRIES = `SELECT e.id, e.project_id, e.order_id, e.created_at, e.kind, e.credits,
      CASE e.kind WHEN 'charge' THEN coalesce(x.price_sun, o.price_sun)
        WHEN 'refund' THEN CASE WHEN o.kept_credits IS NULL THEN 0 ELSE o.activation_price_sun END - o.price_sun
        WHEN 'compensation' THEN -div(e.credits::numeric * 10000000, o.trx_usd_e8) END::numeric AS sun,
      time.sold * o.energy AS energy_sec, time.sold * o.bandwidth AS bandwidth_sec,
      o.kind AS order_kind, o.credits AS order_credits, o.price_sun AS order_sun,
      o.bandwidth_credits::numeric AS bandwidth_credits, o.bandwidth_price_sun::numeric AS bandwidth_sun,
      ${ACTIVATIONS_OF_ENTRY} AS activations,
      o.activation_credits::numeric AS activation_credits, o.activation_price_sun::numeric AS activation_sun
    FROM credit_entry e LEFT JOIN orders o ON o.id = e.order_id
    LEFT JOIN order_extension x ON x.order_id = e.order_id AND x.number = CASE WHEN e.kind = 'charge'
      AND e.entry_key LIKE 'charge:%:ext:%' THEN split_part(e.entry_key, ':', 4)::smallint END
    CROSS JOIN LATERAL (SELECT CASE e.kind WHEN 'charge' THEN 1 WHEN 'refund' THEN -1 END
        * coalesce(x.duration_sec, o.duration_sec)::numeric AS sold) time
   WHERE e.created_at >= $1 AND e.created_at < $2 AND e.contra <> 'test'`;

const ENTRY_DAY = `(x.created_at AT TIME ZONE 'UTC')::date::text`;
const BLOCK_DAY = `(x.block_at AT TIME ZONE 'UTC')::date::text`;

/**
 * Splits each entry of an order into its items, named by the kind of the legs that deliver them. Charges and refunds
 * split exactly as priced. Extensions and compensations have no prices by item, so they split in the order's
 * proportions. The first item takes the remainder.
 */
const ITEMS = `SELECT e.id, e.order_id, e.kind, i.leg_kind, i.credits, i.sun, i.energy_sec, i.bandwidth_sec
    FROM (${ENTRIES}) e
      CROSS JOIN LATERAL (SELECT
        nullif(e.order_credits - (1 - e.activations) * coalesce(e.activation_credits, 0), 0) AS credits,
        nullif(e.order_sun - (1 - e.activations) * coalesce(e.activation_sun, 0), 0) AS sun) whole
      CROSS JOIN LATERAL (SELECT
        coalesce(div(e.credits * e.bandwidth_credits, whole.credits), 0) AS bandwidth_credits,
        coalesce(div(e.sun * e.bandwidth_sun, whole.sun), 0) AS bandwidth_sun,
        coalesce(div(e.credits * e.activations * e.activation_credits, whole.credits), 0) AS activation_credits,
        coalesce(div(e.sun * e.activations * e.activation_sun, whole.sun), 0) AS activation_sun) part
      CROSS JOIN LATERAL (VALUES
        (e.order_kind, e.credits - part.bandwidth_credits - part.activation_credits,
          e.sun - part.bandwidth_sun - part.activation_sun, e.energy_sec, 0),
        ('bandwidth', part.bandwidth_credits, part.bandwidth_sun, 0, coalesce(e.bandwidth_sec, 0)),
        ('activation', part.activation_credits, part.activation_sun, 0, 0)) i (leg_kind, credits, sun, energy_sec, bandwidth_sec)
   WHERE i.energy_sec IS NULL OR (i.credits, i.sun, i.energy_sec, i.bandwidth_sec) <> (0, 0, 0, 0)`;

/**
 * Splits each item over the legs that bear it, in proportion to their sun. These are the item's legs that were not
 * released, or all if every leg was; top-ups bear nothing. The first leg takes the remainder, so that the parts sum to
 * the item.
 */
const PARTS = `SELECT p.wallet_id, p.kind,
      p.credits_part + CASE WHEN p.place = 1 THEN p.credits - sum(p.credits_part) OVER item ELSE 0 END AS credits,
      p.sun_part + CASE WHEN p.place = 1 THEN p.sun - sum(p.sun_part) OVER item ELSE 0 END AS sun,
      p.energy_part + CASE WHEN p.place = 1 THEN p.energy_sec - sum(p.energy_part) OVER item ELSE 0 END AS energy_sec,
      p.bandwidth_part + CASE WHEN p.place = 1 THEN p.bandwidth_sec - sum(p.bandwidth_part) OVER item ELSE 0 END AS bandwidth_sec
    FROM (
      SELECT e.*, l.wallet_id, coalesce(l.place, 1) AS place,
          CASE WHEN l.total > 0 THEN div(e.credits * l.share, l.total) ELSE e.credits END AS credits_part,
          CASE WHEN l.total > 0 THEN div(e.sun * l.share, l.total) ELSE e.sun END AS sun_part,
          CASE WHEN l.total > 0 THEN div(e.energy_sec * l.share, l.total) ELSE e.energy_sec END AS energy_part,
          CASE WHEN l.total > 0 THEN div(e.bandwidth_sec * l.share, l.total) ELSE e.bandwidth_sec END AS bandwidth_part
        FROM (${ITEMS}) e LEFT JOIN LATERAL (
          SELECT b.wallet_id, b.share, sum(b.share) OVER () AS total, row_number() OVER (ORDER BY b.leg_no) AS place
            FROM (SELECT g.wallet_id, g.leg_no, g.amount_sun::numeric AS share, g.status = 'released' AS given_up,
                bool_and(g.status = 'released') OVER () AS all_given_up
              FROM leg g WHERE g.order_id = e.order_id AND g.kind = e.leg_kind AND NOT g.top_up) b
           WHERE b.all_given_up OR NOT b.given_up) l ON true) p
  WINDOW item AS (PARTITION BY p.id, p.leg_kind)`;

const WALLET = `(SELECT w.address FROM pool_wallet w WHERE w.id = x.wallet_id)`;

export const ENTRIES_BY: Readonly<Record<ReportBy, string>> = {
  day: `SELECT ${ENTRY_DAY} AS key, ${SUMS} FROM (${ENTRIES}) x GROUP BY 1`,
  project: `SELECT x.project_id::text AS key, ${SUMS} FROM (${ENTRIES}) x GROUP BY x.project_id`,
  wallet: `SELECT ${WALLET} AS key, ${SUMS} FROM (${PARTS}) x GROUP BY x.wallet_id`,
};

/** Costs have the rate of their order. Reclaims of orphans were never sold and have none. */
const COSTS = `SELECT t.block_at, t.wallet_id, o.project_id, t.fee_sun::numeric AS fee_sun,
      CASE WHEN o.project_id <> '${RECOVERY_PROJECT}' THEN o.trx_usd_e8 END AS rate_e8
    FROM chain_tx t JOIN orders o ON o.id = t.order_id
   WHERE t.block_at >= $1 AND t.block_at < $2 AND t.status = 'solid'`;

const COST_SUMS = `count(*)::text AS transactions, (count(*) FILTER (WHERE x.fee_sun IS NULL))::text AS missing,
    coalesce(sum(x.fee_sun), 0)::text AS cost_sun,
    coalesce(sum(x.fee_sun) FILTER (WHERE x.rate_e8 IS NULL), 0)::text AS unrated_sun,
    coalesce(sum(x.fee_sun * x.rate_e8), 0)::text AS cost_usd_e14`;

export const COSTS_BY: Readonly<Record<ReportBy, string>> = {
  day: `SELECT ${BLOCK_DAY} AS key, ${COST_SUMS} FROM (${COSTS}) x GROUP BY 1`,
  project: `SELECT nullif(x.project_id, '${RECOVERY_PROJECT}')::text AS key, ${COST_SUMS} FROM (${COSTS}) x GROUP BY 1`,
  wallet: `SELECT ${WALLET} AS key, ${COST_SUMS} FROM (${COSTS}) x GROUP BY x.wallet_id`,
};

/**
 * Legs delivered without a charge: their energy and bandwidth, by the block that delivered it, and the cost of their
 * transactions. OFFSET 0 keeps Postgres from reading all legs ever for a report of one day.
 */
const FREE_TOP_UPS = `SELECT t.block_at, t.wallet_id, t.fee_sun::numeric AS fee_sun, o.project_id,
      CASE t.purpose WHEN 'delegate' THEN g.energy::numeric END AS energy,
      CASE t.purpose WHEN 'delegate' THEN g.bandwidth::numeric END AS bandwidth
    FROM (SELECT order_id, leg_id, wallet_id, purpose, block_at, fee_sun FROM chain_tx
           WHERE block_at >= $1 AND block_at < $2 AND status = 'solid' OFFSET 0) t
      JOIN leg g ON g.id = t.leg_id AND g.order_id = t.order_id AND g.top_up JOIN orders o ON o.id = t.order_id`;

const FREE_SUMS = `coalesce(sum(x.energy), 0)::text AS energy, coalesce(sum(x.bandwidth), 0)::text AS bandwidth,
    coalesce(sum(x.fee_sun), 0)::text AS cost_sun`;

export const FREE_TOP_UPS_BY: Readonly<Record<ReportBy, string>> = {
  day: `SELECT ${BLOCK_DAY} AS key, ${FREE_SUMS} FROM (${FREE_TOP_UPS}) x GROUP BY 1`,
  project: `SELECT x.project_id::text AS key, ${FREE_SUMS} FROM (${FREE_TOP_UPS}) x GROUP BY 1`,
  wallet: `SELECT ${WALLET} AS key, ${FREE_SUMS} FROM (${FREE_TOP_UPS}) x GROUP BY x.wallet_id`,
};

const CAPACITY_SUMS = `coalesce(sum(x.measured_ms), 0)::text AS measured_ms,
    coalesce(sum(x.idle_energy_ms), 0)::text AS idle_energy_ms,
    coalesce(sum(x.recovering_energy_ms), 0)::text AS recovering_energy_ms`;
const CAPACITY = `FROM pool_wallet_day x WHERE x.day >= ($1::timestamptz AT TIME ZONE 'UTC')::date
    AND x.day < ($2::timestamptz AT TIME ZONE 'UTC')::date`;

/** Idle stake belongs to no project, so a report by project has only the total. */
export const CAPACITY_BY: Readonly<Record<ReportBy, string>> = {
  day: `SELECT x.day::text AS key, ${CAPACITY_SUMS} ${CAPACITY} GROUP BY 1`,
  project: `SELECT NULL AS key, ${CAPACITY_SUMS} ${CAPACITY}`,
  wallet: `SELECT ${WALLET} AS key, ${CAPACITY_SUMS} ${CAPACITY} GROUP BY x.wallet_id`,
};

/**
 * Balances before $1: the present ones minus later entries. Test projects are excluded, because their credits are no
 * debt.
 */
export const OWED = `SELECT coalesce(sum(b.credits) FILTER (WHERE b.credits > 0), 0)::text AS owed,
    coalesce(-sum(b.credits) FILTER (WHERE b.credits < 0), 0)::text AS debts
  FROM (SELECT a.balance_credits - coalesce(since.credits, 0) AS credits FROM credit_account a
    LEFT JOIN (SELECT project_id, sum(credits) AS credits FROM credit_entry WHERE created_at >= $1 GROUP BY project_id) since
      ON since.project_id = a.project_id
   WHERE NOT EXISTS (SELECT FROM project p WHERE p.id = a.project_id AND p.test)) b`;

/** Holdings of deposit addresses before $1, at the newest rates known then. */
export const HELD = `SELECT m.asset, sum(m.amount)::text AS amount,
    (SELECT r.rate_e8 FROM asset_rate r WHERE r.asset = m.asset AND r.minute < $1 ORDER BY r.minute DESC LIMIT 1) AS rate_e8
  FROM (${EVERY_MOVEMENT}) m WHERE m.block_at < $1 GROUP BY m.asset ORDER BY m.asset`;
