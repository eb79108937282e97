-- The rate of each minute at which deposits are credited.
CREATE TABLE asset_rate (
  asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
  minute timestamptz NOT NULL,
  rate_e8 bigint NOT NULL CHECK (rate_e8 > 0),
  -- When the rate was stored: `verify` compares a deposit with the rates that existed when it was credited.
  kept_at timestamptz DEFAULT clock_timestamp(),
  PRIMARY KEY (asset, minute)
);
