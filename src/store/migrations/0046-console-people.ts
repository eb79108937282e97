/** The people who sign in to the consoles, what they may, and their sessions. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE OR REPLACE FUNCTION console_audience() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT min(replace(r.rolname, 'energy_console_', '')) FROM pg_roles r
   WHERE r.rolname IN ('energy_console_merchant', 'energy_console_operator')
     AND (r.rolname IN (session_user, current_user)
          OR EXISTS (SELECT FROM pg_auth_members a JOIN pg_roles u ON u.oid = a.member
                      WHERE a.roleid = r.oid AND u.rolname IN (session_user, current_user)))
$$`,
  `CREATE OR REPLACE FUNCTION console_session_ended() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('console_session_ended', OLD.id::text);
     RETURN NULL;
   END $$`,
  // One audience each: who signs in to one console can do nothing in the other.
  `CREATE TABLE person (
     id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
     audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
     email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
     password_hash text NOT NULL,
     password_changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     totp_sealed bytea,
     totp_since timestamptz CHECK ((totp_since IS NULL) = (totp_sealed IS NULL)),
     totp_step bigint NOT NULL DEFAULT 0,
     credentials integer NOT NULL DEFAULT 1,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     CONSTRAINT person_email UNIQUE (audience, email),
     -- What the rows of a person refer to, so that theirs is the same audience.
     CONSTRAINT person_audience UNIQUE (id, audience)
   )`,
  `CREATE TABLE membership (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     person_id uuid NOT NULL,
     audience text NOT NULL,
     project_id uuid REFERENCES project (id),
     role text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     FOREIGN KEY (person_id, audience) REFERENCES person (id, audience),
     CHECK ((audience = 'operator') = (project_id IS NULL)),
     CONSTRAINT membership_role CHECK (CASE audience WHEN 'operator' THEN role IN ('admin', 'support') ELSE role IN ('owner', 'member') END)
   )`,
  // One role of a person in a project, and among the operators.
  `CREATE UNIQUE INDEX membership_project ON membership (project_id, person_id) WHERE project_id IS NOT NULL`,
  `CREATE UNIQUE INDEX membership_operator ON membership (person_id) WHERE project_id IS NULL`,
  // What a person is in, at every request.
  `CREATE INDEX membership_person ON membership (person_id)`,
  `CREATE TABLE invitation (
     id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
     token_hash bytea NOT NULL UNIQUE,
     audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
     email text NOT NULL,
     project_id uuid REFERENCES project (id),
     role text NOT NULL,
     invited_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     expires_at timestamptz NOT NULL,
     accepted_at timestamptz,
     revoked_at timestamptz,
     CHECK ((audience = 'operator') = (project_id IS NULL)),
     CONSTRAINT invitation_role CHECK (CASE audience WHEN 'operator' THEN role IN ('admin', 'support') ELSE role IN ('owner', 'member') END)
   )`,
  // The open ones of a project, or of the operators.
  `CREATE INDEX invitation_open ON invitation (project_id, expires_at) WHERE accepted_at IS NULL AND revoked_at IS NULL`,
  `CREATE TABLE console_session (
     id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
     token_hash bytea NOT NULL UNIQUE,
     audience text NOT NULL,
     person_id uuid NOT NULL,
     stage text NOT NULL CHECK (stage IN ('second_factor', 'enrol', 'signed_in')),
     wrong_codes smallint NOT NULL DEFAULT 0,
     pending_totp_sealed bytea,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     authenticated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     source_address text NOT NULL,
     user_agent text NOT NULL,
     FOREIGN KEY (person_id, audience) REFERENCES person (id, audience)
   )`,
  `CREATE INDEX console_session_person ON console_session (person_id, created_at)`,
  // What has ended by itself is deleted by age.
  `CREATE INDEX console_session_seen ON console_session (seen_at)`,
  `CREATE TABLE recovery_code (
     code_hash bytea PRIMARY KEY,
     person_id uuid NOT NULL,
     audience text NOT NULL,
     FOREIGN KEY (person_id, audience) REFERENCES person (id, audience)
   )`,
  `CREATE INDEX recovery_code_person ON recovery_code (person_id)`,
  // Named by a keyed hash of what is counted: the table tells no account, device or address.
  `CREATE TABLE sign_in_guess (
     key bytea PRIMARY KEY,
     guesses integer NOT NULL,
     window_ends timestamptz NOT NULL
   )`,
  `CREATE INDEX sign_in_guess_ends ON sign_in_guess (window_ends)`,
  `CREATE TRIGGER console_session_ended AFTER DELETE ON console_session FOR EACH ROW EXECUTE FUNCTION console_session_ended()`,
  `ALTER TABLE person ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY person_of_audience ON person
     USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant')`,
  `ALTER TABLE membership ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY membership_of_audience ON membership
     USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant')`,
  `ALTER TABLE invitation ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY invitation_of_audience ON invitation
     USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant')`,
  `ALTER TABLE console_session ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY console_session_of_audience ON console_session
     USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant')`,
  `ALTER TABLE recovery_code ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY recovery_code_of_audience ON recovery_code
     USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant')`,
  `CREATE OR REPLACE FUNCTION console_projects(p_person uuid)
  RETURNS TABLE (id uuid, name text, role text, frozen boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.id, p.name, m.role, a.frozen
    FROM membership m JOIN project p ON p.id = m.project_id JOIN credit_account a ON a.project_id = p.id
   WHERE m.person_id = p_person ORDER BY p.name, p.id LIMIT 1000
$$`,
  `CREATE OR REPLACE FUNCTION console_invited_to(p_token_hash bytea) RETURNS text
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.name FROM invitation i JOIN project p ON p.id = i.project_id WHERE i.token_hash = p_token_hash
$$`,
  `CREATE OR REPLACE FUNCTION console_looks(p_session uuid, p_project uuid)
  RETURNS TABLE (at timestamptz, actor text, what text)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.at, l.actor, l.detail ->> 'what' FROM audit_log l
   WHERE l.subject = p_project::text AND l.action = 'console.look'
     AND EXISTS (SELECT FROM console_session s JOIN membership m ON m.person_id = s.person_id
                  WHERE s.id = p_session AND s.stage = 'signed_in'
                    AND (m.project_id = p_project AND m.role = 'owner' OR m.role = 'admin'))
   ORDER BY l.id DESC LIMIT 200
$$`,
  `REVOKE EXECUTE ON FUNCTION console_audience, console_session_ended, console_projects, console_invited_to, console_looks
     FROM PUBLIC`,
];

export class ConsolePeople1760000000046 implements MigrationInterface {
  readonly name = 'ConsolePeople1760000000046';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION console_looks, console_invited_to, console_projects`);
    await runner.query(`DROP TABLE sign_in_guess, recovery_code, console_session, invitation, membership, person`);
    await runner.query(`DROP FUNCTION console_session_ended, console_audience`);
  }
}
