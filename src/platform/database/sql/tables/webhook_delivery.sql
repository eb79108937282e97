-- Deliveries of events. No foreign keys: endpoints and events are kept, and each key would lock a row for every
-- delivery.
CREATE TABLE webhook_delivery (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  endpoint_id uuid NOT NULL,
  cause text NOT NULL CHECK (cause IN ('event', 'replay', 'resend', 'test')),
  event_id bigint,
  event_key text NOT NULL,
  type text NOT NULL,
  position bigint NOT NULL DEFAULT 0,
  payload text,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'dropped')),
  is_fresh boolean NOT NULL DEFAULT true,
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempted_at timestamptz,
  ended_at timestamptz,
  answer_status integer,
  answer text,
  fault text,
  duration_ms integer,
  is_requested boolean NOT NULL DEFAULT false,
  CONSTRAINT webhook_delivery_check CHECK ((status = 'pending') = (next_at IS NOT NULL)),
  CONSTRAINT webhook_delivery_check1 CHECK ((status = 'pending') = (ended_at IS NULL)),
  CONSTRAINT webhook_delivery_check2 CHECK ((event_id IS NULL) = (payload IS NOT NULL))
);

-- Deliveries written since the sender last read.
CREATE INDEX webhook_delivery_fresh ON webhook_delivery (id) WHERE is_fresh;
-- Pending deliveries of an endpoint in order, replays last.
CREATE INDEX webhook_delivery_pending ON webhook_delivery (endpoint_id, (cause = 'replay'), position, id)
  WHERE status = 'pending';
-- An endpoint's deliveries, newest first.
CREATE INDEX webhook_delivery_endpoint ON webhook_delivery (endpoint_id, id);
-- The deliveries of one event, for the history of its order.
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id) WHERE event_id IS NOT NULL;
-- Deliveries that an owner requested go first. Nearly empty: rows leave it with their next attempt.
CREATE INDEX webhook_delivery_requested ON webhook_delivery (endpoint_id, id) WHERE status = 'pending' AND is_requested;
CREATE INDEX webhook_delivery_again ON webhook_delivery (endpoint_id, (cause = 'replay'), next_at)
  WHERE status = 'pending' AND attempts > 0;
CREATE INDEX webhook_delivery_ended ON webhook_delivery (endpoint_id, status, id) WHERE status IN ('failed', 'dropped');
CREATE INDEX webhook_delivery_first ON webhook_delivery (endpoint_id, (cause = 'replay'), position, id)
  WHERE status = 'pending' AND attempts = 0;
CREATE INDEX webhook_delivery_test ON webhook_delivery (endpoint_id, created_at) WHERE cause = 'test';

CREATE TRIGGER webhook_delivery_no_truncate BEFORE TRUNCATE ON webhook_delivery FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
