-- The mail settings of a membership and its cursor through the log of its project. It is deleted with the membership.
CREATE TABLE notification (
  membership_id bigint PRIMARY KEY REFERENCES membership (id) ON DELETE CASCADE,
  audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
  kinds text[] NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The last event of the project's log that was mailed or passed. For operators: the inbox lines.
  position bigint NOT NULL DEFAULT 0,
  noted text[] NOT NULL DEFAULT '{}',
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  -- The mails of the last hour.
  mailed_at timestamptz[] NOT NULL DEFAULT '{}',
  sent_at timestamptz,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  fault text,
  given_up_at timestamptz,
  given_up bigint NOT NULL DEFAULT 0
);

-- Due notifications, for the sender.
CREATE INDEX notification_due ON notification (audience, due_at) WHERE kinds <> '{}';

ALTER TABLE notification ENABLE ROW LEVEL SECURITY;
CREATE POLICY notification_of_audience ON notification
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');
