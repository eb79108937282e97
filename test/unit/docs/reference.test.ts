import { readFileSync, writeFileSync } from 'node:fs';
import { sources } from '../../support/docs/documents.js';
import { errorLists, metricsPage, referencePages, type Description } from './reference-pages.js';

const description = JSON.parse(readFileSync('openapi.json', 'utf8')) as Description;

test.each(Object.entries(referencePages(description)))(
  '%s is generated from openapi.json (UPDATE_REFERENCE=1 writes it)',
  (path, text) => {
    if (process.env['UPDATE_REFERENCE'] === '1') writeFileSync(path, text);
    expect(readFileSync(path, 'utf8')).toBe(text);
  },
);

test('the lists of docs/errors.md are generated from the error codes (UPDATE_REFERENCE=1 writes them)', () => {
  const page = readFileSync('docs/errors.md', 'utf8');
  const [written = '', note = ''] = /^[^]*?(<!-- Generated .*-->)/.exec(page) ?? [];
  const text = `${written}\n\n${errorLists()}\n`;
  expect(note).not.toBe('');
  if (process.env['UPDATE_REFERENCE'] === '1') writeFileSync('docs/errors.md', text);
  expect(readFileSync('docs/errors.md', 'utf8')).toBe(text);
});

test('docs/metrics.md shows the help text of each metric (UPDATE_REFERENCE=1 writes it)', () => {
  const page = readFileSync('docs/metrics.md', 'utf8');
  const text = metricsPage(
    page,
    sources.filter(({ path }) => path.startsWith('src/')).map((source) => source.text),
  );
  if (process.env['UPDATE_REFERENCE'] === '1') writeFileSync('docs/metrics.md', text);
  expect(readFileSync('docs/metrics.md', 'utf8')).toBe(text);
});
