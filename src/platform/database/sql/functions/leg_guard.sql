-- Guards legs: legal moves only. A leg is released only when none of its transactions can ever be included, and
-- reclaimed only by an undelegation: ours in a solid block, or another party's, which is named or confirmed by an
-- operator. A top-up is made only while its rental runs.
CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'bandwidth', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)
    AND (CASE WHEN NEW.top_up_cause IS NULL THEN TG_OP = 'INSERT' OR OLD.top_up_cause IS NULL
      ELSE TG_OP = 'UPDATE' AND NEW.top_up AND NEW.top_up_cause IN ('stake', 'usage')
        AND (NEW.top_up_cause = OLD.top_up_cause OR (OLD.top_up_cause IS NULL AND OLD.status = 'reserved' AND NOT OLD.top_up)) END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'bandwidth', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one'
      WHEN NOT (CASE WHEN NEW.top_up_cause IS NULL THEN TG_OP = 'INSERT' OR OLD.top_up_cause IS NULL
      ELSE TG_OP = 'UPDATE' AND NEW.top_up AND NEW.top_up_cause IN ('stake', 'usage')
        AND (NEW.top_up_cause = OLD.top_up_cause OR (OLD.top_up_cause IS NULL AND OLD.status = 'reserved' AND NOT OLD.top_up)) END) THEN 'the cause is a top-up’s, and stays as it is' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' THEN
      IF EXISTS (SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
        RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
      END IF;
    ELSIF NEW.status = 'reclaimed' THEN
      IF NOT EXISTS (
        SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
        SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
        RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
      END IF;
      IF NEW.kind = 'activation' AND NOT EXISTS (
        SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'activate' AND status = 'solid') THEN
        RAISE EXCEPTION 'leg %: an activation ended that the chain may not have', OLD.id USING ERRCODE = 'check_violation';
      END IF;
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM open_orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
      RAISE EXCEPTION 'leg of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$;

REVOKE EXECUTE ON FUNCTION leg_guard FROM PUBLIC;
