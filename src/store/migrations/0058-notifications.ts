/** Who is notified of what by e-mail, and how far: each choice is a cursor of its own through the log of its project. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // One for each membership, and gone with it: who is in nothing any more is notified nothing.
  `CREATE TABLE notification (
     membership_id bigint PRIMARY KEY REFERENCES membership (id) ON DELETE CASCADE,
     audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
     kinds text[] NOT NULL,
     changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     -- Up to which event of the project's log was mailed or passed; of operators, which lines of the inbox were.
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
   )`,
  // What is due, for who sends.
  `CREATE INDEX notification_due ON notification (audience, due_at) WHERE kinds <> '{}'`,
  `ALTER TABLE notification ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY notification_of_audience ON notification
     USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant')`,
  `CREATE OR REPLACE FUNCTION notifications_due(p_limit integer) RETURNS TABLE (membership_id bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT n.membership_id FROM notification n
    JOIN membership m ON m.id = n.membership_id JOIN event_position p ON p.project_id = m.project_id
   WHERE n.audience = 'merchant' AND n.kinds <> '{}' AND n.due_at <= clock_timestamp()
     AND (n.lease_until IS NULL OR n.lease_until < clock_timestamp()) AND p.position > n.position
   ORDER BY n.due_at LIMIT p_limit
$$`,
  `REVOKE EXECUTE ON FUNCTION notifications_due FROM PUBLIC`,
];

export class Notifications1760000000058 implements MigrationInterface {
  readonly name = 'Notifications1760000000058';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION notifications_due`);
    await runner.query(`DROP TABLE notification`);
  }
}
