// Server programs missing from the embedded Postgres: pg_basebackup and pg_rewind come with an installed Postgres.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ServerUser } from '../../../packages/local/src/postgres-binaries.js';

const NEEDED = ['initdb', 'postgres', 'pg_basebackup', 'pg_rewind'];
const DEBIAN = '/usr/lib/postgresql';
const LIMIT_MS = 120_000;

/** Returns PG_BIN, or the newest version installed by Debian's packages. */
export function binaries(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const given = process.env['PG_BIN'];
  const tried = [...(given === undefined ? [] : [given]), ...versions.map((each) => join(DEBIAN, each, 'bin'))];
  const found = tried.find((dir) => NEEDED.every((name) => existsSync(join(dir, name))));
  if (found !== undefined) return found;
  throw new Error(`no ${NEEDED.join(', ')}: install a Postgres server (Debian: postgresql), or name its bin in PG_BIN`);
}

/** Runs a program to its end as the server's user and returns its output. */
export async function runTool(
  name: string,
  args: readonly string[],
  { user, password }: { readonly user: ServerUser; readonly password: string },
): Promise<string> {
  const { stdout } = await promisify(execFile)(join(binaries(), name), [...args], {
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC', PGPASSWORD: password },
    cwd: '/',
    timeout: LIMIT_MS,
    ...user,
  });
  return stdout;
}

/** Kills a server with all its processes at the same moment, as the loss of its machine does. */
export async function killWithChildren(pid: number): Promise<void> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '--ppid', pid.toString()]).catch(
    (error: unknown) => {
      // Exit code 1 of ps: the process has no children.
      if (error instanceof Error && 'code' in error && error.code === 1) return { stdout: '' };
      throw error;
    },
  );
  for (const each of [pid, ...stdout.split('\n').map(Number)]) {
    try {
      if (each > 1) process.kill(each, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
}
