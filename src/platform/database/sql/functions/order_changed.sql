-- Writes the move or event of an order: a new status, settlement, an extension, or the end of its rental. An order that
-- is being undone gets only the event of its refund.
-- The snapshot has only what can change of the order; the numberer adds the terms, which never change.
-- The nil project holds transactions found on chain without a record: they have moves and no events.
CREATE OR REPLACE FUNCTION order_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_moved boolean := OLD.status <> NEW.status;
     v_type text := CASE
       WHEN NEW.project_id = '00000000-0000-0000-0000-000000000000' THEN NULL
       WHEN OLD.status <> NEW.status THEN CASE NEW.status
         WHEN 'delivered' THEN 'order.delivered'
         WHEN 'unresolved' THEN 'order.unresolved'
         WHEN 'refunded' THEN 'order.refunded'
         WHEN 'placed' THEN CASE OLD.status WHEN 'delivered' THEN 'order.reverted' END END
       WHEN NEW.status <> 'delivered' THEN NULL
       WHEN NEW.settled AND NOT OLD.settled THEN 'order.settled'
       WHEN NEW.extensions > OLD.extensions THEN 'order.extended'
       WHEN NEW.undoing OR OLD.reclaimed_at IS NOT DISTINCT FROM NEW.reclaimed_at THEN NULL
       WHEN NEW.reclaimed_at IS NULL THEN 'order.reverted'
       WHEN NEW.reclaimed_at < NEW.ends_at THEN 'order.ended_early'
       ELSE 'order.ended' END;
   BEGIN
     IF v_type IS NULL AND NOT v_moved THEN
       RETURN NULL;
     END IF;
     INSERT INTO event (order_id, from_status, to_status, chain_at, project_id, type, snapshot)
     VALUES (NEW.id, CASE WHEN v_moved THEN OLD.status END, CASE WHEN v_moved THEN NEW.status END,
             CASE WHEN v_moved THEN NEW.delivered_at WHEN v_type <> 'order.settled' THEN NEW.reclaimed_at END,
             NEW.project_id, v_type, CASE WHEN v_type IS NOT NULL THEN json_build_object('order', json_build_object(
         'status', NEW.status, 'settled', NEW.settled, 'needs_attention', NEW.needs_attention, 'error_code', NEW.error_code,
         'error', NEW.error, 'delivered_energy', NEW.delivered_energy, 'delivered_at', NEW.delivered_at, 'ends_at', NEW.ends_at,
         'reclaimed_at', NEW.reclaimed_at, 'delivered_bandwidth', NEW.delivered_bandwidth, 'kept_credits', NEW.kept_credits),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'kind', l.kind, 'bandwidth', l.bandwidth,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < NEW.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM open_chain_tx r
                             WHERE r.order_id = l.order_id AND r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM open_leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN open_chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = NEW.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = NEW.id),
       'extensions', CASE WHEN NEW.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at,
                'expected_uses', x.expected_uses, 'price_sun', x.price_sun, 'fee_limit_sun', x.fee_limit_sun,
                'fee_limit_capped', x.fee_limit_capped)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = NEW.id) END) END);
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION order_changed FROM PUBLIC;
