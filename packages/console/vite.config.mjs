// Builds the pages into hashed files. The console process replaces {{nonce}} with a fresh nonce in each answer of
// index.html.
import { join } from 'node:path';
import { defineConfig } from 'vite';

/** Address of the console process during development; only the dev server proxies to it. */
const PROCESS = process.env.CONSOLE_DEV_TARGET ?? 'http://127.0.0.1:3900';

export default defineConfig({
  root: import.meta.dirname,
  html: { cspNonce: '{{nonce}}' },
  // Keeps texts intact under page translation (packages/console/src/translatable/jsx-runtime.ts).
  resolve: { alias: { '@translatable': join(import.meta.dirname, 'src/translatable') } },
  oxc: { jsx: { runtime: 'automatic', importSource: '@translatable' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Hides warnings about "use client" directives: nothing is rendered on a server.
      onLog: (level, log, keep) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') keep(level, log);
      },
    },
  },
  server: { proxy: { '/api': { target: PROCESS, changeOrigin: true } } },
});
