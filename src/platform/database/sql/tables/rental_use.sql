-- Energy that receivers' calls took from stake while a rental ran, by the receipts of solid blocks, as one node has them.
-- Blocks that were skipped unread are missing. No money depends on it.
CREATE TABLE rental_use (
  order_id bigint PRIMARY KEY,
  energy bigint NOT NULL CHECK (energy > 0),
  calls integer NOT NULL CHECK (calls > 0),
  last_block bigint NOT NULL
);
