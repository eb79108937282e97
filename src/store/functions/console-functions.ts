/**
 * What the consoles' roles see: row-level security asks who is connected, not what a process says of itself. And what a
 * console is notified of projects whose rows it does not read for it: their names and states, by membership.
 */

/**
 * The audience of the console that is connected, NULL for every other process. By the roles of the login, which no
 * statement can change; a login with both roles is a merchant's, which sees less.
 */
const CONSOLE_AUDIENCE_SQL = `
CREATE OR REPLACE FUNCTION console_audience() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT min(replace(r.rolname, 'energy_console_', '')) FROM pg_roles r
   WHERE r.rolname IN ('energy_console_merchant', 'energy_console_operator')
     AND (r.rolname IN (session_user, current_user)
          OR EXISTS (SELECT FROM pg_auth_members a JOIN pg_roles u ON u.oid = a.member
                      WHERE a.roleid = r.oid AND u.rolname IN (session_user, current_user)))
$$`;

/** Tells every console process to end what it streams to a session. */
const CONSOLE_SESSION_ENDED_SQL = `
CREATE OR REPLACE FUNCTION console_session_ended() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('console_session_ended', OLD.id::text);
     RETURN NULL;
   END $$`;

/** The projects of a person, for the switcher of the console. */
const CONSOLE_MEMBERSHIPS_SQL = `
CREATE OR REPLACE FUNCTION console_memberships(p_person uuid)
  RETURNS TABLE (id uuid, name text, role text, frozen boolean, test boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.id, p.name, m.role, a.frozen, p.test
    FROM membership m JOIN project p ON p.id = m.project_id JOIN credit_account a ON a.project_id = p.id
   WHERE m.person_id = p_person ORDER BY p.name, p.id LIMIT 1000
$$`;

/** The same without test: what the version before calls. */
const CONSOLE_PROJECTS_SQL = `
CREATE OR REPLACE FUNCTION console_projects(p_person uuid)
  RETURNS TABLE (id uuid, name text, role text, frozen boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.id, p.name, m.role, a.frozen
    FROM membership m JOIN project p ON p.id = m.project_id JOIN credit_account a ON a.project_id = p.id
   WHERE m.person_id = p_person ORDER BY p.name, p.id LIMIT 1000
$$`;

/** The name of the project that an invitation is to, for who holds its token. */
const CONSOLE_INVITED_TO_SQL = `
CREATE OR REPLACE FUNCTION console_invited_to(p_token_hash bytea) RETURNS text
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.name FROM invitation i JOIN project p ON p.id = i.project_id WHERE i.token_hash = p_token_hash
$$`;

/** When operators looked at a project, for one of its owners: by the session that asks. */
const CONSOLE_LOOKS_SQL = `
CREATE OR REPLACE FUNCTION console_looks(p_session uuid, p_project uuid)
  RETURNS TABLE (at timestamptz, actor text, what text)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.at, l.actor, l.detail ->> 'what' FROM audit_log l
   WHERE l.subject = p_project::text AND l.action = 'console.look'
     AND EXISTS (SELECT FROM console_session s JOIN membership m ON m.person_id = s.person_id
                  WHERE s.id = p_session AND s.stage = 'signed_in'
                    AND (m.project_id = p_project AND m.role = 'owner' OR m.role = 'admin'))
   ORDER BY l.id DESC LIMIT 200
$$`;

/** Whose log has gone on since they were notified last, for the console that mails merchants: by membership, and no more. */
const NOTIFICATIONS_DUE_SQL = `
CREATE OR REPLACE FUNCTION notifications_due(p_limit integer) RETURNS TABLE (membership_id bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT n.membership_id FROM notification n
    JOIN membership m ON m.id = n.membership_id JOIN event_position p ON p.project_id = m.project_id
    JOIN person r ON r.id = m.person_id AND r.address_proven_at IS NOT NULL
   WHERE n.audience = 'merchant' AND n.kinds <> '{}'
     AND (n.due_at <= clock_timestamp() OR n.due_at > clock_timestamp() + interval '4401 seconds')
     AND (n.lease_until IS NULL OR n.lease_until < clock_timestamp() OR n.lease_until > clock_timestamp() + interval '181 seconds')
     AND p.position > n.position
   ORDER BY n.due_at LIMIT p_limit
$$`;

export const CONSOLE_FUNCTIONS: Readonly<Record<string, string>> = {
  console_audience: CONSOLE_AUDIENCE_SQL,
  console_session_ended: CONSOLE_SESSION_ENDED_SQL,
  console_memberships: CONSOLE_MEMBERSHIPS_SQL,
  console_projects: CONSOLE_PROJECTS_SQL,
  console_invited_to: CONSOLE_INVITED_TO_SQL,
  console_looks: CONSOLE_LOOKS_SQL,
  notifications_due: NOTIFICATIONS_DUE_SQL,
};
