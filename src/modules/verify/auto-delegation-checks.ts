/** Rules for purchases of auto-delegations. The key of each purchase names its auto-delegation and its number. */
import type { OrderCheck } from './record-check.js';

/**
 * The service makes such keys, and a purchase's request id equals its key. Callers could once use such keys; their
 * orders have another request id and are not purchases of an auto-delegation.
 */
const PURCHASES = `(
    SELECT id AS of_order, project_id, key, receive_address, status, false AS is_extension
      FROM the_orders WHERE key LIKE 'auto\\_%' AND request_id = key
    UNION ALL SELECT x.order_id, x.project_id, x.key, o.receive_address, o.status, true
      FROM the_extensions x JOIN orders o ON o.id = x.order_id WHERE x.key LIKE 'auto\\_%' AND x.request_id = x.key) p
  CROSS JOIN LATERAL (
    SELECT m[1]::bigint AS auto_id, m[2]::bigint AS number
      FROM regexp_matches(p.key, '^auto_([0-9]{1,18})_([0-9]{1,18})$') m) n`;

/** A deleted auto-delegation has no row to compare with. */
export const AUTO_DELEGATION_CHECKS: readonly OrderCheck[] = [
  {
    check: 'auto-delegation-purchases',
    rule: 'I17',
    says: 'Purchases of an auto-delegation are for its address, numbered without gaps, and counted; each order followed the end of the one before.',
    stops: 'everything',
    text: `SELECT 'order ' || p.of_order AS subject, p.of_order, p.key, p.receive_address, a.address, a.purchases, a.open_order_id
      FROM ${PURCHASES}
      LEFT JOIN auto_delegation a ON a.id = n.auto_id AND a.project_id = p.project_id
      WHERE (n.number > 1 AND NOT EXISTS (
               SELECT FROM order_key k WHERE k.project_id = p.project_id AND k.key = 'auto_' || n.auto_id || '_' || (n.number - 1)))
         OR a.purchases < n.number OR a.address <> p.receive_address
         OR (a.open_order_id = p.of_order AND (a.purchases <> n.number OR p.status IN ('delivered', 'refunded')))
         OR EXISTS (
              SELECT FROM order_key k JOIN orders b ON b.id = k.order_id AND b.request_id = b.key
                JOIN event made ON made.order_id = p.of_order AND made.type = 'order.created'
               WHERE k.project_id = p.project_id AND k.key = 'auto_' || n.auto_id || '_' || (n.number - 1)
                 AND k.extension IS NULL AND NOT p.is_extension AND NOT EXISTS (
                   SELECT FROM event m WHERE m.order_id = k.order_id AND m.to_status IN ('delivered', 'refunded') AND m.id < made.id))`,
  },
];
