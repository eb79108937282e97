-- Transactions of our wallets on chain without a record.
CREATE TABLE orphan_tx (
  txid bytea PRIMARY KEY,
  wallet_id integer NOT NULL,
  -- TRON's contract type: 57 delegate, 58 undelegate, 0 create account.
  type smallint NOT NULL,
  -- Made through the permission of the service's own key, not by the wallet's owner.
  by_own_key boolean NOT NULL,
  receive_address text,
  amount_sun bigint,
  raw_data bytea NOT NULL,
  signature bytea,
  block_number bigint NOT NULL,
  block_id bytea NOT NULL,
  block_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The order that reclaims the delegation.
  order_id bigint,
  -- Seen to be gone again: nothing is left to reclaim.
  gone_at timestamptz,
  -- The legs that an undelegation by another party has ended.
  leg_ids bigint[],
  -- ENERGY or BANDWIDTH; null for an account creation.
  resource text,
  CONSTRAINT orphan_tx_check CHECK (length(txid) = 32 AND txid = sha256(raw_data))
);

CREATE TRIGGER orphan_tx_kept BEFORE DELETE ON orphan_tx FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER orphan_tx_no_truncate BEFORE TRUNCATE ON orphan_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
