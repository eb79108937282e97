-- Our own addresses from which the token's contract lets nothing be sent.
CREATE TABLE blacklisted_address (
  address text PRIMARY KEY,
  use text NOT NULL CHECK (use IN ('deposit', 'sweep', 'receiver')),
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);
