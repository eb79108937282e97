-- Deposits that were sent back.
CREATE TABLE deposit_return (
  deposit_id bigint PRIMARY KEY REFERENCES deposit (id),
  to_address text NOT NULL,
  -- The ledger entry that takes the credits back; null if the deposit was never credited.
  entry_key text UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The newest unsigned transaction. Another one is made only when this one can no longer enter a block.
  txid bytea NOT NULL UNIQUE CHECK (length(txid) = 32),
  expires_at timestamptz NOT NULL
);

CREATE TRIGGER deposit_return_kept BEFORE DELETE ON deposit_return FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_return_no_truncate BEFORE TRUNCATE ON deposit_return FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
