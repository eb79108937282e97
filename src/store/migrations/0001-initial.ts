/**
 * The first schema: projects and their credits, orders with legs and chain transactions, the pool, market state.
 * No foreign keys on the order path: each would take a key-share lock on the hot balance or wallet row; `verify`
 * looks for the orphans they would have refused.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const PROJECT = [
  `CREATE TABLE project (
    id uuid PRIMARY KEY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    api_key_sealed bytea NOT NULL,
    require_idempotency_key boolean NOT NULL DEFAULT false,
    require_quote boolean NOT NULL DEFAULT false,
    allowed_sources text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  )`,
  // Terms stand beside the balance, so that the one update which charges also judges them under one row lock.
  `CREATE TABLE credit_account (
    project_id uuid PRIMARY KEY REFERENCES project,
    balance_credits bigint NOT NULL DEFAULT 0,
    is_postpaid boolean NOT NULL DEFAULT false,
    -- How low a charge may take the balance: 0 prepaid, -debt limit postpaid, null postpaid without a limit.
    floor_credits bigint DEFAULT 0 CHECK (floor_credits <= 0),
    frozen boolean NOT NULL DEFAULT false,
    daily_cap_credits bigint CHECK (daily_cap_credits >= 0),
    spent_on date NOT NULL DEFAULT 'epoch',
    spent_credits bigint NOT NULL DEFAULT 0,
    CHECK (is_postpaid OR floor_credits IS NOT DISTINCT FROM 0)
  ) WITH (fillfactor = 50)`,
  `CREATE TABLE credit_entry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What this entry is for, once: charge:<order>, refund:<order>, topup:<reference>, adjustment:<reference>.
    entry_key text NOT NULL UNIQUE,
    project_id uuid NOT NULL,
    -- The other side of the entry: it gets the same amount with the opposite sign, so the books balance by shape.
    contra text NOT NULL,
    kind text NOT NULL,
    credits bigint NOT NULL,
    order_id bigint,
    actor text,
    reason text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  // Statements, and the sum that proves a balance: one project's entries in order.
  `CREATE INDEX credit_entry_project ON credit_entry (project_id, id)`,
  `CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$`,
  `CREATE TRIGGER credit_entry_append_only BEFORE UPDATE OR DELETE ON credit_entry
   FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_entry_no_truncate BEFORE TRUNCATE ON credit_entry
   FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  // Every API process drops its cached record of a project at once.
  `CREATE FUNCTION announce_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('project_changed', to_jsonb(NEW) ->> TG_ARGV[0]);
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER project_announced AFTER INSERT OR UPDATE ON project
   FOR EACH ROW EXECUTE FUNCTION announce_project('id')`,
  `CREATE TRIGGER credit_account_announced AFTER UPDATE ON credit_account FOR EACH ROW
   WHEN (OLD.frozen IS DISTINCT FROM NEW.frozen OR OLD.is_postpaid IS DISTINCT FROM NEW.is_postpaid
      OR OLD.floor_credits IS DISTINCT FROM NEW.floor_credits
      OR OLD.daily_cap_credits IS DISTINCT FROM NEW.daily_cap_credits)
   EXECUTE FUNCTION announce_project('project_id')`,
];

const ORDERS = [
  `CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    quote_id uuid,
    kind text NOT NULL,
    status text NOT NULL,
    receive_address text NOT NULL,
    energy bigint,
    duration_sec integer,
    price_sun bigint NOT NULL,
    credits bigint NOT NULL,
    trx_usd_e8 bigint NOT NULL,
    request_id text,
    settled boolean NOT NULL DEFAULT false,
    -- Set while a failed order takes back what other legs had delivered.
    undoing boolean NOT NULL DEFAULT false,
    needs_attention boolean NOT NULL DEFAULT false,
    error_code text,
    error text,
    delivered_energy bigint,
    created_at timestamptz NOT NULL,
    -- The chain's clock:
    delivered_at timestamptz,
    ends_at timestamptz,
    reclaimed_at timestamptz,
    -- The database's clock: when a transaction first may have been on its way; due work, its lease and its fence.
    placed_at timestamptz,
    next_run_at timestamptz,
    lease_until timestamptz,
    fence integer NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70)`,
  // The referee of idempotency: one order per key of a project, for ever.
  `CREATE UNIQUE INDEX orders_key ON orders (project_id, key)`,
  // The referee of quotes: one order per quote, for ever.
  `CREATE UNIQUE INDEX orders_quote ON orders (quote_id) WHERE quote_id IS NOT NULL`,
  // Listing, newest first.
  `CREATE INDEX orders_project ON orders (project_id, id DESC)`,
  // Listing of one status, newest first. Of every status: where most orders were refunded, delivered is the rare one.
  `CREATE INDEX orders_project_status ON orders (project_id, status, id DESC)`,
  // The queue of record: what is due by the database's clock. Finished orders are not in it.
  `CREATE INDEX orders_due ON orders (next_run_at) WHERE next_run_at IS NOT NULL`,
  // What is due by the chain's clock: running rentals by their end.
  `CREATE INDEX orders_ending ON orders (ends_at)
   WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL`,
  `CREATE TABLE leg (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL,
    leg_no smallint NOT NULL,
    kind text NOT NULL,
    wallet_id integer NOT NULL,
    receive_address text NOT NULL,
    -- What is delegated; of an activation, what is held for its fee.
    amount_sun bigint NOT NULL,
    energy bigint,
    status text NOT NULL,
    active_at timestamptz,
    -- The database's clock, for reconciling capacity with a chain read that may not have seen the change yet.
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (order_id, leg_no)
  ) WITH (fillfactor = 80)`,
  // Sums of open delegations per wallet and receiver, held against the chain; ended legs are not in it.
  `CREATE INDEX leg_open ON leg (wallet_id, receive_address) WHERE status IN ('reserved', 'placed', 'active', 'reclaiming')`,
  // What changed since a chain read began.
  `CREATE INDEX leg_changed ON leg (wallet_id, changed_at)`,
  `CREATE TABLE chain_tx (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL,
    leg_id bigint NOT NULL,
    purpose text NOT NULL,
    attempt integer NOT NULL,
    wallet_id integer NOT NULL,
    status text NOT NULL,
    -- Two orders may never share an id: the chain would deliver once for both.
    txid bytea NOT NULL UNIQUE,
    raw_data bytea NOT NULL,
    signature bytea,
    ref_block_number bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    block_number bigint,
    block_id bytea,
    block_at timestamptz,
    sends integer NOT NULL DEFAULT 0,
    sent_at timestamptz,
    evidence jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (leg_id, purpose, attempt)
  ) WITH (fillfactor = 70)`,
  // Never two that could both happen for one leg and purpose.
  `CREATE UNIQUE INDEX chain_tx_live ON chain_tx (leg_id, purpose) WHERE status NOT IN ('dead', 'dropped')`,
  // All of an order's transactions.
  `CREATE INDEX chain_tx_order ON chain_tx (order_id)`,
  // What waits for its block to become solid.
  `CREATE INDEX chain_tx_included ON chain_tx (block_number) WHERE status = 'included'`,
  `CREATE TABLE broadcast (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain_tx_id bigint NOT NULL,
    node text NOT NULL,
    -- What the node said; it proves nothing either way.
    answer text NOT NULL,
    message text,
    sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `CREATE INDEX broadcast_tx ON broadcast (chain_tx_id)`,
  `CREATE TABLE order_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL,
    from_status text NOT NULL,
    to_status text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    chain_at timestamptz
  )`,
  `CREATE INDEX order_event_order ON order_event (order_id)`,
  `CREATE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((length(NEW.key) BETWEEN 1 AND 255)
    AND (length(NEW.request_hash) = 32)
    AND (NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded'))
    AND (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0)
    AND (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END)
    AND (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL)
    AND (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy)) THEN
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
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy) THEN 'delivered has the energy sold' END USING ERRCODE = 'check_violation';
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
    INSERT INTO order_event (order_id, from_status, to_status, chain_at)
    VALUES (NEW.id, OLD.status, NEW.status, NEW.delivered_at);
  END IF;
  RETURN NEW;
END$$`,
  `CREATE TRIGGER orders_guard BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard()`,
  `CREATE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE TRIGGER leg_guard BEFORE INSERT OR UPDATE ON leg FOR EACH ROW EXECUTE FUNCTION leg_guard()`,
  `CREATE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
    AND (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL)) THEN
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
      WHEN NOT (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL) THEN 'dead has evidence' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('built','signed'), ('built','dropped'), ('signed','sending'), ('signed','dropped'), ('sending','included'), ('sending','dead'), ('included','sending'), ('included','solid')) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE TRIGGER chain_tx_guard BEFORE INSERT OR UPDATE ON chain_tx FOR EACH ROW EXECUTE FUNCTION chain_tx_guard()`,
  `CREATE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.contra IN ('revenue', 'funding', 'adjustments'))
    AND (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment'))
    AND (NEW.credits <> 0)
    AND (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END)) THEN
    RAISE EXCEPTION 'ledger entry %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.contra IN ('revenue', 'funding', 'adjustments')) THEN 'the other side'
      WHEN NOT (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment')) THEN 'kind'
      WHEN NOT (NEW.credits <> 0) THEN 'the amount is not zero'
      WHEN NOT (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END) THEN 'sign, other side and order by kind' END USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE TRIGGER credit_entry_guard BEFORE INSERT OR UPDATE ON credit_entry FOR EACH ROW EXECUTE FUNCTION credit_entry_guard()`,
  `CREATE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER chain_tx_kept BEFORE DELETE ON chain_tx FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
];

const POOL = [
  `CREATE TABLE pool_wallet (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    address text NOT NULL UNIQUE,
    role text NOT NULL CHECK (role IN ('pool', 'activation')),
    permission_id smallint NOT NULL CHECK (permission_id BETWEEN 0 AND 9),
    -- The key's own address, so that a signature can be checked without opening the key.
    key_address text NOT NULL,
    -- Null when a signer process holds the key.
    key_sealed bytea,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused')),
    pause_reason text,
    -- Sums of the last pass over the chain.
    staked_sun bigint NOT NULL DEFAULT 0,
    delegated_sun bigint NOT NULL DEFAULT 0,
    free_sun_seen bigint NOT NULL DEFAULT 0,
    balance_sun bigint NOT NULL DEFAULT 0,
    synced_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  // Free stake in slots, because one row per wallet would be a hot row for all projects (measured: a quarter of the rate).
  `CREATE TABLE pool_slot (
    wallet_id integer NOT NULL REFERENCES pool_wallet,
    slot_no smallint NOT NULL,
    free_sun bigint NOT NULL DEFAULT 0 CHECK (free_sun >= 0),
    PRIMARY KEY (wallet_id, slot_no)
  ) WITH (fillfactor = 20)`,
];

const REST = [
  `CREATE TABLE price_row (
    duration_max_sec integer PRIMARY KEY CHECK (duration_max_sec > 0),
    sun_per_energy bigint NOT NULL CHECK (sun_per_energy > 0)
  )`,
  // Defaults for a burn price of 100 sun (Contract 3).
  `INSERT INTO price_row VALUES (600, 38), (3600, 45), (86400, 65), (259200, 80), (604800, 95), (2592000, 130)`,
  // What processes share of the outside: one of them reads, all of them use.
  `CREATE TABLE market_state (
    name text PRIMARY KEY,
    value jsonb NOT NULL,
    measured_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz
  )`,
  `CREATE TABLE audit_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    reason text,
    detail jsonb
  )`,
  `CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
   FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `
CREATE FUNCTION take_from_slots(p_wallet integer, p_amount bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left bigint := p_amount;
  v_take bigint;
  r record;
BEGIN
  FOR r IN SELECT slot_no, free_sun FROM pool_slot WHERE wallet_id = p_wallet ORDER BY slot_no LOOP
    EXIT WHEN v_left = 0;
    v_take := least(r.free_sun, v_left);
    UPDATE pool_slot SET free_sun = free_sun - v_take WHERE wallet_id = p_wallet AND slot_no = r.slot_no;
    v_left := v_left - v_take;
  END LOOP;
  IF v_left <> 0 THEN RAISE EXCEPTION 'wallet %: the slots hold less than was counted', p_wallet; END IF;
END $$`,
  `
CREATE FUNCTION reserve_capacity(p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
  v_wallet integer;
  v_slot smallint;
  v_left bigint := p_amount;
  v_take bigint;
  v_leg smallint;
  r record;
BEGIN
  SELECT coalesce(max(leg_no), 0) INTO v_leg FROM leg WHERE order_id = p_order;
  -- Wallet by wallet, so that the slots of the first one that serves are all that is read, however many there are.
  SELECT s.wallet_id, s.slot_no INTO v_wallet, v_slot
    FROM (SELECT id FROM pool_wallet WHERE role = v_role AND status = 'active' ORDER BY free_sun_seen, id) w
    CROSS JOIN LATERAL (
      SELECT wallet_id, slot_no FROM pool_slot WHERE wallet_id = w.id AND free_sun >= p_amount
       ORDER BY free_sun, slot_no LIMIT 1 FOR UPDATE SKIP LOCKED) s
   LIMIT 1;
  IF FOUND THEN
    UPDATE pool_slot SET free_sun = free_sun - p_amount WHERE wallet_id = v_wallet AND slot_no = v_slot;
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg + 1, p_kind, v_wallet, p_receiver, p_amount, 'reserved');
    RETURN;
  END IF;

  -- Cheap look before the locks, so that a sold-out pool refuses without queueing.
  IF (SELECT coalesce(sum(s.free_sun), 0) FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
       WHERE w.role = v_role AND w.status = 'active') < p_amount THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;
  PERFORM 1 FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
    WHERE w.role = v_role AND w.status = 'active' ORDER BY s.wallet_id, s.slot_no FOR UPDATE OF s;

  FOR r IN
    SELECT s.wallet_id, sum(s.free_sun)::bigint AS free FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
     WHERE w.role = v_role AND w.status = 'active' GROUP BY s.wallet_id HAVING sum(s.free_sun) >= 1000000
     -- One wallet that holds it all, the smallest such; otherwise the largest first, for the fewest legs.
     ORDER BY sum(s.free_sun) >= p_amount DESC,
              CASE WHEN sum(s.free_sun) >= p_amount THEN sum(s.free_sun) ELSE -sum(s.free_sun) END, s.wallet_id
  LOOP
    EXIT WHEN v_left <= 0;
    v_take := least(r.free, v_left);
    -- TRON: a delegation is at least 1 TRX, so the rest that stays for the next leg must be one too.
    IF v_left > v_take AND v_left - v_take + p_leg_slack < 1000000 THEN
      v_take := v_take - (1000000 - (v_left - v_take));
    END IF;
    IF v_take < 1000000 AND p_kind = 'rental' THEN CONTINUE; END IF;
    IF v_take < v_left AND p_kind = 'activation' THEN CONTINUE; END IF;
    v_leg := v_leg + 1;
    IF v_leg > 20 THEN EXIT; END IF;
    PERFORM take_from_slots(r.wallet_id, v_take);
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg, p_kind, r.wallet_id, p_receiver, v_take, 'reserved');
    v_left := v_left - v_take;
    IF v_left > 0 THEN v_left := v_left + p_leg_slack; END IF;
  END LOOP;
  IF v_left > 0 THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;
END $$`,
  `
CREATE FUNCTION accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_refusal text;
BEGIN
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id INTO order_id;

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
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

  PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack);

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || order_id, p_project, 'revenue', 'charge', -p_credits, order_id);

  UPDATE credit_account a
     SET balance_credits = a.balance_credits - p_credits,
         spent_credits = CASE WHEN a.spent_on = (v_now AT TIME ZONE 'UTC')::date THEN a.spent_credits ELSE 0 END + p_credits,
         spent_on = (v_now AT TIME ZONE 'UTC')::date
   WHERE a.project_id = p_project AND NOT a.frozen
     AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
     AND (a.daily_cap_credits IS NULL OR
          CASE WHEN a.spent_on = (v_now AT TIME ZONE 'UTC')::date THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits);
  IF NOT FOUND THEN
    SELECT CASE
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.floor_credits IS NOT NULL AND a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        ELSE 'SPEND_CAP_REACHED' END
      INTO v_refusal FROM credit_account a WHERE a.project_id = p_project;
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END IF;
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$`,
];

export class Initial1760000000001 implements MigrationInterface {
  readonly name = 'Initial1760000000001';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...PROJECT, ...ORDERS, ...POOL, ...REST]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION accept_order, reserve_capacity, take_from_slots`);
    await runner.query(
      `DROP TABLE audit_log, market_state, price_row, pool_slot, pool_wallet, order_event, broadcast, chain_tx, leg, orders,
       credit_entry, credit_account, project`,
    );
    await runner.query(
      `DROP FUNCTION orders_guard, leg_guard, chain_tx_guard, credit_entry_guard, announce_project, refuse_change`,
    );
  }
}
