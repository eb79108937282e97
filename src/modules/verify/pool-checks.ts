/** Rules of the pool's capacity (I13) and of acts on chain without a record (I4), as reads. */
import type { RecordCheck } from './record-check.js';

export const POOL_CHECKS: readonly RecordCheck[] = [
  {
    check: 'capacity',
    rule: 'I13',
    says: 'Free and reserved stake never exceed a wallet’s stake, and finished orders reserve nothing.',
    stops: 'wallet',
    size: 'over_sun',
    text: `SELECT 'wallet ' || w.address AS subject, w.id AS wallet_id, w.staked_sun, s.free AS free_sun, l.open AS open_sun,
        s.free + coalesce(l.open, 0) - w.staked_sun AS over_sun
      FROM pool_wallet w
      JOIN (SELECT wallet_id, sum(free_sun)::bigint AS free FROM pool_slot GROUP BY wallet_id) s ON s.wallet_id = w.id
      LEFT JOIN (
        SELECT l.wallet_id, sum(l.amount_sun)::bigint AS open FROM leg l
         WHERE l.kind <> 'bandwidth' AND l.status IN ('reserved', 'placed', 'active', 'reclaiming') AND NOT EXISTS (
           SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid'))
         GROUP BY l.wallet_id) l ON l.wallet_id = w.id
      WHERE w.role = 'pool' AND w.synced_at IS NOT NULL AND s.free > 0 AND s.free + coalesce(l.open, 0) > w.staked_sun
      UNION ALL
      SELECT 'leg ' || l.id || ' of order ' || l.order_id, l.wallet_id, NULL, NULL, l.amount_sun, l.amount_sun
        FROM leg l JOIN orders o ON o.id = l.order_id
       WHERE o.settled AND l.status IN ('reserved', 'placed') AND (NOT l.top_up OR o.reclaimed_at IS NOT NULL)`,
  },
  {
    check: 'bandwidth-stake',
    rule: 'I13',
    says: 'Bandwidth stake for sale never exceeds a wallet’s stake for bandwidth that is neither delegated nor reserved.',
    stops: 'wallet',
    size: 'over_sun',
    text: `SELECT 'wallet ' || w.address AS subject, w.id AS wallet_id, w.staked_bandwidth_sun, w.delegated_bandwidth_sun,
        s.free AS free_sun, l.open AS open_sun, s.free + h.held - w.staked_bandwidth_sun AS over_sun
      FROM pool_wallet w
      JOIN (SELECT wallet_id, sum(free_bandwidth_sun)::bigint AS free FROM pool_slot GROUP BY wallet_id) s ON s.wallet_id = w.id
      LEFT JOIN (
        SELECT l.wallet_id, sum(l.amount_sun)::bigint AS open FROM leg l
         WHERE l.kind = 'bandwidth' AND l.status IN ('reserved', 'placed', 'active', 'reclaiming') AND NOT EXISTS (
           SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid'))
         GROUP BY l.wallet_id) l ON l.wallet_id = w.id
      CROSS JOIN LATERAL (SELECT greatest(w.delegated_bandwidth_sun, l.open) AS held) h
      WHERE s.free > 0 AND s.free + h.held > w.staked_bandwidth_sun`,
  },
  {
    check: 'bandwidth',
    rule: 'I13',
    says: 'Free and reserved transactions never exceed the number that a wallet’s bandwidth and TRX can pay for.',
    stops: 'wallet',
    // A lower bound of each leg's need, so that a leg that advances or is adopted between two readings causes no
    // finding. 282 bytes are less than any pool counts for a transaction.
    text: `SELECT 'wallet ' || w.address AS subject, w.id AS wallet_id, w.transactions_seen, s.free AS free_transactions,
          l.needed AS needed_transactions
      FROM pool_wallet w
      JOIN (SELECT wallet_id, sum(free_transactions)::bigint AS free FROM pool_slot GROUP BY wallet_id) s ON s.wallet_id = w.id
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(n.needs), 0)::bigint
            + greatest(count(*) FILTER (WHERE n.needs = 0) - w.net_limit / 282, 0) AS needed
          FROM (SELECT CASE WHEN l.status = 'reserved' THEN 2
                    WHEN l.status = 'active' AND o.settled AND o.ends_at > w.ends_counted_to THEN 0 ELSE 1 END AS needs
                  FROM leg l JOIN orders o ON o.id = l.order_id
                 WHERE l.wallet_id = w.id AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
                   AND (l.status IN ('reserved', 'placed') OR l.changed_at < w.read_at)) n) l
      WHERE w.role = 'pool' AND w.read_at IS NOT NULL AND s.free > 0 AND s.free + l.needed > w.transactions_seen`,
  },
  {
    check: 'orphan-transactions',
    rule: 'I4',
    says: 'Every act of our wallets on chain is recorded, explained by an operator, or belongs to an ended order.',
    // An act by the service's own key means lost records or a leaked key: every sale stops.
    stops: 'wallet',
    text: `SELECT 'transaction ' || encode(txid, 'hex') AS subject, CASE WHEN by_own_key THEN NULL ELSE wallet_id END AS wallet_id,
        type, receive_address AS receiver, amount_sun, block_number, by_own_key, order_id
      FROM orphan_tx WHERE by_own_key OR leg_ids IS NULL`,
  },
];
