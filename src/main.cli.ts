// The operator's command line: `npm run -s cli -- --help`.
import 'reflect-metadata';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { runCli } from './operator/cli.js';

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

/** Services and containers often have no $USER, and sometimes no entry in the list of users either. */
function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    return process.getuid === undefined ? '' : `uid ${process.getuid().toString()}`;
  }
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  user: currentUser(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
});
