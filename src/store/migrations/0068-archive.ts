/**
 * The archive: `orders`, `leg` and `chain_tx` become partitioned, by whether a row is archived. The tables there are become
 * the partitions of what is open, with all their indexes; the archive beside them is partitioned by ranges of the order's
 * id, and is empty. No row is copied: that none is archived was proven before anything is locked.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const PROVEN = [
  `ALTER TABLE orders VALIDATE CONSTRAINT open_orders_open`,
  `ALTER TABLE leg VALIDATE CONSTRAINT open_leg_open`,
  `ALTER TABLE chain_tx VALIDATE CONSTRAINT open_chain_tx_open`,
];

const NEW_FUNCTIONS = [
  `CREATE OR REPLACE FUNCTION archived_row() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_open record := NEW;
     v_is_open boolean := false;
   BEGIN
     IF TG_OP = 'INSERT' THEN
       v_open.archived := false;
       IF TG_ARGV[0] = 'orders' THEN
         SELECT o *= v_open INTO v_is_open FROM open_orders o WHERE o.id = NEW.id;
       ELSIF TG_ARGV[0] = 'leg' THEN
         SELECT o *= v_open INTO v_is_open FROM open_leg o WHERE o.id = NEW.id;
       ELSE
         SELECT o *= v_open INTO v_is_open FROM open_chain_tx o WHERE o.id = NEW.id;
       END IF;
     END IF;
     IF v_is_open IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE OR REPLACE FUNCTION kept_unless_archived() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_kept record := OLD;
     v_is_archived boolean := false;
   BEGIN
     v_kept.archived := true;
     IF OLD.archived THEN
       NULL;
     ELSIF TG_ARGV[0] = 'orders' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_orders a WHERE a.id = OLD.id;
     ELSIF TG_ARGV[0] = 'leg' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_leg a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     ELSE
       SELECT a *= v_kept INTO v_is_archived FROM archived_chain_tx a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     END IF;
     IF v_is_archived IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN OLD;
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

/** Ids go on where they were. What is judged and announced of a row was so where it was open. */
const SPLIT = `DO $$
DECLARE
  v_table text;
  v_open text;
  v_archive text;
  v_next bigint;
  r record;
BEGIN
  LOCK TABLE orders, leg, chain_tx IN ACCESS EXCLUSIVE MODE;
  FOREACH v_table IN ARRAY ARRAY['orders', 'leg', 'chain_tx'] LOOP
    v_open := 'open_' || v_table;
    v_archive := 'archived_' || v_table;
    v_next := nextval(pg_get_serial_sequence(v_table, 'id'));
    EXECUTE format('ALTER TABLE %I ALTER COLUMN id DROP IDENTITY', v_table);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', v_table, v_open);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS) PARTITION BY LIST (archived)', v_table, v_open);
    EXECUTE format('ALTER TABLE %I ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME %I START WITH %s)',
                   v_table, v_table || '_id_seq', v_next);
    FOR r IN SELECT tgname AS name, pg_get_triggerdef(oid, true) AS definition FROM pg_trigger
              WHERE tgrelid = v_open::regclass AND NOT tgisinternal ORDER BY tgname LOOP
      EXECUTE format('DROP TRIGGER %I ON %I', r.name, v_open);
      IF r.name <> v_table || '_kept' THEN
        EXECUTE replace(r.definition, ' ON ' || v_open || ' ', ' ON ' || v_table || ' ');
      END IF;
    END LOOP;
    EXECUTE format('CREATE TRIGGER %I BEFORE DELETE ON %I FOR EACH ROW %s EXECUTE FUNCTION kept_unless_archived(%L)',
                   v_table || '_kept', v_table, CASE v_table WHEN 'orders' THEN 'WHEN (NOT old.test)' ELSE '' END, v_table);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (false)', v_table, v_open);
    -- Who may do what, and see which rows of it, at once: nobody is refused until \`migrate\` has planned it anew.
    FOR r IN
      SELECT format('GRANT %s ON %I TO %I', a.privilege_type, v_table, g.rolname) AS statement
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) a JOIN pg_roles g ON g.oid = a.grantee
       WHERE c.oid = v_open::regclass AND a.grantee <> c.relowner
      UNION ALL
      SELECT format('GRANT %s (%I) ON %I TO %I', a.privilege_type, t.attname, v_table, g.rolname)
        FROM pg_attribute t CROSS JOIN aclexplode(t.attacl) a JOIN pg_roles g ON g.oid = a.grantee
       WHERE t.attrelid = v_open::regclass AND t.attnum > 0
      UNION ALL
      SELECT format('CREATE POLICY %I ON %I TO %s USING (%s)', p.polname, v_table,
                    (SELECT string_agg(quote_ident(g.rolname), ', ') FROM pg_roles g WHERE g.oid = ANY (p.polroles)),
                    replace(replace(pg_get_expr(p.polqual, p.polrelid), 'open_orders', 'orders'), v_open, v_table))
        FROM pg_policy p WHERE p.polrelid = v_open::regclass
      UNION ALL
      SELECT format('DROP POLICY %I ON %I', p.polname, v_open) FROM pg_policy p WHERE p.polrelid = v_open::regclass
      UNION ALL
      SELECT format(t.statement, t.name) FROM pg_class c
        CROSS JOIN (VALUES (1, 'ALTER TABLE %I ENABLE ROW LEVEL SECURITY', v_table),
                           (2, 'ALTER TABLE %I DISABLE ROW LEVEL SECURITY', v_open)) t(place, statement, name)
       WHERE c.oid = v_open::regclass AND c.relrowsecurity
    LOOP
      EXECUTE r.statement;
    END LOOP;
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (true) PARTITION BY RANGE (%I)', v_archive, v_table,
                   CASE v_table WHEN 'orders' THEN 'id' ELSE 'order_id' END);
    FOR r IN SELECT tgname AS name FROM pg_trigger WHERE tgrelid = v_archive::regclass AND NOT tgisinternal LOOP
      EXECUTE format('ALTER TABLE %I DISABLE TRIGGER %I', v_archive, r.name);
    END LOOP;
    EXECUTE format('CREATE TRIGGER %I BEFORE INSERT OR DELETE OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION archived_row(%L)',
                   v_archive || '_final', v_archive, v_table);
    EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
                   v_archive || '_no_truncate', v_archive);
    -- Whatever is found among what is open by an index, is in the archive too.
    FOR r IN SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = v_open::regclass LOOP
      EXECUTE regexp_replace(r.definition, '^CREATE (UNIQUE )?INDEX (\\S+) ON \\S+', 'CREATE INDEX archived_\\2 ON ' || v_archive);
    END LOOP;
  END LOOP;
END $$`;

const CHANGED_FUNCTIONS = [
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
  `CREATE OR REPLACE FUNCTION refuse_or_accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    SELECT CASE
        WHEN p_refusal IS NOT NULL THEN p_refusal
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
          THEN 'SPEND_CAP_REACHED' END
      INTO refusal FROM credit_account a
     WHERE a.project_id = p_project
       AND NOT EXISTS (SELECT FROM order_key o WHERE o.project_id = p_project AND o.key = p_key);
    IF refusal IS NOT NULL THEN
      created := false;
      RETURN;
    END IF;
    PERFORM set_config('lock_timeout', v_key_wait, true);
  END IF;
  SELECT a.created, a.order_id, a.order_created_at, a.same_request
    INTO created, order_id, order_created_at, same_request
    FROM accept_order(p_project, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                      p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max,
                      p_lock_ms) a;
END $$`,
  `CREATE OR REPLACE FUNCTION reserve_capacity(
  p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint,
  p_legs_max integer DEFAULT 20
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
  -- An activation pays for its bandwidth out of its amount.
  v_transactions integer := CASE p_kind WHEN 'activation' THEN 0 ELSE 2 END;
  v_wallet integer;
  v_slot smallint;
  v_leg smallint;
BEGIN
  SELECT coalesce(max(leg_no), 0) INTO v_leg FROM open_leg WHERE order_id = p_order;
  -- Wallet by wallet, so that the slots of the first one that serves are all that is read, however many there are.
  SELECT s.wallet_id, s.slot_no INTO v_wallet, v_slot
    FROM (SELECT id FROM pool_wallet
           WHERE role = v_role AND status = 'active' AND sells_until > v_now ORDER BY free_sun_seen, id) w
    CROSS JOIN LATERAL (
      SELECT wallet_id, slot_no FROM pool_slot
       WHERE wallet_id = w.id AND free_sun >= p_amount AND free_transactions >= v_transactions
       ORDER BY free_sun, slot_no LIMIT 1 FOR UPDATE SKIP LOCKED) s
   LIMIT 1;
  IF FOUND THEN
    UPDATE pool_slot SET free_sun = free_sun - p_amount, free_transactions = free_transactions - v_transactions
     WHERE wallet_id = v_wallet AND slot_no = v_slot;
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg + 1, p_kind, v_wallet, p_receiver, p_amount, 'reserved');
    RETURN;
  END IF;

  -- Cheap look before the locks, so that a sold-out pool refuses without queueing.
  IF (SELECT coalesce(sum(free), 0) FROM (
        SELECT sum(s.free_sun) AS free FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
         WHERE w.role = v_role AND w.status = 'active' AND w.sells_until > v_now
         GROUP BY s.wallet_id HAVING sum(s.free_transactions) >= v_transactions) each) < p_amount THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;
  BEGIN
    PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, false);
    RETURN;
  EXCEPTION WHEN SQLSTATE 'ER001' THEN
    -- What was locked is free again with the failed block, so that waiting below is in order.
    NULL;
  END;
  PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, true);
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
  `CREATE OR REPLACE FUNCTION project_order_legs(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
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
$$`,
  `CREATE OR REPLACE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.test := coalesce((SELECT p.test FROM project p WHERE p.id = NEW.project_id), false);
    IF NEW.test THEN
      NEW.play_at := NEW.next_run_at;
      NEW.next_run_at := NULL;
    END IF;
  END IF;
  IF NOT ((length(NEW.key) BETWEEN 1 AND 255)
    AND (length(NEW.request_hash) = 32)
    AND (NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded'))
    AND (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0)
    AND (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END)
    AND (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL)
    AND (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy)
    AND (CASE WHEN NEW.test THEN NEW.next_run_at IS NULL ELSE NEW.play_at IS NULL END)
    AND (CASE TG_OP WHEN 'INSERT' THEN true ELSE NEW.test = OLD.test END)) THEN
    RAISE EXCEPTION 'order %: breaks the rule %', NEW.id, CASE
      WHEN NOT (length(NEW.key) BETWEEN 1 AND 255) THEN 'a key has 1 to 255 characters'
      WHEN NOT (length(NEW.request_hash) = 32) THEN 'a request hash has 32 bytes'
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded')) THEN 'status'
      WHEN NOT (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0) THEN 'amounts are positive'
      WHEN NOT (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END) THEN 'a rental, and no activation, has energy and a duration'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL) THEN 'delivered has a time'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy) THEN 'delivered has the energy sold'
      WHEN NOT (CASE WHEN NEW.test THEN NEW.next_run_at IS NULL ELSE NEW.play_at IS NULL END) THEN 'a test order is played, and no other'
      WHEN NOT (CASE TG_OP WHEN 'INSERT' THEN true ELSE NEW.test = OLD.test END) THEN 'a test order stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','refunded'), ('placed','delivered'), ('placed','unresolved'), ('placed','refunded'), ('delivered','placed'), ('delivered','refunded'), ('unresolved','delivered'), ('unresolved','refunded')) THEN
      RAISE EXCEPTION 'order %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.settled THEN
      RAISE EXCEPTION 'order %: settled, % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'refunded' AND EXISTS (
      SELECT FROM open_leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
      RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.extensions <> NEW.extensions OR (OLD.settled AND OLD.ends_at IS DISTINCT FROM NEW.ends_at)) THEN
    IF NOT (OLD.settled AND NEW.settled AND NEW.status = 'delivered' AND NEW.kind = 'rental' AND NOT NEW.undoing
        AND NEW.reclaimed_at IS NULL AND NEW.extensions = OLD.extensions + 1 AND NEW.fence > OLD.fence)
       OR NOT EXISTS (SELECT FROM order_extension x WHERE x.order_id = NEW.id AND x.number = NEW.extensions
            AND x.ends_at = NEW.ends_at AND x.ends_at = OLD.ends_at + x.duration_sec * interval '1 second')
       OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'reclaim') THEN
      RAISE EXCEPTION 'order %: its end moves by an extension of a running rental alone', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM open_orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'leg of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.purpose IN ('delegate', 'reclaim', 'activate'))
    AND (NEW.attempt >= 1)
    AND (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped'))
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END)
    AND (length(NEW.signature) = 65)
    AND (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL)
    AND (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL))
    AND (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL)
    AND (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL))) THEN
    RAISE EXCEPTION 'chain transaction %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.purpose IN ('delegate', 'reclaim', 'activate')) THEN 'purpose'
      WHEN NOT (NEW.attempt >= 1) THEN 'attempts count from 1'
      WHEN NOT (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped')) THEN 'status'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END) THEN 'the id is the hash of the bytes, which never change'
      WHEN NOT (length(NEW.signature) = 65) THEN 'a signature has 65 bytes'
      WHEN NOT (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL) THEN 'only what is signed may be sent'
      WHEN NOT (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL)) THEN 'included has a block'
      WHEN NOT (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL) THEN 'dead has evidence'
      WHEN NOT (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL)) THEN 'a cost is of what stands in a block, and not negative' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('built','signed'), ('built','dropped'), ('signed','sending'), ('signed','dropped'), ('sending','included'), ('sending','dead'), ('included','sending'), ('included','solid'), ('dead','solid'), ('dropped','solid')) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status IN ('dead', 'dropped') AND NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'chain transaction of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION order_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
             NEW.project_id, v_type, CASE WHEN v_type IS NOT NULL THEN json_build_object('order', row_to_json(NEW),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
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
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = NEW.id) END) END);
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION order_compensated() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (order_id, project_id, type, snapshot)
     SELECT o.id, o.project_id, 'order.compensated', json_build_object('order', row_to_json(o),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
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
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = o.id) END)
       FROM orders o WHERE o.id = NEW.order_id AND o.project_id <> '00000000-0000-0000-0000-000000000000';
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION extend_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  OUT created boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT EXISTS (SELECT FROM open_orders o WHERE o.id = p_order AND o.project_id = v_auto.project_id
                    AND o.key LIKE 'auto\\_' || p_auto || '\\_%') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  PERFORM set_config('energy.auto_delegation', p_auto || ':' || p_fence || ':' || p_number || ':extension', true);
  SELECT x.created INTO created
    FROM extend_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, p_order, p_duration,
      p_price, p_credits, p_rate, p_head, p_longest, p_refusal, p_request_id, p_lock_ms) x;
  -- Read under the row's lock, which extend_order holds.
  IF created AND EXISTS (
      SELECT FROM open_orders o WHERE o.id = p_order
         AND o.ends_at - p_duration * interval '1 second' > p_head + interval '60 seconds') THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$`,
  `CREATE OR REPLACE FUNCTION charge_auto_delegation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_purchase text[] := string_to_array(current_setting('energy.auto_delegation', true), ':');
     v_key text;
     v_today date;
     v_counted_on date;
     v_charged_on date;
   BEGIN
     IF NEW.kind = 'refund' THEN
       SELECT o.key INTO v_key FROM open_orders o WHERE o.id = NEW.order_id;
       IF v_key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
         UPDATE auto_delegation a SET spent_credits = greatest(a.spent_credits - NEW.credits, 0)
           FROM credit_entry c
          WHERE a.id = split_part(v_key, '_', 2)::bigint AND a.project_id = NEW.project_id
            AND c.entry_key = 'charge:' || NEW.order_id AND a.spent_on = (c.created_at AT TIME ZONE 'UTC')::date;
       END IF;
       RETURN NULL;
     END IF;
     LOOP
       v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       UPDATE auto_delegation a
          SET purchases = v_purchase[3]::bigint,
              open_order_id = CASE v_purchase[4] WHEN 'order' THEN NEW.order_id END,
              spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits,
              spent_on = greatest(a.spent_on, v_today)
        WHERE a.id = v_purchase[1]::bigint AND a.project_id = NEW.project_id AND a.fence = v_purchase[2]::bigint
          AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL
          AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits <= a.daily_cap_credits
       RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
       IF FOUND THEN
         -- The key that set it goes on ordering for it as long as it may order.
         IF NOT EXISTS (SELECT FROM auto_delegation a JOIN api_key k ON k.id = a.api_key_id
                         WHERE a.id = v_purchase[1]::bigint AND 'order' = ANY (k.scopes)) THEN
           RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
         END IF;
         -- The wait for the row's lock lasted into the next day, which begins with this charge.
         IF v_charged_on > v_counted_on THEN
           UPDATE auto_delegation SET spent_on = v_charged_on, spent_credits = -NEW.credits WHERE id = v_purchase[1]::bigint;
         END IF;
         RETURN NULL;
       END IF;
       CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
       RAISE EXCEPTION '%', CASE WHEN EXISTS (
           SELECT FROM auto_delegation a
            WHERE a.id = v_purchase[1]::bigint AND a.fence = v_purchase[2]::bigint
              AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL)
         THEN 'SPEND_CAP_REACHED' ELSE 'AUTO_DELEGATION_MOVED' END USING ERRCODE = 'ER001';
     END LOOP;
   END $$`,
  `CREATE OR REPLACE FUNCTION kept_unless_test() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM open_orders o WHERE o.id = OLD.order_id AND o.test) THEN
       RETURN OLD;
     END IF;
     RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
   END $$`,
  `CREATE OR REPLACE FUNCTION prune_test_orders(p_days integer, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  -- The search may be long, and nobody's events wait for it.
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.test AND o.play_at IS NULL AND o.created_at < clock_timestamp() - p_days * interval '1 day'
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= clock_timestamp() - p_days * interval '1 day' OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at LIMIT p_limit) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;
  -- The lock of who numbers events or ends their logs: one at a time, and nobody waits. What was found is still so under it.
  IF NOT pg_try_advisory_xact_lock(4202001) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.test AND o.play_at IS NULL AND o.created_at < clock_timestamp() - p_days * interval '1 day'
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= clock_timestamp() - p_days * interval '1 day' OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at FOR UPDATE SKIP LOCKED) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;

  UPDATE event_position p SET pruned_to = greatest(p.pruned_to, e.position)
    FROM (SELECT project_id, max(position) AS position FROM event WHERE order_id = ANY (v_orders) GROUP BY project_id) e
   WHERE p.project_id = e.project_id AND e.position IS NOT NULL;
  DELETE FROM event WHERE order_id = ANY (v_orders);

  WITH gone AS (
    DELETE FROM credit_entry e USING (
      SELECT kind || ':' || id AS entry_key FROM unnest(v_orders) AS id CROSS JOIN (VALUES ('charge'), ('refund')) k(kind)
      UNION ALL SELECT 'charge:' || x.order_id || ':ext:' || x.number FROM order_extension x WHERE x.order_id = ANY (v_orders)
      UNION ALL SELECT c.entry_key FROM credit_entry c WHERE c.kind = 'compensation' AND c.order_id = ANY (v_orders)
      UNION ALL SELECT 'adjustment:test-carried:' || p.project_id
        FROM (SELECT DISTINCT project_id FROM open_orders WHERE id = ANY (v_orders)) p) k
     WHERE e.entry_key = k.entry_key RETURNING e.project_id, e.credits)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
  SELECT 'adjustment:test-carried:' || project_id, project_id, 'test', 'adjustment', sum(credits)::bigint, 'retention',
         'What the entries of test orders came to that are not kept any more.'
    FROM gone GROUP BY project_id HAVING sum(credits) <> 0;

  DELETE FROM order_key k USING order_extension x
   WHERE x.order_id = ANY (v_orders) AND k.project_id = x.project_id AND k.key = x.key;
  DELETE FROM order_key k USING open_orders o WHERE o.id = ANY (v_orders) AND k.project_id = o.project_id AND k.key = o.key;
  DELETE FROM order_extension WHERE order_id = ANY (v_orders);
  DELETE FROM order_replay WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  RETURN cardinality(v_orders);
END $$`,
];

const RIGHTS = [
  `REVOKE EXECUTE ON FUNCTION archive_orders FROM PUBLIC`,
  `REVOKE EXECUTE ON FUNCTION add_archive_range FROM PUBLIC`,
];

/** All that was archived is open again. */
const JOIN = `DO $$
DECLARE
  v_table text;
  v_open text;
  v_next bigint;
  v_columns text;
  v_triggers text[];
  v_trigger text;
BEGIN
  LOCK TABLE orders, leg, chain_tx IN ACCESS EXCLUSIVE MODE;
  FOREACH v_table IN ARRAY ARRAY['orders', 'leg', 'chain_tx'] LOOP
    v_open := 'open_' || v_table;
    v_next := nextval(pg_get_serial_sequence(v_table, 'id'));
    v_triggers := (SELECT array_agg(pg_get_triggerdef(oid, true)) FROM pg_trigger
                    WHERE tgrelid = v_table::regclass AND NOT tgisinternal AND tgname <> v_table || '_kept');
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', v_table, v_open);
    v_columns := (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
                   WHERE attrelid = v_open::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'archived');
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM %I', v_open, v_columns, v_columns, v_table);
    EXECUTE format('DROP TABLE %I CASCADE', v_table);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', v_open, v_table);
    EXECUTE format('ALTER TABLE %I ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME %I START WITH %s)',
                   v_table, v_table || '_id_seq', v_next);
    FOREACH v_trigger IN ARRAY v_triggers LOOP
      EXECUTE v_trigger;
    END LOOP;
    EXECUTE format('CREATE TRIGGER %I BEFORE DELETE ON %I FOR EACH ROW %s EXECUTE FUNCTION refuse_change()',
                   v_table || '_kept', v_table, CASE v_table WHEN 'orders' THEN 'WHEN (NOT old.test)' ELSE '' END);
  END LOOP;
END $$`;

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
  LOCK TABLE orders, leg, pool_slot, credit_entry, credit_account IN ROW EXCLUSIVE MODE;
  v_key_wait := set_config('lock_timeout', v_key_wait, true);
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id, test INTO order_id, v_test;
  v_lock_wait := set_config('lock_timeout', v_lock_wait, true);

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM orders o WHERE o.project_id = p_project AND o.key = p_key;
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
  `CREATE OR REPLACE FUNCTION refuse_or_accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    SELECT CASE
        WHEN p_refusal IS NOT NULL THEN p_refusal
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
          THEN 'SPEND_CAP_REACHED' END
      INTO refusal FROM credit_account a
     WHERE a.project_id = p_project
       AND NOT EXISTS (SELECT FROM orders o WHERE o.project_id = p_project AND o.key = p_key);
    IF refusal IS NOT NULL THEN
      created := false;
      RETURN;
    END IF;
    PERFORM set_config('lock_timeout', v_key_wait, true);
  END IF;
  SELECT a.created, a.order_id, a.order_created_at, a.same_request
    INTO created, order_id, order_created_at, same_request
    FROM accept_order(p_project, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                      p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max,
                      p_lock_ms) a;
END $$`,
  `CREATE OR REPLACE FUNCTION reserve_capacity(
  p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint,
  p_legs_max integer DEFAULT 20
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
  -- An activation pays for its bandwidth out of its amount.
  v_transactions integer := CASE p_kind WHEN 'activation' THEN 0 ELSE 2 END;
  v_wallet integer;
  v_slot smallint;
  v_leg smallint;
BEGIN
  SELECT coalesce(max(leg_no), 0) INTO v_leg FROM leg WHERE order_id = p_order;
  -- Wallet by wallet, so that the slots of the first one that serves are all that is read, however many there are.
  SELECT s.wallet_id, s.slot_no INTO v_wallet, v_slot
    FROM (SELECT id FROM pool_wallet
           WHERE role = v_role AND status = 'active' AND sells_until > v_now ORDER BY free_sun_seen, id) w
    CROSS JOIN LATERAL (
      SELECT wallet_id, slot_no FROM pool_slot
       WHERE wallet_id = w.id AND free_sun >= p_amount AND free_transactions >= v_transactions
       ORDER BY free_sun, slot_no LIMIT 1 FOR UPDATE SKIP LOCKED) s
   LIMIT 1;
  IF FOUND THEN
    UPDATE pool_slot SET free_sun = free_sun - p_amount, free_transactions = free_transactions - v_transactions
     WHERE wallet_id = v_wallet AND slot_no = v_slot;
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg + 1, p_kind, v_wallet, p_receiver, p_amount, 'reserved');
    RETURN;
  END IF;

  -- Cheap look before the locks, so that a sold-out pool refuses without queueing.
  IF (SELECT coalesce(sum(free), 0) FROM (
        SELECT sum(s.free_sun) AS free FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
         WHERE w.role = v_role AND w.status = 'active' AND w.sells_until > v_now
         GROUP BY s.wallet_id HAVING sum(s.free_transactions) >= v_transactions) each) < p_amount THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;
  BEGIN
    PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, false);
    RETURN;
  EXCEPTION WHEN SQLSTATE 'ER001' THEN
    -- What was locked is free again with the failed block, so that waiting below is in order.
    NULL;
  END;
  PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, true);
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

  SELECT * INTO v_order FROM orders o WHERE o.id = p_order AND o.project_id = p_project FOR NO KEY UPDATE;
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
     OR EXISTS (SELECT FROM leg l WHERE l.order_id = p_order AND l.status IN ('reclaiming', 'reclaimed'))
     OR EXISTS (SELECT FROM chain_tx t WHERE t.order_id = p_order AND t.purpose = 'reclaim') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  IF v_ends_at > p_head + p_longest * interval '1 second' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
  -- A wallet that may not sell sells no more time either, and on records that may have lost commits nobody knows what runs.
  IF EXISTS (SELECT FROM leg l JOIN pool_wallet w ON w.id = l.wallet_id
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
  UPDATE orders o SET ends_at = v_ends_at, extensions = v_number, fence = o.fence + 1, lease_until = NULL,
      next_run_at = CASE WHEN EXISTS (
        SELECT FROM leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END,
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
  `CREATE OR REPLACE FUNCTION project_order_legs(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id)
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$`,
  `CREATE OR REPLACE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.test := coalesce((SELECT p.test FROM project p WHERE p.id = NEW.project_id), false);
    IF NEW.test THEN
      NEW.play_at := NEW.next_run_at;
      NEW.next_run_at := NULL;
    END IF;
  END IF;
  IF NOT ((length(NEW.key) BETWEEN 1 AND 255)
    AND (length(NEW.request_hash) = 32)
    AND (NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded'))
    AND (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0)
    AND (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END)
    AND (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL)
    AND (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy)
    AND (CASE WHEN NEW.test THEN NEW.next_run_at IS NULL ELSE NEW.play_at IS NULL END)
    AND (CASE TG_OP WHEN 'INSERT' THEN true ELSE NEW.test = OLD.test END)) THEN
    RAISE EXCEPTION 'order %: breaks the rule %', NEW.id, CASE
      WHEN NOT (length(NEW.key) BETWEEN 1 AND 255) THEN 'a key has 1 to 255 characters'
      WHEN NOT (length(NEW.request_hash) = 32) THEN 'a request hash has 32 bytes'
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded')) THEN 'status'
      WHEN NOT (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0) THEN 'amounts are positive'
      WHEN NOT (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END) THEN 'a rental, and no activation, has energy and a duration'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL) THEN 'delivered has a time'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy) THEN 'delivered has the energy sold'
      WHEN NOT (CASE WHEN NEW.test THEN NEW.next_run_at IS NULL ELSE NEW.play_at IS NULL END) THEN 'a test order is played, and no other'
      WHEN NOT (CASE TG_OP WHEN 'INSERT' THEN true ELSE NEW.test = OLD.test END) THEN 'a test order stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','refunded'), ('placed','delivered'), ('placed','unresolved'), ('placed','refunded'), ('delivered','placed'), ('delivered','refunded'), ('unresolved','delivered'), ('unresolved','refunded')) THEN
      RAISE EXCEPTION 'order %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.settled THEN
      RAISE EXCEPTION 'order %: settled, % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'refunded' AND EXISTS (
      SELECT FROM leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
      RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.extensions <> NEW.extensions OR (OLD.settled AND OLD.ends_at IS DISTINCT FROM NEW.ends_at)) THEN
    IF NOT (OLD.settled AND NEW.settled AND NEW.status = 'delivered' AND NEW.kind = 'rental' AND NOT NEW.undoing
        AND NEW.reclaimed_at IS NULL AND NEW.extensions = OLD.extensions + 1 AND NEW.fence > OLD.fence)
       OR NOT EXISTS (SELECT FROM order_extension x WHERE x.order_id = NEW.id AND x.number = NEW.extensions
            AND x.ends_at = NEW.ends_at AND x.ends_at = OLD.ends_at + x.duration_sec * interval '1 second')
       OR EXISTS (SELECT FROM chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'reclaim') THEN
      RAISE EXCEPTION 'order %: its end moves by an extension of a running rental alone', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'leg of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.purpose IN ('delegate', 'reclaim', 'activate'))
    AND (NEW.attempt >= 1)
    AND (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped'))
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END)
    AND (length(NEW.signature) = 65)
    AND (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL)
    AND (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL))
    AND (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL)
    AND (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL))) THEN
    RAISE EXCEPTION 'chain transaction %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.purpose IN ('delegate', 'reclaim', 'activate')) THEN 'purpose'
      WHEN NOT (NEW.attempt >= 1) THEN 'attempts count from 1'
      WHEN NOT (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped')) THEN 'status'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END) THEN 'the id is the hash of the bytes, which never change'
      WHEN NOT (length(NEW.signature) = 65) THEN 'a signature has 65 bytes'
      WHEN NOT (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL) THEN 'only what is signed may be sent'
      WHEN NOT (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL)) THEN 'included has a block'
      WHEN NOT (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL) THEN 'dead has evidence'
      WHEN NOT (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL)) THEN 'a cost is of what stands in a block, and not negative' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('built','signed'), ('built','dropped'), ('signed','sending'), ('signed','dropped'), ('sending','included'), ('sending','dead'), ('included','sending'), ('included','solid'), ('dead','solid'), ('dropped','solid')) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status IN ('dead', 'dropped') AND NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'chain transaction of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION order_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
             NEW.project_id, v_type, CASE WHEN v_type IS NOT NULL THEN json_build_object('order', row_to_json(NEW),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < NEW.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = NEW.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = NEW.id),
       'extensions', CASE WHEN NEW.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = NEW.id) END) END);
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION order_compensated() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (order_id, project_id, type, snapshot)
     SELECT o.id, o.project_id, 'order.compensated', json_build_object('order', row_to_json(o),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id),
       'extensions', CASE WHEN o.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = o.id) END)
       FROM orders o WHERE o.id = NEW.order_id AND o.project_id <> '00000000-0000-0000-0000-000000000000';
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION extend_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  OUT created boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT EXISTS (SELECT FROM orders o WHERE o.id = p_order AND o.project_id = v_auto.project_id
                    AND o.key LIKE 'auto\\_' || p_auto || '\\_%') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  PERFORM set_config('energy.auto_delegation', p_auto || ':' || p_fence || ':' || p_number || ':extension', true);
  SELECT x.created INTO created
    FROM extend_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, p_order, p_duration,
      p_price, p_credits, p_rate, p_head, p_longest, p_refusal, p_request_id, p_lock_ms) x;
  -- Read under the row's lock, which extend_order holds.
  IF created AND EXISTS (
      SELECT FROM orders o WHERE o.id = p_order
         AND o.ends_at - p_duration * interval '1 second' > p_head + interval '60 seconds') THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$`,
  `CREATE OR REPLACE FUNCTION charge_auto_delegation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_purchase text[] := string_to_array(current_setting('energy.auto_delegation', true), ':');
     v_key text;
     v_today date;
     v_counted_on date;
     v_charged_on date;
   BEGIN
     IF NEW.kind = 'refund' THEN
       SELECT o.key INTO v_key FROM orders o WHERE o.id = NEW.order_id;
       IF v_key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
         UPDATE auto_delegation a SET spent_credits = greatest(a.spent_credits - NEW.credits, 0)
           FROM credit_entry c
          WHERE a.id = split_part(v_key, '_', 2)::bigint AND a.project_id = NEW.project_id
            AND c.entry_key = 'charge:' || NEW.order_id AND a.spent_on = (c.created_at AT TIME ZONE 'UTC')::date;
       END IF;
       RETURN NULL;
     END IF;
     LOOP
       v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       UPDATE auto_delegation a
          SET purchases = v_purchase[3]::bigint,
              open_order_id = CASE v_purchase[4] WHEN 'order' THEN NEW.order_id END,
              spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits,
              spent_on = greatest(a.spent_on, v_today)
        WHERE a.id = v_purchase[1]::bigint AND a.project_id = NEW.project_id AND a.fence = v_purchase[2]::bigint
          AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL
          AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits <= a.daily_cap_credits
       RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
       IF FOUND THEN
         -- The key that set it goes on ordering for it as long as it may order.
         IF NOT EXISTS (SELECT FROM auto_delegation a JOIN api_key k ON k.id = a.api_key_id
                         WHERE a.id = v_purchase[1]::bigint AND 'order' = ANY (k.scopes)) THEN
           RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
         END IF;
         -- The wait for the row's lock lasted into the next day, which begins with this charge.
         IF v_charged_on > v_counted_on THEN
           UPDATE auto_delegation SET spent_on = v_charged_on, spent_credits = -NEW.credits WHERE id = v_purchase[1]::bigint;
         END IF;
         RETURN NULL;
       END IF;
       CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
       RAISE EXCEPTION '%', CASE WHEN EXISTS (
           SELECT FROM auto_delegation a
            WHERE a.id = v_purchase[1]::bigint AND a.fence = v_purchase[2]::bigint
              AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL)
         THEN 'SPEND_CAP_REACHED' ELSE 'AUTO_DELEGATION_MOVED' END USING ERRCODE = 'ER001';
     END LOOP;
   END $$`,
  `CREATE OR REPLACE FUNCTION kept_unless_test() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM orders o WHERE o.id = OLD.order_id AND o.test) THEN
       RETURN OLD;
     END IF;
     RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
   END $$`,
  `CREATE OR REPLACE FUNCTION prune_test_orders(p_days integer, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  -- The search may be long, and nobody's events wait for it.
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM orders o
     WHERE o.test AND o.play_at IS NULL AND o.created_at < clock_timestamp() - p_days * interval '1 day'
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= clock_timestamp() - p_days * interval '1 day' OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at LIMIT p_limit) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;
  -- The lock of who numbers events or ends their logs: one at a time, and nobody waits. What was found is still so under it.
  IF NOT pg_try_advisory_xact_lock(4202001) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM orders o
     WHERE o.id = ANY (v_orders) AND o.test AND o.play_at IS NULL AND o.created_at < clock_timestamp() - p_days * interval '1 day'
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= clock_timestamp() - p_days * interval '1 day' OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at FOR UPDATE SKIP LOCKED) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;

  UPDATE event_position p SET pruned_to = greatest(p.pruned_to, e.position)
    FROM (SELECT project_id, max(position) AS position FROM event WHERE order_id = ANY (v_orders) GROUP BY project_id) e
   WHERE p.project_id = e.project_id AND e.position IS NOT NULL;
  DELETE FROM event WHERE order_id = ANY (v_orders);

  WITH gone AS (
    DELETE FROM credit_entry e USING (
      SELECT kind || ':' || id AS entry_key FROM unnest(v_orders) AS id CROSS JOIN (VALUES ('charge'), ('refund')) k(kind)
      UNION ALL SELECT 'charge:' || x.order_id || ':ext:' || x.number FROM order_extension x WHERE x.order_id = ANY (v_orders)
      UNION ALL SELECT c.entry_key FROM credit_entry c WHERE c.kind = 'compensation' AND c.order_id = ANY (v_orders)
      UNION ALL SELECT 'adjustment:test-carried:' || p.project_id
        FROM (SELECT DISTINCT project_id FROM orders WHERE id = ANY (v_orders)) p) k
     WHERE e.entry_key = k.entry_key RETURNING e.project_id, e.credits)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
  SELECT 'adjustment:test-carried:' || project_id, project_id, 'test', 'adjustment', sum(credits)::bigint, 'retention',
         'What the entries of test orders came to that are not kept any more.'
    FROM gone GROUP BY project_id HAVING sum(credits) <> 0;

  DELETE FROM order_key k USING order_extension x
   WHERE x.order_id = ANY (v_orders) AND k.project_id = x.project_id AND k.key = x.key;
  DELETE FROM order_key k USING orders o WHERE o.id = ANY (v_orders) AND k.project_id = o.project_id AND k.key = o.key;
  DELETE FROM order_extension WHERE order_id = ANY (v_orders);
  DELETE FROM orders WHERE id = ANY (v_orders);
  RETURN cardinality(v_orders);
END $$`,
];

const DROPPED = [
  `DROP FUNCTION archive_orders(bigint, timestamptz, integer)`,
  `DROP FUNCTION add_archive_range(bigint)`,
  `DROP FUNCTION kept_unless_archived()`,
  `DROP FUNCTION archived_row()`,
];

const UP = [...PROVEN, ...NEW_FUNCTIONS, SPLIT, ...CHANGED_FUNCTIONS, ...RIGHTS];
const DOWN = [JOIN, ...FUNCTIONS_BEFORE, ...DROPPED];

export class Archive1760000000068 implements MigrationInterface {
  readonly name = 'Archive1760000000068';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
