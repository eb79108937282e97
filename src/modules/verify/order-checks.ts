/** Rules of orders, legs, transactions and charges (I2–I6, I9, I10), as reads over all orders or some. */
import { AUTO_DELEGATION_CHECKS } from './auto-delegation-checks.js';
import { ORDER_TRANSITIONS } from '../../domain/order-state.js';
import type { RecordCheck, OrderCheck } from './record-check.js';
import { ORDER_EVENTS } from './event-checks.js';
import { ORDER_TERMS_CHECKS } from './order-terms-checks.js';
import { RECOVERY_PROJECT } from './recovery.js';
import { ROW_CHECKS } from './row-checks.js';
import { TEST_ORDERS_APART } from './test-project-checks.js';

/** Twice the sequential limit: each top-up may be split over wallets, or moved from one to another. */
const TOP_UPS_BOUND = '40';

const LEGAL_MOVES = Object.entries(ORDER_TRANSITIONS)
  .flatMap(([from, tos]) => tos.map((to) => `('${from}', '${to}')`))
  .join(', ');

/** The stake of an order's legs of a kind that have none of these states. */
const sunOf = (kind: 'rental' | 'bandwidth', ...without: readonly string[]): string =>
  `coalesce(sum(amount_sun) FILTER (WHERE kind = '${kind}' AND status NOT IN ('${without.join(`', '`)}')), 0)`;

const ENERGY_SUN = sunOf('rental', 'released');
const ENERGY_SUN_LEFT = sunOf('rental', 'released', 'reclaimed');
const BANDWIDTH_SUN = sunOf('bandwidth', 'released');
const BANDWIDTH_SUN_LEFT = sunOf('bandwidth', 'released', 'reclaimed');

const DELIVERY_CHECKS: readonly OrderCheck[] = [
  {
    check: 'order-legs',
    rule: 'I3',
    says: 'The legs of an order match its status, and together they hold the energy, the bandwidth and the activation that were sold, from when they were sold.',
    stops: 'everything',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.kind, o.status, o.settled, o.energy,
        l.energy AS legs_energy, o.bandwidth, l.bandwidth AS legs_bandwidth, o.delivered_at, o.ends_at, l.statuses
      FROM the_orders o LEFT JOIN (
        SELECT order_id, string_agg(DISTINCT status, ',' ORDER BY status) AS statuses,
               bool_and(status IN ('reserved', 'released')) AS unsent,
               bool_and(status IN ('released', 'reclaimed')) AS ended,
               bool_or(status = 'reserved' OR status = 'placed') AS open,
               sum(energy) FILTER (WHERE status <> 'released')::bigint AS energy,
               sum(bandwidth) FILTER (WHERE status <> 'released')::bigint AS bandwidth,
               max(active_at) FILTER (WHERE status <> 'released') AS active_at,
               count(*) FILTER (WHERE status <> 'released') AS standing,
               count(*) FILTER (WHERE status <> 'released' AND kind = 'activation') AS activations
          -- Top-ups of a running rental are not part of the sold and delivered energy.
          FROM the_legs each WHERE NOT top_up GROUP BY order_id) l ON l.order_id = o.id
      WHERE NOT o.test AND (l.order_id IS NULL
         OR (o.status <> 'refunded' AND NOT o.undoing AND l.activations <> (o.kind = 'activation' OR o.activation_credits IS NOT NULL)::integer)
         OR (o.status = 'reserved' AND NOT l.unsent)
         OR (o.status = 'refunded' AND NOT l.ended)
         OR (o.status = 'delivered' AND (l.open OR l.standing = 0
              OR o.delivered_at IS DISTINCT FROM l.active_at
              OR (o.kind = 'rental' AND (o.project_id <> '${RECOVERY_PROJECT}' AND coalesce(l.energy, 0) < o.energy
                   OR o.delivered_energy <> l.energy
                   OR coalesce(l.bandwidth, 0) < coalesce(o.bandwidth, 0) OR o.delivered_bandwidth IS DISTINCT FROM l.bandwidth
                   OR o.ends_at IS DISTINCT FROM o.delivered_at + (o.duration_sec + coalesce((
                     SELECT sum(x.duration_sec) FROM the_extensions x WHERE x.order_id = o.id), 0)) * interval '1 second'))))
         OR (o.settled AND o.status NOT IN ('delivered', 'refunded')) OR (o.status = 'refunded' AND NOT o.settled))`,
  },
  {
    check: 'leg-transactions',
    rule: 'I3',
    says: 'Every leg matches its own transactions: delivered by exactly one, reclaimed by at most one.',
    stops: 'everything',
    text: `SELECT 'leg ' || l.id || ' of order ' || l.order_id AS subject, l.order_id AS of_order,
        l.wallet_id, l.status, t.delivery, t.reclaim, t.deliveries, t.reclaims
      FROM the_legs l LEFT JOIN (
        SELECT leg_id,
               max(status) FILTER (WHERE purpose <> 'reclaim' AND status NOT IN ('dead', 'dropped')) AS delivery,
               max(status) FILTER (WHERE purpose = 'reclaim' AND status NOT IN ('dead', 'dropped')) AS reclaim,
               count(*) FILTER (WHERE purpose <> 'reclaim' AND status NOT IN ('dead', 'dropped')) AS deliveries,
               count(*) FILTER (WHERE purpose = 'reclaim' AND status NOT IN ('dead', 'dropped')) AS reclaims
          FROM the_transactions each GROUP BY leg_id) t ON t.leg_id = l.id
      WHERE t.deliveries > 1 OR t.reclaims > 1 OR NOT CASE l.status
        WHEN 'reserved' THEN coalesce(t.delivery, 'built') IN ('built', 'signed') AND t.reclaim IS NULL
        WHEN 'placed' THEN coalesce(t.delivery, 'built') IN ('built', 'signed', 'sending') AND t.reclaim IS NULL
        WHEN 'active' THEN coalesce(t.delivery IN ('included', 'solid'), false)
                       AND coalesce(t.reclaim, 'built') IN ('built', 'signed')
        WHEN 'reclaiming' THEN coalesce(t.delivery = 'solid', false) AND coalesce(t.reclaim, 'built') <> 'solid'
        WHEN 'reclaimed' THEN coalesce(t.delivery = 'solid' AND CASE WHEN l.closed_at IS NULL THEN t.reclaim = 'solid' ELSE t.reclaim IS NULL END, false)
        ELSE t.delivery IS NULL AND t.reclaim IS NULL END`,
  },
  {
    check: 'order-settled',
    rule: 'I3',
    says: 'All legs of a settled delivery are in solid blocks.',
    stops: 'everything',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, l.wallet_id, l.id AS leg, l.status
      FROM the_orders o JOIN the_legs l ON l.order_id = o.id AND l.status <> 'released' AND NOT l.top_up
      LEFT JOIN the_transactions t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status = 'solid'
      WHERE o.settled AND o.status = 'delivered' AND t.id IS NULL`,
  },
  {
    check: 'order-stake',
    rule: 'I3',
    says: 'The stake recorded for each unit that a running rental sold, by which short rentals are found, is that of its legs.',
    stops: 'nothing',
    // A leg that a foreign act ended counts until the next top-up.
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.energy, o.sun_per_energy_e6, o.bandwidth, o.sun_per_bandwidth_e6,
        l.energy_sun, l.bandwidth_sun
      FROM the_orders o CROSS JOIN LATERAL (
        SELECT ${ENERGY_SUN} AS energy_sun, ${ENERGY_SUN_LEFT} AS energy_sun_left, ${BANDWIDTH_SUN} AS bandwidth_sun,
               ${BANDWIDTH_SUN_LEFT} AS bandwidth_sun_left
          FROM the_legs each WHERE each.order_id = o.id) l
      WHERE o.settled AND o.status = 'delivered' AND o.kind = 'rental' AND o.reclaimed_at IS NULL AND NOT o.test AND o.project_id <> '${RECOVERY_PROJECT}'
        AND NOT (coalesce(o.sun_per_energy_e6 BETWEEN div(l.energy_sun_left * 1000000, o.energy) AND div(l.energy_sun * 1000000, o.energy), false)
          AND CASE WHEN o.bandwidth IS NULL THEN o.sun_per_bandwidth_e6 IS NULL ELSE coalesce(o.sun_per_bandwidth_e6
            BETWEEN div(l.bandwidth_sun_left * 1000000, o.bandwidth) AND div(l.bandwidth_sun * 1000000, o.bandwidth), false) END)`,
  },
  {
    check: 'top-ups',
    rule: 'I3',
    says: 'Top-ups belong only to delivered, settled rentals, and their number of each resource is bounded.',
    stops: 'everything',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, min(l.wallet_id) AS wallet_id, o.status,
        o.settled, count(*) AS top_ups
      FROM the_legs l JOIN the_orders o ON o.id = l.order_id WHERE l.top_up GROUP BY o.id, o.status, o.settled, o.kind, l.kind
      HAVING o.status <> 'delivered' OR NOT o.settled OR o.kind <> 'rental' OR count(*) > ${TOP_UPS_BOUND}`,
  },
  {
    check: 'order-refunded',
    rule: 'I3',
    says: 'No leg of a refunded order stays on chain: each is proven dead or reclaimed.',
    stops: 'everything',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, t.wallet_id, t.purpose, t.txid, t.status
      FROM the_orders o JOIN the_transactions t ON t.order_id = o.id
      WHERE o.status = 'refunded' AND t.purpose <> 'reclaim' AND t.status NOT IN ('dead', 'dropped')
        AND NOT EXISTS (SELECT FROM chain_tx r WHERE r.leg_id = t.leg_id AND r.purpose = 'reclaim' AND r.status = 'solid')
        AND NOT EXISTS (SELECT FROM leg l WHERE l.id = t.leg_id AND l.closed_at IS NOT NULL)`,
  },
  {
    check: 'orphan-rows',
    rule: 'I4',
    says: 'Every transaction has its leg and wallet, and every leg has its order.',
    stops: 'everything',
    text: `SELECT 'transaction ' || encode(t.txid, 'hex') AS subject, t.order_id AS of_order,
          w.id AS wallet_id, t.order_id, t.leg_id, t.purpose, t.status
        FROM the_transactions t LEFT JOIN the_legs l ON l.id = t.leg_id LEFT JOIN pool_wallet w ON w.id = t.wallet_id
       WHERE l.id IS NULL OR w.id IS NULL OR l.order_id <> t.order_id OR l.wallet_id <> t.wallet_id
      UNION ALL
      SELECT 'leg ' || l.id, l.order_id, w.id, l.order_id, l.id, l.kind, l.status
        FROM the_legs l LEFT JOIN the_orders o ON o.id = l.order_id LEFT JOIN pool_wallet w ON w.id = l.wallet_id
       WHERE o.id IS NULL OR w.id IS NULL OR o.receive_address <> l.receive_address
          OR NOT (o.kind = l.kind OR o.kind = 'rental' AND CASE l.kind
            WHEN 'bandwidth' THEN o.bandwidth IS NOT NULL OR o.project_id = '${RECOVERY_PROJECT}'
            ELSE o.activation_credits IS NOT NULL END)
          OR w.role <> CASE l.kind WHEN 'activation' THEN 'activation' ELSE 'pool' END`,
  },
  {
    check: 'transaction-id',
    rule: 'I4',
    says: 'Transaction ids are unique, and each is the hash of its bytes.',
    stops: 'everything',
    text: `SELECT 'transaction ' || encode(txid, 'hex') AS subject, min(order_id) AS of_order,
        min(wallet_id) AS wallet_id, count(*) AS copies
      FROM the_transactions each GROUP BY txid HAVING count(*) > 1 OR bool_or(txid <> sha256(raw_data))`,
  },
];

const TIME_CHECKS: readonly OrderCheck[] = [
  {
    check: 'order-overdue',
    rule: 'I5',
    says: 'Every charged order is settled or refunded in time.',
    stops: 'nothing',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, o.created_at, o.needs_attention, o.next_run_at
      FROM the_orders o WHERE NOT o.settled AND o.created_at <= now() - $1 * interval '1 second'`,
    params: ({ settleWithinSec }) => [settleWithinSec],
  },
  {
    check: 'order-forgotten',
    rule: 'I5',
    says: 'Every open order, and every order with a delivery or reclaim under way, has a next due time.',
    stops: 'nothing',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, o.settled, o.created_at
      FROM the_orders o WHERE o.next_run_at IS NULL AND o.play_at IS NULL AND NOT o.settled
      UNION ALL
      SELECT 'order ' || o.id, o.id, o.status, o.settled, o.created_at
      FROM the_orders o JOIN the_legs l ON l.order_id = o.id AND l.status IN ('reserved', 'placed')
      WHERE o.next_run_at IS NULL AND o.settled
      UNION ALL
      SELECT 'order ' || o.id, o.id, o.status, o.settled, o.created_at
      FROM the_orders o JOIN the_legs l ON l.order_id = o.id AND l.status = 'reclaiming'
      WHERE o.next_run_at IS NULL AND o.settled AND o.reclaimed_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid'))`,
  },
  {
    check: 'reclaim-early',
    rule: 'I6',
    says: 'Nothing is reclaimed before its rental has ended by the chain’s clock.',
    stops: 'everything',
    // Uses final blocks only: before finality a block's time is one node's word.
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, t.wallet_id, o.ends_at, t.block_at, t.txid
      FROM the_orders o JOIN the_transactions t ON t.order_id = o.id AND t.purpose = 'reclaim' AND t.status = 'solid'
      WHERE o.status = 'delivered' AND t.block_at < o.ends_at`,
  },
  {
    check: 'closed-legs',
    rule: 'I6',
    says: 'A delegation ended by a foreign act names a known act of exactly that amount, unless an operator closed it.',
    stops: 'everything',
    text: `SELECT 'transaction ' || encode(l.closed_by_txid, 'hex') AS subject, min(l.order_id) AS of_order, l.wallet_id,
        sum(l.amount_sun)::bigint AS legs_sun, max(o.amount_sun) AS act_sun, count(*) AS legs
      FROM the_legs l LEFT JOIN orphan_tx o ON o.txid = l.closed_by_txid
      WHERE l.closed_by_txid IS NOT NULL AND l.closed_reason IS NULL
      GROUP BY l.closed_by_txid, l.wallet_id
      HAVING NOT coalesce(bool_and(o.wallet_id = l.wallet_id AND o.receive_address = l.receive_address AND o.block_at = l.closed_at
          AND coalesce(o.resource, 'ENERGY') = CASE l.kind WHEN 'bandwidth' THEN 'BANDWIDTH' ELSE 'ENERGY' END)
        AND sum(l.amount_sun) <= max(o.amount_sun), false)`,
  },
  {
    check: 'order-history',
    rule: 'I10',
    says: 'The status changes of an order are all allowed, from `reserved` to its current status, and a settled one stays settled.',
    stops: 'everything',
    // Moves before the oldest kept one may be missing. An order created after that one must have all of its moves.
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, s.stood, s.from_status AS moved_from, s.to_status AS moved_to
        FROM the_orders o
        CROSS JOIN (SELECT coalesce((SELECT at FROM event WHERE to_status IS NOT NULL ORDER BY id LIMIT 1), now() - interval '1 day') AS since) k
        LEFT JOIN (
          SELECT order_id, id, from_status, to_status,
                 lag(to_status) OVER (PARTITION BY order_id ORDER BY id) AS stood,
                 lead(id) OVER (PARTITION BY order_id ORDER BY id) AS next_id
            FROM the_moves each) s ON s.order_id = o.id
       WHERE o.project_id <> '${RECOVERY_PROJECT}' AND (
          (s.id IS NULL AND o.status <> 'reserved' AND o.created_at >= k.since)
          OR coalesce(s.stood, CASE WHEN o.created_at >= k.since THEN 'reserved' END, s.from_status) <> s.from_status OR (s.from_status, s.to_status) NOT IN (${LEGAL_MOVES})
          OR (s.next_id IS NULL AND (s.to_status <> o.status
            OR NOT o.settled AND EXISTS (SELECT FROM the_events e WHERE e.order_id = o.id AND e.type = 'order.settled'))))`,
  },
  {
    check: 'death-evidence',
    rule: 'I10',
    says: 'A transaction recorded as dead has its proof: solid heads past its expiration, then its absence.',
    stops: 'everything',
    text: `SELECT 'transaction ' || encode(t.txid, 'hex') AS subject, t.order_id AS of_order, t.wallet_id, t.order_id, t.evidence
      FROM the_transactions t WHERE t.status = 'dead' AND NOT CASE WHEN jsonb_typeof(t.evidence -> 'absences') = 'array' THEN coalesce(
        (t.evidence ->> 'expiresAtMs')::numeric = round(extract(epoch FROM t.expires_at) * 1000)
        AND (jsonb_array_length(t.evidence -> 'absences') >= 2
          OR (jsonb_array_length(t.evidence -> 'absences') = 1 AND (t.evidence #>> '{scanned,from}')::bigint <= t.ref_block_number + 1))
        AND NOT EXISTS (SELECT FROM jsonb_array_elements(t.evidence -> 'absences') a
          WHERE coalesce((a #>> '{solidHead,timestampMs}')::numeric, 0) < (t.evidence ->> 'expiresAtMs')::numeric)
        AND (SELECT count(DISTINCT a ->> 'node') FROM jsonb_array_elements(t.evidence -> 'absences') a)
            = jsonb_array_length(t.evidence -> 'absences'), false) ELSE false END`,
  },
];

/** True for an entry that is not under the key of an extension. */
const NOT_EXTENDING = `entry_key NOT LIKE 'charge:%:ext:%'`;

const CHARGE_CHECKS: readonly OrderCheck[] = [
  {
    check: 'order-charge',
    rule: 'I2',
    says: 'Every order is charged once, exactly its credits, and refunded once if and only if its status is refunded, without the share of an activation that the chain has.',
    stops: 'everything',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, o.credits, o.kept_credits, coalesce(e.charges, 0) AS charges, e.charged,
        coalesce(e.refunds, 0) AS refunds, e.refunded
      FROM the_orders o LEFT JOIN (
        SELECT order_id, count(*) FILTER (WHERE kind = 'charge' AND ${NOT_EXTENDING}) AS charges,
               -sum(credits) FILTER (WHERE kind = 'charge' AND ${NOT_EXTENDING}) AS charged,
               count(*) FILTER (WHERE kind = 'refund') AS refunds,
               coalesce(sum(credits) FILTER (WHERE kind = 'refund'), 0) AS refunded
          FROM the_entries each WHERE order_id IS NOT NULL GROUP BY order_id) e ON e.order_id = o.id
      WHERE o.project_id <> '${RECOVERY_PROJECT}' AND (e.order_id IS NULL OR e.charges <> 1 OR e.charged <> o.credits
         OR e.refunds <> (o.status = 'refunded')::integer
         OR e.refunded <> CASE WHEN o.status = 'refunded' THEN o.credits - coalesce(o.kept_credits, 0) ELSE 0 END
         OR o.kept_credits IS DISTINCT FROM CASE WHEN o.status = 'refunded' AND EXISTS (
              SELECT FROM chain_tx t WHERE t.order_id = o.id AND t.purpose = 'activate' AND t.status = 'solid')
            THEN o.activation_credits END)`,
  },
  {
    check: 'order-extensions',
    rule: 'I2',
    says: 'Every extension is charged once, exactly its credits, has its key, and moved the end of a delivered rental.',
    stops: 'everything',
    text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, o.extensions, x.extensions AS recorded, o.ends_at,
        x.ends_at AS extended_to, x.credits, coalesce(e.charges, 0) AS charges, e.charged
      FROM the_orders o
      LEFT JOIN (
        SELECT x.order_id, count(*) AS extensions, max(x.number) AS last, max(x.ends_at) AS ends_at, sum(x.credits) AS credits,
               bool_and(k.order_id = x.order_id AND k.extension = x.number) AS has_keys
          FROM the_extensions x LEFT JOIN order_key k ON k.project_id = x.project_id AND k.key = x.key
         GROUP BY x.order_id) x ON x.order_id = o.id
      LEFT JOIN (
        SELECT order_id, count(*) AS charges, -sum(credits) AS charged
          FROM the_entries each WHERE kind = 'charge' AND NOT ${NOT_EXTENDING} GROUP BY order_id) e ON e.order_id = o.id
      WHERE o.extensions <> coalesce(x.extensions, 0) OR coalesce(e.charges, 0) <> o.extensions
         OR (o.extensions > 0 AND NOT coalesce(x.last = o.extensions AND x.has_keys AND e.charged = x.credits
              AND o.status = 'delivered' AND o.settled AND o.ends_at = x.ends_at, false))`,
  },
  {
    check: 'order-compensation',
    rule: 'I2',
    says: 'The refund and compensations of an order are at most its charges and those of its extensions.',
    stops: 'everything',
    size: 'beyond',
    text: `SELECT 'order ' || order_id AS subject, order_id AS of_order, -sum(credits) FILTER (WHERE kind = 'charge') AS charged,
        sum(credits) FILTER (WHERE kind IN ('refund', 'compensation')) AS given, sum(credits)::bigint AS beyond
      FROM the_entries each WHERE order_id IN (SELECT order_id FROM the_entries other WHERE kind = 'compensation')
      GROUP BY order_id HAVING coalesce(sum(credits), 0) > 0`,
  },
];

export const ORDER_CHECKS: readonly OrderCheck[] = [
  ...CHARGE_CHECKS,
  ...ORDER_TERMS_CHECKS,
  ...ROW_CHECKS,
  ...DELIVERY_CHECKS,
  ...TIME_CHECKS,
  ORDER_EVENTS,
  ...AUTO_DELEGATION_CHECKS,
  TEST_ORDERS_APART,
];

/**
 * Violations that unique indexes refuse. The guard checks cover the indexes, so these run only if everything is judged.
 */
export const DOUBLE_CHECKS: readonly RecordCheck[] = [
  {
    check: 'order-twice',
    rule: 'I9',
    says: 'Each key of a project has one order or extension, every order has its key, and each quote has one order.',
    stops: 'everything',
    text: `SELECT 'key ' || key || ' of project ' || project_id AS subject, count(*) AS orders
        FROM orders GROUP BY project_id, key HAVING count(*) > 1
      UNION ALL
      SELECT 'key ' || o.key || ' of project ' || o.project_id, count(k.key) FROM orders o
        LEFT JOIN order_key k ON k.project_id = o.project_id AND k.key = o.key AND k.order_id = o.id AND k.extension IS NULL
       GROUP BY o.project_id, o.key HAVING count(k.key) <> 1 AND count(*) = 1
      UNION ALL
      SELECT 'key ' || k.key || ' of project ' || k.project_id, 0 FROM order_key k LEFT JOIN orders o ON o.id = k.order_id
       WHERE o.id IS NULL
      UNION ALL
      SELECT 'quote ' || quote_id, count(*) FROM orders WHERE quote_id IS NOT NULL GROUP BY quote_id HAVING count(*) > 1`,
  },
];
