-- The digest of the thousand entries up to to_id when they were checked.
CREATE TABLE judged_entries (
  to_id bigint PRIMARY KEY,
  digest text NOT NULL
);
