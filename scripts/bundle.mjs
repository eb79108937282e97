// Bundles each program and its packages into a few files. A process that loads those starts in less than half the time
// of one that loads two thousand. The service's programs go from dist/ to dist/bundle/ and share code there
// (`part-*.js`); those of packages/ go from their source to their own dist/.
import { cp, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const PROGRAMS = ['api', 'worker', 'cli', 'signer', 'sender', 'console'];
const OF_PACKAGES = { devnet: 'main.devnet', local: 'main.demo' };
/** Native code, loaded at run time. */
const APART = ['secp256k1'];
/** CommonJS packages need `require`; these names must differ from theirs. */
const REQUIRE = `import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url);`;

/** Optional drivers and transports of packages stay outside: they are not installed, and loading them fails as without a bundle. */
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

/** @nestjs/typeorm looks up classes that TypeORM 1 lacks, and would load a second copy of TypeORM for them. */
const withoutCompat = {
  name: 'classes of older TypeORMs',
  setup({ onLoad }) {
    onLoad({ filter: /@nestjs\/typeorm\/dist\/common\/typeorm-compat\.js$/ }, () => ({
      contents: 'export const Connection = undefined;\nexport const AbstractRepository = undefined;\n',
    }));
  },
};

/** A bundle has no SQL files beside it, so their texts become part of it. */
const sqlFiles = {
  name: 'SQL files',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]database[\\/]sql-files\.js$/ }, async ({ path }) => {
      const { SQL_FILES } = await import(pathToFileURL(path).href);
      return { contents: `export const SQL_FILES = ${JSON.stringify(SQL_FILES)};\n` };
    });
  },
};

/** Replaces `outdir` as a whole. */
async function bundle(entryPoints, outdir) {
  const { outputFiles } = await build({
    entryPoints,
    outdir,
    entryNames: '[name]',
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: [], // Only Node's own, so that each package comes from the file that Node would load.
    external: APART,
    // Names of functions are not kept: each closure that a request makes would be given its name again, which took a
    // tenth of the quotes per second (bench, side by side). Decorated classes show in stacks as Name2.
    keepNames: false,
    minifyWhitespace: true, // Node parses a third less; stacks show the sources' lines all the same.
    sourcemap: 'linked',
    sourcesContent: false,
    banner: { js: REQUIRE },
    plugins: [optional, withoutCompat, sqlFiles],
    logLevel: 'warning',
  });
  const fresh = `${outdir}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh);
  await Promise.all(outputFiles.map(({ path, contents }) => writeFile(join(fresh, basename(path)), contents)));
  await rm(outdir, { recursive: true, force: true });
  await rename(fresh, outdir);
}

const root = fileURLToPath(new URL('..', import.meta.url));
// An argument names another build than dist/: one that was copied and changed.
const [, , copy] = process.argv;
const dist = resolve(copy ?? join(root, 'dist'));
if (copy === undefined) {
  // TypeScript leaves the SQL files in src. A file that was removed there must not stay in dist.
  const database = join('platform', 'database');
  await rm(join(dist, database, 'sql'), { recursive: true, force: true });
  await cp(join(root, 'src', database), join(dist, database), {
    recursive: true,
    filter: async (path) => path.endsWith('.sql') || (await stat(path)).isDirectory(),
  });
  for (const [name, program] of Object.entries(OF_PACKAGES)) {
    const folder = join(root, 'packages', name);
    await bundle([join(folder, 'src', `${program}.ts`)], join(folder, 'dist'));
  }
}
await bundle(
  PROGRAMS.map((name) => join(dist, 'apps', name, `main.${name}.js`)),
  join(dist, 'bundle'),
);
