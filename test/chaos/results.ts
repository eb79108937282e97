// What hunts for planted bugs have shown, kept in the repository: a run may take them piece by piece, each piece adds
// what it found. A line says which commit it was shown on.
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

/** The commit that is checked out; with a `+` when files differ from it. */
export async function commitNow(): Promise<string> {
  const git = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('git', args, { cwd: fileURLToPath(new URL('.', import.meta.url)) })).stdout.trim();
  const changed = await git('status', '--porcelain', '--untracked-files=no', '--', ':/src');
  return `${await git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`;
}

/** Lays these results over what the file has; what is no name of `known` any more is left out. */
export async function keepResults(results: readonly HuntResult[], known: readonly string[]): Promise<void> {
  const text = await readFile(FILE, 'utf8').catch(() => '[]');
  const kept = new Map((JSON.parse(text) as HuntResult[]).map((result) => [result.name, result]));
  for (const result of results) kept.set(result.name, result);
  const lines = known.flatMap((name) => kept.get(name) ?? []).map((result) => `  ${JSON.stringify(result)}`);
  await writeFile(FILE, `[\n${lines.join(',\n')}\n]\n`);
}
