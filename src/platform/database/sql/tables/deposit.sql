-- Transfers to deposit addresses. The unique key of transaction, kind and place records for ever that a transfer was
-- taken; one transaction can pay an address twice.
CREATE TABLE deposit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  txid bytea NOT NULL CHECK (length(txid) = 32),
  kind text NOT NULL,
  place integer NOT NULL,
  project_id uuid NOT NULL REFERENCES project (id),
  address text NOT NULL REFERENCES deposit_address (address),
  from_address text NOT NULL,
  asset text NOT NULL,
  -- A value in a log has 256 bits.
  amount numeric(78) NOT NULL,
  block_number bigint NOT NULL,
  block_id bytea NOT NULL CHECK (length(block_id) = 32),
  block_at timestamptz NOT NULL,
  status text NOT NULL,
  reason text,
  rate_e8 bigint CHECK (rate_e8 > 0),
  entry_key text,
  credits bigint CHECK (credits > 0),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The token that was paid; null for TRX.
  contract text REFERENCES deposit_token (contract),
  sum_id bigint REFERENCES deposit_sum (id),
  CONSTRAINT deposit_txid_kind_place_key UNIQUE (txid, kind, place)
);

-- Lists of a project, newest first.
CREATE INDEX deposit_project ON deposit (project_id, id);
-- Few of many rows wait: for a rate, for the operator, or for more payments to the same address.
CREATE INDEX deposit_waiting ON deposit (status, reason, project_id, asset) WHERE status IN ('pending', 'held');
-- With a single node the amount credited per day is limited.
CREATE INDEX deposit_credited_at ON deposit (changed_at) WHERE status = 'credited' AND credits IS NOT NULL;
-- A ledger entry covers one deposit or many small ones.
CREATE INDEX deposit_entry ON deposit (entry_key) WHERE entry_key IS NOT NULL;
-- The oldest small deposits that wait for an undoubted rate. Read in every turn and mostly empty.
CREATE INDEX deposit_unrated ON deposit (asset, block_at)
  WHERE status = 'pending' AND reason IN ('below_minimum', 'one_node') AND rate_e8 IS NULL;
-- Deposits held until their address may send again. Read in every round and mostly empty.
CREATE INDEX deposit_blacklisted ON deposit (address) WHERE status = 'held' AND reason = 'blacklisted';
-- The next deposits that get the decision on their sum, and the newest of an open sum.
CREATE INDEX deposit_in_sum ON deposit (sum_id, entry_key, id) WHERE status = 'pending' AND sum_id IS NOT NULL;
-- Deposits that are to join a sum. Read in every pass and nearly empty.
CREATE INDEX deposit_unsummed ON deposit (id)
  WHERE status = 'pending'
    AND reason IN ('below_minimum', 'one_node')
    AND entry_key IS NULL
    AND rate_e8 IS NOT NULL
    AND sum_id IS NULL;
CREATE INDEX deposit_address_of ON deposit (address, asset);

CREATE TRIGGER deposit_changed AFTER INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_changed();
CREATE TRIGGER deposit_guard BEFORE INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_guard();
CREATE TRIGGER deposit_kept BEFORE DELETE ON deposit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_no_truncate BEFORE TRUNCATE ON deposit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
