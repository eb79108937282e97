/**
 * Deposits: small ones are summed as they come and get the decision on their sum in batches; payments whose project or row is
 * locked are parked, so that the block goes on.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // No reference to the project: a locked project must not hold up a sum.
  `CREATE TABLE deposit_sum (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     project_id uuid NOT NULL,
     asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
     wait_reason text NOT NULL CHECK (wait_reason IN ('below_minimum', 'one_node')),
     amount numeric NOT NULL DEFAULT 0 CHECK (amount >= 0),
     worth numeric NOT NULL DEFAULT 0 CHECK (worth >= 0),
     entry_key text,
     decision text CHECK (decision IN ('credited', 'held', 'ignored')),
     reason text,
     is_settled boolean NOT NULL DEFAULT false,
     CHECK ((entry_key IS NULL) = (decision IS NULL))
   )`,
  // Every payment that is too small by itself asks for the open sum of its project.
  `CREATE UNIQUE INDEX deposit_sum_open ON deposit_sum (project_id, asset, wait_reason) WHERE entry_key IS NULL`,
  // A decision on a held deposit, and verify, ask for the sum by its key.
  `CREATE UNIQUE INDEX deposit_sum_entry ON deposit_sum (entry_key) WHERE entry_key IS NOT NULL`,
  // Asked in every pass; nearly empty.
  `CREATE INDEX deposit_sum_unsettled ON deposit_sum (id) WHERE NOT is_settled AND entry_key IS NOT NULL`,
  // The open sums that pass, asked in every pass; nearly none.
  `CREATE INDEX deposit_sum_waiting ON deposit_sum (asset, amount) WHERE entry_key IS NULL`,
  `ALTER TABLE deposit ADD COLUMN sum_id bigint REFERENCES deposit_sum (id)`,
  // The next deposits that get the decision on their sum, and the newest of an open one.
  `CREATE INDEX deposit_in_sum ON deposit (sum_id, entry_key, id) WHERE status = 'pending' AND sum_id IS NOT NULL`,
  // Those that are to join a sum: asked in every pass, nearly empty.
  `CREATE INDEX deposit_unsummed ON deposit (id) WHERE status = 'pending' AND reason IN ('below_minimum', 'one_node')
     AND entry_key IS NULL AND rate_e8 IS NOT NULL AND sum_id IS NULL`,
  // No references: what is locked must not hold up what is parked.
  `CREATE TABLE parked_payment (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     txid bytea NOT NULL CHECK (length(txid) = 32),
     kind text NOT NULL,
     place integer NOT NULL,
     project_id uuid NOT NULL,
     address text NOT NULL,
     from_address text NOT NULL,
     asset text NOT NULL,
     contract text,
     amount numeric(78) NOT NULL,
     is_agreed boolean NOT NULL,
     is_paid_by_us boolean NOT NULL,
     block_number bigint NOT NULL,
     block_id bytea NOT NULL CHECK (length(block_id) = 32),
     block_at timestamptz NOT NULL,
     parked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     UNIQUE (txid, kind, place)
   )`,
  `CREATE OR REPLACE FUNCTION claim_paid_projects(p_projects uuid[], p_waits integer) RETURNS SETOF uuid
LANGUAGE plpgsql SET lock_timeout = '250ms' AS $$
DECLARE
  v_claimed uuid[];
  v_project uuid;
BEGIN
  SELECT coalesce(array_agg(c.project_id), '{}') INTO v_claimed FROM (
    SELECT a.project_id FROM credit_account a JOIN project p ON p.id = a.project_id
     WHERE a.project_id = ANY (p_projects) ORDER BY a.project_id
     FOR NO KEY UPDATE OF a SKIP LOCKED FOR KEY SHARE OF p SKIP LOCKED) c;
  FOR v_project IN SELECT x FROM unnest(p_projects) x WHERE x <> ALL (v_claimed) ORDER BY x LIMIT p_waits LOOP
    BEGIN
      PERFORM FROM credit_account a JOIN project p ON p.id = a.project_id
        WHERE a.project_id = v_project FOR NO KEY UPDATE OF a FOR KEY SHARE OF p;
      v_claimed := v_claimed || v_project;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END LOOP;
  RETURN QUERY SELECT unnest(v_claimed);
END $$`,
  `REVOKE EXECUTE ON FUNCTION claim_paid_projects(uuid[], integer) FROM PUBLIC`,
  `CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_key text;
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND (NEW.kind = 'log' OR NEW.contract IS NULL)
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- Only before there was a successor can the version before leave out which token was paid.
     IF TG_OP = 'INSERT' AND NEW.kind = 'log' AND NEW.contract IS NULL
       AND EXISTS (SELECT FROM deposit_token WHERE replaces IS NOT NULL) THEN
       RAISE EXCEPTION 'deposit %: paid in no token', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       -- What was only seen at the head is nothing that is known: its solid block says what it is.
       IF (OLD.txid, OLD.kind, OLD.place, OLD.seen_at) IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.seen_at)
         OR (OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount, OLD.contract)
           IS DISTINCT FROM (NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount, NEW.contract)
         AND NOT (OLD.status = 'dropped' OR OLD.status = 'pending' AND OLD.reason = 'not_solid') THEN
         RAISE EXCEPTION 'deposit %: its terms never change', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status IN ('credited', 'ignored') THEN
         RAISE EXCEPTION 'deposit %: %, never changed', OLD.id, OLD.status USING ERRCODE = 'check_violation';
       END IF;
       -- The version before knows no sums: what it decides on leaves an open sum, and must not be of a closed one.
       IF OLD.sum_id IS NOT NULL AND NEW.entry_key IS DISTINCT FROM OLD.entry_key THEN
         SELECT entry_key INTO v_key FROM deposit_sum WHERE id = OLD.sum_id;
         IF v_key IS NULL THEN
           UPDATE deposit_sum SET amount = amount - OLD.amount, worth = worth - OLD.amount * OLD.rate_e8 WHERE id = OLD.sum_id;
           NEW.sum_id := NULL;
         ELSIF NEW.entry_key IS NOT NULL AND NEW.entry_key <> v_key THEN
           RAISE EXCEPTION 'deposit %: its sum is decided on with another', OLD.id USING ERRCODE = 'check_violation';
         END IF;
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
       AND NEW.reason IN ('one_node', 'auto_max', 'amount', 'blacklisted', 'destroyed') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
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
       OR NEW.status = 'ignored' AND TG_OP = 'UPDATE' AND OLD.status = 'pending' AND (OLD.entry_key IS NOT NULL OR OLD.sum_id IS NOT NULL) THEN
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
];

const DOWN = [
  // The version before knows no sums: all deposits of closed ones get the decision first.
  `UPDATE deposit d SET status = CASE s.decision WHEN 'held' THEN 'pending' ELSE s.decision END, reason = s.reason,
      entry_key = CASE s.decision WHEN 'ignored' THEN NULL ELSE s.entry_key END, changed_at = clock_timestamp()
     FROM deposit_sum s WHERE s.id = d.sum_id AND d.status = 'pending' AND s.entry_key IS NOT NULL AND NOT s.is_settled`,
  `CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND (NEW.kind = 'log' OR NEW.contract IS NULL)
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- Only before there was a successor can the version before leave out which token was paid.
     IF TG_OP = 'INSERT' AND NEW.kind = 'log' AND NEW.contract IS NULL
       AND EXISTS (SELECT FROM deposit_token WHERE replaces IS NOT NULL) THEN
       RAISE EXCEPTION 'deposit %: paid in no token', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       -- What was only seen at the head is nothing that is known: its solid block says what it is.
       IF (OLD.txid, OLD.kind, OLD.place, OLD.seen_at) IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.seen_at)
         OR (OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount, OLD.contract)
           IS DISTINCT FROM (NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount, NEW.contract)
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
       AND NEW.reason IN ('one_node', 'auto_max', 'amount', 'blacklisted', 'destroyed') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
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
  `DROP FUNCTION claim_paid_projects(uuid[], integer)`,
  `DROP TABLE parked_payment`,
  `DROP INDEX deposit_in_sum, deposit_unsummed`,
  `ALTER TABLE deposit DROP COLUMN sum_id`,
  `DROP TABLE deposit_sum`,
];

export class DepositSums1760000000083 implements MigrationInterface {
  readonly name = 'DepositSums1760000000083';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
