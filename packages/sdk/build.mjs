// Builds dist/ for ES modules and for CommonJS: one bundle and one set of declarations each. A declaration file imports
// the others as `.js` or `.cjs`, to match its module system.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const fresh = `${here}dist.new`;
rmSync(fresh, { recursive: true, force: true });

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', here, '--outDir', fresh], { stdio: 'inherit' });
for (const name of readdirSync(fresh)) {
  const text = readFileSync(`${fresh}/${name}`, 'utf8').replaceAll(/(from '\.\/[\w-]+)\.js'/g, "$1.cjs'");
  writeFileSync(`${fresh}/${name.replace(/\.d\.ts$/, '.d.cts')}`, text);
}

const options = { entryPoints: [`${here}src/index.ts`], bundle: true, platform: 'node', target: 'node20.3' };
await Promise.all([
  build({ ...options, format: 'esm', outfile: `${fresh}/index.js` }),
  build({ ...options, format: 'cjs', outfile: `${fresh}/index.cjs` }),
]);
rmSync(`${here}dist`, { recursive: true, force: true });
renameSync(fresh, `${here}dist`);
