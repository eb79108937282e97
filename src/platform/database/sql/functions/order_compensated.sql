-- Writes the event of a compensation. The writer of the ledger entry holds the order's row.
CREATE OR REPLACE FUNCTION order_compensated() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (order_id, project_id, type, snapshot)
     SELECT o.id, o.project_id, 'order.compensated', json_build_object('order', row_to_json(o),
       'legs', (
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
        WHERE l.order_id = o.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id),
       'extensions', CASE WHEN o.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at,
                'expected_uses', x.expected_uses, 'price_sun', x.price_sun, 'fee_limit_sun', x.fee_limit_sun,
                'fee_limit_capped', x.fee_limit_capped)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = o.id) END)
       FROM orders o WHERE o.id = NEW.order_id AND o.project_id <> '00000000-0000-0000-0000-000000000000';
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION order_compensated FROM PUBLIC;
