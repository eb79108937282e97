-- Requests of the last 24 hours that are limited per project.
CREATE TABLE webhook_act (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  act text NOT NULL CHECK (act IN ('change', 'rotate', 'resend', 'replay')),
  count integer NOT NULL CHECK (count > 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Every count of a project's acts, and their deletion a day later.
CREATE INDEX webhook_act_project ON webhook_act (project_id, act, created_at);
