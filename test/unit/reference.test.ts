import { readFileSync, writeFileSync } from 'node:fs';
import { referencePages, type Description } from '../reference-pages.js';

const description = JSON.parse(readFileSync('openapi.json', 'utf8')) as Description;

test.each(Object.entries(referencePages(description)))(
  '%s is generated from openapi.json (UPDATE_REFERENCE=1 writes it)',
  (path, text) => {
    if (process.env['UPDATE_REFERENCE'] === '1') writeFileSync(path, text);
    expect(readFileSync(path, 'utf8')).toBe(text);
  },
);
