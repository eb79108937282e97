-- Archives those of the next p_limit orders after p_after that are over, checked and complete, with all their rows. An
-- archived order is older than p_before and than a day, after which no quote can be redeemed. Returns the number of
-- archived orders and the last checked one, null when no older order is left.
-- An order waits 30 days longer for the costs of its transactions. One run at a time. With the owner's rights: no
-- role may delete orders.
CREATE OR REPLACE FUNCTION archive_orders(p_after bigint, p_before timestamptz, p_limit integer, OUT archived integer, OUT checked_to bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  archived := 0;
  p_before := least(p_before, clock_timestamp() - interval '1 day');
  IF NOT pg_try_advisory_xact_lock(4202067) THEN
    RETURN;
  END IF;
  -- An order dated ahead by a clock of that time does not end the run: older ones may be behind it.
  SELECT max(n.id) FILTER (WHERE n.is_old OR n.is_ahead), array_agg(n.id) FILTER (WHERE n.is_old AND n.is_over)
    INTO checked_to, v_orders FROM (
    SELECT o.id, o.created_at < p_before AS is_old, o.created_at > clock_timestamp() AS is_ahead,
           o.judged AND NOT o.test AND NOT o.needs_attention AS is_over
      FROM open_orders o WHERE o.id > p_after ORDER BY o.id LIMIT p_limit) n;
  -- Locked orders may be changing. They are archived in a later run.
  SELECT array_agg(h.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.judged AND o.next_run_at IS NULL AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       AND (o.status = 'refunded' OR o.status = 'delivered' AND o.settled AND (o.kind = 'activation' OR o.reclaimed_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM open_leg l WHERE l.order_id = o.id AND NOT (l.status IN ('reclaimed', 'released') OR l.kind = 'activation' AND l.status = 'active'))
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status NOT IN ('solid', 'dead', 'dropped'))
       -- The burnt fee is recorded only while the order is open. A node without history cannot report it, so 30 days suffice.
       AND (o.created_at < p_before - interval '30 days'
         OR NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status = 'solid' AND t.fee_sun IS NULL))
       -- The search of blocks has passed the expiry of every signed transaction that was given up: no block has it.
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status IN ('dead', 'dropped') AND t.signature IS NOT NULL
             AND NOT coalesce((SELECT s.scanned_at > t.expires_at FROM reconcile_state s), false))
       -- In the archive, only the row in order_key prevents a second order of the same key.
       AND EXISTS (SELECT FROM order_key k WHERE k.project_id = o.project_id AND k.key = o.key AND k.order_id = o.id AND k.extension IS NULL)
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND e.type IS NOT NULL AND e.position IS NULL)
     ORDER BY o.id FOR UPDATE SKIP LOCKED) h;
  IF v_orders IS NULL THEN
    RETURN;
  END IF;
  PERFORM add_archive_range(r.id) FROM (SELECT DISTINCT ON (id / 1000000) id FROM unnest(v_orders) AS id) r;

  INSERT INTO archived_orders (id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, expected_uses, energy_fee_sun, max_fee_limit_sun, transfer, bandwidth,
      bandwidth_price_sun, bandwidth_credits, activation_price_sun, activation_credits, delivered_bandwidth, kept_credits,
      sun_per_bandwidth_e6, bandwidth_top_up_after, archived) OVERRIDING SYSTEM VALUE
    SELECT id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, expected_uses, energy_fee_sun, max_fee_limit_sun, transfer, bandwidth,
      bandwidth_price_sun, bandwidth_credits, activation_price_sun, activation_credits, delivered_bandwidth, kept_credits,
      sun_per_bandwidth_e6, bandwidth_top_up_after, true FROM open_orders WHERE id = ANY (v_orders);
  INSERT INTO archived_leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, top_up_cause, bandwidth, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, top_up_cause, bandwidth, true FROM open_leg WHERE order_id = ANY (v_orders);
  INSERT INTO archived_chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, true FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_leg WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  archived := cardinality(v_orders);
END $$;

REVOKE EXECUTE ON FUNCTION archive_orders FROM PUBLIC;
