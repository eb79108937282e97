// A build with one migration more than this version, for the time in which the baseline is the only one. It does what a
// release may do on a busy database: a column on every partition, an index, and a function made again.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MIGRATION_NAMES } from '../../../src/platform/database/data-source.js';
import { FUNCTIONS } from '../../../src/platform/database/expected-schema.js';
import { bindBuild, copyOfBuild, type Build } from '../chaos/workspace.js';

const NAME = 'Rehearsal1760000000999';
const UP = [
  'ALTER TABLE orders ADD COLUMN rehearsal text',
  'CREATE INDEX orders_rehearsal ON open_orders (project_id, rehearsal) WHERE rehearsal IS NOT NULL',
  FUNCTIONS['order_changed'] ?? '',
];
const DOWN = ['ALTER TABLE orders DROP COLUMN rehearsal'];

/**
 * Copies the build at hand and adds the migration to the copy. From then on the services of this process count as the
 * version after, too: they judge the records, and their checks of definitions need the whole schema.
 */
export async function buildWithRehearsal(): Promise<Build> {
  const build = await copyOfBuild();
  try {
    await writeFile(join(build.dist, 'platform/database/migrations/0999-rehearsal.js'), migration());
    const path = join(build.dist, 'platform/database/data-source.js');
    const source = await readFile(path, 'utf8');
    const patched = source.replace(/^(const MIGRATIONS = \[[^\]]*)\]/m, `$1, ${NAME}]`);
    if (patched === source) throw new Error('dist/platform/database/data-source.js has no list of migrations');
    await writeFile(path, `import { ${NAME} } from './migrations/0999-rehearsal.js';\n${patched}`);
    await bindBuild(build.dist);
    (MIGRATION_NAMES as string[]).push(NAME);
    return build;
  } catch (error) {
    await build.remove();
    throw error;
  }
}

function migration(): string {
  const run = (statements: readonly string[]): string =>
    `for (const statement of ${JSON.stringify(statements)}) await runner.query(statement);`;
  return `export class ${NAME} {
  name = '${NAME}';
  async up(runner) { ${run(UP)} }
  async down(runner) { ${run(DOWN)} }
}
`;
}
