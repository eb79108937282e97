/** Which people proved their e-mail address, which invitations prove it, and which addresses refused further mails. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Null: nobody has shown that this person reads the mailbox, so nothing is mailed there.
  `ALTER TABLE person ADD COLUMN address_proven_at timestamptz`,
  // Operators vouch for each other and for whom they invite. A link that an owner saw proves nothing.
  `UPDATE person p SET address_proven_at = p.created_at
    WHERE p.audience = 'operator'
       OR EXISTS (SELECT FROM invitation i
                   WHERE i.audience = p.audience AND i.email = p.email AND i.accepted_at IS NOT NULL
                     AND NOT EXISTS (SELECT FROM person o WHERE o.audience = 'merchant' AND o.email = i.invited_by))`,
  `ALTER TABLE invitation ADD COLUMN proves_address boolean NOT NULL DEFAULT false`,
  // How many invitations of a project were made within a day.
  `CREATE INDEX invitation_made ON invitation (project_id, created_at)`,
  // By a keyed hash: the table names no address.
  `CREATE TABLE mail_refusal (
     address_key bytea PRIMARY KEY,
     refused_at timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,
  `CREATE OR REPLACE FUNCTION notifications_due(p_limit integer) RETURNS TABLE (membership_id bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT n.membership_id FROM notification n
    JOIN membership m ON m.id = n.membership_id JOIN event_position p ON p.project_id = m.project_id
    JOIN person r ON r.id = m.person_id AND r.address_proven_at IS NOT NULL
   WHERE n.audience = 'merchant' AND n.kinds <> '{}' AND n.due_at <= clock_timestamp()
     AND (n.lease_until IS NULL OR n.lease_until < clock_timestamp()) AND p.position > n.position
   ORDER BY n.due_at LIMIT p_limit
$$`,
];

const DOWN = [
  `CREATE OR REPLACE FUNCTION notifications_due(p_limit integer) RETURNS TABLE (membership_id bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT n.membership_id FROM notification n
    JOIN membership m ON m.id = n.membership_id JOIN event_position p ON p.project_id = m.project_id
   WHERE n.audience = 'merchant' AND n.kinds <> '{}' AND n.due_at <= clock_timestamp()
     AND (n.lease_until IS NULL OR n.lease_until < clock_timestamp()) AND p.position > n.position
   ORDER BY n.due_at LIMIT p_limit
$$`,
  `DROP TABLE mail_refusal`,
  `DROP INDEX invitation_made`,
  `ALTER TABLE invitation DROP COLUMN proves_address`,
  `ALTER TABLE person DROP COLUMN address_proven_at`,
];

export class ProvenAddresses1760000000078 implements MigrationInterface {
  readonly name = 'ProvenAddresses1760000000078';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
