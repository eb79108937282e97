-- Readings of the outside that processes share: one process reads, all use them.
CREATE TABLE market_state (
  name text PRIMARY KEY,
  value jsonb NOT NULL,
  measured_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until timestamptz
);
