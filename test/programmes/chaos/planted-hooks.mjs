// Module hooks that load the text of a planted bug for the files it changes, and every other file unchanged.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import { SWC_OPTIONS } from '../../setup/swc.mjs';

const texts = new Map(Object.entries(JSON.parse(readFileSync(process.env.PLANTED_SOURCES, 'utf8'))));

export async function load(url, context, next) {
  const filename = url.startsWith('file:') ? fileURLToPath(url) : '';
  const text = texts.get(filename);
  if (text === undefined) return next(url, context);
  const { code } = await transform(text, { ...SWC_OPTIONS, filename, swcrc: false, sourceMaps: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
