-- Guards deposits: terms never change, a credited deposit has its ledger entry, and a final status stays. Keep the
-- assets, statuses and moves equal to domain/deposit-state.ts; a test compares them.
CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND (NEW.kind = 'log' OR NEW.contract IS NULL)
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'INSERT' AND NEW.kind = 'log' AND NEW.contract IS NULL THEN
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
       -- The deposits of a sum share the decision on the sum.
       IF OLD.sum_id IS NOT NULL AND NEW.entry_key IS NOT NULL AND NEW.entry_key IS DISTINCT FROM OLD.entry_key
         AND NOT EXISTS (SELECT FROM deposit_sum s WHERE s.id = OLD.sum_id AND s.entry_key = NEW.entry_key) THEN
         RAISE EXCEPTION 'deposit %: its sum is decided with another deposit', OLD.id USING ERRCODE = 'check_violation';
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
     -- A small deposit in a held sum has the entry key of the deposit that it is held with.
     IF NEW.status <> 'credited' AND (NEW.credits IS NOT NULL OR NEW.entry_key IS NOT NULL AND NOT (NEW.status = 'pending'
       AND NEW.reason IN ('one_node', 'auto_max', 'amount', 'blacklisted', 'destroyed') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION deposit_guard FROM PUBLIC;
