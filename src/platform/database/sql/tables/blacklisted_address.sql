-- Addresses from which the contract of the token lets nothing be sent: our own, and receivers of rentals.
CREATE TABLE blacklisted_address (
  address text PRIMARY KEY,
  use text NOT NULL CHECK (use IN ('deposit', 'sweep', 'receiver')),
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);
