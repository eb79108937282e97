// Lets Node import our TypeScript: test files, Jest's global set-up and what they use. They read src instead of dist, so
// that none uses a stale build.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import { SWC_OPTIONS } from './swc.mjs';

/** Resolves an import of `.js` in a TypeScript file to the `.ts` file beside it. */
export async function resolve(specifier, context, next) {
  if (specifier === '@jest/globals') return next('./jest-globals.mjs', { ...context, parentURL: import.meta.url });
  const isOurs = /\.ts(\?|$)/.test(context.parentURL ?? '') && specifier.startsWith('.');
  return next(isOurs ? specifier.replace(/\.js$/, '.ts') : specifier, context);
}

export async function load(url, context, next) {
  if (!/\.ts(\?|$)/.test(url)) return next(url, context);
  const filename = fileURLToPath(url);
  const source = await readFile(filename, 'utf8');
  const { code } = await transform(source, {
    ...SWC_OPTIONS,
    filename,
    swcrc: false,
    sourceMaps: 'inline',
  });
  return { format: 'module', source: code, shortCircuit: true };
}
