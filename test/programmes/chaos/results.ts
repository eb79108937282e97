// Stored results of hunts for planted bugs. A run may cover a part; each part adds its results. Each line names the
// tested commit.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface HuntResult {
  readonly name: string;
  /** `round 2`, `test`, or `not caught`. */
  readonly caught: string;
  readonly by: string;
  readonly seconds: number;
  readonly commit: string;
}

const FILE = fileURLToPath(new URL('planted-results.json', import.meta.url));

/** Returns the checked-out commit, with a `+` if source files differ from it. */
export async function commitNow(): Promise<string> {
  const git = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('git', args, { cwd: fileURLToPath(new URL('.', import.meta.url)) })).stdout.trim();
  const changed = await git('status', '--porcelain', '--untracked-files=no', '--', ':/src');
  return `${await git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`;
}

/** Merges these results into the file. Drops results of names that are no longer in `known`. */
export async function keepResults(results: readonly HuntResult[], known: readonly string[]): Promise<void> {
  const text = await readFile(FILE, 'utf8').catch(() => '[]');
  const kept = new Map((JSON.parse(text) as HuntResult[]).map((result) => [result.name, result]));
  for (const result of results) kept.set(result.name, result);
  const lines = known.flatMap((name) => kept.get(name) ?? []).map((result) => `  ${JSON.stringify(result)}`);
  await writeFile(FILE, `[\n${lines.join(',\n')}\n]\n`);
}
