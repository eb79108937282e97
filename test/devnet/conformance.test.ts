// The story recorded from a real java-tron node, told to the devnet by its own program in a process of its own.
import { execFile } from 'node:child_process';
import { keyOf, startChain } from './client.js';

/** A real node's pace is 3 000; CONFORMANCE_BLOCK_MS chooses it, and the story then takes some minutes. */
const BLOCK_MS = Number(process.env['CONFORMANCE_BLOCK_MS'] ?? '100');
const STORY_LIMIT_MS = BLOCK_MS <= 100 ? 50_000 : 900_000;

test(
  'every step of the recorded story is answered as the real node answered it',
  async () => {
    const { node } = await startChain({ blockMs: BLOCK_MS, solidLag: 1 });
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
      const told = await new Promise<string>((resolve) => {
        execFile(
          process.execPath,
          args,
          { timeout: STORY_LIMIT_MS, env: { PATH: process.env['PATH'] } },
          (_error, stdout) => {
            resolve(stdout);
          },
        );
      });
      expect(told.trim()).toBe('136 of 136 steps agree with the real node');
    } finally {
      await node.stop();
    }
  },
  STORY_LIMIT_MS + 10_000,
);
