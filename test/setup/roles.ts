// Login roles of the services under test: one per role and run, so that parallel runs on one server do not change each
// other's passwords.
import type { Role } from '../../src/platform/database/grants.js';
import { asAdmin, fromSetup } from './admin.js';
import { isThroughPooler, limitByRole } from './pooler.js';

const ROLES: readonly Role[] = ['api', 'worker', 'cli', 'sender', 'console_merchant', 'console_operator'];

const loginOf = (prefix: string, role: Role): string => `${prefix}_${role}`;

/** Creates the logins. The group roles (`energy_…`) must exist. */
export async function makeLogins(adminUrl: string, prefix: string, password: string): Promise<void> {
  await asAdmin(adminUrl, async (client) => {
    for (const role of ROLES) {
      await client.query(`CREATE ROLE ${loginOf(prefix, role)} LOGIN PASSWORD '${password}' IN ROLE energy_${role}`);
      if (isThroughPooler()) await limitByRole(client, loginOf(prefix, role), role);
    }
  });
}

/** Returns the logins and their passwords for PgBouncer's user list. */
export function loginPasswords(prefix: string): readonly (readonly [string, string])[] {
  return ROLES.map((role) => [loginOf(prefix, role), fromSetup('TEST_ROLE_PASSWORD')] as const);
}

/** Drops the logins. Call it after dropping the databases: a login holds rights in them. */
export async function dropLogins(adminUrl: string, prefix: string): Promise<void> {
  await asAdmin(adminUrl, async (client) => {
    for (const role of ROLES) await client.query(`DROP ROLE IF EXISTS ${loginOf(prefix, role)}`);
  });
}

/**
 * Returns the same database URL with the login of `role`. A URL with another user or password is returned unchanged.
 */
export function asRole(url: string, role: Role): string {
  const admin = new URL(fromSetup('TEST_DATABASE_URL'));
  if (!URL.canParse(url)) return url;
  const changed = new URL(url);
  if (changed.username !== admin.username || changed.password !== admin.password) return url;
  changed.username = loginOf(fromSetup('TEST_DATABASE_PREFIX'), role);
  changed.password = fromSetup('TEST_ROLE_PASSWORD');
  return changed.href;
}

/** Returns the settings with both database URLs changed to the login of `role`. */
export function envAs<T extends Readonly<Record<string, string | undefined>>>(env: T, role: Role): T {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: direct } = env;
  if (url === undefined) return env;
  return {
    ...env,
    DATABASE_URL: asRole(url, role),
    ...(direct !== undefined && { DATABASE_DIRECT_URL: asRole(direct, role) }),
  };
}
