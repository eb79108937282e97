-- Guards chain transactions: legal moves only, and the bytes never change.
CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
    IF OLD.status IN ('dead', 'dropped') THEN
      IF NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
        RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
      END IF;
    END IF;
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
      RAISE EXCEPTION 'chain transaction of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$;

REVOKE EXECUTE ON FUNCTION chain_tx_guard FROM PUBLIC;
