-- The delegations of one order as its project sees them. With the owner’s rights, since the pool’s rows name the
-- stake.
CREATE OR REPLACE FUNCTION project_order_legs(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'kind', l.kind, 'bandwidth', l.bandwidth,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.order_id = l.order_id AND r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id)
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$;

REVOKE EXECUTE ON FUNCTION project_order_legs FROM PUBLIC;
