-- Payments whose project or row is locked: parked, so that reading continues. No references: a locked row must not
-- block a parked one.
CREATE TABLE parked_payment (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  txid bytea NOT NULL CHECK (length(txid) = 32),
  kind text NOT NULL,
  place integer NOT NULL,
  project_id uuid NOT NULL,
  address text NOT NULL,
  from_address text NOT NULL,
  asset text NOT NULL,
  contract text,
  amount numeric(78) NOT NULL,
  is_agreed boolean NOT NULL,
  is_paid_by_us boolean NOT NULL,
  block_number bigint NOT NULL,
  block_id bytea NOT NULL CHECK (length(block_id) = 32),
  block_at timestamptz NOT NULL,
  parked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT parked_payment_txid_kind_place_key UNIQUE (txid, kind, place)
);
