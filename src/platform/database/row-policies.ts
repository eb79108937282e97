/**
 * Row-level security for merchants' consoles, if roles are used: such a console sees its project's rows, every other
 * role sees all. The owner is exempt. The plan is computed from the catalogue, like the rights (roles.ts).
 */
import { ROLES, TABLE_GRANTS, type Role } from './grants.js';
import { MERCHANT_TABLES } from './merchant-grants.js';
import type { Queryable } from './database.js';

const roleNamed = (role: Role): string => `energy_${role}`;
const MERCHANT = roleNamed('console_merchant');

/** One policy in the catalogue. */
interface Policy {
  readonly table: string;
  readonly name: string;
  /** Names, sorted and joined. */
  readonly roles: string;
  readonly using: string;
}

const policyText = ({ table, name, roles, using }: Policy): string => `${table} ${name} ${roles} ${using}`;

/** Returns the policies of our tables that this file manages; migrations manage any others. */
export async function policiesIn(db: Queryable): Promise<Policy[]> {
  const rows = await db.query<Policy & { check: string | null; command: string }>(
    `SELECT c.relname::text AS "table", p.polname::text AS name, p.polcmd::text AS command,
            (SELECT string_agg(r.rolname::text, ', ' ORDER BY r.rolname) FROM pg_roles r WHERE r.oid = ANY (p.polroles)) AS roles,
            pg_get_expr(p.polqual, p.polrelid) AS using, pg_get_expr(p.polwithcheck, p.polrelid) AS check
       FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
      WHERE c.relnamespace = 'public'::regnamespace AND p.polname = ANY ($1::text[]) ORDER BY 1, 2`,
    [[PROJECT_POLICY, SERVICE_POLICY]],
  );
  return rows.map(({ table, name, roles, using }) => ({ table, name, roles, using }));
}

const PROJECT_POLICY = 'project_rows';
const SERVICE_POLICY = 'service_rows';

/** The policy for the other roles that may use the table: all of its rows. */
function othersOn(table: string): string {
  const roles = ROLES.filter((role) => role !== 'console_merchant' && TABLE_GRANTS[table]?.[role] !== undefined);
  return roles.map(roleNamed).sort().join(', ');
}

export function wantedPolicies(): Policy[] {
  return Object.entries(MERCHANT_TABLES)
    .flatMap(([table, { rows: using }]) => [
      { table, name: PROJECT_POLICY, roles: MERCHANT, using },
      { table, name: SERVICE_POLICY, roles: othersOn(table), using: 'true' },
    ])
    .sort((a, b) => (policyText(a) < policyText(b) ? -1 : 1));
}

/** Returns the statements that bring the existing tables to the declared policies; none without roles. */
export async function planPolicies(db: Queryable, withRoles: boolean): Promise<string[]> {
  if (!withRoles) return [];
  const tables = await db.query<{ name: string; secured: boolean }>(
    `SELECT relname::text AS name, relrowsecurity AS secured FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname = ANY ($1::text[])`,
    [Object.keys(MERCHANT_TABLES)],
  );
  const present = new Set(tables.map(({ name }) => name));
  const has = await policiesIn(db);
  const wants = wantedPolicies().filter(({ table }) => present.has(table));
  const had = new Set(has.map(policyText));
  const wanted = new Set(wants.map(policyText));
  return [
    ...has
      .filter((policy) => !wanted.has(policyText(policy)))
      .map(({ name, table }) => ['DROP POLICY', name, 'ON', table].join(' ')),
    ...wants
      .filter((policy) => !had.has(policyText(policy)))
      .map(({ name, table, roles, using }) =>
        ['CREATE POLICY', name, 'ON', table, 'TO', roles, 'USING (', using, ')'].join(' '),
      ),
    // Last, so that no rows are hidden before the policies exist.
    ...tables
      .filter(({ secured }) => !secured)
      .map(({ name }) => ['ALTER TABLE', name, 'ENABLE ROW LEVEL SECURITY'].join(' ')),
  ];
}
