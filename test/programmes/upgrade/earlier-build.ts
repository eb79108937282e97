// An earlier version of the service, built from this repository's history with the installed packages.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { copyOfBuild, type Build } from '../chaos/workspace.js';
import { buildWithRehearsal } from './rehearsal.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CACHE = join(ROOT, '.cache', 'upgrade');
const MIGRATIONS = 'src/platform/database/migrations';
const BUILD_LIMIT_MS = 300_000;
const GIT_LIMIT_MS = 60_000;
const run = promisify(execFile);

/** The versions before and after the newest migration. */
interface Upgrade {
  /** A description of the version before. */
  readonly from: string;
  readonly before: Build;
  readonly after: Build;
  readonly remove: () => Promise<void>;
}

/**
 * Builds the version before the newest migration, or `revision`, and copies the current build. While the baseline is
 * the only migration, the current build is the version before, and the version after has one migration more.
 */
export async function buildsOfUpgrade(revision?: string): Promise<Upgrade> {
  const earlier = revision ?? (await beforeNewestMigration());
  const before = earlier === undefined ? await copyOfBuild() : await builtFrom(earlier);
  try {
    const after = earlier === undefined ? await buildWithRehearsal() : await copyOfBuild();
    const remove = async (): Promise<void> => {
      await before.remove();
      await after.remove();
    };
    return { from: earlier ?? 'the build without the rehearsed migration', before, after, remove };
  } catch (error) {
    await before.remove();
    throw error;
  }
}

/**
 * Returns the commit before the one that added the newest migration. Returns undefined if the newest is the baseline,
 * because no version precedes it.
 */
async function beforeNewestMigration(): Promise<string | undefined> {
  const all = (await readdir(join(ROOT, MIGRATIONS))).filter((name) => name.endsWith('.ts')).sort();
  const newest = all.at(-1) ?? '';
  if (all.length < 2) return undefined;
  const came = await git('log', '--diff-filter=A', '--format=%H', '-1', '--', `${MIGRATIONS}/${newest}`);
  if (came === '') {
    throw new Error(`The newest migration, ${newest}, is in no commit. Name the version before by --from.`);
  }
  return `${came}~1`;
}

/** Returns the build in a folder, or builds a revision. */
export async function openBuild(folderOrRevision: string): Promise<Build> {
  const dist = join(folderOrRevision, 'dist');
  if (!existsSync(join(dist, 'bundle'))) return builtFrom(folderOrRevision);
  return { root: resolve(folderOrRevision), dist: resolve(dist), remove: () => Promise.resolve() };
}

/** Builds a revision. Throws if this repository lacks it, or if it does not build with the installed packages. */
async function builtFrom(revision: string): Promise<Build> {
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
    await run(process.execPath, ['scripts/bundle.mjs'], { cwd: root, timeout: BUILD_LIMIT_MS });
    return { root, dist: join(root, 'dist'), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function git(...words: string[]): Promise<string> {
  const { stdout } = await run('git', words, { cwd: ROOT, timeout: GIT_LIMIT_MS });
  return stdout.trim();
}
