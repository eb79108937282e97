// The merchants' pages against the code: every error code is documented, and the pages build on each other.
import { readdirSync, readFileSync } from 'node:fs';
import { HTTP_STATUS } from '../../../src/domain/errors.js';
import { GUIDES } from '../../../src/platform/http/openapi/guides.js';
import { blocksOf, steady } from '../../support/docs/page-blocks.js';

const pageOf = (name: string): string => readFileSync(`docs/${name}.md`, 'utf8');

test('the page of errors has every code once, with status and remedy', () => {
  const rows = [...pageOf('errors').matchAll(/^- `(\w+)` \((\d+)\): (.+) → (.+)$/gm)];
  const shown = rows.map(([, code, status]) => [code!, Number(status)] as const);
  expect([...shown].sort()).toEqual(Object.entries(HTTP_STATUS).sort());
  for (const [, code, , happened, todo] of rows) {
    expect([code, happened]).toEqual([code, expect.stringMatching(/^.{20,}\.$/)]);
    expect([code, todo]).toEqual([code, expect.stringMatching(/^.{8,}\.$/)]);
  }
});

test('every guide names the guides to read before it, and none names a later one', () => {
  for (const [index, name] of GUIDES.entries()) {
    const text = pageOf(name);
    for (const [, before] of text.matchAll(/Before\s(?:this\spage|it):\s\[[^\]]+\]\(([\w-]+)\.md\)/g)) {
      expect({ name, isLater: GUIDES.findIndex((each) => each === before) >= index }).toEqual({ name, isLater: false });
    }
  }
  const built = ['signing', 'retries', 'events', 'paying-in', 'errors'];
  for (const name of built) expect(pageOf(name)).toMatch(/Before\s(?:this\spage|it):\s\[your\sfirst\sorder\]/);
});

test('the walk of a merchants’ page runs every block in it', () => {
  const walked = ['merchant-pages', 'rehearse']
    .map((name) => readFileSync(`test/long/docs/${name}.test.ts`, 'utf8'))
    .join('');
  const runnable = readdirSync('docs').filter(
    (file) => GUIDES.some((name) => `${name}.md` === file) && !['interface.md', 'glossary.md'].includes(file),
  );
  expect(runnable.length).toBeGreaterThanOrEqual(10);
  expect(runnable.filter((file) => !walked.includes(`'docs/${file}'`))).toEqual([]);
});

test('finds blocks with kind, file and line', () => {
  expect(blocksOf('a.md', 'A\n\n```js\n// b.mjs\nc\n```\n\n```sh\nd\n```\n')).toEqual([
    { kind: 'js', file: 'b.mjs', text: '// b.mjs\nc\n', where: 'a.md:3' },
    { kind: 'sh', file: undefined, text: 'd\n', where: 'a.md:8' },
  ]);
  expect(() => blocksOf('a.md', '```js\n')).toThrow('a.md:1 is a block without an end');
});

test('outputs are alike if only numbers, times, ids and addresses differ', () => {
  const shown = 'Order 1: 131263 for TJRabPrwbZy45sbavfcjinPJC18kjpRTv8 until 2026-11-20T13:57:00.000Z.';
  const came = 'Order 72: 131000 for TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF until 2027-01-02T03:04:05.678Z.';
  expect(steady(shown)).toBe(steady(came));
  expect(steady(shown)).not.toBe(steady(came.replace('Order', 'Orders')));
});
