// Every fenced block of the pages names its kind, and a test runs the blocks of commands and programs.
import { readFileSync } from 'node:fs';
import { pages } from '../../support/docs/documents.js';
import { blocksOf, type Block } from '../../support/docs/page-blocks.js';

/** Kinds to read: drawings, output, settings and queries. */
const READ_ONLY = new Set(['mermaid', 'text', 'json', 'env', 'sql', 'yaml']);
const RUNNABLE = new Set(['sh', 'js', 'python', 'http', 'console']);

/** The program that runs the blocks of a page, and the words by which it names the page or the commands. */
const RUN_BY: Readonly<Record<string, readonly [path: string, words: string]>> = {
  'README.md': ['test/long/local/demo-command.test.ts', 'demo'],
  'docs/demo.md': ['test/long/local/demo-command.test.ts', "'--env'"],
  'docs/operating/backup-and-restore.md': ['docker/check.sh', 'docker/backup.sh "'],
  'docs/operating/install.md': ['test/long/docs/operating-walk.test.ts', "section('install'"],
  'docs/operating/keys.md': ['test/long/docs/operating-walk.test.ts', "section('keys'"],
  'docs/operating/signer.md': ['test/long/docs/operating-walk.test.ts', "pageOf('signer')"],
  'docs/rehearse-the-bad-days.md': ['test/long/docs/rehearse.test.ts', "'docs/rehearse-the-bad-days.md'"],
  'docs/systemd.md': ['test/long/operations/systemd.test.ts', 'docs/systemd.md'],
  'packages/sdk/README.md': ['test/long/docs/merchant-pages.test.ts', "'packages/sdk/README.md'"],
};
const MERCHANT_PAGES = readFileSync('test/long/docs/merchant-pages.test.ts', 'utf8');

/** Commands of the CLI, which documents.test.ts compares with the CLI's help. */
const CLI_ONLY = /^(?:(?:cli|npm run -s cli --|export) .*(?:\n|$))+$/;

const own = pages.filter(({ path }) => /^(?:README\.md$|docs\/|packages\/sdk\/)/.test(path));
const blocks = own.flatMap(({ path, text }) => blocksOf(path, text).map((block) => ({ path, block })));

test('every block of a page names its kind', () => {
  expect(blocks.length).toBeGreaterThan(80);
  const nameless = blocks.filter(({ block: { kind } }) => !READ_ONLY.has(kind) && !RUNNABLE.has(kind));
  expect(nameless.map(({ block: { where, kind } }) => `${where} ${kind}`)).toEqual([]);
});

test('every block of commands or programs is run by a test', () => {
  const isRun = (path: string, { kind, text }: Block): boolean =>
    RUN_BY[path] !== undefined || MERCHANT_PAGES.includes(`'${path}'`) || (kind === 'sh' && CLI_ONLY.test(text));
  const idle = blocks.filter(({ path, block }) => RUNNABLE.has(block.kind) && !isRun(path, block));
  expect(idle.map(({ block: { where } }) => where)).toEqual([]);
  for (const [runner, words] of Object.values(RUN_BY)) expect(readFileSync(runner, 'utf8')).toContain(words);
});

test('no page has more than 300 lines', () => {
  const long = own.filter(({ text }) => text.trimEnd().split('\n').length > 300);
  expect(long.map(({ path }) => path)).toEqual([]);
});

/** Pages whose words are generated, or are one row for each figure. */
const REFERENCE = /^docs\/(?:interface\/reference-|metrics\.md$)/;

test('no page of prose has more than 2,500 words', () => {
  const long = own.filter(({ path, text }) => !REFERENCE.test(path) && text.trim().split(/\s+/).length > 2500);
  expect(long.map(({ path }) => path)).toEqual([]);
});

test('a decision has its four parts, in at most 275 words of prose', () => {
  const decisions = own.filter(({ path }) => /^docs\/decisions\/\d/.test(path));
  expect(decisions.length).toBeGreaterThan(20);
  const shapes = decisions.map(({ path, text }) => ({
    path,
    parts: [...text.matchAll(/^\*\*(\w+)\.?\*\*/gm)].map(([, part]) => part),
    isShort:
      text
        .replaceAll(/^\|.*$/gm, '')
        .trim()
        .split(/\s+/).length <= 275,
  }));
  const parts = ['Context', 'Decision', 'Consequences', 'Rejected'];
  expect(shapes).toEqual(decisions.map(({ path }) => ({ path, parts, isShort: true })));
});
