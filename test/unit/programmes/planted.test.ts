// The planted bugs of the chaos programme must still match the source. A rename fails here instead of in a long hunt.
import { readFile } from 'node:fs/promises';
import { parse } from '@swc/core';
import { patchedSources, PLANTED } from '../../programmes/chaos/planted.js';

it('has enough planted bugs, none of them twice', () => {
  expect(PLANTED.length).toBeGreaterThanOrEqual(25);
  expect(new Set(PLANTED.map(({ name }) => name)).size).toBe(PLANTED.length);
});

it.each(PLANTED.map((bug) => [bug.name, bug] as const))(
  'the planted bug matches the source exactly once and is valid TypeScript: %s',
  async (_, bug) => {
    const sources = await patchedSources(bug);
    expect(sources.size).toBeGreaterThan(0);
    for (const [file, text] of sources) {
      if (!file.endsWith('.sql')) await parse(text, { syntax: 'typescript', decorators: true });
    }
  },
);

it('leaves every planted bug in a package to a named test', () => {
  const inPackages = PLANTED.filter(({ changes }) => changes.some(({ file }) => file.startsWith('packages/')));
  expect(inPackages.length).toBeGreaterThan(0);
  expect(inPackages.filter(({ test }) => test === undefined)).toEqual([]);
});

const IN_TESTS = PLANTED.flatMap(({ name, test }) => (test === undefined ? [] : [[name, test] as const]));
it.each(IN_TESTS)('the test that must catch the planted bug exists: %s', async (_, { file, title }) => {
  const text = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
  // Jest replaces placeholders in titles, so a title with one would select no test.
  expect(title).not.toMatch(/%[sdifjop#]/);
  expect(text.split(title).length - 1).toBe(1);
});
