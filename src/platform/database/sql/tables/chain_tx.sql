CREATE TABLE chain_tx (
  id bigint GENERATED ALWAYS AS IDENTITY,
  order_id bigint NOT NULL,
  leg_id bigint NOT NULL,
  purpose text NOT NULL,
  attempt integer NOT NULL,
  wallet_id integer NOT NULL,
  status text NOT NULL,
  -- Two orders never share an id: the chain would deliver once for both.
  txid bytea NOT NULL,
  raw_data bytea NOT NULL,
  signature bytea,
  ref_block_number bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  block_number bigint,
  block_id bytea,
  block_at timestamptz,
  sends integer NOT NULL DEFAULT 0,
  sent_at timestamptz,
  evidence jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The burnt amount, from the receipt of its solid block.
  fee_sun bigint,
  archived boolean NOT NULL DEFAULT false,
  -- The part of the status that partial indexes use: most changes of the status change no index.
  stage text NOT NULL GENERATED ALWAYS AS (
    CASE WHEN status IN ('dead', 'dropped') THEN 'dead' WHEN status <> 'solid' THEN 'open'
      WHEN fee_sun IS NULL THEN 'uncosted' ELSE 'final' END) STORED
) PARTITION BY LIST (archived);

CREATE TABLE open_chain_tx PARTITION OF chain_tx (
  CONSTRAINT chain_tx_leg_id_purpose_attempt_key UNIQUE (leg_id, purpose, attempt),
  CONSTRAINT chain_tx_txid_key UNIQUE (txid),
  CONSTRAINT open_chain_tx_open CHECK (NOT archived)
) FOR VALUES IN (false) WITH (fillfactor = 70);
ALTER TABLE open_chain_tx ADD CONSTRAINT chain_tx_pkey PRIMARY KEY (id);

-- Never two transactions that could both succeed for one leg and purpose.
CREATE UNIQUE INDEX chain_tx_live ON open_chain_tx (leg_id, purpose) WHERE stage <> 'dead';
-- All of an order's transactions.
CREATE INDEX chain_tx_order ON open_chain_tx (order_id);
-- Transactions on their way: those that wait for a block or for its solidity. They are those of a minute.
CREATE INDEX chain_tx_open ON open_chain_tx (ref_block_number) WHERE stage = 'open';
-- The newest dead transactions, which every pass queries again. They are few.
CREATE INDEX chain_tx_dead ON open_chain_tx (id) WHERE stage = 'dead';
-- Transactions whose receipt was not read with its block: looked up one by one, so nearly empty.
CREATE INDEX chain_tx_without_cost ON open_chain_tx (id) WHERE stage = 'uncosted';
-- Reports read by time. The table grows with time, so a summary of each range of pages is enough; a row index would
-- cost each order two more writes.
CREATE INDEX chain_tx_block_at ON open_chain_tx USING brin (block_at)
  WITH (pages_per_range = 32, autosummarize = on);

CREATE TABLE archived_chain_tx PARTITION OF chain_tx FOR VALUES IN (true) PARTITION BY RANGE (order_id);

CREATE INDEX archived_chain_tx_live ON archived_chain_tx (leg_id, purpose) WHERE stage <> 'dead';
CREATE INDEX archived_chain_tx_order ON archived_chain_tx (order_id);
CREATE INDEX archived_chain_tx_open ON archived_chain_tx (ref_block_number) WHERE stage = 'open';
CREATE INDEX archived_chain_tx_dead ON archived_chain_tx (id) WHERE stage = 'dead';
CREATE INDEX archived_chain_tx_without_cost ON archived_chain_tx (id) WHERE stage = 'uncosted';
CREATE INDEX archived_chain_tx_block_at ON archived_chain_tx USING brin (block_at)
  WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX archived_chain_tx_leg_id_purpose_attempt_key ON archived_chain_tx (leg_id, purpose, attempt);
CREATE INDEX archived_chain_tx_pkey ON archived_chain_tx (id);
CREATE INDEX archived_chain_tx_txid_key ON archived_chain_tx (txid);

CREATE TRIGGER chain_tx_final BEFORE UPDATE ON chain_tx FOR EACH ROW
  WHEN (old.status = ANY (ARRAY['solid'::text, 'dead'::text, 'dropped'::text]))
  EXECUTE FUNCTION chain_tx_final();
CREATE TRIGGER chain_tx_guard BEFORE INSERT OR UPDATE ON chain_tx FOR EACH ROW EXECUTE FUNCTION chain_tx_guard();
CREATE TRIGGER chain_tx_kept BEFORE DELETE ON chain_tx FOR EACH ROW EXECUTE FUNCTION kept_unless_archived('chain_tx');
CREATE TRIGGER chain_tx_no_truncate BEFORE TRUNCATE ON chain_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER open_chain_tx_no_truncate BEFORE TRUNCATE ON open_chain_tx FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

CREATE TRIGGER archived_chain_tx_final BEFORE INSERT OR DELETE OR UPDATE ON archived_chain_tx FOR EACH ROW
  EXECUTE FUNCTION archived_row('chain_tx');
CREATE TRIGGER archived_chain_tx_no_truncate BEFORE TRUNCATE ON archived_chain_tx FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- No guard of the open rows runs on the archive; see archived_row().
ALTER TABLE archived_chain_tx DISABLE TRIGGER chain_tx_final;
ALTER TABLE archived_chain_tx DISABLE TRIGGER chain_tx_guard;
ALTER TABLE archived_chain_tx DISABLE TRIGGER chain_tx_kept;
