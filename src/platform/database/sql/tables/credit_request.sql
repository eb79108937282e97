-- Credits beyond the amount that one admin may book alone: one admin asks, another decides. Rows are kept for ever,
-- and a decided request never changes.
CREATE TABLE credit_request (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  kind text NOT NULL CHECK (kind IN ('topup', 'adjustment', 'deposit', 'refusal')),
  credits bigint NOT NULL,
  -- The reference of the entry that an approval makes: topup:<reference>, adjustment:<reference> or
  -- deposit:<reference>. A refusal names the deposit in the same way and makes none.
  reference text NOT NULL CHECK (length(reference) BETWEEN 1 AND 200),
  reason text NOT NULL,
  asked_by uuid NOT NULL REFERENCES person (id),
  asked_by_email text NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'rejected')),
  decided_by uuid REFERENCES person (id),
  decided_by_email text,
  decided_at timestamptz,
  decision_reason text,
  CONSTRAINT credit_request_amount CHECK (credits > 0 OR ((kind = 'adjustment') AND (credits < 0))),
  CONSTRAINT credit_request_decision CHECK ((status = 'pending') = (decided_by IS NULL) AND (decided_by IS NULL) = (decided_at IS NULL)
    AND (decided_by IS NULL) = (decided_by_email IS NULL)),
  CONSTRAINT credit_request_second_person CHECK (decided_by <> asked_by)
);

-- One payment is requested once, unless the request was rejected.
CREATE UNIQUE INDEX credit_request_reference ON credit_request (kind, reference) WHERE status <> 'rejected';
-- The inbox of pending requests, and the list of all, newest first.
CREATE INDEX credit_request_pending ON credit_request (asked_at) WHERE status = 'pending';
CREATE INDEX credit_request_asked ON credit_request (asked_at);

CREATE TRIGGER credit_request_final BEFORE UPDATE ON credit_request FOR EACH ROW
  WHEN (old.status <> 'pending'::text
    OR old.id <> new.id
    OR old.project_id <> new.project_id
    OR old.kind <> new.kind
    OR old.credits <> new.credits
    OR old.reference <> new.reference
    OR old.asked_by <> new.asked_by)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_request_kept BEFORE DELETE ON credit_request FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_request_no_truncate BEFORE TRUNCATE ON credit_request FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
