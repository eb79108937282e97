// The operator's command line: `npm run -s cli -- --help`.
import 'reflect-metadata';
import { constants } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { runCli } from '../../modules/operator/cli.js';
import { systemUser } from '../../platform/support/system-user.js';
import { monotonicMs } from '../../platform/support/clock.js';

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

/** From a terminal, a program under npm gets one Ctrl-C twice: from the terminal, and forwarded by npm. */
const SAME_KEY_PRESS_MS = 500;

/** Returns a signal that the first Ctrl-C aborts. A second one ends the process immediately. */
function interrupted(): AbortSignal {
  const stop = new AbortController();
  let firstMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      firstMs ??= monotonicMs();
      if (monotonicMs() - firstMs > SAME_KEY_PRESS_MS) process.exit(128 + constants.signals[signal]);
      stop.abort();
    });
  }
  return stop.signal;
}

// A reader may close the pipe, as `head` does; the command still completes.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  user: systemUser(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isLive: process.stderr.isTTY,
  input: process.stdin.isTTY ? undefined : process.stdin,
  interrupted,
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
});
