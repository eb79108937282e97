-- The wallets that delegate and activate.
CREATE TABLE pool_wallet (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  address text NOT NULL UNIQUE,
  role text NOT NULL CHECK (role IN ('pool', 'activation')),
  permission_id smallint NOT NULL CHECK (permission_id BETWEEN 0 AND 9),
  -- The key's own address, so that a signature can be checked without opening the key.
  key_address text NOT NULL,
  -- Null when a signer process holds the key.
  key_sealed bytea,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused')),
  pause_reason text,
  -- Sums of the last read of the chain.
  staked_sun bigint NOT NULL DEFAULT 0,
  delegated_sun bigint NOT NULL DEFAULT 0,
  free_sun_seen bigint NOT NULL DEFAULT 0,
  balance_sun bigint NOT NULL DEFAULT 0,
  synced_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Each observer of a wallet has a column of its own, so that no observer lifts the fault of another.
  wallet_fault text,
  books_fault text,
  recovering_sun bigint NOT NULL DEFAULT 0,
  -- The last successful read: transactions that bandwidth and TRX pay for, a day's staked bandwidth for them, and the time up
  -- to which ending rentals were counted. `sells_until` is how long the wallet sells without another read, by the
  -- database's clock.
  transactions_seen bigint NOT NULL DEFAULT 0,
  net_limit bigint NOT NULL DEFAULT 0,
  net_used bigint NOT NULL DEFAULT 0,
  ends_counted_to timestamptz,
  read_at timestamptz,
  sells_until timestamptz,
  -- Why nothing of this wallet can be delivered.
  delivery_fault text,
  -- A hold by time; null while only a signature is missing.
  delivery_held_until timestamptz,
  delivery_failed_at timestamptz,
  -- Holds since one of its transactions last entered a block. Each hold is longer.
  delivery_pauses integer NOT NULL DEFAULT 0,
  sign_failures integer NOT NULL DEFAULT 0,
  deaths integer NOT NULL DEFAULT 0,
  -- Stake for bandwidth at the last read, delegated or not.
  staked_bandwidth_sun bigint NOT NULL DEFAULT 0,
  delegated_bandwidth_sun bigint NOT NULL DEFAULT 0
);

CREATE TRIGGER pool_wallet_kept BEFORE DELETE ON pool_wallet FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER pool_wallet_no_truncate BEFORE TRUNCATE ON pool_wallet FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER pool_wallet_status BEFORE INSERT OR UPDATE ON pool_wallet FOR EACH ROW
  EXECUTE FUNCTION pool_wallet_status();
