// Bugs as patches of the built service, each of which the rounds must catch: every one is a mistake that somebody could
// make in a quiet hour. Texts are replaced in a copy; each must be there exactly once, in the file that is named. Where
// that is the schema, the text lies in a migration and, of a function, also in the code that compares: both are changed.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PLANTED_IN_BOOKS } from './planted-in-books.js';
import { PLANTED_ON_CHAIN } from './planted-on-chain.js';
import { SCHEMA, type PlantedBug } from './planted-bug.js';

export const PLANTED: readonly PlantedBug[] = [...PLANTED_ON_CHAIN, ...PLANTED_IN_BOOKS];

/** Puts a bug into the build at `dist`. Throws when a text is not there exactly once. */
export async function plant(dist: string, bug: PlantedBug): Promise<void> {
  for (const { file, find, put } of bug.changes) {
    const texts = new Map<string, string>();
    for (const name of file === SCHEMA ? await schemaFiles(dist) : [file]) {
      const path = join(dist, name);
      const text = await readFile(path, 'utf8');
      const times = text.split(find).length - 1;
      if (times > 1) throw new Error(`${bug.name}: ${name} has the text ${times.toString()} times: ${find}`);
      if (times === 1) texts.set(path, text);
    }
    if (texts.size === 0) throw new Error(`${bug.name}: ${file} has not the text: ${find}`);
    for (const [path, text] of texts) {
      await writeFile(
        path,
        text.replace(find, () => put),
      );
    }
  }
}

/** Every file of the build at `dist` that says what the schema is. */
export async function schemaFiles(dist: string): Promise<string[]> {
  const names = await Promise.all(
    ['store/migrations', 'store/functions'].map(async (dir) =>
      (await readdir(join(dist, dir))).filter((name) => name.endsWith('.js')).map((name) => join(dir, name)),
    ),
  );
  return names.flat();
}
