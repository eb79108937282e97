// The API's documentation in the deployed program: the OpenAPI document, its page, and the guides of docs/.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { HTTP_STATUS } from '../../../src/domain/errors.js';
import { CHAPTERS } from '../../../src/platform/http/openapi/guides.js';
import { ERROR_HELP } from '../../../src/platform/http/openapi/openapi-errors.js';
import { send } from '../../support/api/client.js';
import { startApi, type ApiProcess } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

interface Operation {
  readonly operationId: string;
}
const DOCUMENT = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: { readonly Quote: { readonly properties: object } } };
};
const OPERATIONS = Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods));

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
  const ordered = [...readFileSync('docs/README.md', 'utf8').matchAll(/^\d+\. \[([\w-]+)\.md\]/gm)];
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

it('the doc_url of every error code leads to the item that explains the code', async () => {
  const pages = new Map<string, string>();
  const { body } = await send(api.baseUrl, 'GET', '/v1/none');
  expect(body.doc_url).toBe('/docs/errors#NOT_FOUND');
  for (const code of Object.keys(HTTP_STATUS)) {
    const [path = '', anchor = ''] = String(body.doc_url).replace('NOT_FOUND', code).split('#');
    if (!pages.has(path)) pages.set(path, (await send(api.baseUrl, 'GET', path)).text);
    expect(anchor).toBe(code);
    const [item, ...more] = [...pages.get(path)!.matchAll(new RegExp(`<li id="${anchor}"><code>(.*?)</code> `, 'g'))];
    expect([item?.[1], more]).toEqual([code, []]);
  }
});

it('no anchor of a guide exists twice', async () => {
  const { text } = await send(api.baseUrl, 'GET', '/docs');
  for (const [, path] of text.matchAll(/<li><a href="(\/docs\/[\w-]+)"/g)) {
    const page = (await send(api.baseUrl, 'GET', path!)).text;
    const anchors = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect([path, anchors.filter((id, index) => anchors.indexOf(id) < index)]).toEqual([path, []]);
  }
});

it('doc_url begins with API_URL where it is set', async () => {
  const known = await startApi(settings(database.url, { PORT: '0', API_URL: 'https://energy.example.com' }));
  try {
    const { body } = await send(known.baseUrl, 'GET', '/v1/none');
    expect(body.doc_url).toBe('https://energy.example.com/docs/errors#NOT_FOUND');
  } finally {
    await known.process.stop();
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

const pageOf = (operationId: string): string =>
  `/docs/api-${operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

it('needs no signature, and its index links a page for every operation, which shows members and errors', async () => {
  const index = await send(api.baseUrl, 'GET', '/docs');
  expect(index.status).toBe(200);
  const codes = new Set<string>();
  for (const { operationId } of OPERATIONS) {
    expect(index.text).toContain(`href="${pageOf(operationId)}"`);
    const { status, headers, text } = await send(api.baseUrl, 'GET', pageOf(operationId));
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    for (const code of Object.keys(ERROR_HELP)) if (text.includes(code)) codes.add(code);
  }
  expect([...codes.add('METHOD_NOT_ALLOWED')].sort()).toEqual(Object.keys(ERROR_HELP).sort());
  const order = (await send(api.baseUrl, 'GET', pageOf('createOrder'))).text;
  expect(order).toContain('In exactly one form: by quote (quote_ref), or direct (receive_address).');
  const quote = (await send(api.baseUrl, 'GET', pageOf('createQuote'))).text;
  for (const member of Object.keys(DOCUMENT.components.schemas.Quote.properties)) {
    expect(quote).toContain(`<code>${member}</code>`);
  }
});

it('runs only its own script and style, and loads nothing from elsewhere', async () => {
  const { headers, text } = await send(api.baseUrl, 'GET', '/docs');
  const policy = headers['content-security-policy']!;
  for (const [tag, source] of [
    ['style', 'style-src'],
    ['script', 'script-src'],
  ] as const) {
    const [[, inside] = []] = [...text.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))];
    const hash = createHash('sha256').update(inside!).digest('base64');
    expect(policy).toContain(`${source} 'sha256-${hash}'`);
  }
  expect(policy).toMatch(/^default-src 'none';.* connect-src 'self';.* frame-ancestors 'none'$/);
  expect(text).not.toMatch(/onclick|src=|@import|href="http/);
});

it('the search index leads to existing headings', async () => {
  const { body } = await send(api.baseUrl, 'GET', '/docs/search.json');
  const entries = body as unknown as [string, string, string, string][];
  expect(entries.length).toBeGreaterThan(200);
  const texts = new Map<string, string>();
  for (const [href, title, heading, words] of entries) {
    expect([title, heading, words].every((text) => text !== '')).toBe(true);
    const [path = '', anchor] = href.split('#');
    if (!texts.has(path)) texts.set(path, (await send(api.baseUrl, 'GET', path)).text);
    if (anchor !== undefined) expect(texts.get(path)).toContain(` id="${anchor}"`);
  }
});

it('/llms.txt lists every page as Markdown, and each exists', async () => {
  const { headers, text } = await send(api.baseUrl, 'GET', '/llms.txt');
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  const linked = [...text.matchAll(/\]\((\/docs\/[\w-]+\.md)\)/g)].map(([, path]) => path!);
  expect(linked.length).toBeGreaterThan(OPERATIONS.length + 20);
  for (const path of linked) {
    const page = await send(api.baseUrl, 'GET', path);
    expect([path, page.status, page.headers['content-type']]).toEqual([path, 200, 'text/markdown; charset=utf-8']);
    expect(page.text).toMatch(/^# \S/m);
  }
});
