-- One row: whose turn the reconciler is, and the last solid block that was searched for unrecorded transactions.
CREATE TABLE reconcile_state (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  lease_until timestamptz,
  fence integer NOT NULL DEFAULT 0,
  passed_at timestamptz,
  scanned_to bigint,
  -- When the search last reached the solid head.
  searched_at timestamptz,
  -- The server and data on which the records were last complete; see server_mark().
  server_mark text,
  -- A different server seen since, and the chain's time up to which its past must be searched before it counts as
  -- complete.
  search_mark text,
  search_until timestamptz,
  -- The time of the last searched block, by the chain's clock.
  scanned_at timestamptz,
  -- The ledger entry up to which ranges were checked and summed; then the entry and the order after which the next
  -- round through checked rows continues.
  entries_to bigint NOT NULL DEFAULT 0,
  entries_after bigint NOT NULL DEFAULT 0,
  orders_after bigint NOT NULL DEFAULT 0
);

INSERT INTO reconcile_state DEFAULT VALUES;
