-- Sums of small deposits, added up as they arrive and decided as one payment. No reference to the project: a locked
-- project must not block a sum.
CREATE TABLE deposit_sum (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
  wait_reason text NOT NULL CHECK (wait_reason IN ('below_minimum', 'one_node')),
  amount numeric NOT NULL DEFAULT 0 CHECK (amount >= 0),
  worth numeric NOT NULL DEFAULT 0 CHECK (worth >= 0),
  entry_key text,
  decision text CHECK (decision IN ('credited', 'held', 'ignored')),
  reason text,
  is_settled boolean NOT NULL DEFAULT false,
  CONSTRAINT deposit_sum_check CHECK ((entry_key IS NULL) = (decision IS NULL))
);

-- Each payment that is too small by itself looks up the open sum of its project.
CREATE UNIQUE INDEX deposit_sum_open ON deposit_sum (project_id, asset, wait_reason) WHERE entry_key IS NULL;
-- A decision on a held deposit, and `verify`, look up the sum by its key.
CREATE UNIQUE INDEX deposit_sum_entry ON deposit_sum (entry_key) WHERE entry_key IS NOT NULL;
-- Read in every pass; nearly empty.
CREATE INDEX deposit_sum_unsettled ON deposit_sum (id) WHERE NOT is_settled AND entry_key IS NOT NULL;
-- Open sums that reached the minimum. Read in every pass; nearly empty.
CREATE INDEX deposit_sum_waiting ON deposit_sum (asset, amount) WHERE entry_key IS NULL;
