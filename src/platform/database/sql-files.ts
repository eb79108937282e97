import { readdirSync, readFileSync } from 'node:fs';

/**
 * The SQL files beside this module by their path, such as `sql/functions/take_order.sql`. Read from the folder here, in
 * tests and in dist/; scripts/bundle.mjs replaces this module by one that contains the texts.
 */
export const SQL_FILES: Readonly<Record<string, string>> = Object.fromEntries(
  ['sql', 'sql/functions', 'sql/tables', 'migrations'].flatMap((folder) =>
    readdirSync(new URL(folder, import.meta.url))
      .filter((name) => name.endsWith('.sql'))
      .sort()
      .map((name) => [`${folder}/${name}`, readFileSync(new URL(`${folder}/${name}`, import.meta.url), 'utf8')]),
  ),
);
