// Headers that the console's pages and generated programs name.
import { readdirSync, readFileSync } from 'node:fs';
import { curlOfRequest } from '../../../src/modules/console/signed-snippets.js';

const at = (path: string): URL => new URL(`../../../${path}/`, import.meta.url);
const textOf = (folder: string): string =>
  readdirSync(at(folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, at(folder)), 'utf8'))
    .join('\n');
const named = (text: string): string[] => [
  ...new Set([...text.matchAll(/\bX(?:-[A-Z][A-Za-z]*)+/g)].map(([name]) => name.toLowerCase())),
];

const READ = new Set(
  [...`${textOf('src/modules/auth')}\n${textOf('src/platform/http/pipeline')}`.matchAll(/'(x-[a-z-]+)'/g)].map(
    ([, name = '']) => name,
  ),
);

it('are those that the API reads', () => {
  expect([...READ]).toEqual(expect.arrayContaining(['x-cc-timestamp', 'x-cc-nonce', 'x-cc-signature', 'x-request-id']));
  const curl = curlOfRequest({ path: '/v1/quotes', body: {}, isOrder: true });
  const shown = named(`${textOf('packages/console/src/text')}\n${curl}`);
  expect(shown).toEqual(expect.arrayContaining(['x-cc-signature']));
  expect(shown.filter((name) => !READ.has(name))).toEqual([]);
});
