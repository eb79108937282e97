CREATE TABLE leg (
  id bigint GENERATED ALWAYS AS IDENTITY,
  order_id bigint NOT NULL,
  leg_no smallint NOT NULL,
  -- rental: a delegation of energy. bandwidth: one of bandwidth. activation.
  kind text NOT NULL,
  wallet_id integer NOT NULL,
  receive_address text NOT NULL,
  -- The delegated amount; for an activation, the amount reserved for its fee.
  amount_sun bigint NOT NULL,
  energy bigint,
  status text NOT NULL,
  active_at timestamptz,
  -- The database's clock, for reconciling capacity with a chain read that may not have seen the change yet.
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- For a leg that ended without our own undelegation: when by the chain's clock, by which transaction, and for which
  -- reason.
  closed_at timestamptz,
  closed_by_txid bytea,
  closed_reason text,
  top_up boolean NOT NULL DEFAULT false,
  archived boolean NOT NULL DEFAULT false,
  top_up_cause text,
  -- Units of a delegation of bandwidth, whose energy is null.
  bandwidth bigint
) PARTITION BY LIST (archived);

CREATE TABLE open_leg PARTITION OF leg (
  CONSTRAINT leg_order_id_leg_no_key UNIQUE (order_id, leg_no),
  CONSTRAINT open_leg_open CHECK (NOT archived)
) FOR VALUES IN (false) WITH (fillfactor = 80);
ALTER TABLE open_leg ADD CONSTRAINT leg_pkey PRIMARY KEY (id);

-- Sums of open delegations per wallet and receiver, compared with the chain. Ended legs are not in it.
CREATE INDEX leg_open ON open_leg (wallet_id, receive_address)
  WHERE status IN ('reserved', 'placed', 'active', 'reclaiming');
-- Changes since a chain read began.
CREATE INDEX leg_changed ON open_leg (wallet_id, changed_at);

CREATE TABLE archived_leg PARTITION OF leg FOR VALUES IN (true) PARTITION BY RANGE (order_id);

CREATE INDEX archived_leg_open ON archived_leg (wallet_id, receive_address)
  WHERE status IN ('reserved', 'placed', 'active', 'reclaiming');
CREATE INDEX archived_leg_changed ON archived_leg (wallet_id, changed_at);
CREATE INDEX archived_leg_order_id_leg_no_key ON archived_leg (order_id, leg_no);
CREATE INDEX archived_leg_pkey ON archived_leg (id);

CREATE TRIGGER leg_final BEFORE UPDATE ON leg FOR EACH ROW
  WHEN (old.status = ANY (ARRAY['reclaimed'::text, 'released'::text]))
  EXECUTE FUNCTION leg_final();
CREATE TRIGGER leg_guard BEFORE INSERT OR UPDATE ON leg FOR EACH ROW EXECUTE FUNCTION leg_guard();
CREATE TRIGGER leg_kept BEFORE DELETE ON leg FOR EACH ROW EXECUTE FUNCTION kept_unless_archived('leg');
CREATE TRIGGER leg_no_truncate BEFORE TRUNCATE ON leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER open_leg_no_truncate BEFORE TRUNCATE ON open_leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER archived_leg_final BEFORE INSERT OR DELETE OR UPDATE ON archived_leg FOR EACH ROW
  EXECUTE FUNCTION archived_row('leg');
CREATE TRIGGER archived_leg_no_truncate BEFORE TRUNCATE ON archived_leg FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- No guard of the open rows runs on the archive; see archived_row().
ALTER TABLE archived_leg DISABLE TRIGGER leg_final;
ALTER TABLE archived_leg DISABLE TRIGGER leg_guard;
ALTER TABLE archived_leg DISABLE TRIGGER leg_kept;
