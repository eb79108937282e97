/**
 * Credits beyond what one admin may book by themselves: asked for by one, decided by another, booked once. The rows are kept
 * for ever, and a decided one never changes.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE TABLE credit_request (
     id uuid PRIMARY KEY,
     project_id uuid NOT NULL REFERENCES project (id),
     kind text NOT NULL CHECK (kind IN ('topup', 'adjustment')),
     credits bigint NOT NULL,
     -- Of the entry that an approval makes: topup:<reference>, adjustment:<reference>.
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
     CONSTRAINT credit_request_amount CHECK (credits > 0 OR (kind = 'adjustment' AND credits < 0)),
     CONSTRAINT credit_request_second_person CHECK (decided_by <> asked_by),
     CONSTRAINT credit_request_decision CHECK (
       (status = 'pending') = (decided_by IS NULL) AND (decided_by IS NULL) = (decided_at IS NULL)
       AND (decided_by IS NULL) = (decided_by_email IS NULL))
   )`,
  // One payment is asked for once, unless it was rejected.
  `CREATE UNIQUE INDEX credit_request_reference ON credit_request (kind, reference) WHERE status <> 'rejected'`,
  // What waits, for the inbox; and the list, newest first.
  `CREATE INDEX credit_request_pending ON credit_request (asked_at) WHERE status = 'pending'`,
  `CREATE INDEX credit_request_asked ON credit_request (asked_at)`,
  `CREATE TRIGGER credit_request_final BEFORE UPDATE ON credit_request FOR EACH ROW
     WHEN (OLD.status <> 'pending' OR OLD.id <> NEW.id OR OLD.project_id <> NEW.project_id OR OLD.kind <> NEW.kind
           OR OLD.credits <> NEW.credits OR OLD.reference <> NEW.reference OR OLD.asked_by <> NEW.asked_by)
     EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_request_kept BEFORE DELETE ON credit_request FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_request_no_truncate BEFORE TRUNCATE ON credit_request
     FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

export class CreditRequests1760000000052 implements MigrationInterface {
  readonly name = 'CreditRequests1760000000052';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE credit_request`);
  }
}
