-- Transactions that people want explained in a console, which asks no node: a worker answers. Rows are kept for a day.
CREATE TABLE explanation_request (
  id uuid PRIMARY KEY,
  -- NULL: an operator asked, and the orders of all projects count.
  project_id uuid REFERENCES project (id),
  txid bytea NOT NULL CHECK (octet_length(txid) = 32),
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When a worker began to answer. It may have died since.
  taken_at timestamptz,
  answered_at timestamptz,
  -- The body of GET /v1/explain/{txid}. NULL in an answered row: no such transaction of the project.
  answer jsonb,
  -- The code of the error that replaces an answer.
  error text CHECK (length(error) BETWEEN 1 AND 100),
  CONSTRAINT explanation_request_answer CHECK (answered_at IS NOT NULL OR (answer IS NULL AND error IS NULL))
);

-- The requests that wait, oldest first; and the open ones of a project, which are limited.
CREATE INDEX explanation_request_open ON explanation_request (requested_at) WHERE answered_at IS NULL;
-- Their deletion a day later.
CREATE INDEX explanation_request_age ON explanation_request (requested_at);
