// The SDK in a merchant's folder: copied from the current build, or packed and installed by npm.
import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const SDK = new URL('../../../packages/sdk', import.meta.url).pathname;

/** Copies the built SDK, so that programs in `folder` and below can import it. */
export async function installSdk(folder: string): Promise<void> {
  const place = join(folder, 'node_modules/@tron-energy-rental/sdk');
  await mkdir(place, { recursive: true });
  for (const name of ['package.json', 'dist']) await cp(join(SDK, name), join(place, name), { recursive: true });
}

/** Runs npm without registry or cache: the tarball must hold everything it installs. */
function npm(folder: string, args: readonly string[], cwd = folder): Promise<{ readonly stdout: string }> {
  return execute('npm', [...args, '--cache', join(folder, 'cache'), '--offline', '--no-audit', '--no-fund'], { cwd });
}

/** Packs the current build into `folder`. Returns the tarball's name and its files. */
export async function packSdk(folder: string): Promise<{ readonly name: string; readonly files: readonly string[] }> {
  const { stdout } = await npm(folder, ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], SDK);
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  return { name: filename, files: files.map(({ path }) => path) };
}

/** Packs the SDK and installs the tarball in `folder`. Returns its files. */
export async function installPackedSdk(folder: string): Promise<readonly string[]> {
  const { name, files } = await packSdk(folder);
  await writeFile(join(folder, 'package.json'), '{ "name": "shop", "private": true }');
  await npm(folder, ['install', `./${name}`]);
  return files;
}

/** Rewrites an ES module program to CommonJS: `require`, and exports that are set before the first await. */
const asCommonJs = (code: string): string => {
  const body = code
    .replaceAll(
      /^import (\{.*\}) from ('.*?)(?:\.mjs)?';$/gm,
      (_, names: string, from: string) => `const ${names} = require(${from}${from.startsWith("'./") ? '.cjs' : ''}');`,
    )
    .replaceAll(/^export const (\w+) = /gm, 'const $1 = exports.$1 = ')
    .replaceAll(/^export async function (\w+)/gm, 'exports.$1 = $1;\nasync function $1');
  return `(async () => {\n${body}\n})();`;
};

/** Converts an ES module program for each of Node's module systems, and names the file extension. */
export const MODULE_SYSTEMS = {
  'ES modules': { ending: 'mjs', of: (code: string) => code },
  CommonJS: { ending: 'cjs', of: asCommonJs },
} as const;
export type System = keyof typeof MODULE_SYSTEMS;
