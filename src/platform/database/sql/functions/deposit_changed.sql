-- Writes the event of a deposit when it is first recorded and with each change of status.
CREATE OR REPLACE FUNCTION deposit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- The solid block pays another project than the block at the head did.
     IF TG_OP = 'UPDATE' AND OLD.project_id <> NEW.project_id AND OLD.status = 'pending' THEN
       INSERT INTO event (project_id, type, chain_at, snapshot)
       VALUES (OLD.project_id, 'deposit.dropped', OLD.block_at, json_build_object('deposit', json_build_object(
         'id', OLD.id::text, 'txid', encode(OLD.txid, 'hex'), 'kind', OLD.kind, 'place', OLD.place, 'address', OLD.address,
         'from_address', OLD.from_address, 'asset', OLD.asset, 'amount', OLD.amount::text, 'status', 'dropped',
         'reason', NULL, 'rate_e8', NULL, 'credits', NULL, 'block_number', OLD.block_number::text, 'block_at', OLD.block_at)));
     ELSIF TG_OP = 'UPDATE' AND OLD.status = NEW.status THEN
       RETURN NULL;
     END IF;
     -- Small deposits, of which there can be thousands, cause no event of their own. The deposit with which their sum
     -- reaches the minimum does.
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
   END $$;

REVOKE EXECUTE ON FUNCTION deposit_changed FROM PUBLIC;
