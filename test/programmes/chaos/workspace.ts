// Settings of a chaos run, its private copy of the build, and the logs of its rounds.
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CACHE = join(ROOT, '.cache', 'chaos');

export interface Settings {
  readonly rounds: number;
  readonly from: number;
  readonly seed: string;
  readonly lengthMs: number;
  readonly blockMs: number;
  readonly keepLogs: boolean;
  /** Concurrent hunts. */
  readonly atOnce: number;
}

/** A log with time, source and text of each line. */
export class RoundLog {
  private readonly stream;
  private readonly startedAt = performance.now();

  constructor(readonly path: string) {
    this.stream = createWriteStream(path, { flags: 'w' });
  }

  readonly write = (who: string, line: string): void => {
    const at = ((performance.now() - this.startedAt) / 1000).toFixed(2).padStart(8);
    this.stream.write(`${at}  ${who.padEnd(8)}  ${line}\n`);
  };

  close(): Promise<void> {
    return new Promise((resolve) => this.stream.end(resolve));
  }
}

export interface Build {
  /** Contains `dist/` and `packages/devnet/dist/`. */
  readonly root: string;
  readonly dist: string;
  readonly remove: () => Promise<void>;
}

/**
 * Copies the build, so that nothing changes during the run. The copy is inside the repository, where it resolves its
 * packages.
 */
export async function copyOfBuild(): Promise<Build> {
  await mkdir(CACHE, { recursive: true });
  const root = await mkdtemp(join(CACHE, 'build-'));
  for (const part of ['dist', 'packages/devnet/dist']) {
    await cp(join(ROOT, part), join(root, part), { recursive: true });
  }
  return { root, dist: join(root, 'dist'), remove: () => rm(root, { recursive: true, force: true }) };
}

/** Rebundles a changed copy of the build: the started programs are its bundles. */
export async function bindBuild(dist: string): Promise<void> {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/bundle.mjs'), dist], { timeout: 120_000 });
}

export async function logFor(name: string): Promise<RoundLog> {
  await mkdir(CACHE, { recursive: true });
  return new RoundLog(join(CACHE, `${name}.log`));
}
