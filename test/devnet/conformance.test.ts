// The story recorded from a real java-tron node, told to the devnet by its own program in a process of its own.
import { execFile } from 'node:child_process';
import { keyOf, startChain } from './client.js';

const STORY_LIMIT_MS = 50_000;

test('every step of the recorded story is answered as the real node answered it', async () => {
  const { node } = await startChain({ blockMs: 100, solidLag: 1 });
  const args = ['test/tron-node/conformance.mjs', 'compare', '--block-ms', '100'];
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
});
