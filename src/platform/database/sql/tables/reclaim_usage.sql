-- The energy of a receiver when a reclaim was built beside other rentals of the same receiver. Used energy that a
-- reclaim leaves behind is made up for, once.
CREATE TABLE reclaim_usage (
  tx_id bigint PRIMARY KEY,
  order_id bigint NOT NULL,
  receive_address text NOT NULL,
  used_energy bigint NOT NULL CHECK (used_energy >= 0),
  limit_energy bigint NOT NULL CHECK (limit_energy >= 0),
  pool_energy bigint NOT NULL CHECK (pool_energy >= 0),
  sold_energy bigint NOT NULL CHECK (sold_energy >= 0),
  taken_energy bigint NOT NULL CHECK (taken_energy >= 0),
  read_block bigint NOT NULL,
  read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  weighed_at timestamptz,
  left_energy bigint CHECK (left_energy >= 0)
);

-- The newest rows of a receiver, whenever one of its rentals may have lost energy.
CREATE INDEX reclaim_usage_receiver ON reclaim_usage (receive_address, tx_id);
-- Empty while nothing is to be made up for. Every worker reads it with each read of the chain.
CREATE INDEX reclaim_usage_due ON reclaim_usage (receive_address) WHERE weighed_at IS NULL;

CREATE TRIGGER reclaim_usage_final BEFORE UPDATE ON reclaim_usage FOR EACH ROW
  WHEN (old.tx_id IS DISTINCT FROM new.tx_id
    OR old.order_id IS DISTINCT FROM new.order_id
    OR old.receive_address IS DISTINCT FROM new.receive_address
    OR old.used_energy IS DISTINCT FROM new.used_energy
    OR old.limit_energy IS DISTINCT FROM new.limit_energy
    OR old.pool_energy IS DISTINCT FROM new.pool_energy
    OR old.sold_energy IS DISTINCT FROM new.sold_energy
    OR old.taken_energy IS DISTINCT FROM new.taken_energy
    OR old.read_block IS DISTINCT FROM new.read_block
    OR old.read_at IS DISTINCT FROM new.read_at)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reclaim_usage_kept BEFORE DELETE ON reclaim_usage FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reclaim_usage_no_truncate BEFORE TRUNCATE ON reclaim_usage FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
