-- The last solid block that each consumer has read: deposits, chain costs, and uses of auto-delegated addresses.
CREATE TABLE deposit_cursor (
  id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  block_number bigint NOT NULL,
  block_id bytea NOT NULL CHECK (length(block_id) = 32),
  block_at timestamptz NOT NULL,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  read_at timestamptz,
  -- The last block whose receipts had an internal transaction. Without those, TRX sent by contracts is invisible.
  internal_at timestamptz
);
