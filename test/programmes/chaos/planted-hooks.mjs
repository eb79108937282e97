// Module hooks that load the text of a planted bug for the files it changes, and every other file unchanged.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import jest from '../../../jest.config.js';

const [, swc] = jest.transform['^.+\\.ts$'];
const texts = new Map(Object.entries(JSON.parse(readFileSync(process.env.PLANTED_SOURCES, 'utf8'))));

export async function load(url, context, next) {
  const filename = url.startsWith('file:') ? fileURLToPath(url) : '';
  const text = texts.get(filename);
  if (text === undefined) return next(url, context);
  const { code } = await transform(text, { ...swc, filename, swcrc: false, sourceMaps: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
