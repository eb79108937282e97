// An earlier version of the service, built from this repository's history with the installed packages.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = join(ROOT, '.cache', 'upgrade');
const MIGRATIONS = 'src/store/migrations';
const BUILD_LIMIT_MS = 300_000;
const GIT_LIMIT_MS = 60_000;
const run = promisify(execFile);

export interface EarlierBuild {
  /** Contains `dist/`. */
  readonly root: string;
  readonly commit: string;
  readonly remove: () => Promise<void>;
}

/** Returns the last commit before the newest migration, for which today's schema is new. */
export async function beforeNewestMigration(): Promise<string> {
  const newest = (await readdir(join(ROOT, MIGRATIONS))).sort().at(-1) ?? '';
  const came = await git('log', '--diff-filter=A', '--format=%H', '-1', '--', `${MIGRATIONS}/${newest}`);
  if (came === '')
    throw new Error(`the newest migration, ${newest}, is in no commit: name the version before by --from`);
  return `${came}~1`;
}

/** Builds a revision. Throws if it is unknown or does not build with the installed packages. */
export async function builtFrom(revision: string): Promise<EarlierBuild> {
  const commit = await git('rev-parse', '--verify', '--short', '--end-of-options', `${revision}^{commit}`);
  // Inside the repository, so that it resolves the packages.
  await mkdir(CACHE, { recursive: true });
  const root = await mkdtemp(join(CACHE, `${commit}-`));
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true });
  try {
    await run('sh', ['-c', 'git archive "$1" | tar -x -C "$2"', 'sh', commit, root], {
      cwd: ROOT,
      timeout: GIT_LIMIT_MS,
    });
    await run(join(ROOT, 'node_modules/.bin/nest'), ['build'], { cwd: root, timeout: BUILD_LIMIT_MS });
    await run(process.execPath, ['bundle.mjs'], { cwd: root, timeout: BUILD_LIMIT_MS });
    return { root, commit, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function git(...words: string[]): Promise<string> {
  const { stdout } = await run('git', words, { cwd: ROOT, timeout: GIT_LIMIT_MS });
  return stdout.trim();
}
