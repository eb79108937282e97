-- When the next request may go to a host or address, whichever process sends it. Unlogged: losing it loses nothing.
CREATE UNLOGGED TABLE webhook_destination (
  name text PRIMARY KEY,
  free_at timestamptz NOT NULL
) WITH (fillfactor = 50);
