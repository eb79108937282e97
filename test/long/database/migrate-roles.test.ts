// Roles and logins made by `migrate roles`, on a separate server, because roles belong to a whole server.
import { randomBytes } from 'node:crypto';
import { ALL_ROLES, LOGIN_SETTINGS, roleNamed } from '../../../src/platform/database/roles.js';
import type { QueryRunner } from 'typeorm';
import { FUNCTIONS } from '../../../src/platform/database/expected-schema.js';
import { migrateUp } from '../../../src/platform/database/migrate.js';
import { startPostgres, type Postgres } from '../../../packages/local/src/postgres.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { asAdmin, databaseUrl } from '../../setup/admin.js';

/** A newer version's migration, which makes a function that roles may call. */
class ProjectActs1760000000999 {
  readonly name = 'ProjectActs1760000000999';
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(FUNCTIONS['project_acts']!);
  }
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION project_acts');
  }
}

describe('migrate roles', () => {
  const MASTER_KEY = randomBytes(32).toString('base64');
  const password = (): string => randomBytes(16).toString('hex');
  let postgres: Postgres;
  let made = 0;

  beforeAll(async () => {
    postgres = await startPostgres({ durable: false });
  });

  afterAll(async () => {
    await postgres.stop();
  });

  async function newDatabase(options = ''): Promise<string> {
    made += 1;
    const name = `roles_${made.toString()}`;
    await asAdmin(postgres.url, (client) => client.query(`CREATE DATABASE ${name} ${options}`));
    return databaseUrl(postgres.url, name);
  }

  const as = (url: string, user: string, secret: string): string => {
    const changed = new URL(url);
    [changed.username, changed.password] = [user, secret];
    return changed.href;
  };

  const cli = (url: string, env: Record<string, string> = {}): Cli => cliWith(settings(url, { MASTER_KEY, ...env }));
  const rolesOf = (url: string) =>
    asAdmin(url, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT rolname AS name FROM pg_roles WHERE rolname LIKE 'energy\\_%' ORDER BY 1`,
      );
      return rows.map(({ name }) => name);
    });

  it('is not needed: a database that was only migrated belongs to its user, who may do everything, and nobody else may call its functions', async () => {
    const url = await newDatabase();
    expect((await cli(url)('migrate')).code).toBe(0);
    expect(await rolesOf(url)).toEqual([]);
    await asAdmin(url, async (client) => {
      const { rows } = await client.query(
        `SELECT DISTINCT proname FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) a
          WHERE pronamespace = 'public'::regnamespace AND a.grantee = 0`,
      );
      expect(rows).toEqual([]);
    });
  });

  it('prints no statements for tables that do not exist yet', async () => {
    const answer = await cli(await newDatabase())('migrate', 'roles', '--sql');
    expect(answer).toMatchObject({ code: 1 });
    expect(answer.err).toContain('Run `migrate` first');
  });

  it('creates roles and logins, does nothing the second time, and grants what a newer version brings', async () => {
    const url = await newDatabase();
    const secrets = { api: password(), reports: password(), migrations: password() };
    const env = {
      DATABASE_PASSWORD_API: secrets.api,
      DATABASE_PASSWORD_REPORTS: secrets.reports,
      DATABASE_PASSWORD_MIGRATIONS: secrets.migrations,
    };
    expect(await cli(url, env)('migrate', 'roles', '--login')).toMatchObject({ code: 0, err: '' });
    expect(await rolesOf(url)).toEqual(
      [...ALL_ROLES.map(roleNamed), 'energy_api_login', 'energy_migrations_login', 'energy_reports_login'].sort(),
    );
    expect((await cli(url)('--json', 'migrate', 'roles')).json()).toMatchObject({ statements: 0, logins: [] });
    expect((await cli(url)('migrate', 'roles', '--sql')).out).toBe('-- Nothing to do.\n');

    const api = as(url, 'energy_api_login', secrets.api);
    await asAdmin(api, async (client) => {
      await client.query('SELECT FROM orders');
      await expect(client.query('SELECT key_sealed FROM pool_wallet')).rejects.toMatchObject({ code: '42501' });
    });
    await expect(asAdmin(as(url, 'energy_api_login', password()), () => Promise.resolve())).rejects.toThrow(/password/);
    // Later migrations run under the owner's login, and the owner owns their objects.
    const migrations = as(url, 'energy_migrations_login', secrets.migrations);
    await asAdmin(url, (client) =>
      client.query(`DROP FUNCTION project_acts; GRANT DELETE ON orders TO energy_api;
      REVOKE SELECT ON leg FROM energy_worker; ALTER TABLE project DISABLE TRIGGER ALL`),
    );
    expect(await migrateUp(migrations, { later: [ProjectActs1760000000999] })).toEqual(['ProjectActs1760000000999']);
    expect((await cli(url)('migrate', 'roles', '--sql')).out).toBe('-- Nothing to do.\n');
  });

  it('leaves migrations to the owner’s login, which sees the connected sessions', async () => {
    const url = await newDatabase();
    const name = new URL(url).pathname.slice(1);
    const secrets = { api: password(), migrations: password() };
    const env = { DATABASE_PASSWORD_API: secrets.api, DATABASE_PASSWORD_MIGRATIONS: secrets.migrations };
    expect((await cli(url, env)('migrate', 'roles', '--login')).code).toBe(0);
    const api = as(url, 'energy_api_login', secrets.api);
    const refused = await cli(api)('migrate');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('permission denied to set role "energy_migrations"');
    const owner = cli(as(url, 'energy_migrations_login', secrets.migrations));
    const down = () => owner('--yes', 'migrate', 'down', '--database', name);
    await asAdmin(api, async (client) => {
      await client.query(`SET application_name = 'energy-api'`);
      expect((await down()).err).toContain('The service is running (energy-api)');
    });
    expect(await down()).toMatchObject({ code: 0, err: '' });
    expect(await owner('migrate')).toMatchObject({ code: 0, err: '' });
    expect((await cli(url)('migrate', 'roles', '--sql')).out).toBe('-- Nothing to do.\n');
  });

  it('limits a login by its settings', async () => {
    const url = await newDatabase();
    const secret = password();
    await cli(url, { DATABASE_PASSWORD_REPORTS: secret })('migrate', 'roles', '--login');
    await asAdmin(as(url, 'energy_reports_login', secret), async (client) => {
      for (const [name, value] of Object.entries(LOGIN_SETTINGS.reports)) {
        const { rows } = await client.query<{ is: boolean }>(
          `SELECT CASE WHEN $2::text ~ '^[0-9]' THEN current_setting($1)::interval = $2::interval
                       ELSE current_setting($1) = $2 END AS is`,
          [name, value],
        );
        expect([name, rows]).toEqual([name, [{ is: true }]]);
      }
    });
  });

  it('sends no password in clear to the server', async () => {
    const url = await newDatabase();
    const secret = password();
    await cli(url)('migrate');
    await asAdmin(url, (client) =>
      client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET log_statement = 'all'`),
    );
    expect((await cli(url, { DATABASE_PASSWORD_WORKER: secret })('migrate', 'roles', '--login')).code).toBe(0);
    expect(postgres.tail()).toContain('ALTER ROLE energy_worker_login PASSWORD');
    expect(postgres.tail()).not.toContain(secret);
  });

  it.each([
    [{}, 'No password is set'],
    [{ DATABASE_PASSWORD_API: 'short' }, 'at least 16'],
    [{ DATABASE_PASSWORD_API: `Straßenbahn-${password()}` }, 'visible ASCII'],
    [{ DATABASE_PASSWORD_API_FILE: '/nowhere/at/all' }, 'DATABASE_PASSWORD_API_FILE: '],
    [{ DATABASE_PASSWORD_API: password(), DATABASE_PASSWORD_API_FILE: '/nowhere' }, 'are both set'],
  ])('refuses passwords %j', async (env, says) => {
    const url = await newDatabase();
    await cli(url)('migrate');
    const answer = await cli(url, env)('migrate', 'roles', '--login');
    expect(answer.code).toBe(2);
    expect(answer.err).toContain(says);
  });

  it('changes nothing where the user may not create roles, and prints what an administrator has to run', async () => {
    const secret = password();
    await asAdmin(postgres.url, async (client) => {
      await client.query(`CREATE ROLE plain LOGIN PASSWORD '${secret}'`);
      for (const role of await rolesOf(postgres.url)) {
        await client.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER`).catch(() => undefined);
      }
    });
    const url = await newDatabase('OWNER plain');
    const plain = as(url, 'plain', secret);
    expect((await cli(plain)('migrate')).code).toBe(0);
    await asAdmin(plain, (client) => client.query('SELECT add_archive_range(0)'));
    const refused = await cli(plain)('migrate', 'roles');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('migrate roles --sql');
    const { out } = await cli(plain)('migrate', 'roles', '--sql');
    expect(out).toContain('ALTER TABLE orders OWNER TO energy_migrations');
    expect(out).toContain('ALTER TABLE archived_orders_0 OWNER TO energy_migrations');
    await asAdmin(url, (client) => client.query(out));
    expect((await cli(url)('migrate', 'roles', '--sql')).out).toBe('-- Nothing to do.\n');
    expect(await cli(plain)('migrate')).toMatchObject({ code: 0, err: '' });
  });

  it('works with a single user who may create roles and owns the database', async () => {
    const server = await startPostgres({ durable: false });
    try {
      const secret = password();
      await asAdmin(server.url, async (client) => {
        await client.query(`CREATE ROLE maker LOGIN CREATEROLE PASSWORD '${secret}'`);
        await client.query('CREATE DATABASE made OWNER maker');
      });
      const url = as(databaseUrl(server.url, 'made'), 'maker', secret);
      const api = password();
      expect((await cli(url)('migrate')).code).toBe(0);
      expect(await cli(url, { DATABASE_PASSWORD_API: api })('migrate', 'roles', '--login')).toMatchObject({
        err: '',
        code: 0,
      });
      expect((await cli(url)('migrate', 'roles', '--sql')).out).toBe('-- Nothing to do.\n');
      expect(await migrateUp(url)).toEqual([]);
      await asAdmin(as(url, 'energy_api_login', api), (client) => client.query('SELECT FROM orders'));
    } finally {
      await server.stop();
    }
  });
});
