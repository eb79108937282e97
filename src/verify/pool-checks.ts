/** Rules of the pool's capacity (I13) and of the guards in the database itself (I10), as reads. */
import type { BookCheck } from './book-check.js';

/** Triggers without which a mistake, or a hand at the keyboard, could rewrite the past. */
const GUARDS = [
  ['credit_entry', 'credit_entry_append_only'],
  ['credit_entry', 'credit_entry_no_truncate'],
  ['credit_entry', 'credit_entry_guard'],
  ['orders', 'orders_guard'],
  ['orders', 'orders_kept'],
  ['leg', 'leg_guard'],
  ['chain_tx', 'chain_tx_guard'],
  ['chain_tx', 'chain_tx_kept'],
  ['audit_log', 'audit_log_append_only'],
];

/** Unique indexes that referee keys, quotes, ledger entries, ids and live transactions. */
const REFEREES = [
  'orders_key',
  'orders_quote',
  'chain_tx_live',
  'chain_tx_txid_key',
  'credit_entry_entry_key_key',
  'chain_tx_leg_id_purpose_attempt_key',
  'leg_order_id_leg_no_key',
];

export const POOL_CHECKS: readonly BookCheck[] = [
  {
    check: 'capacity',
    rule: 'I13',
    says: 'What is free and what is spoken for never exceed a wallet’s stake, and what is over holds nothing.',
    stops: 'wallet',
    identity: [],
    text: `SELECT 'wallet ' || w.address AS subject, w.id AS wallet_id, w.staked_sun, s.free AS free_sun, l.open AS open_sun
      FROM pool_wallet w
      JOIN (SELECT wallet_id, sum(free_sun)::bigint AS free FROM pool_slot GROUP BY wallet_id) s ON s.wallet_id = w.id
      LEFT JOIN (
        SELECT l.wallet_id, sum(l.amount_sun)::bigint AS open FROM leg l
         WHERE l.status IN ('reserved', 'placed', 'active', 'reclaiming') AND NOT EXISTS (
           SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid'))
         GROUP BY l.wallet_id) l ON l.wallet_id = w.id
      WHERE w.role = 'pool' AND w.synced_at IS NOT NULL AND s.free > 0 AND s.free + coalesce(l.open, 0) > w.staked_sun
      UNION ALL
      SELECT 'leg ' || l.id || ' of order ' || l.order_id, l.wallet_id, NULL, NULL, l.amount_sun
        FROM leg l JOIN orders o ON o.id = l.order_id
       WHERE o.settled AND l.status IN ('reserved', 'placed')`,
  },
  {
    check: 'orphan-transactions',
    rule: 'I4',
    says: 'No act of our wallets stands on chain without a record, but for those that a person has explained.',
    // One made with the service's own key means that records are missing or the key is known to others: every sale stops.
    stops: 'wallet',
    identity: [],
    text: `SELECT 'transaction ' || encode(txid, 'hex') AS subject, CASE WHEN by_own_key THEN NULL ELSE wallet_id END AS wallet_id,
        type, receive_address AS receiver, amount_sun, block_number, by_own_key, order_id AS taken_back_by
      FROM orphan_tx`,
  },
  {
    check: 'guards',
    rule: 'I10',
    says: 'The triggers and unique indexes that keep the past and referee the present are there and on.',
    stops: 'everything',
    text: `SELECT 'trigger ' || g.name AS subject, coalesce(t.tgenabled::text, 'missing') AS state
        FROM unnest($1::text[], $2::text[]) AS g(tab, name)
        LEFT JOIN pg_trigger t ON t.tgname = g.name AND t.tgrelid = to_regclass(g.tab) AND NOT t.tgisinternal
       WHERE t.oid IS NULL OR t.tgenabled NOT IN ('O', 'A')
      UNION ALL
      SELECT 'index ' || r.name, CASE WHEN i.indexrelid IS NULL THEN 'missing' ELSE 'invalid' END
        FROM unnest($3::text[]) AS r(name) LEFT JOIN pg_index i ON i.indexrelid = to_regclass(r.name)
       WHERE i.indexrelid IS NULL OR NOT i.indisvalid OR NOT i.indisunique`,
    params: () => [GUARDS.map(([table]) => table), GUARDS.map(([, name]) => name), REFEREES],
  },
];
