-- The sender’s lease on an endpoint. It changes with every attempt, so it lies apart from the settings, and half of
-- each page stays free.
CREATE TABLE webhook_state (
  endpoint_id uuid PRIMARY KEY REFERENCES webhook_endpoint (id),
  due_at timestamptz,
  lease_until timestamptz,
  holder uuid,
  fence integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  taken_at timestamptz,
  refused_since jsonb NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);

-- Due endpoints. Those that answer and those that fail are separate, so that neither waits for the other.
CREATE INDEX webhook_state_due ON webhook_state ((failures > 0), due_at) WHERE due_at IS NOT NULL;
-- Endpoints that fail, by since when; few.
CREATE INDEX webhook_state_failing ON webhook_state (failing_since) WHERE failing_since IS NOT NULL;
