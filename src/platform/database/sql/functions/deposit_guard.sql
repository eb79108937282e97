-- Guards deposits: terms never change, a credited deposit has its ledger entry, and a final status stays. Keep the
-- assets, statuses and moves equal to domain/deposit-state.ts; a test compares them.
CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
       -- A payment seen only at the head is not final: its solid block may pay another amount or project.
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
     -- A small deposit in a held sum has the entry key of the deposit that it is held with.
     IF NEW.status <> 'credited' AND (NEW.credits IS NOT NULL OR NEW.entry_key IS NOT NULL AND NOT (NEW.status = 'pending'
       AND NEW.reason IN ('one_node', 'auto_max', 'amount', 'blacklisted', 'destroyed') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION deposit_guard FROM PUBLIC;
