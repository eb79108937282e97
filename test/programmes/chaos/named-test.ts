// Runs one named test of the ordinary suite against a source with a planted bug.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NamedTest, PlantedBug } from './planted-bug.js';
import { patchedSources, sourceOf } from './planted.js';
import { buildDevnet } from './planted-devnet.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CACHE = join(ROOT, '.cache', 'chaos');
const LIMIT_MS = 600_000;

interface Results {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Returns a one-line failure; undefined if the test passes despite the bug. Throws if the test did not run. */
export async function failureWith(bug: PlantedBug, { file, title }: NamedTest): Promise<string | undefined> {
  await mkdir(CACHE, { recursive: true });
  const dir = await mkdtemp(join(CACHE, 'planted-'));
  try {
    const patched = await patchedSources(bug);
    const texts = new Map((await withSqlFiles(patched)).map(([path, text]) => [sourceOf(path), text]));
    const ofDevnet = [...patched.keys()].some((path) => path.startsWith('packages/devnet/'));
    const devnet = ofDevnet ? { DEVNET_PROGRAM: await buildDevnet(ROOT, dir, texts) } : {};
    const services = servicesFor(file, [...patched.keys()]);
    const [sources, results] = [join(dir, 'sources.json'), join(dir, 'results.json')];
    await writeFile(sources, JSON.stringify(Object.fromEntries(texts)));
    await runJest({ file, title, sources, results, env: { ...devnet, PLANTED_SERVICES: services } });
    const { testResults } = JSON.parse(await readFile(results, 'utf8')) as Results;
    const ran = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status !== 'pending');
    // A suite that fails to load says nothing about the bug.
    if (ran.length === 0) throw new Error(testResults[0]?.message ?? 'no test of that title');
    const failed = ran.find(({ status }) => status === 'failed');
    if (failed === undefined) return undefined;
    // oxlint-disable-next-line no-control-regex -- Jest colours what it says
    const plain = (failed.failureMessages[0] ?? '').replaceAll(/\u001b\[\d+m/g, '').replaceAll(/\s+/g, ' ');
    return `test "${failed.fullName}": ${plain.slice(0, 120)}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** SQL files are read, not imported: the module that reads them gets the patched texts. */
async function withSqlFiles(patched: ReadonlyMap<string, string>): Promise<[string, string][]> {
  const isSql = ([path]: [string, string]): boolean => path.endsWith('.sql');
  const sql = [...patched].filter(isSql).map(([path, text]) => [path.slice('platform/database/'.length), text]);
  if (sql.length === 0) return [...patched];
  const reader = 'platform/database/sql-files.ts';
  const source = await readFile(join(ROOT, 'src', reader), 'utf8');
  const assigned = `${source}\nObject.assign(SQL_FILES, ${JSON.stringify(Object.fromEntries(sql))});\n`;
  return [...[...patched].filter((each) => !isSql(each)), [reader, assigned]];
}

/**
 * Returns `shared` if a test may use the servers that this process started (startServices), `own` if a patched file may
 * change how they are set up.
 */
function servicesFor(test: string, patched: readonly string[]): 'none' | 'own' | 'shared' {
  if (test.startsWith('unit/')) return 'none';
  const isOfSetup = (path: string): boolean => /^(platform\/database|packages\/local)\//.test(path);
  return process.env['TEST_DATABASE_PREFIX'] === undefined || patched.some(isOfSetup) ? 'own' : 'shared';
}

interface Run extends NamedTest {
  /** Path of the JSON file with the patched texts. */
  readonly sources: string;
  readonly results: string;
  /** Names the servers, and a patched local chain. */
  readonly env: NodeJS.ProcessEnv;
}

/** Ends when Jest does, whatever it found. */
async function runJest({ file, title, sources, results, env: more }: Run): Promise<void> {
  const config = join(ROOT, 'test/programmes/chaos/planted-jest.config.mjs');
  const pattern = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const args = ['--config', config, '-w', '1', '--json', '--outputFile', results, '-t', pattern, join('test', file)];
  const env = {
    ...process.env,
    PLANTED_SOURCES: sources,
    ...more,
  };
  await new Promise<void>((resolve) => {
    execFile(
      process.execPath,
      [join(ROOT, 'node_modules/jest/bin/jest.js'), ...args],
      { cwd: ROOT, env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 },
      () => {
        resolve();
      },
    );
  });
}
