-- Addresses that refused further mail, by a keyed hash: the table names no address.
CREATE TABLE mail_refusal (
  address_key bytea PRIMARY KEY,
  refused_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
