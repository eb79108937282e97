-- Guards orders: legal moves only, a settled order keeps its status, and a refund needs every leg ended. The end of a
-- settled rental moves only by its next extension, under a new fence and while no reclaim is recorded. An order of a
-- test project is always a test order, and is never due for fulfilment.
-- Triggers, not CHECK constraints: Postgres parses a constraint's stored text for every statement. Without 27 of them an
-- order took a third less time (one client, no flush: 2,270 instead of 1,530 per second).
-- Keep the moves equal to domain/order-state.ts; a test compares them.
-- A condition with a query of a table stands in an IF of its own: within a longer condition the query runs, and locks the
-- table, even where the rest of the condition is false.
CREATE OR REPLACE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
    AND (NEW.bandwidth IS NULL AND NEW.activation_credits IS NULL OR NEW.kind = 'rental'
      AND num_nonnulls(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits) IN (0, 3)
      AND num_nonnulls(NEW.activation_price_sun, NEW.activation_credits) IN (0, 2)
      AND least(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits, NEW.activation_price_sun, NEW.activation_credits) > 0
      AND coalesce(NEW.bandwidth_price_sun, 0) + coalesce(NEW.activation_price_sun, 0) < NEW.price_sun
      AND coalesce(NEW.bandwidth_credits, 0) + coalesce(NEW.activation_credits, 0) < NEW.credits)
    AND (NEW.status <> 'delivered' OR NEW.bandwidth IS NULL OR coalesce(NEW.delivered_bandwidth >= NEW.bandwidth, false))
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
      WHEN NOT (NEW.bandwidth IS NULL AND NEW.activation_credits IS NULL OR NEW.kind = 'rental'
      AND num_nonnulls(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits) IN (0, 3)
      AND num_nonnulls(NEW.activation_price_sun, NEW.activation_credits) IN (0, 2)
      AND least(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits, NEW.activation_price_sun, NEW.activation_credits) > 0
      AND coalesce(NEW.bandwidth_price_sun, 0) + coalesce(NEW.activation_price_sun, 0) < NEW.price_sun
      AND coalesce(NEW.bandwidth_credits, 0) + coalesce(NEW.activation_credits, 0) < NEW.credits) THEN 'parts beside energy have a price and a charge within those of a rental'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.bandwidth IS NULL OR coalesce(NEW.delivered_bandwidth >= NEW.bandwidth, false)) THEN 'delivered has the bandwidth sold'
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
    IF NEW.status = 'refunded' THEN
      IF EXISTS (SELECT FROM open_leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
        RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
      END IF;
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.status IS DISTINCT FROM NEW.status OR OLD.kept_credits IS DISTINCT FROM NEW.kept_credits)
     AND (NEW.kept_credits IS NOT NULL OR NEW.status = 'refunded' AND NEW.activation_credits IS NOT NULL) THEN
    IF NEW.kept_credits IS DISTINCT FROM (CASE WHEN NEW.status = 'refunded' AND NEW.activation_credits IS NOT NULL AND EXISTS (
       SELECT FROM open_chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'activate' AND t.status = 'solid')
       THEN NEW.activation_credits END) THEN
      RAISE EXCEPTION 'order %: a refund keeps the share of an activation that the chain has, and nothing else', OLD.id USING ERRCODE = 'check_violation';
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
END$$;

REVOKE EXECUTE ON FUNCTION orders_guard FROM PUBLIC;
