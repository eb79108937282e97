-- Orders, their legs and their chain transactions lie in two partitions each: open rows and the archive. Archived
-- rows never change again and lie in ranges of the order's id, each range a table of its own, made before its first
-- order is archived.
-- No foreign keys on the order path: each would take a key-share lock on the busy balance or wallet row. `verify`
-- finds the orphans they would have refused.
CREATE TABLE orders (
  id bigint GENERATED ALWAYS AS IDENTITY,
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
  -- Set while a failed order reclaims the energy that other legs had delivered.
  undoing boolean NOT NULL DEFAULT false,
  needs_attention boolean NOT NULL DEFAULT false,
  error_code text,
  error text,
  delivered_energy bigint,
  created_at timestamptz NOT NULL,
  -- The chain's clock.
  delivered_at timestamptz,
  ends_at timestamptz,
  reclaimed_at timestamptz,
  -- The database's clock: when a transaction may first have been sent; then due work, its lease and its fence.
  placed_at timestamptz,
  next_run_at timestamptz,
  lease_until timestamptz,
  fence integer NOT NULL DEFAULT 0,
  -- Sun delegated for each energy sold, × 10^6. Set at delivery and with each top-up.
  sun_per_energy_e6 bigint,
  -- The database's clock: a top-up that found no capacity, or failed, is not retried before this time.
  top_up_after timestamptz,
  -- True once the reconciler has checked the row in its present form.
  judged boolean NOT NULL DEFAULT false,
  extensions smallint NOT NULL DEFAULT 0,
  test boolean NOT NULL DEFAULT false,
  play_at timestamptz,
  -- Labels of the merchant.
  reference text,
  metadata json,
  -- In which partition the row lies.
  archived boolean NOT NULL DEFAULT false,
  -- As the caller sent them: how often the wallet will spend the energy, and the transfer that sized the order.
  expected_uses integer,
  transfer json,
  -- The chain's price of one energy in sun when the order was priced.
  energy_fee_sun bigint,
  -- The highest fee limit that the chain accepted then, in sun.
  max_fee_limit_sun bigint,
  -- Parts beside energy, with their shares of the price and the charge. Energy has the rest.
  bandwidth bigint,
  bandwidth_price_sun bigint,
  bandwidth_credits bigint,
  activation_price_sun bigint,
  activation_credits bigint,
  delivered_bandwidth bigint,
  -- The share that a refund did not return: the chain has the activation.
  kept_credits bigint,
  -- The same two figures of the bandwidth as of the energy.
  sun_per_bandwidth_e6 bigint,
  bandwidth_top_up_after timestamptz
) PARTITION BY LIST (archived);

CREATE TABLE open_orders PARTITION OF orders (
  CONSTRAINT open_orders_open CHECK (NOT archived)
) FOR VALUES IN (false) WITH (fillfactor = 70);
ALTER TABLE open_orders ADD CONSTRAINT orders_pkey PRIMARY KEY (id);

-- Referee of idempotency: one order per key of a project, for ever.
CREATE UNIQUE INDEX orders_key ON open_orders (project_id, key);
-- Referee of quotes: one order per quote, for ever.
CREATE UNIQUE INDEX orders_quote ON open_orders (quote_id) WHERE quote_id IS NOT NULL;
-- The queue of record: work that is due by the database's clock. Finished orders are not in it.
CREATE INDEX orders_due ON open_orders (next_run_at) WHERE next_run_at IS NOT NULL;
-- Running rentals by their end, by the chain's clock.
CREATE INDEX orders_ending ON open_orders (ends_at)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
-- Running rentals with the least energy for the amount sold. Read with every block.
CREATE INDEX orders_standing ON open_orders (sun_per_energy_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
-- The same for bandwidth.
CREATE INDEX orders_standing_bandwidth ON open_orders (sun_per_bandwidth_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND sun_per_bandwidth_e6 IS NOT NULL;
-- Rows that the reconciler must check.
CREATE INDEX orders_unjudged ON open_orders (id) WHERE NOT judged;
-- Test orders to play, oldest first. No live order is in it.
CREATE INDEX orders_play ON open_orders (play_at) WHERE play_at IS NOT NULL;
-- The oldest test orders, which are deleted in the end. No live order is in it.
CREATE INDEX orders_test ON open_orders (created_at) WHERE test;
-- A project's orders from the newest down, all or between two times. Ids are not in the order of time, and a page
-- deep in the past must not cost more than the first page.
CREATE INDEX orders_time ON open_orders (project_id, created_at, id);
-- The same for one status. It covers every status: where most orders were refunded, delivered is the rare one.
CREATE INDEX orders_status_time ON open_orders (project_id, status, created_at, id);
-- The same for one receiver of possibly hundreds of thousands.
CREATE INDEX orders_receiver ON open_orders (project_id, receive_address, created_at, id);
-- The same for one reference. Orders without one are not in it.
CREATE INDEX orders_reference ON open_orders (project_id, reference, created_at, id) WHERE reference IS NOT NULL;
-- Orders that need an operator, newest first. Nearly empty; test orders resolve themselves.
CREATE INDEX orders_attention ON open_orders (id) WHERE needs_attention AND NOT test;
-- Unresolved orders of all projects, newest first. Nearly empty. Without it the list reads every order.
CREATE INDEX orders_unresolved ON open_orders (id) WHERE status = 'unresolved';

-- Guards of open rows are off here: no row changes. Each range gets triggers of its own.
-- Every index of the open rows has its counterpart, so that each query finds both.
CREATE TABLE archived_orders PARTITION OF orders FOR VALUES IN (true) PARTITION BY RANGE (id);

CREATE INDEX archived_orders_key ON archived_orders (project_id, key);
CREATE INDEX archived_orders_quote ON archived_orders (quote_id) WHERE quote_id IS NOT NULL;
CREATE INDEX archived_orders_due ON archived_orders (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX archived_orders_ending ON archived_orders (ends_at)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
CREATE INDEX archived_orders_standing ON archived_orders (sun_per_energy_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
CREATE INDEX archived_orders_standing_bandwidth ON archived_orders (sun_per_bandwidth_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND sun_per_bandwidth_e6 IS NOT NULL;
CREATE INDEX archived_orders_unjudged ON archived_orders (id) WHERE NOT judged;
CREATE INDEX archived_orders_play ON archived_orders (play_at) WHERE play_at IS NOT NULL;
CREATE INDEX archived_orders_test ON archived_orders (created_at) WHERE test;
CREATE INDEX archived_orders_time ON archived_orders (project_id, created_at, id);
CREATE INDEX archived_orders_status_time ON archived_orders (project_id, status, created_at, id);
CREATE INDEX archived_orders_receiver ON archived_orders (project_id, receive_address, created_at, id);
CREATE INDEX archived_orders_reference ON archived_orders (project_id, reference, created_at, id)
  WHERE reference IS NOT NULL;
CREATE INDEX archived_orders_attention ON archived_orders (id) WHERE needs_attention AND NOT test;
CREATE INDEX archived_orders_unresolved ON archived_orders (id) WHERE status = 'unresolved';
CREATE INDEX archived_orders_pkey ON archived_orders (id);

CREATE TRIGGER orders_changed AFTER UPDATE ON orders FOR EACH ROW
  WHEN (old.status IS DISTINCT FROM new.status
    OR old.settled IS DISTINCT FROM new.settled
    OR old.reclaimed_at IS DISTINCT FROM new.reclaimed_at
    OR old.extensions IS DISTINCT FROM new.extensions)
  EXECUTE FUNCTION order_changed();
CREATE TRIGGER orders_of_auto_delegation AFTER UPDATE ON orders FOR EACH ROW
  WHEN (new.key ~~ 'auto\_%'::text
    AND (old.status IS DISTINCT FROM new.status
      OR old.reclaimed_at IS DISTINCT FROM new.reclaimed_at))
  EXECUTE FUNCTION auto_delegation_order_moved();
CREATE TRIGGER orders_guard BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard();
CREATE TRIGGER orders_judged BEFORE INSERT OR UPDATE ON orders FOR EACH ROW
  WHEN (new.judged)
  EXECUTE FUNCTION orders_judged();
CREATE TRIGGER orders_keyed AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION keep_order_key();
CREATE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW
  WHEN (NOT old.test)
  EXECUTE FUNCTION kept_unless_archived('orders');
CREATE TRIGGER orders_no_truncate BEFORE TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER open_orders_no_truncate BEFORE TRUNCATE ON open_orders FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

CREATE TRIGGER archived_orders_final BEFORE INSERT OR DELETE OR UPDATE ON archived_orders FOR EACH ROW
  EXECUTE FUNCTION archived_row('orders');
CREATE TRIGGER archived_orders_no_truncate BEFORE TRUNCATE ON archived_orders FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- No guard of the open rows runs on the archive; see archived_row().
ALTER TABLE archived_orders DISABLE TRIGGER orders_changed;
ALTER TABLE archived_orders DISABLE TRIGGER orders_guard;
ALTER TABLE archived_orders DISABLE TRIGGER orders_judged;
ALTER TABLE archived_orders DISABLE TRIGGER orders_kept;
ALTER TABLE archived_orders DISABLE TRIGGER orders_keyed;
ALTER TABLE archived_orders DISABLE TRIGGER orders_of_auto_delegation;
