// Planted bugs as patches of the source. The rounds or a named test must catch each of them; each is a mistake that is
// easily made. In a copy of the build, only patched files are compiled again. Each text must occur exactly once in the
// named file. A change of the schema patches the current SQL file and the copy in its migration.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { PLANTED_ACTS } from './planted-acts.js';
import { PLANTED_AUTO_SETTINGS } from './planted-auto-settings.js';
import { PLANTED_AUTO_TERMS } from './planted-auto-terms.js';
import { PLANTED_BLOCKS } from './planted-blocks.js';
import { PLANTED_CLOCKS } from './planted-clocks.js';
import { PLANTED_DEFENCES } from './planted-defences.js';
import { PLANTED_KEYS } from './planted-keys.js';
import { PLANTED_IN_COMPANY } from './planted-in-company.js';
import { PLANTED_IN_DOUBT } from './planted-in-doubt.js';
import { PLANTED_EDGES } from './planted-edges.js';
import { PLANTED_EXPLAIN } from './planted-explain.js';
import { PLANTED_EVENTS } from './planted-events.js';
import { PLANTED_COSTS } from './planted-costs.js';
import { PLANTED_DEVNET } from './planted-devnet-rules.js';
import { PLANTED_DEPOSIT_BOUNDS } from './planted-deposit-bounds.js';
import { PLANTED_DEPOSITS } from './planted-deposits.js';
import { PLANTED_TOKENS } from './planted-tokens.js';
import { PLANTED_EXTENSIONS } from './planted-extensions.js';
import { PLANTED_OUTAGES } from './planted-outages.js';
import { PLANTED_MERCHANT_PAGES } from './planted-merchant-pages.js';
import { PLANTED_MESSAGES } from './planted-messages.js';
import { PLANTED_IN_RECORDS } from './planted-in-records.js';
import { PLANTED_IN_BUNDLES } from './planted-bundles.js';
import { PLANTED_IN_TESTS } from './planted-in-tests.js';
import { PLANTED_ON_CHAIN } from './planted-on-chain.js';
import { PLANTED_PARTS } from './planted-parts.js';
import { PLANTED_PEOPLE } from './planted-people.js';
import { PLANTED_PROOF } from './planted-proof.js';
import { PLANTED_REFILLS } from './planted-refills.js';
import { PLANTED_SDK } from './planted-sdk.js';
import { PLANTED_OPERATIONS } from './planted-operations.js';
import { PLANTED_STARTS } from './planted-starts.js';
import { PLANTED_SURVIVORS } from './planted-survivors.js';
import { PLANTED_STATEMENTS } from './planted-statements.js';
import { PLANTED_SIZING } from './planted-sizing.js';
import { PLANTED_USES } from './planted-uses.js';
import { PLANTED_SIGNATURES } from './planted-signatures.js';
import { PLANTED_TEST_PROJECTS } from './planted-test-projects.js';
import { PLANTED_WEBHOOKS } from './planted-webhooks.js';
import { PLANTED_UNDER_WAY } from './planted-under-way.js';
import { PLANTED_USABLE } from './planted-usable.js';
import { SCHEMA, type PlantedBug } from './planted-bug.js';

export const PLANTED: readonly PlantedBug[] = [
  ...PLANTED_ON_CHAIN,
  ...PLANTED_IN_RECORDS,
  ...PLANTED_IN_BUNDLES,
  ...PLANTED_IN_TESTS,
  ...PLANTED_DEFENCES,
  ...PLANTED_KEYS,
  ...PLANTED_SIZING,
  ...PLANTED_USES,
  ...PLANTED_PARTS,
  ...PLANTED_EXPLAIN,
  ...PLANTED_EDGES,
  ...PLANTED_MESSAGES,
  ...PLANTED_OUTAGES,
  ...PLANTED_MERCHANT_PAGES,
  ...PLANTED_CLOCKS,
  ...PLANTED_IN_COMPANY,
  ...PLANTED_IN_DOUBT,
  ...PLANTED_BLOCKS,
  ...PLANTED_SIGNATURES,
  ...PLANTED_EVENTS,
  ...PLANTED_DEPOSITS,
  ...PLANTED_DEPOSIT_BOUNDS,
  ...PLANTED_TOKENS,
  ...PLANTED_EXTENSIONS,
  ...PLANTED_REFILLS,
  ...PLANTED_ACTS,
  ...PLANTED_AUTO_SETTINGS,
  ...PLANTED_AUTO_TERMS,
  ...PLANTED_COSTS,
  ...PLANTED_STATEMENTS,
  ...PLANTED_TEST_PROJECTS,
  ...PLANTED_UNDER_WAY,
  ...PLANTED_USABLE,
  ...PLANTED_SDK,
  ...PLANTED_WEBHOOKS,
  ...PLANTED_OPERATIONS,
  ...PLANTED_STARTS,
  ...PLANTED_PEOPLE,
  ...PLANTED_PROOF,
  ...PLANTED_SURVIVORS,
  ...PLANTED_DEVNET,
];

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Returns the absolute path of a file that a change names. */
export function sourceOf(file: string): string {
  return join(ROOT, file.startsWith('packages/') ? '' : 'src', file);
}

/** Returns the patched source files of a bug, by path below src, or from `packages/` on. */
export async function patchedSources(bug: PlantedBug): Promise<ReadonlyMap<string, string>> {
  const patched = new Map<string, string>();
  for (const { file, find, put } of bug.changes) {
    let found = 0;
    let isCurrent = false;
    for (const name of file === SCHEMA ? await schemaFiles() : [file]) {
      const text = patched.get(name) ?? (await readFile(sourceOf(name), 'utf8'));
      const times = text.split(find).length - 1;
      // A guard names each of its rules, and the archive's function names columns twice. A migration holds all functions.
      if (times > (name.endsWith('.sql') ? 2 : 1) && !name.startsWith('platform/database/migrations/'))
        throw new Error(`${bug.name}: ${name} has the text ${times.toString()} times: ${find}`);
      if (times === 0) continue;
      found += 1;
      isCurrent ||= !name.startsWith('platform/database/migrations/');
      patched.set(
        name,
        text.replaceAll(find, () => put),
      );
    }
    if (found === 0) throw new Error(`${bug.name}: ${file} has not the text: ${find}`);
    // verify and the schema test compare the database with the current text.
    if (!isCurrent) throw new Error(`${bug.name}: only a migration has the text: ${find}`);
  }
  return patched;
}

/** Compiles one file as the build does, without type checks; an SQL file stays as it is. Throws on a syntax error. */
function compiled(file: string, text: string): string {
  if (file.endsWith('.sql')) return text;
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { compilerOptions } = config as { readonly compilerOptions: object };
  // Every file is an ES module, but a file compiled alone cannot know that from package.json.
  const modules = { module: 'esnext', moduleResolution: 'bundler', noEmit: false };
  const { options } = ts.convertCompilerOptionsFromJson({ ...compilerOptions, ...modules }, ROOT);
  const { outputText, diagnostics = [] } = ts.transpileModule(text, {
    compilerOptions: options,
    fileName: file,
    reportDiagnostics: true,
  });
  const [fault] = diagnostics;
  if (fault !== undefined) throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(fault.messageText, '\n')}`);
  return outputText;
}

/** Plants a bug into the build at `dist`, which was made from the unpatched source. */
export async function plant(dist: string, bug: PlantedBug): Promise<void> {
  for (const [file, text] of await patchedSources(bug)) {
    if (file.startsWith('packages/')) throw new Error(`${bug.name}: only a named test can catch a bug in ${file}`);
    await writeFile(join(dist, file.replace(/\.ts$/, '.js')), compiled(file, text));
  }
}

/** The database's SQL files, below src. */
async function schemaFiles(): Promise<string[]> {
  const names = await Promise.all(
    ['sql/functions', 'sql/tables', 'migrations']
      .map((name) => `platform/database/${name}`)
      .map(async (dir) =>
        (await readdir(join(ROOT, 'src', dir))).filter((name) => name.endsWith('.sql')).map((name) => join(dir, name)),
      ),
  );
  return names.flat();
}
