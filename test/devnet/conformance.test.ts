// The session recorded from a real java-tron node, replayed on the devnet by a separate program.
import { execFile } from 'node:child_process';
import { keyOf, startChain } from './client.js';

/** A real node has 3 000. With that, set by CONFORMANCE_BLOCK_MS, the session takes some minutes. */
const BLOCK_MS = Number(process.env['CONFORMANCE_BLOCK_MS'] ?? '100');
const SESSION_LIMIT_MS = BLOCK_MS <= 100 ? 50_000 : 900_000;

test(
  'every step of the recorded session is answered as the real node answered it',
  async () => {
    const { node } = await startChain({ blockMs: BLOCK_MS, solidLag: 1, version: '4.8.0' });
    const args = ['test/tron-node/conformance.mjs', 'compare', '--block-ms', BLOCK_MS.toString()];
    args.push(
      '--full',
      node.fullUrl,
      '--solid',
      node.solidUrl,
      '--bank',
      keyOf('bank').secret,
      '--pool',
      keyOf('pool').secret,
    );
    try {
      const printed = await new Promise<string>((resolve) => {
        execFile(
          process.execPath,
          args,
          { timeout: SESSION_LIMIT_MS, env: { PATH: process.env['PATH'] } },
          (_error, stdout) => {
            resolve(stdout);
          },
        );
      });
      expect(printed.trim()).toBe('136 of 136 steps agree with the real node');
    } finally {
      await node.stop();
    }
  },
  SESSION_LIMIT_MS + 10_000,
);
