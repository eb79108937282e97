// Runs a program to its end, as a shell or a supervisor would. Returns its output and exit code.
import { spawn } from 'node:child_process';
import { keepSaid } from '../../setup/canary.js';

const LIMIT_MS = 60_000;

export interface Ended {
  /** 128 + n when signal n ended it. */
  readonly code: number | null;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

/** Adds `env` to this process's environment. An undefined value removes a variable. */
export async function runToEnd(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (text) => (said.out += String(text)));
  child.stderr.on('data', (text) => (said.err += String(text)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  keepSaid(`output of ${script}`, said.out + said.err);
  return { code, out: linesOf(said.out), err: linesOf(said.err) };
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
