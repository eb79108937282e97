/**
 * The database roles, one for each process, and the statements that a database lacks. A plan is computed from the
 * catalogue. It can be run, or printed for an administrator if this user lacks the rights.
 */
import { FUNCTION_GRANTS, SEQUENCE_GRANTS } from './function-grants.js';
import type { Access, Columns } from './grant-columns.js';
import { ROLES, TABLE_GRANTS, type Role } from './grants.js';
import type { Queryable } from './database.js';
import { planPolicies } from './row-policies.js';

/** All roles that can have a login. `migrations` owns every object. */
export const ALL_ROLES = ['migrations', ...ROLES] as const;
export type AnyRole = (typeof ALL_ROLES)[number];

/** The name of a role. Roles belong to the whole server, so the prefix avoids collisions. */
export const roleNamed = (role: AnyRole): string => `energy_${role}`;
/** The login of a process, a member of its role. */
export const loginNamed = (role: AnyRole): string => `${roleNamed(role)}_login`;
export const OWNER = roleNamed('migrations');

const SERVICE_LIMITS = { statement_timeout: '15s', idle_in_transaction_session_timeout: '10s' } as const;
/**
 * Settings of each login, unless its connection overrides them. They belong to the login because members do not inherit
 * settings of a role.
 */
export const LOGIN_SETTINGS: Readonly<Record<AnyRole, Readonly<Record<string, string>>>> = {
  // It acts as the owner, so that the owner owns every object it creates.
  migrations: { role: OWNER },
  api: SERVICE_LIMITS,
  worker: SERVICE_LIMITS,
  cli: SERVICE_LIMITS,
  console_merchant: SERVICE_LIMITS,
  console_operator: SERVICE_LIMITS,
  sender: SERVICE_LIMITS,
  reports: {
    statement_timeout: '60s',
    idle_in_transaction_session_timeout: '60s',
    default_transaction_read_only: 'on',
  },
};

/** One right in the catalogue; `on` is the text after ON in GRANT. */
interface Right {
  readonly on: string;
  readonly privilege: string;
  readonly grantee: string;
}

const rightText = ({ on, privilege, grantee }: Right): string => `${privilege} ON ${on} TO ${grantee}`;

// Functions include the rights that PUBLIC has by default.
const RIGHTS = `
  SELECT format('TABLE %s', c.relname) AS on, a.privilege_type AS privilege, a.grantee, c.relowner AS owner
    FROM pg_class c, aclexplode(c.relacl) a
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND c.relname = ANY ($1::text[])
  UNION ALL
  SELECT format('TABLE %s', c.relname), format('%s (%s)', a.privilege_type, t.attname), a.grantee, c.relowner
    FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND NOT t.attisdropped, aclexplode(t.attacl) a
   WHERE c.relnamespace = 'public'::regnamespace AND c.relname = ANY ($1::text[])
  UNION ALL
  SELECT format('FUNCTION %s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)), a.privilege_type, a.grantee, p.proowner
    FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
   WHERE p.pronamespace = 'public'::regnamespace AND p.proname = ANY ($2::text[])
  UNION ALL
  SELECT format('SEQUENCE %s', c.relname), a.privilege_type, a.grantee, c.relowner
    FROM pg_class c, aclexplode(c.relacl) a
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'`;

/** Returns the rights on our tables, sequences and functions of all grantees but the owner, including PUBLIC. */
export async function rightsIn(db: Queryable): Promise<Right[]> {
  const rows = await db.query<Right>(
    [
      `SELECT r.on, r.privilege, CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(r.grantee)::text END AS grantee
         FROM (`,
      RIGHTS,
      `) r WHERE r.grantee <> r.owner ORDER BY 1, 2, 3`,
    ].join(''),
    [Object.keys(TABLE_GRANTS), Object.keys(FUNCTION_GRANTS)],
  );
  return rows.map(({ on, privilege, grantee }) => ({ on, privilege, grantee }));
}

function columnsOf(columns: Columns, all: readonly string[]): readonly string[] {
  if (columns === 'all') return all;
  return 'only' in columns ? columns.only : all.filter((column) => !columns.but.includes(column));
}

function rightsOn(table: string, role: Role, access: Access, all: readonly string[]): Right[] {
  const grantee = roleNamed(role);
  return (['select', 'insert', 'update', 'delete'] as const).flatMap((act) => {
    const columns = access[act];
    if (columns === undefined) return [];
    const privilege = act.toUpperCase();
    if (columns === 'all') return [{ on: `TABLE ${table}`, privilege, grantee }];
    return columnsOf(columns, all).map((column) => ({
      on: `TABLE ${table}`,
      privilege: `${privilege} (${column})`,
      grantee,
    }));
  });
}

/** Returns the rights that this version declares for the tables, sequences and functions that the database has. */
export async function wantedRights(db: Queryable): Promise<Right[]> {
  const tables = await db.query<{ name: string; columns: string[] }>(
    `SELECT c.relname::text AS name, array_agg(t.attname::text ORDER BY t.attnum) AS columns
       FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND t.attnum > 0 AND NOT t.attisdropped
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') GROUP BY c.relname`,
  );
  const functions = await db.query<{ name: string; on: string }>(
    `SELECT proname::text AS name, format('FUNCTION %s(%s)', proname, pg_get_function_identity_arguments(oid)) AS on
       FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'`,
  );
  const sequences = await db.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'`,
  );
  return [
    ...sequences.flatMap(({ name }) =>
      (SEQUENCE_GRANTS[name] ?? []).map((role) => ({
        on: `SEQUENCE ${name}`,
        privilege: 'UPDATE',
        grantee: roleNamed(role),
      })),
    ),
    ...tables.flatMap(({ name, columns }) =>
      Object.entries(TABLE_GRANTS[name] ?? {}).flatMap(([role, access]) =>
        rightsOn(name, role as Role, access, columns),
      ),
    ),
    ...functions.flatMap(({ name, on }) =>
      (FUNCTION_GRANTS[name] ?? []).map((role) => ({ on, privilege: 'EXECUTE', grantee: roleNamed(role) })),
    ),
  ];
}

/** Returns true if `migrate roles` has been run in this database. */
export async function usesRoles(db: Queryable): Promise<boolean> {
  const rows = await db.query(
    `SELECT FROM pg_class WHERE oid = to_regclass('public.migrations') AND pg_get_userbyid(relowner) = $1`,
    [OWNER],
  );
  return rows.length > 0;
}

/**
 * Returns the GRANT and REVOKE statements that bring the rights to the declared ones. Without roles it only revokes the
 * rights of PUBLIC and of our roles. It never changes the rights of other roles.
 */
export async function planGrants(db: Queryable, withRoles: boolean): Promise<string[]> {
  const ours = new Set(['PUBLIC', ...ALL_ROLES.map(roleNamed)]);
  const has = (await rightsIn(db)).filter(({ grantee }) => ours.has(grantee));
  const wants = withRoles ? await wantedRights(db) : [];
  const granted = new Set(has.map(rightText));
  const wanted = new Set(wants.map(rightText));
  return [
    ...has
      .filter((right) => !wanted.has(rightText(right)))
      .map(({ on, privilege, grantee }) => `REVOKE ${privilege} ON ${on} FROM ${grantee}`),
    ...wants.filter((right) => !granted.has(rightText(right))).map((right) => `GRANT ${rightText(right)}`),
  ];
}

/** Two processes may create the role concurrently; the second one's error is ignored. */
const createRole = (name: string, attributes: string): string =>
  `DO $$ BEGIN CREATE ROLE ${name} ${attributes}; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`;

interface Place {
  readonly database: string;
  readonly user: string;
  readonly is_superuser: boolean;
  readonly roles: readonly string[];
  /** `role:member`: memberships in our roles. */
  readonly members: readonly string[];
  readonly public_creates: boolean;
  readonly public_temp: boolean;
  readonly schema_users: readonly string[];
  readonly owner_creates: boolean;
}

const PLACE = `SELECT quote_ident(current_database()) AS database, quote_ident(session_user) AS user,
    (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS is_superuser,
    ARRAY(SELECT rolname::text FROM pg_roles WHERE rolname = ANY ($1::text[])) AS roles,
    ARRAY(SELECT format('%s:%s', r.rolname, m.rolname) FROM pg_auth_members x
            JOIN pg_roles r ON r.oid = x.roleid JOIN pg_roles m ON m.oid = x.member WHERE r.rolname = ANY ($1::text[])) AS members,
    EXISTS (SELECT FROM acl WHERE grantee = 0 AND privilege_type = 'CREATE') AS public_creates,
    EXISTS (SELECT FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
             WHERE d.datname = current_database() AND a.grantee = 0 AND a.privilege_type = 'TEMPORARY') AS public_temp,
    ARRAY(SELECT rolname::text FROM acl JOIN pg_roles ON oid = grantee WHERE privilege_type = 'USAGE') AS schema_users,
    EXISTS (SELECT FROM acl JOIN pg_roles ON oid = grantee WHERE rolname = $2 AND privilege_type = 'CREATE') AS owner_creates
  FROM (SELECT) one`;
const SCHEMA_ACL = `WITH acl AS (SELECT a.* FROM pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    WHERE n.nspname = 'public') `;

/** A login to create, or to give a new password. */
export interface Login {
  readonly role: AnyRole;
  /** The verifier stored in pg_authid (scramVerifier), so that no statement log contains a password. */
  readonly verifier: string;
}

/**
 * Returns the statements, in order, that hand this database to the roles: roles, rights to create, owners, rights,
 * row-level security, logins. If all of it is done already, only the passwords remain. Executes nothing.
 */
export async function planRoles(db: Queryable, logins: readonly Login[]): Promise<string[]> {
  const names = [...ALL_ROLES.map(roleNamed), ...ALL_ROLES.map(loginNamed)];
  const [place] = await db.query<Place>([SCHEMA_ACL, PLACE].join(''), [names, OWNER]);
  if (place === undefined) throw new Error('the database does not say what it is');
  const groups = ALL_ROLES.map(roleNamed);
  return [
    ...groups.filter((name) => !place.roles.includes(name)).map((name) => createRole(name, 'NOLOGIN')),
    // The user that creates the owner's objects must be a member of the owner; a superuser always may.
    ...(place.is_superuser || place.members.includes(`${OWNER}:${place.user}`)
      ? []
      : [`GRANT ${OWNER} TO ${place.user}`]),
    ...(place.public_creates ? ['REVOKE CREATE ON SCHEMA public FROM PUBLIC'] : []),
    // A temporary table hides ours of the same name, also from the guards that read ours.
    ...(place.public_temp ? [`REVOKE TEMPORARY ON DATABASE ${place.database} FROM PUBLIC`] : []),
    ...groups
      .filter((name) => !place.schema_users.includes(name))
      .map((name) => `GRANT USAGE ON SCHEMA public TO ${name}`),
    ...(place.owner_creates ? [] : [`GRANT CREATE ON SCHEMA public TO ${OWNER}`]),
    ...(await planOwners(db)),
    ...(await planGrants(db, true)),
    ...(await planPolicies(db, true)),
    ...(await planLogins(db, logins, place)),
  ];
}

async function planOwners(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ statement: string }>(
    `SELECT format('ALTER TABLE %s OWNER TO %s', relname, $3::text) AS statement FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v')
        AND (relname = ANY ($1::text[]) OR relname ~ '^archived_(orders|leg|chain_tx)_[0-9]+$')
        AND pg_get_userbyid(relowner) <> $3
     UNION ALL
     SELECT format('ALTER FUNCTION %s(%s) OWNER TO %s', proname, pg_get_function_identity_arguments(oid), $3::text) FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace AND proname = ANY ($2::text[]) AND pg_get_userbyid(proowner) <> $3
      ORDER BY 1`,
    [Object.keys(TABLE_GRANTS), Object.keys(FUNCTION_GRANTS), OWNER],
  );
  return rows.map(({ statement }) => statement);
}

async function planLogins(db: Queryable, logins: readonly Login[], place: Place): Promise<string[]> {
  const settings = await db.query<{ line: string }>(
    `SELECT format('%s %s', r.rolname, unnest(s.setconfig)) AS line
       FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole WHERE s.setdatabase = 0`,
  );
  const has = new Set(settings.map(({ line }) => line));
  return logins.flatMap(({ role, verifier }) => {
    const [group, login] = [roleNamed(role), loginNamed(role)];
    return [
      ...(place.roles.includes(login) ? [] : [createRole(login, 'LOGIN')]),
      ...(place.members.includes(`${group}:${login}`) ? [] : [`GRANT ${group} TO ${login}`]),
      ...Object.entries(LOGIN_SETTINGS[role])
        .filter(([name, value]) => !has.has(`${login} ${name}=${value}`))
        .map(([name, value]) => ['ALTER ROLE', login, 'SET', name, '=', `'${value}'`].join(' ')),
      // A verifier holds base64, colons and dollars only, so that it cannot end the literal.
      ['ALTER ROLE', login, 'PASSWORD', `'${verifier}'`].join(' '),
    ];
  });
}
