/** Locates files of this repository at run time, from src, dist or a bundle. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the path of a file named from the repository's root. Throws when there is none. */
export function ownFile(name: string): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const url = new URL(name, folder);
    if (existsSync(url)) return fileURLToPath(url);
    if (folder.pathname === '/') throw new Error(`there is no ${name} above ${import.meta.url}`);
  }
}
