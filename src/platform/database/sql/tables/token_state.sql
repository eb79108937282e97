-- The settings of the token contract at the last read by a worker.
CREATE TABLE token_state (
  contract text PRIMARY KEY,
  deprecated boolean NOT NULL DEFAULT false,
  successor text,
  paused boolean NOT NULL DEFAULT false,
  fee_basis_points numeric NOT NULL DEFAULT 0,
  maximum_fee numeric NOT NULL DEFAULT 0,
  -- The address after which the next round continues.
  checked_to text NOT NULL DEFAULT '',
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Null until the first read.
  read_at timestamptz
);
