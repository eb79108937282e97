-- One sealed canary for each purpose of a key: a process with a wrong key refuses to start. Only operator commands
-- write it, since they hold every key.
CREATE TABLE key_canary (
  purpose text PRIMARY KEY,
  sealed bytea NOT NULL,
  sealed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The public half of the purpose's key, for a process that seals but cannot open.
  public_key bytea CHECK (length(public_key) = 32)
);
