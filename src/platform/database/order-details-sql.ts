/** SQL expressions for the details of an order in answers. The functions that write events hold the same text; a test compares them. */

/** Prefix of the tables to read: the open rows, the archived rows, or both. */
export type Kept = 'open_' | 'archived_' | '';

/** The delegations of an order in their present state. */
export const legsOf = (order: string, kept: Kept = ''): string => `(
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'kind', l.kind, 'bandwidth', l.bandwidth,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < ${order}.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM ${kept}chain_tx r
                             WHERE r.order_id = l.order_id AND r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM ${kept}leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN ${kept}chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = ${order}.id)`;

/** The compensations of an order, oldest first. */
export const compensationsOf = (order: string): string => `(
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = ${order}.id)`;

/** The extensions of an order, oldest first. */
export const extensionsOf = (order: string): string => `(
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at,
                'expected_uses', x.expected_uses, 'price_sun', x.price_sun, 'fee_limit_sun', x.fee_limit_sun,
                'fee_limit_capped', x.fee_limit_capped)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = ${order}.id)`;

/**
 * 1 if the entry `e` of the order `o` covers the order's activation, else 0: extensions `x` add none, and a refund may
 * keep its price.
 */
export const ACTIVATIONS_OF_ENTRY = `CASE WHEN CASE e.kind WHEN 'refund' THEN o.kept_credits IS NULL ELSE x.number IS NULL END THEN 1 ELSE 0 END`;
