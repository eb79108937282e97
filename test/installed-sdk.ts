// The SDK as it lies in a merchant's folder: of the build at hand, or packed and installed as npm does it.
import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const SDK = new URL('../packages/sdk', import.meta.url).pathname;

/** Programs in `folder` and below find the SDK from here on. */
export async function installSdk(folder: string): Promise<void> {
  const place = join(folder, 'node_modules/@tron-energy-rental/sdk');
  await mkdir(place, { recursive: true });
  for (const name of ['package.json', 'dist']) await cp(join(SDK, name), join(place, name), { recursive: true });
}

/** npm with neither registry nor cache: what is installed is in the tarball. */
function npm(folder: string, args: readonly string[], cwd = folder): Promise<{ readonly stdout: string }> {
  return execute('npm', [...args, '--cache', join(folder, 'cache'), '--offline', '--no-audit', '--no-fund'], { cwd });
}

/** Packs the build at hand into `folder`; returns the tarball's name and what is in it. */
export async function packSdk(folder: string): Promise<{ readonly name: string; readonly files: readonly string[] }> {
  const { stdout } = await npm(folder, ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], SDK);
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  return { name: filename, files: files.map(({ path }) => path) };
}

/** Packs it and installs the tarball in `folder`; returns what is in it. */
export async function installPackedSdk(folder: string): Promise<readonly string[]> {
  const { name, files } = await packSdk(folder);
  await writeFile(join(folder, 'package.json'), '{ "name": "shop", "private": true }');
  await npm(folder, ['install', `./${name}`]);
  return files;
}

/** A program of ES modules with `require`, and with what it exports there before anything is waited for. */
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

/** How a program of ES modules is written for either of Node's module systems, and how its file ends. */
export const MODULE_SYSTEMS = {
  'ES modules': { ending: 'mjs', of: (code: string) => code },
  CommonJS: { ending: 'cjs', of: asCommonJs },
} as const;
export type System = keyof typeof MODULE_SYSTEMS;
