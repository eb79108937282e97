-- The idle and the recovering part of each wallet's stake, day by day, for reports.
CREATE TABLE pool_wallet_day (
  wallet_id integer NOT NULL REFERENCES pool_wallet (id),
  day date NOT NULL,
  measured_ms bigint NOT NULL DEFAULT 0,
  idle_energy_ms numeric NOT NULL DEFAULT 0,
  recovering_energy_ms numeric NOT NULL DEFAULT 0,
  -- By day: a report reads every wallet of its days, and the oldest days are deleted.
  PRIMARY KEY (day, wallet_id)
) WITH (fillfactor = 50);
