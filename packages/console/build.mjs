// Builds the pages into dist/ in one atomic step. Fails when their JavaScript exceeds the budget.
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

/** Budget for all JavaScript together, gzipped. */
const SCRIPT_BYTES_MAX = 300 * 1024;

const here = fileURLToPath(new URL('.', import.meta.url));
const fresh = `${here}dist.new`;
rmSync(fresh, { recursive: true, force: true });
await build({
  configFile: `${here}vite.config.mjs`,
  logLevel: 'warn',
  // The budget below is the limit that counts.
  build: { outDir: fresh, emptyOutDir: true, chunkSizeWarningLimit: Number.POSITIVE_INFINITY },
});

const scripts = readdirSync(`${fresh}/assets`).filter((name) => name.endsWith('.js'));
const bytes = scripts.reduce(
  (sum, name) => sum + gzipSync(readFileSync(`${fresh}/assets/${name}`), { level: 9 }).length,
  0,
);
if (bytes > SCRIPT_BYTES_MAX) {
  console.error(`The console's JavaScript is ${bytes} bytes gzipped; ${SCRIPT_BYTES_MAX} is the most.`);
  process.exit(1);
}
const page = readFileSync(`${fresh}/index.html`, 'utf8');
if (/<script(?![^>]*\bsrc=)|<style(?![^>]*\bnonce=)|\sstyle=|\son\w+=/.test(page)) {
  console.error('index.html holds a script or a style that a strict policy refuses.');
  process.exit(1);
}
rmSync(`${here}dist`, { recursive: true, force: true });
renameSync(fresh, `${here}dist`);
