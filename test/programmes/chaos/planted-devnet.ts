// A build of the local chain with a planted bug: its tests reach it over HTTP, in a process of its own.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const REQUIRE = `import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url);`;

/**
 * Builds the local chain from its source with some files' texts replaced, by absolute path. Returns the program's path.
 * `dir` is inside the repository, where the program finds its native package.
 */
export async function buildDevnet(root: string, dir: string, texts: ReadonlyMap<string, string>): Promise<string> {
  await build({
    entryPoints: [join(root, 'packages/devnet/src/main.devnet.ts')],
    outdir: dir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: [],
    external: ['secp256k1'],
    banner: { js: REQUIRE },
    logLevel: 'warning',
    plugins: [
      {
        name: 'planted bug',
        setup: (builder) => {
          builder.onLoad({ filter: /[\\/]packages[\\/]devnet[\\/]src[\\/].*\.ts$/ }, async ({ path }) => ({
            contents: texts.get(path) ?? (await readFile(path, 'utf8')),
            loader: 'ts',
          }));
        },
      },
    ],
  });
  return join(dir, 'main.devnet.js');
}
