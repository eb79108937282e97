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

const stop = new AbortController();

/** Returns a signal that the first Ctrl-C aborts. A second one ends the process immediately. */
function interrupted(): AbortSignal {
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

const args = process.argv.slice(2);
const output = { isLost: false };

/**
 * Reports output that cannot be written. The command still completes, since its act may be half done; only a command
 * that runs until Ctrl-C stops. A closed pipe is no failure, since `head` closes it. Any other failure is reported once
 * and names the audit log, since a repeated command could act twice.
 */
function noteOutputError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || output.isLost) return;
  output.isLost = true;
  process.exitCode = 1;
  const msg = `The output was not written (${error.message}), but the command ran. Read \`audit list\` before you repeat it.`;
  process.stderr.write(
    args.includes('--json') ? `${JSON.stringify({ ok: false, error: 'OUTPUT_LOST', msg })}\n` : `${msg}\n`,
  );
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  stop.abort();
  noteOutputError(error);
});
process.stderr.on('error', noteOutputError);

const exitCode = await runCli(args, {
  env: process.env,
  user: systemUser(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isLive: process.stderr.isTTY,
  input: process.stdin.isTTY ? undefined : process.stdin,
  interrupted,
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
});
if (!output.isLost) process.exitCode = exitCode;
