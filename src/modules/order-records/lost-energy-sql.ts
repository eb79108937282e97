/** SQL that finds running rentals that lost energy by the reclaim of another rental of their receiver. */
import { TOP_UP_LEGS_MAX } from '../../domain/order-state.js';

/** Reclaims of one receiver are weighed together: included ones wait for others that are younger than this. */
const TOGETHER_SEC = 60;

/** The number of top-ups of energy of order `o`. */
export const TOP_UP_COUNT = `(SELECT count(*) FROM open_leg x WHERE x.order_id = o.id AND x.kind = 'rental' AND x.top_up)`;

/**
 * For each receiver with unweighed reclaims, the rental that carries its top-ups; the same rule as `carrierOf`. $3: the
 * chain time that the rental must outlast. Has no LIMIT: receivers that get no more top-ups would fill it.
 */
export const LOST = `SELECT c.* FROM (
    SELECT DISTINCT u.receive_address FROM reclaim_usage u JOIN open_chain_tx t ON t.id = u.tx_id
     WHERE u.weighed_at IS NULL AND t.status IN ('included', 'solid') AND NOT EXISTS (
       SELECT FROM reclaim_usage m JOIN open_chain_tx s ON s.id = m.tx_id
        WHERE m.receive_address = u.receive_address AND m.weighed_at IS NULL AND s.status IN ('built', 'signed', 'sending')
          AND s.created_at > statement_timestamp() - interval '${TOGETHER_SEC.toString()} seconds')) r
  CROSS JOIN LATERAL (
    SELECT o.id, o.next_run_at, o.lease_until, o.top_up_after FROM pool_wallet w
      JOIN open_leg l ON l.wallet_id = w.id AND l.receive_address = r.receive_address
        AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      JOIN open_orders o ON o.id = l.order_id
     WHERE o.settled AND o.status = 'delivered' AND o.kind = 'rental' AND o.reclaimed_at IS NULL AND o.ends_at > $3
       AND ${TOP_UP_COUNT} < ${TOP_UP_LEGS_MAX.toString()}
       AND NOT EXISTS (SELECT FROM open_leg x WHERE x.order_id = o.id AND x.kind = 'rental' AND x.status = 'reclaimed')
     ORDER BY o.ends_at DESC, o.id DESC LIMIT 1) c`;
