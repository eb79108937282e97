/**
 * What is too small by itself is in no event, whatever it waits for; a sum that is held is decided on as one payment.
 * And old test orders are searched for before the numbering of events is held, not under it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Of the oldest small ones that wait for an undoubted rate: looked for in every turn, and mostly none.
  `CREATE INDEX deposit_unrated ON deposit (asset, block_at)
     WHERE status = 'pending' AND reason IN ('below_minimum', 'one_node') AND rate_e8 IS NULL`,
  `CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       -- What was only seen at the head is nothing that is known: its solid block says what it is.
       IF (OLD.txid, OLD.kind, OLD.place, OLD.seen_at) IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.seen_at)
         OR (OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount)
           IS DISTINCT FROM (NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount)
         AND NOT (OLD.status = 'dropped' OR OLD.status = 'pending' AND OLD.reason = 'not_solid') THEN
         RAISE EXCEPTION 'deposit %: its terms never change', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status IN ('credited', 'ignored') THEN
         RAISE EXCEPTION 'deposit %: %, never changed', OLD.id, OLD.status USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (('pending','credited'), ('pending','held'), ('pending','ignored'), ('pending','dropped'), ('held','credited'), ('held','ignored'), ('dropped','pending'), ('dropped','credited'), ('dropped','held')) THEN
         RAISE EXCEPTION 'deposit %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
       END IF;
       -- The version before credits small ones with others whether they have a rate or not: one without waits on.
       IF NEW.status = 'credited' AND NEW.rate_e8 IS NULL AND OLD.status = 'pending' AND OLD.reason = 'below_minimum' THEN
         RETURN NULL;
       END IF;
     END IF;
     IF NEW.status = 'credited' AND (NEW.rate_e8 IS NULL OR (NEW.entry_key = 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place) <> (NEW.credits IS NOT NULL)
       OR NOT EXISTS (SELECT FROM credit_entry e WHERE e.entry_key = NEW.entry_key AND e.project_id = NEW.project_id
                        AND e.credits = coalesce(NEW.credits, e.credits))) THEN
       RAISE EXCEPTION 'deposit %: credited without its ledger entry', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- A small one whose sum is held names the deposit that it is held with.
     IF NEW.status <> 'credited' AND (NEW.credits IS NOT NULL OR NEW.entry_key IS NOT NULL AND NOT (NEW.status = 'pending'
       AND NEW.reason IN ('one_node', 'auto_max', 'amount') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE OR REPLACE FUNCTION deposit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- Its solid block pays another project than was said of it at the head.
     IF TG_OP = 'UPDATE' AND OLD.project_id <> NEW.project_id AND OLD.status = 'pending' THEN
       INSERT INTO event (project_id, type, chain_at, snapshot)
       VALUES (OLD.project_id, 'deposit.dropped', OLD.block_at, json_build_object('deposit', json_build_object(
         'id', OLD.id::text, 'txid', encode(OLD.txid, 'hex'), 'kind', OLD.kind, 'place', OLD.place, 'address', OLD.address,
         'from_address', OLD.from_address, 'asset', OLD.asset, 'amount', OLD.amount::text, 'status', 'dropped',
         'reason', NULL, 'rate_e8', NULL, 'credits', NULL, 'block_number', OLD.block_number::text, 'block_at', OLD.block_at)));
     ELSIF TG_OP = 'UPDATE' AND OLD.status = NEW.status THEN
       RETURN NULL;
     END IF;
     -- Small ones, of which there can be thousands, come with the one with which their sum passes the minimum.
     IF NEW.status = 'pending' AND NEW.reason NOT IN ('not_solid', 'no_rate', 'below_peg')
       OR NEW.status = 'credited' AND NEW.credits IS NULL
       OR NEW.status = 'ignored' AND TG_OP = 'UPDATE' AND OLD.status = 'pending' AND OLD.entry_key IS NOT NULL THEN
       RETURN NULL;
     END IF;
     INSERT INTO event (project_id, type, chain_at, snapshot)
     VALUES (NEW.project_id, 'deposit.' || NEW.status, NEW.block_at, json_build_object('deposit', json_build_object(
       'id', NEW.id::text, 'txid', encode(NEW.txid, 'hex'), 'kind', NEW.kind, 'place', NEW.place, 'address', NEW.address,
       'from_address', NEW.from_address, 'asset', NEW.asset, 'amount', NEW.amount::text, 'status', NEW.status,
       'reason', NEW.reason, 'rate_e8', NEW.rate_e8::text, 'credits', NEW.credits::text,
       'block_number', NEW.block_number::text, 'block_at', NEW.block_at)));
     RETURN NULL;
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

const DOWN = [
  `DROP INDEX deposit_unrated`,
  `CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       -- What was only seen at the head is nothing that is known: its solid block says what it is.
       IF (OLD.txid, OLD.kind, OLD.place, OLD.seen_at) IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.seen_at)
         OR (OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount)
           IS DISTINCT FROM (NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount)
         AND NOT (OLD.status = 'dropped' OR OLD.status = 'pending' AND OLD.reason = 'not_solid') THEN
         RAISE EXCEPTION 'deposit %: its terms never change', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status IN ('credited', 'ignored') THEN
         RAISE EXCEPTION 'deposit %: %, never changed', OLD.id, OLD.status USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (('pending','credited'), ('pending','held'), ('pending','ignored'), ('pending','dropped'), ('held','credited'), ('held','ignored'), ('dropped','pending'), ('dropped','credited'), ('dropped','held')) THEN
         RAISE EXCEPTION 'deposit %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
       END IF;
     END IF;
     IF NEW.status = 'credited' AND (NEW.rate_e8 IS NULL OR (NEW.entry_key = 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place) <> (NEW.credits IS NOT NULL)
       OR NOT EXISTS (SELECT FROM credit_entry e WHERE e.entry_key = NEW.entry_key AND e.project_id = NEW.project_id
                        AND e.credits = coalesce(NEW.credits, e.credits))) THEN
       RAISE EXCEPTION 'deposit %: credited without its ledger entry', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF NEW.status <> 'credited' AND (NEW.entry_key IS NOT NULL OR NEW.credits IS NOT NULL) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE OR REPLACE FUNCTION deposit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- Its solid block pays another project than was said of it at the head.
     IF TG_OP = 'UPDATE' AND OLD.project_id <> NEW.project_id AND OLD.status = 'pending' THEN
       INSERT INTO event (project_id, type, chain_at, snapshot)
       VALUES (OLD.project_id, 'deposit.dropped', OLD.block_at, json_build_object('deposit', json_build_object(
         'id', OLD.id::text, 'txid', encode(OLD.txid, 'hex'), 'kind', OLD.kind, 'place', OLD.place, 'address', OLD.address,
         'from_address', OLD.from_address, 'asset', OLD.asset, 'amount', OLD.amount::text, 'status', 'dropped',
         'reason', NULL, 'rate_e8', NULL, 'credits', NULL, 'block_number', OLD.block_number::text, 'block_at', OLD.block_at)));
     ELSIF TG_OP = 'UPDATE' AND OLD.status = NEW.status THEN
       RETURN NULL;
     END IF;
     -- Small ones, of which there can be thousands, come with the one with which their sum passes the minimum.
     IF NEW.reason = 'below_minimum' OR NEW.status = 'credited' AND NEW.credits IS NULL THEN
       RETURN NULL;
     END IF;
     INSERT INTO event (project_id, type, chain_at, snapshot)
     VALUES (NEW.project_id, 'deposit.' || NEW.status, NEW.block_at, json_build_object('deposit', json_build_object(
       'id', NEW.id::text, 'txid', encode(NEW.txid, 'hex'), 'kind', NEW.kind, 'place', NEW.place, 'address', NEW.address,
       'from_address', NEW.from_address, 'asset', NEW.asset, 'amount', NEW.amount::text, 'status', NEW.status,
       'reason', NEW.reason, 'rate_e8', NEW.rate_e8::text, 'credits', NEW.credits::text,
       'block_number', NEW.block_number::text, 'block_at', NEW.block_at)));
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION prune_test_orders(p_days integer, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  -- The lock of who numbers events or ends their logs: one at a time, and nobody waits.
  IF NOT pg_try_advisory_xact_lock(4202001) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM orders o
     WHERE o.test AND o.play_at IS NULL AND o.created_at < clock_timestamp() - p_days * interval '1 day'
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= clock_timestamp() - p_days * interval '1 day' OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED) old;
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

export class SmallSums1760000000066 implements MigrationInterface {
  readonly name = 'SmallSums1760000000066';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
