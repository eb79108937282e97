// The embedded Postgres: it starts from any npm location, keeps data when asked to, and reports why it fails.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  installedBinaries,
  makeServerDir,
  runnableBinaries,
  serverUser,
} from '../../../packages/local/src/postgres-binaries.js';
import { startPostgres } from '../../../packages/local/src/postgres.js';

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'energy-test-'));
});
afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows as unknown[];
  } finally {
    await client.end().catch(() => undefined);
  }
}

test('a durable server waits for the disk, listens on the loopback address alone and has room for 200', async () => {
  const postgres = await startPostgres({ durable: true });
  const settings = await query(
    postgres.url,
    `SELECT name, setting FROM pg_settings WHERE name IN
       ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses', 'max_connections', 'TimeZone')
       ORDER BY name COLLATE "C"`,
  );
  expect(settings).toEqual([
    { name: 'TimeZone', setting: 'UTC' },
    { name: 'fsync', setting: 'on' },
    { name: 'full_page_writes', setting: 'on' },
    { name: 'listen_addresses', setting: '127.0.0.1' },
    { name: 'max_connections', setting: '200' },
    { name: 'synchronous_commit', setting: 'on' },
  ]);
  await expect(query(postgres.url.replace(/:[0-9a-f]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(/password/);
  await postgres.stop();
  await expect(query(postgres.url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
});

test('stored data is there again after a stop and after a crash, under the same address', async () => {
  // The server's user must be able to reach the directory; callers have to ensure the same.
  await chmod(scratch, 0o755);
  const dataDir = join(scratch, 'kept');
  const first = await startPostgres({ durable: true, dataDir });
  await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
  await first.stop();
  const second = await startPostgres({ durable: true, dataDir, port: first.port });
  expect(second.url).toBe(first.url);
  await query(second.url, 'UPDATE kept SET n = n + 1');
  second.signal('SIGKILL');
  await second.stop();
  const third = await startPostgres({ durable: true, dataDir, port: first.port });
  expect(await query(third.url, 'SELECT n FROM kept')).toEqual([{ n: 2 }]);
  await third.stop();
  expect(existsSync(dataDir)).toBe(true);
});

test('a server that cannot start shows its log and leaves nothing behind', async () => {
  // A separate temporary directory, because other servers come and go in the shared one.
  await chmod(scratch, 0o755);
  const temporary = join(scratch, 'tmp');
  await mkdir(temporary);
  const holder = await startPostgres({ durable: false });
  const usual = process.env['TMPDIR'];
  process.env['TMPDIR'] = temporary;
  try {
    await expect(startPostgres({ durable: false, port: holder.port })).rejects.toThrow(/end of its log[^]*could not/);
    expect(await readdir(temporary)).toEqual([]);
  } finally {
    if (usual === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = usual;
    await holder.stop();
  }
});

test('the binaries run from a repository in a closed directory whose install scripts never ran', async () => {
  const closed = join(scratch, 'closed');
  const native = join(closed, 'package', 'native');
  await mkdir(closed, { mode: 0o700 });
  await cp(installedBinaries(), native, { recursive: true, verbatimSymlinks: true });
  for (const name of await readdir(join(native, 'lib'))) {
    // npm packages carry no links, so only names such as libpq.so.5.18 remain.
    if (/^lib(ecpg|ecpg_compat|icu\w+|pgtypes|pq)\.so(\.\d+)?$/.test(name)) await rm(join(native, 'lib', name));
  }
  const user = await serverUser();
  const serverDir = await makeServerDir(user);
  try {
    const runnable = await runnableBinaries(serverDir, user, native);
    const version = execFileSync(join(runnable, 'bin', 'postgres'), ['--version'], {
      encoding: 'utf8',
      cwd: '/',
      ...(user ?? {}),
    });
    expect(version).toMatch(/^postgres \(PostgreSQL\) 18/);
  } finally {
    await rm(serverDir, { recursive: true, force: true });
  }
});
