// Bugs as patches of the built service, each of which the rounds must catch: every one is a mistake that somebody could
// make in a quiet hour. Texts are replaced in a copy; each must be there exactly once.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PLANTED_IN_BOOKS } from './planted-in-books.js';
import { PLANTED_ON_CHAIN } from './planted-on-chain.js';
import type { PlantedBug } from './planted-bug.js';

export const PLANTED: readonly PlantedBug[] = [...PLANTED_ON_CHAIN, ...PLANTED_IN_BOOKS];

/** Puts a bug into the build at `dist`. Throws when a text is not there exactly once. */
export async function plant(dist: string, bug: PlantedBug): Promise<void> {
  for (const { file, find, put } of bug.changes) {
    const path = join(dist, file);
    const text = await readFile(path, 'utf8');
    const times = text.split(find).length - 1;
    if (times !== 1) throw new Error(`${bug.name}: ${file} has the text ${times.toString()} times: ${find}`);
    await writeFile(
      path,
      text.replace(find, () => put),
    );
  }
}
