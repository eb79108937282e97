/**
 * A merchants' console is told which projects of a person are test projects, to mark their pages. console_projects stays
 * for processes of the version before.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE FUNCTION console_memberships(p_person uuid)
  RETURNS TABLE (id uuid, name text, role text, frozen boolean, test boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.id, p.name, m.role, a.frozen, p.test
    FROM membership m JOIN project p ON p.id = m.project_id JOIN credit_account a ON a.project_id = p.id
   WHERE m.person_id = p_person ORDER BY p.name, p.id LIMIT 1000
$$`,
  `REVOKE EXECUTE ON FUNCTION console_memberships FROM PUBLIC`,
];

export class ConsoleMemberships1760000000063 implements MigrationInterface {
  readonly name = 'ConsoleMemberships1760000000063';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION console_memberships(uuid)`);
  }
}
