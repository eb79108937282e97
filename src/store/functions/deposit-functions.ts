/**
 * What a deposit must be and may become, and the events of its life. A deposit's terms never change; credited is what
 * has its ledger entry; and what is final stays.
 */
import { DEPOSIT_ASSETS, DEPOSIT_TRANSITIONS } from '../../domain/deposit-state.js';

const quoted = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ');

const ASSETS = quoted(DEPOSIT_ASSETS);
const STATUSES = quoted(Object.keys(DEPOSIT_TRANSITIONS));
const MOVES = Object.entries(DEPOSIT_TRANSITIONS)
  .flatMap(([from, tos]) => tos.map((to) => `('${from}','${to}')`))
  .join(', ');

/** The ledger's key of a deposit that is credited by itself. */
const OWN_KEY = `'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place`;

const DEPOSIT_GUARD_SQL = `
CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_key text;
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN (${ASSETS}) AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND (NEW.kind = 'log' OR NEW.contract IS NULL)
       AND NEW.status IN (${STATUSES})
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
       IF OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (${MOVES}) THEN
         RAISE EXCEPTION 'deposit %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
       END IF;
       -- The version before credits small ones with others whether they have a rate or not: one without waits on.
       IF NEW.status = 'credited' AND NEW.rate_e8 IS NULL AND OLD.status = 'pending' AND OLD.reason = 'below_minimum' THEN
         RETURN NULL;
       END IF;
     END IF;
     IF NEW.status = 'credited' AND (NEW.rate_e8 IS NULL OR (NEW.entry_key = ${OWN_KEY}) <> (NEW.credits IS NOT NULL)
       OR NOT EXISTS (SELECT FROM credit_entry e WHERE e.entry_key = NEW.entry_key AND e.project_id = NEW.project_id
                        AND e.credits = coalesce(NEW.credits, e.credits))) THEN
       RAISE EXCEPTION 'deposit %: credited without its ledger entry', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- A small one whose sum is held names the deposit that it is held with.
     IF NEW.status <> 'credited' AND (NEW.credits IS NOT NULL OR NEW.entry_key IS NOT NULL AND NOT (NEW.status = 'pending'
       AND NEW.reason IN ('one_node', 'auto_max', 'amount', 'blacklisted', 'destroyed') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> ${OWN_KEY})) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`;

/** After a deposit is first recorded or its status changes: an event, with what it is then. */
const DEPOSIT_CHANGED_SQL = `
CREATE OR REPLACE FUNCTION deposit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
   END $$`;

/**
 * Locks the balances of projects, and the projects themselves against deletion. Skips what others have locked, but for
 * p_waits of them, each of which it waits for a quarter of a second for. Returns those that it locked.
 */
const CLAIM_PAID_PROJECTS_SQL = `
CREATE OR REPLACE FUNCTION claim_paid_projects(p_projects uuid[], p_waits integer) RETURNS SETOF uuid
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
END $$`;

/**
 * Whether a return was paid, of rows `r` of deposit_return and `d` of its deposit: only what came from the address to its
 * receiver pays it. A transaction that failed leaves its fee under the same id.
 */
export const RETURN_IS_PAID = `EXISTS (SELECT FROM deposit_movement m WHERE m.txid = r.txid AND m.address = d.address
    AND m.asset = d.asset AND m.amount < 0 AND m.kind <> 'fee' AND m.counterparty = r.to_address)`;

export const DEPOSIT_FUNCTIONS: Readonly<Record<string, string>> = {
  deposit_guard: DEPOSIT_GUARD_SQL,
  deposit_changed: DEPOSIT_CHANGED_SQL,
  claim_paid_projects: CLAIM_PAID_PROJECTS_SQL,
};
