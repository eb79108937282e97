/** Up to ten API keys of a project, each with what it may do. The first one, the primary, is its project's own. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // The primary's id is its project's, under which it is sealed. What it spent of its cap is beside the cap, and few rows
  // of a page are many versions of one: half of it stays free.
  `CREATE TABLE api_key (
     id uuid PRIMARY KEY,
     project_id uuid NOT NULL REFERENCES project (id),
     name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
     scopes text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ '{read,quote,order,manage}'),
     allowed_sources text[] NOT NULL DEFAULT '{}',
     sealed bytea NOT NULL,
     previous_sealed bytea,
     previous_until timestamptz,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     revoked_at timestamptz,
     last_used_at timestamptz,
     daily_cap_credits bigint CHECK (daily_cap_credits >= 0),
     spent_on date NOT NULL DEFAULT '1970-01-01',
     spent_credits bigint NOT NULL DEFAULT 0,
     CHECK ((previous_sealed IS NULL) = (previous_until IS NULL)),
     CHECK (id <> project_id OR scopes @> '{read,quote,order,manage}')
   ) WITH (fillfactor=50)`,
  // Whatever is asked of keys is asked by project.
  `CREATE INDEX api_key_project ON api_key (project_id)`,
  `INSERT INTO api_key (id, project_id, name, scopes, sealed, created_at)
   SELECT id, id, 'primary', '{read,quote,order,manage}', api_key_sealed, created_at FROM project`,
  // The version before makes and rotates the primary in the project's row, and reads it there.
  `CREATE OR REPLACE FUNCTION project_primary_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       INSERT INTO api_key (id, project_id, name, scopes, sealed)
       VALUES (NEW.id, NEW.id, 'primary', '{read,quote,order,manage}', NEW.api_key_sealed);
     ELSE
       UPDATE api_key SET sealed = NEW.api_key_sealed WHERE id = NEW.id;
     END IF;
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION project_primary_key() FROM PUBLIC`,
  `CREATE TRIGGER project_primary_key AFTER INSERT OR UPDATE OF api_key_sealed ON project FOR EACH ROW EXECUTE FUNCTION project_primary_key()`,
  `CREATE TRIGGER api_key_announced AFTER INSERT OR UPDATE OF name, scopes, allowed_sources, sealed, previous_sealed, previous_until, revoked_at
   ON api_key FOR EACH ROW EXECUTE FUNCTION announce_project('project_id')`,
  `CREATE TRIGGER api_key_kept BEFORE DELETE ON api_key FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER api_key_no_truncate BEFORE TRUNCATE ON api_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

const DOWN = [
  `DROP TRIGGER project_primary_key ON project`,
  `DROP FUNCTION project_primary_key()`,
  `DROP TABLE api_key`,
];

export class ApiKeys1760000000014 implements MigrationInterface {
  readonly name = 'ApiKeys1760000000014';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
