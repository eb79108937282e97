// The documentation as files: scripts/build-docs.mjs writes the pages that the API serves, for any static host.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHAPTERS, GUIDES } from '../../../src/platform/http/openapi/guides.js';

let folder: string;
const files = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'energy-docs-'));
  await promisify(execFile)(process.execPath, ['scripts/build-docs.mjs', folder]);
  for (const name of await readdir(folder)) files.set(name, await readFile(join(folder, name), 'utf8'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Returns the links of a file to files, each with its target and anchor. */
function linksIn(name: string, text: string): { from: string; to: string; anchor: string }[] {
  const prose = text.replaceAll(/```[^]*?```|`[^`]+`/g, '');
  const links = name.endsWith('.html') ? text.matchAll(/href="([^"]+)"/g) : prose.matchAll(/\]\(([^)\s]+)\)/g);
  return [...links]
    .map(([, target]) => target!)
    .filter((target) => !target.startsWith('https:'))
    .map((target) => {
      const [to = '', anchor = ''] = target.split('#');
      return { from: name, to: to === '' ? name : to, anchor };
    });
}

/** Returns whether a page has an anchor. The Markdown of a page has the anchors of its HTML. */
function hasAnchor(file: string, anchor: string): boolean {
  return anchor === '' || files.get(file.replace(/\.md$/, '.html'))!.includes(` id="${anchor}"`);
}

it('writes the index, each page with its Markdown, the search index and llms.txt', () => {
  const pages = [...GUIDES, ...CHAPTERS.map((name) => `interface-${name}`), 'api-create-order'];
  for (const name of pages) expect([...files.keys()]).toEqual(expect.arrayContaining([`${name}.html`, `${name}.md`]));
  expect([...files.keys()]).toEqual(expect.arrayContaining(['index.html', 'search.json', 'llms.txt']));
});

it('every link of a page and of its Markdown leads to a file, and its anchor to a heading', () => {
  const links = [...files].flatMap(([name, text]) => linksIn(name, text));
  expect(links.length).toBeGreaterThan(1000);
  expect(links.filter(({ to, anchor }) => !files.has(to) || !hasAnchor(to, anchor))).toEqual([]);
});
