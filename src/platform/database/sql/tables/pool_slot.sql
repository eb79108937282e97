-- Free stake in slots: one row per wallet would be a busy row for all projects (measured: a quarter of the rate).
CREATE TABLE pool_slot (
  wallet_id integer NOT NULL REFERENCES pool_wallet (id),
  slot_no smallint NOT NULL,
  free_sun bigint NOT NULL DEFAULT 0 CHECK (free_sun >= 0),
  -- Bandwidth in transactions of the size of a delegation, taken in the same update as the stake.
  free_transactions bigint NOT NULL DEFAULT 0 CHECK (free_transactions >= 0),
  -- Stake for bandwidth that can be sold. The wallet's own transactions do not count on it.
  free_bandwidth_sun bigint NOT NULL DEFAULT 0 CHECK (free_bandwidth_sun >= 0),
  PRIMARY KEY (wallet_id, slot_no)
) WITH (fillfactor = 20);
