// The pages, built into hashed files. The console process puts a fresh nonce in the place of {{nonce}} at each answer of index.html.
import { join } from 'node:path';
import { defineConfig } from 'vite';

/** Where a console process listens while pages are worked on; only its dev server proxies. */
const PROCESS = process.env.CONSOLE_DEV_TARGET ?? 'http://127.0.0.1:3900';

export default defineConfig({
  root: import.meta.dirname,
  html: { cspNonce: '{{nonce}}' },
  // Texts that survive the translation of a page (packages/console/src/translatable/jsx-runtime.ts).
  resolve: { alias: { '@translatable': join(import.meta.dirname, 'src/translatable') } },
  oxc: { jsx: { runtime: 'automatic', importSource: '@translatable' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Marks for servers that render; nothing is rendered there.
      onLog: (level, log, keep) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') keep(level, log);
      },
    },
  },
  server: { proxy: { '/api': { target: PROCESS, changeOrigin: true } } },
});
