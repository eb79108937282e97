-- Disagreements that an operator explained, by fingerprint with all figures. An explained one no longer stops sales.
CREATE TABLE explained_finding (
  fingerprint text PRIMARY KEY,
  check_name text NOT NULL,
  subject text NOT NULL,
  facts jsonb NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL,
  explained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The size of the disagreement when it was explained. A larger one is new. Null: it has no size.
  amount numeric
);
