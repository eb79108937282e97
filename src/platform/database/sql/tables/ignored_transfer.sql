-- Transfers of other tokens to deposit addresses, counted per day.
CREATE TABLE ignored_transfer (
  address text NOT NULL REFERENCES deposit_address (address),
  contract text NOT NULL,
  day date NOT NULL,
  transfers bigint NOT NULL,
  amount numeric NOT NULL DEFAULT 0,
  last_txid bytea,
  last_block bigint,
  PRIMARY KEY (address, contract, day)
);
