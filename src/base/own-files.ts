/** Files of this repository that a program reads at run time, wherever its own code lies: in src, dist or a bundle. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The path of a file that is named from the root of the repository. Throws when there is none. */
export function ownFile(name: string): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const url = new URL(name, folder);
    if (existsSync(url)) return fileURLToPath(url);
    if (folder.pathname === '/') throw new Error(`there is no ${name} above ${import.meta.url}`);
  }
}
