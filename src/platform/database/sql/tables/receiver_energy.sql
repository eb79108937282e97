-- The energy of an order's receiver before the first transaction, and at its block or later. Each reading names the
-- head block of the node; a missing reading is null.
CREATE TABLE receiver_energy (
  order_id bigint PRIMARY KEY,
  before_energy bigint CHECK (before_energy >= 0),
  before_block bigint,
  after_energy bigint CHECK (after_energy >= 0),
  after_block bigint,
  CONSTRAINT receiver_energy_blocks CHECK ((before_energy IS NULL) = (before_block IS NULL)
    AND (after_energy IS NULL) = (after_block IS NULL))
);
