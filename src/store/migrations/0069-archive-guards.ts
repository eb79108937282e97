/**
 * What came to light of the archive: a new key waits for nobody who holds a range of it, and a replay is answered while its
 * order is moved; an order that is there cannot be extended; what lacks its costs, its key or the search of blocks stays
 * open; and no table that holds rows is emptied.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const OPEN = ['orders', 'leg', 'chain_tx'];

/** A statement's trigger holds for the table that it names, not for its partitions. */
const KEPT_OPEN = OPEN.map(
  (table) => `CREATE TRIGGER open_${table}_no_truncate BEFORE TRUNCATE ON open_${table}
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
);

const rangesDo = (statement: string): string => `DO $$
DECLARE
  v_table text;
BEGIN
  FOR v_table IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent IN ('archived_orders'::regclass, 'archived_leg'::regclass, 'archived_chain_tx'::regclass) AND c.relkind = 'r'
  LOOP
    EXECUTE format('${statement}', v_table || '_no_truncate', v_table);
  END LOOP;
END $$`;

const KEPT_RANGES = rangesDo(
  'CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
);

const FUNCTIONS = [
  `CREATE OR REPLACE FUNCTION accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  p_legs_max integer DEFAULT 20, p_lock_ms integer DEFAULT 2000,
  OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_key_wait text := current_setting('lock_timeout');
  v_lock_wait text := set_config('lock_timeout', p_lock_ms || 'ms', true);
  v_today date;
  v_counted_on date;
  v_charged_on date;
  v_refusal text;
  v_test boolean;
BEGIN
  -- Somebody may hold a whole table; the wait of the session's own limit is for the first request of the same key alone.
  LOCK TABLE ONLY orders, open_orders, ONLY leg, open_leg, pool_slot, credit_entry, credit_account IN ROW EXCLUSIVE MODE;
  v_key_wait := set_config('lock_timeout', v_key_wait, true);
  -- The archive's keys are refereed by no index of open orders. It is read for a key that is known alone: a new one waits
  -- for nobody who holds a range of it. Open first, for an order that is being moved is there until it is in the archive.
  SELECT k.order_id INTO order_id FROM order_key k WHERE k.project_id = p_project AND k.key = p_key AND k.extension IS NULL;
  IF FOUND THEN
    SELECT o.created_at, o.request_hash = p_hash INTO order_created_at, same_request
      FROM open_orders o WHERE o.id = accept_order.order_id;
    IF NOT FOUND THEN
      SELECT o.created_at, o.request_hash = p_hash INTO order_created_at, same_request
        FROM archived_orders o WHERE o.id = accept_order.order_id;
    END IF;
    IF FOUND THEN
      created := false;
      RETURN;
    END IF;
  END IF;
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id, test INTO order_id, v_test;
  v_lock_wait := set_config('lock_timeout', v_lock_wait, true);

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM open_orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
      IF EXISTS (SELECT FROM order_key k WHERE k.project_id = p_project AND k.key = p_key) THEN
        RAISE EXCEPTION 'IDEMPOTENCY_KEY_REUSED' USING ERRCODE = 'ER001';
      END IF;
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    created := false;
    RETURN;
  END IF;

  -- Two seconds beyond what was promised: never less than the caller was shown (Contract 4).
  IF p_quote_expires IS NOT NULL AND v_now > p_quote_expires + interval '2 seconds' THEN
    IF EXISTS (SELECT FROM archived_orders o WHERE o.quote_id = p_quote) THEN
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    RAISE EXCEPTION 'QUOTE_EXPIRED' USING ERRCODE = 'ER001';
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  -- What a test project buys is played, and takes nothing of the pool.
  IF NOT v_test THEN
    PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack, p_legs_max);
  END IF;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || order_id, p_project, CASE WHEN v_test THEN 'test' ELSE 'revenue' END, 'charge', -p_credits, order_id);
  -- What is told of it are its terms, which never change; no copy of them is kept here.
  INSERT INTO event (project_id, order_id, type) VALUES (p_project, order_id, 'order.created');

  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE credit_account a
       SET balance_credits = a.balance_credits - p_credits,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.project_id = p_project AND NOT a.frozen
       AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
       AND (a.daily_cap_credits IS NULL OR
            CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits)
    RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- The wait for the row's lock lasted into the next day, which begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE credit_account SET spent_on = v_charged_on, spent_credits = p_credits WHERE project_id = p_project;
      END IF;
      EXIT;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    SELECT CASE
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.floor_credits IS NOT NULL AND a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        ELSE 'SPEND_CAP_REACHED' END
      INTO v_refusal FROM credit_account a WHERE a.project_id = p_project;
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$`,
  `CREATE OR REPLACE FUNCTION extend_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  OUT created boolean, OUT same_request boolean, OUT made_by text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_order orders;
  v_known order_key;
  v_number smallint;
  v_ends_at timestamptz;
  v_today date;
  v_counted_on date;
  v_charged_on date;
  v_refusal text;
BEGIN
  -- The ledger entry of the charge is made under it.
  PERFORM set_config('energy.api_key', p_api_key::text, true);
  -- The first request of the same key is waited for here, as an order's is.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
  SELECT * INTO v_known FROM order_key k WHERE k.project_id = p_project AND k.key = p_key;
  IF FOUND THEN
    created := false;
    SELECT x.request_hash = p_hash, x.request_id INTO same_request, made_by
      FROM order_extension x WHERE x.order_id = v_known.order_id AND x.number = v_known.extension;
    same_request := coalesce(same_request, false);
    RETURN;
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  SELECT * INTO v_order FROM open_orders o WHERE o.id = p_order AND o.project_id = p_project FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM archived_orders o WHERE o.id = p_order AND o.project_id = p_project) THEN
      RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
    END IF;
    RAISE EXCEPTION 'NOT_FOUND' USING ERRCODE = 'ER001';
  END IF;
  -- A test order has no chain: its end is the database's.
  IF v_order.test THEN
    p_head := clock_timestamp();
  END IF;
  v_ends_at := v_order.ends_at + p_duration * interval '1 second';
  IF v_order.kind <> 'rental' OR v_order.status <> 'delivered' OR NOT v_order.settled OR v_order.undoing
     OR v_order.reclaimed_at IS NOT NULL OR v_order.needs_attention OR v_order.extensions >= 100
     OR v_ends_at <= p_head
     OR EXISTS (SELECT FROM open_leg l WHERE l.order_id = p_order AND l.status IN ('reclaiming', 'reclaimed'))
     OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = p_order AND t.purpose = 'reclaim') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  IF v_ends_at > p_head + p_longest * interval '1 second' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
  -- A wallet that may not sell sells no more time either, and on records that may have lost commits nobody knows what runs.
  IF EXISTS (SELECT FROM open_leg l JOIN pool_wallet w ON w.id = l.wallet_id
              WHERE l.order_id = p_order AND l.status <> 'released' AND w.status <> 'active')
     OR NOT (v_order.test OR coalesce((SELECT coalesce(s.server_mark = server_mark(), true) AND s.search_until IS NULL
                        FROM reconcile_state s), false)) THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;

  v_number := v_order.extensions + 1;
  INSERT INTO order_key (project_id, key, order_id, extension) VALUES (p_project, p_key, p_order, v_number);
  INSERT INTO order_extension (order_id, number, project_id, key, request_hash, duration_sec, price_sun, credits, trx_usd_e8,
                               ends_at, request_id, created_at)
  VALUES (p_order, v_number, p_project, p_key, p_hash, p_duration, p_price, p_credits, p_rate, v_ends_at, p_request_id,
          clock_timestamp());
  -- It rests until the new end, but for a top-up that is on its way.
  UPDATE open_orders o SET ends_at = v_ends_at, extensions = v_number, fence = o.fence + 1, lease_until = NULL,
      next_run_at = CASE WHEN EXISTS (
        SELECT FROM open_leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END,
      play_at = CASE WHEN o.test THEN v_ends_at END
    WHERE o.id = p_order;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || p_order || ':ext:' || v_number, p_project, CASE WHEN v_order.test THEN 'test' ELSE 'revenue' END,
          'charge', -p_credits, p_order);

  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE credit_account a
       SET balance_credits = a.balance_credits - p_credits,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.project_id = p_project AND NOT a.frozen
       AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
       AND (a.daily_cap_credits IS NULL OR
            CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits)
    RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- The wait for the row's lock lasted into the next day, which begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE credit_account SET spent_on = v_charged_on, spent_credits = p_credits WHERE project_id = p_project;
      END IF;
      EXIT;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    SELECT CASE
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.floor_credits IS NOT NULL AND a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        ELSE 'SPEND_CAP_REACHED' END
      INTO v_refusal FROM credit_account a WHERE a.project_id = p_project;
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  same_request := true;
  made_by := p_request_id;
END $$`,
  `CREATE OR REPLACE FUNCTION add_archive_range(p_order bigint) RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     v_range bigint := p_order / 1000000;
     v_parent text;
     v_table text;
   BEGIN
     FOREACH v_parent IN ARRAY ARRAY['archived_orders', 'archived_leg', 'archived_chain_tx'] LOOP
       v_table := v_parent || '_' || v_range;
       CONTINUE WHEN to_regclass(v_table) IS NOT NULL;
       EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', v_table, v_parent);
       EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', v_parent, v_table,
                      v_range * 1000000, (v_range + 1) * 1000000);
       -- Of a statement's trigger, unlike a row's, a partition has none of its parent.
       EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
                      v_table || '_no_truncate', v_table);
     END LOOP;
   END $$`,
  `CREATE OR REPLACE FUNCTION archive_orders(p_after bigint, p_before timestamptz, p_limit integer, OUT archived integer, OUT checked_to bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  archived := 0;
  p_before := least(p_before, clock_timestamp() - interval '1 day');
  IF NOT pg_try_advisory_xact_lock(4202067) THEN
    RETURN;
  END IF;
  SELECT max(n.id) FILTER (WHERE n.is_old), array_agg(n.id) FILTER (WHERE n.is_old AND n.is_over) INTO checked_to, v_orders FROM (
    SELECT o.id, o.created_at < p_before AS is_old, o.judged AND NOT o.test AND NOT o.needs_attention AS is_over
      FROM open_orders o WHERE o.id > p_after ORDER BY o.id LIMIT p_limit) n;
  -- Who holds one of them now may change it: it is archived another time.
  SELECT array_agg(h.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.judged AND o.next_run_at IS NULL AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       AND (o.status = 'refunded' OR o.status = 'delivered' AND o.settled AND (o.kind = 'activation' OR o.reclaimed_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM open_leg l WHERE l.order_id = o.id AND NOT (l.status IN ('reclaimed', 'released') OR l.kind = 'activation' AND l.status = 'active'))
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status NOT IN ('solid', 'dead', 'dropped'))
       -- What it cost is recorded where it is open; a node that lost its history cannot tell.
       AND (o.created_at < p_before - interval '30 days'
         OR NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status = 'solid' AND t.fee_sun IS NULL))
       -- Of what was signed and given up, the search of blocks has seen that it stands in none, as far as it could live.
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status IN ('dead', 'dropped') AND t.signature IS NOT NULL
             AND NOT coalesce((SELECT s.scanned_at > t.expires_at FROM reconcile_state s), false))
       -- There it is all that keeps the order from being bought again.
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
      test, play_at, reference, metadata, archived) OVERRIDING SYSTEM VALUE
    SELECT id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, true FROM open_orders WHERE id = ANY (v_orders);
  INSERT INTO archived_leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, true FROM open_leg WHERE order_id = ANY (v_orders);
  INSERT INTO archived_chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, true FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_leg WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  archived := cardinality(v_orders);
END $$`,
];

const FUNCTIONS_BEFORE = [
  `CREATE OR REPLACE FUNCTION accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  p_legs_max integer DEFAULT 20, p_lock_ms integer DEFAULT 2000,
  OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_key_wait text := current_setting('lock_timeout');
  v_lock_wait text := set_config('lock_timeout', p_lock_ms || 'ms', true);
  v_today date;
  v_counted_on date;
  v_charged_on date;
  v_refusal text;
  v_test boolean;
BEGIN
  -- Somebody may hold a whole table; the wait of the session's own limit is for the first request of the same key alone.
  LOCK TABLE ONLY orders, open_orders, ONLY leg, open_leg, pool_slot, credit_entry, credit_account IN ROW EXCLUSIVE MODE;
  v_key_wait := set_config('lock_timeout', v_key_wait, true);
  -- The archive's keys are refereed by no index of open orders.
  SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
    FROM order_key k JOIN archived_orders o ON o.id = k.order_id
   WHERE k.project_id = p_project AND k.key = p_key AND k.extension IS NULL;
  IF FOUND THEN
    created := false;
    RETURN;
  END IF;
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id, test INTO order_id, v_test;
  v_lock_wait := set_config('lock_timeout', v_lock_wait, true);

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM open_orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
      IF EXISTS (SELECT FROM order_key k WHERE k.project_id = p_project AND k.key = p_key) THEN
        RAISE EXCEPTION 'IDEMPOTENCY_KEY_REUSED' USING ERRCODE = 'ER001';
      END IF;
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    created := false;
    RETURN;
  END IF;

  -- Two seconds beyond what was promised: never less than the caller was shown (Contract 4).
  IF p_quote_expires IS NOT NULL AND v_now > p_quote_expires + interval '2 seconds' THEN
    IF EXISTS (SELECT FROM archived_orders o WHERE o.quote_id = p_quote) THEN
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    RAISE EXCEPTION 'QUOTE_EXPIRED' USING ERRCODE = 'ER001';
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  -- What a test project buys is played, and takes nothing of the pool.
  IF NOT v_test THEN
    PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack, p_legs_max);
  END IF;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || order_id, p_project, CASE WHEN v_test THEN 'test' ELSE 'revenue' END, 'charge', -p_credits, order_id);
  -- What is told of it are its terms, which never change; no copy of them is kept here.
  INSERT INTO event (project_id, order_id, type) VALUES (p_project, order_id, 'order.created');

  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE credit_account a
       SET balance_credits = a.balance_credits - p_credits,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.project_id = p_project AND NOT a.frozen
       AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
       AND (a.daily_cap_credits IS NULL OR
            CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits)
    RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- The wait for the row's lock lasted into the next day, which begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE credit_account SET spent_on = v_charged_on, spent_credits = p_credits WHERE project_id = p_project;
      END IF;
      EXIT;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    SELECT CASE
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.floor_credits IS NOT NULL AND a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        ELSE 'SPEND_CAP_REACHED' END
      INTO v_refusal FROM credit_account a WHERE a.project_id = p_project;
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$`,
  `CREATE OR REPLACE FUNCTION extend_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  OUT created boolean, OUT same_request boolean, OUT made_by text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_order orders;
  v_known order_key;
  v_number smallint;
  v_ends_at timestamptz;
  v_today date;
  v_counted_on date;
  v_charged_on date;
  v_refusal text;
BEGIN
  -- The ledger entry of the charge is made under it.
  PERFORM set_config('energy.api_key', p_api_key::text, true);
  -- The first request of the same key is waited for here, as an order's is.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
  SELECT * INTO v_known FROM order_key k WHERE k.project_id = p_project AND k.key = p_key;
  IF FOUND THEN
    created := false;
    SELECT x.request_hash = p_hash, x.request_id INTO same_request, made_by
      FROM order_extension x WHERE x.order_id = v_known.order_id AND x.number = v_known.extension;
    same_request := coalesce(same_request, false);
    RETURN;
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  SELECT * INTO v_order FROM open_orders o WHERE o.id = p_order AND o.project_id = p_project FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'NOT_FOUND' USING ERRCODE = 'ER001';
  END IF;
  -- A test order has no chain: its end is the database's.
  IF v_order.test THEN
    p_head := clock_timestamp();
  END IF;
  v_ends_at := v_order.ends_at + p_duration * interval '1 second';
  IF v_order.kind <> 'rental' OR v_order.status <> 'delivered' OR NOT v_order.settled OR v_order.undoing
     OR v_order.reclaimed_at IS NOT NULL OR v_order.needs_attention OR v_order.extensions >= 100
     OR v_ends_at <= p_head
     OR EXISTS (SELECT FROM open_leg l WHERE l.order_id = p_order AND l.status IN ('reclaiming', 'reclaimed'))
     OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = p_order AND t.purpose = 'reclaim') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  IF v_ends_at > p_head + p_longest * interval '1 second' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
  -- A wallet that may not sell sells no more time either, and on records that may have lost commits nobody knows what runs.
  IF EXISTS (SELECT FROM open_leg l JOIN pool_wallet w ON w.id = l.wallet_id
              WHERE l.order_id = p_order AND l.status <> 'released' AND w.status <> 'active')
     OR NOT (v_order.test OR coalesce((SELECT coalesce(s.server_mark = server_mark(), true) AND s.search_until IS NULL
                        FROM reconcile_state s), false)) THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;

  v_number := v_order.extensions + 1;
  INSERT INTO order_key (project_id, key, order_id, extension) VALUES (p_project, p_key, p_order, v_number);
  INSERT INTO order_extension (order_id, number, project_id, key, request_hash, duration_sec, price_sun, credits, trx_usd_e8,
                               ends_at, request_id, created_at)
  VALUES (p_order, v_number, p_project, p_key, p_hash, p_duration, p_price, p_credits, p_rate, v_ends_at, p_request_id,
          clock_timestamp());
  -- It rests until the new end, but for a top-up that is on its way.
  UPDATE open_orders o SET ends_at = v_ends_at, extensions = v_number, fence = o.fence + 1, lease_until = NULL,
      next_run_at = CASE WHEN EXISTS (
        SELECT FROM open_leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END,
      play_at = CASE WHEN o.test THEN v_ends_at END
    WHERE o.id = p_order;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || p_order || ':ext:' || v_number, p_project, CASE WHEN v_order.test THEN 'test' ELSE 'revenue' END,
          'charge', -p_credits, p_order);

  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE credit_account a
       SET balance_credits = a.balance_credits - p_credits,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.project_id = p_project AND NOT a.frozen
       AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
       AND (a.daily_cap_credits IS NULL OR
            CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits)
    RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- The wait for the row's lock lasted into the next day, which begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE credit_account SET spent_on = v_charged_on, spent_credits = p_credits WHERE project_id = p_project;
      END IF;
      EXIT;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    SELECT CASE
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.floor_credits IS NOT NULL AND a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        ELSE 'SPEND_CAP_REACHED' END
      INTO v_refusal FROM credit_account a WHERE a.project_id = p_project;
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  same_request := true;
  made_by := p_request_id;
END $$`,
  `CREATE OR REPLACE FUNCTION add_archive_range(p_order bigint) RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     v_range bigint := p_order / 1000000;
     v_parent text;
     v_table text;
   BEGIN
     FOREACH v_parent IN ARRAY ARRAY['archived_orders', 'archived_leg', 'archived_chain_tx'] LOOP
       v_table := v_parent || '_' || v_range;
       CONTINUE WHEN to_regclass(v_table) IS NOT NULL;
       EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', v_table, v_parent);
       EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', v_parent, v_table,
                      v_range * 1000000, (v_range + 1) * 1000000);
     END LOOP;
   END $$`,
  `CREATE OR REPLACE FUNCTION archive_orders(p_after bigint, p_before timestamptz, p_limit integer, OUT archived integer, OUT checked_to bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  archived := 0;
  p_before := least(p_before, clock_timestamp() - interval '1 day');
  IF NOT pg_try_advisory_xact_lock(4202067) THEN
    RETURN;
  END IF;
  SELECT max(n.id) FILTER (WHERE n.is_old), array_agg(n.id) FILTER (WHERE n.is_old AND n.is_over) INTO checked_to, v_orders FROM (
    SELECT o.id, o.created_at < p_before AS is_old, o.judged AND NOT o.test AND NOT o.needs_attention AS is_over
      FROM open_orders o WHERE o.id > p_after ORDER BY o.id LIMIT p_limit) n;
  -- Who holds one of them now may change it: it is archived another time.
  SELECT array_agg(h.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.judged AND o.next_run_at IS NULL AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       AND (o.status = 'refunded' OR o.status = 'delivered' AND o.settled AND (o.kind = 'activation' OR o.reclaimed_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM open_leg l WHERE l.order_id = o.id AND NOT (l.status IN ('reclaimed', 'released') OR l.kind = 'activation' AND l.status = 'active'))
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status NOT IN ('solid', 'dead', 'dropped'))
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND e.type IS NOT NULL AND e.position IS NULL)
     ORDER BY o.id FOR UPDATE SKIP LOCKED) h;
  IF v_orders IS NULL THEN
    RETURN;
  END IF;
  PERFORM add_archive_range(r.id) FROM (SELECT DISTINCT ON (id / 1000000) id FROM unnest(v_orders) AS id) r;

  INSERT INTO archived_orders (id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, archived) OVERRIDING SYSTEM VALUE
    SELECT id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, true FROM open_orders WHERE id = ANY (v_orders);
  INSERT INTO archived_leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, true FROM open_leg WHERE order_id = ANY (v_orders);
  INSERT INTO archived_chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, true FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_leg WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  archived := cardinality(v_orders);
END $$`,
];

/** Of orders that are no more; the keys that come back would refuse them. */
const WITHOUT_ORDER = [
  `DELETE FROM order_replay r WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = r.order_id)`,
  `DELETE FROM receiver_energy r WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = r.order_id)`,
];

const UP = [...FUNCTIONS, ...KEPT_OPEN, KEPT_RANGES];
const DOWN = [
  ...WITHOUT_ORDER,
  rangesDo('DROP TRIGGER IF EXISTS %I ON %I'),
  ...OPEN.map((table) => `DROP TRIGGER open_${table}_no_truncate ON open_${table}`),
  ...FUNCTIONS_BEFORE,
];

export class ArchiveGuards1760000000069 implements MigrationInterface {
  readonly name = 'ArchiveGuards1760000000069';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
