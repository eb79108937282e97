-- Prices by duration.
CREATE TABLE price_row (
  duration_max_sec integer PRIMARY KEY CHECK (duration_max_sec > 0),
  sun_per_energy bigint NOT NULL CHECK (sun_per_energy > 0),
  -- The price of one unit of bandwidth; null where none is sold.
  sun_per_bandwidth bigint CHECK (sun_per_bandwidth > 0)
);

-- Defaults for a burn price of 100 sun.
INSERT INTO price_row VALUES (600, 38), (3600, 45), (86400, 65), (259200, 150), (604800, 315), (1209600, 600), (2592000, 1200);
