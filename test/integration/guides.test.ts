// The API's documentation in the deployed program: the OpenAPI document, its page, and the guides of docs/.
import { readdirSync, readFileSync } from 'node:fs';
import { CHAPTERS } from '../../src/platform/http/openapi/guides.js';
import { send } from '../support/api/client.js';
import { startApi, type ApiProcess } from '../support/api/factory.js';
import { settings } from '../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

let database: TestDatabase;
let api: ApiProcess;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startApi(settings(database.url, { PORT: '0' }));
});

afterAll(async () => {
  await api.process.stop();
  await database.drop();
});

it('the bundled program describes itself, with the version of the package', async () => {
  const { status, body } = await send(api.baseUrl, 'GET', '/openapi.json');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect([status, body.info?.version]).toEqual([200, version]);
});

it('GET /docs links the guides in the order of docs/README.md, and the links of each page work', async () => {
  const { text } = await send(api.baseUrl, 'GET', '/docs');
  const [, list = ''] = /<h2>Guides<\/h2>.*?<ol>(.*?)<\/ol>/s.exec(text) ?? [];
  const linked = [...list.matchAll(/href="\/docs\/([\w-]+)"/g)].map(([, name]) => name!);
  const ordered = [...readFileSync('docs/README.md', 'utf8').matchAll(/^\| \d+ \| \[([\w-]+)\.md\]/gm)];
  expect(linked).toEqual(ordered.map(([, name]) => name));
  const chapters = CHAPTERS.map((name) => `interface-${name}`);
  for (const name of [...linked, ...chapters]) {
    const page = await send(api.baseUrl, 'GET', `/docs/${name}`);
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(page.text).toMatch(/^<!doctype html>.*<h1 id="[\w-]+">/s);
    // Markdown may remain only in code.
    const prose = page.text.replaceAll(/<(pre|code|style|script)>.*?<\/\1>/gs, '');
    expect(prose.match(/```|\*\*|\]\(|^\||<!--/gm)).toBeNull();
    const [main = ''] = /<main>.*<\/main>/s.exec(page.text) ?? [];
    for (const [, to, anchor] of main.matchAll(/href="\/docs\/([\w-]+)(?:#([\w-]+))?"/g)) {
      expect([...linked, ...chapters]).toContain(to);
      const target = (await send(api.baseUrl, 'GET', `/docs/${to!}`)).text;
      if (anchor !== undefined) expect(target).toContain(` id="${anchor}"`);
    }
    expect((await send(api.baseUrl, 'GET', `/docs/${name}.md`)).text).toMatch(/^# /m);
  }
});

it('every handwritten page of docs/interface/ is served, and the index links it', async () => {
  const written = readdirSync('docs/interface').filter((file) => !file.startsWith('reference-'));
  expect(written.sort()).toEqual(CHAPTERS.map((name) => `${name}.md`).sort());
  const { text } = await send(api.baseUrl, 'GET', '/docs/interface');
  for (const name of CHAPTERS) expect(text).toContain(`href="/docs/interface-${name}#`);
});

it.each([
  'x',
  'README',
  'operating',
  'interface-x',
  'interface-reference-answers',
  '..%2Fpackage',
  'operating.md',
  'search',
])('there is no guide %s', async (name) => {
  const { status, headers, body } = await send(api.baseUrl, 'GET', `/docs/${name}`);
  expect([status, headers['content-type'], body.error]).toEqual([404, expect.stringContaining('json'), 'NOT_FOUND']);
});
