// Writes the documentation as files for any static host, from dist/, docs/ and openapi.json.
// Usage, after npm run build: node scripts/build-docs.mjs FOLDER
import 'reflect-metadata';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Name the folder to write to: node scripts/build-docs.mjs FOLDER');
  process.exit(2);
}
const { Site } = await import('../dist/platform/http/openapi/site.js');
const openApi = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));
const fileOf = (name) => (name === '' ? 'index.html' : /\.(?:md|json|txt)$/.test(name) ? name : `${name}.html`);
const site = new Site(openApi, fileOf);
mkdirSync(folder, { recursive: true });
const names = site.names();
for (const name of names) writeFileSync(join(folder, fileOf(name)), site.file(name).text);
console.log(`${names.length} files in ${folder}`);
