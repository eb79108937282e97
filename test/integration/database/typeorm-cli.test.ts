// TypeORM's own commands work on the service's DataSource, beside `cli migrate`.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MIGRATION_NAMES } from '../../../src/platform/database/data-source.js';
import { pendingMigrations } from '../../../src/platform/database/migrate.js';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const LIMIT_MS = 120_000;
const name = `energy_typeorm_${randomBytes(4).toString('hex')}`;
let url: string;

beforeAll(async () => {
  const adminUrl = fromSetup('TEST_DATABASE_URL');
  url = databaseUrl(adminUrl, name);
  await asAdmin(adminUrl, (client) => client.query(`CREATE DATABASE ${name}`));
});

afterAll(async () => {
  await asAdmin(fromSetup('TEST_DATABASE_URL'), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
});

async function typeorm(command: string): Promise<string> {
  const args = ['node_modules/typeorm/cli.js', '--dataSource', 'dist/apps/cli/main.typeorm.js', command];
  const env = { PATH: process.env['PATH'], DATABASE_URL: url };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env, timeout: LIMIT_MS });
  return stdout;
}

it(
  'shows, runs and reverts the migrations',
  async () => {
    const newest = MIGRATION_NAMES.at(-1)!;
    expect(await typeorm('migration:show')).toContain(`[ ] ${newest}`);
    expect(await pendingMigrations(url)).toEqual(MIGRATION_NAMES);
    await typeorm('migration:run');
    expect(await typeorm('migration:show')).toMatch(new RegExp(String.raw`\[X\] (?:\d+ )?${newest}`));
    expect(await pendingMigrations(url)).toEqual([]);
    await typeorm('migration:revert');
    expect(await pendingMigrations(url)).toEqual([newest]);
  },
  4 * LIMIT_MS,
);
