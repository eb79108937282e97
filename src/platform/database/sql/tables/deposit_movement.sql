-- Every other movement at deposit addresses: outflows, burnt fees, and transfers between our own addresses. With
-- these the deposits of an address add up to its balance.
CREATE TABLE deposit_movement (
  txid bytea NOT NULL CHECK (length(txid) = 32),
  kind text NOT NULL CHECK (kind IN ('native', 'log', 'internal', 'fee', 'destroyed')),
  place integer NOT NULL CHECK (place >= 0),
  address text NOT NULL REFERENCES deposit_address (address),
  asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
  -- Negative when it left the address.
  amount numeric(78) NOT NULL CHECK (amount <> 0),
  counterparty text,
  block_number bigint NOT NULL,
  block_at timestamptz NOT NULL,
  contract text,
  -- A transfer between two of our addresses moves both.
  PRIMARY KEY (txid, kind, place, address)
);

-- Summed by address.
CREATE INDEX deposit_movement_address ON deposit_movement (address, asset);
-- The addresses that anything left for, each found in one step. Without it every pass reads all movements.
CREATE INDEX deposit_movement_left ON deposit_movement (counterparty) WHERE amount < 0 AND kind <> 'fee';

CREATE TRIGGER deposit_movement_kept BEFORE DELETE OR UPDATE ON deposit_movement FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_movement_no_truncate BEFORE TRUNCATE ON deposit_movement FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
