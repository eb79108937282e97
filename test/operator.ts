// Runs the operator's command line inside the test, as a process would: arguments in, two streams and a code out.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { runCli } from '../src/operator/cli.js';
import { keepSaid, keepShown, noteKeysOf, noteSecret } from './setup/canary.js';
import { databaseEnv } from './setup/pooler.js';
import { envAs } from './setup/roles.js';

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The one JSON document of --json; throws when stdout is anything else. Its shape is the test's to assert. */
  json(): ReturnType<typeof JSON.parse>;
}

export type Cli = (...args: string[]) => Promise<CliResult>;

/** Of every service in this process: what one seals, others on the same database open. */
export const TEST_MASTER_KEY = randomBytes(32).toString('base64');

/** Settings of a service on `databaseUrl`; a chain nobody answers for unless `extra` names one. */
export function settings(databaseUrl: string, extra: Record<string, string> = {}): Record<string, string> {
  const all = {
    ...databaseEnv(databaseUrl),
    DATABASE_POOL_MAX: '4',
    REDIS_URL: 'redis://127.0.0.1:1',
    TRON_FULL_NODE_URLS: 'http://127.0.0.1:1',
    TRON_SOLIDITY_NODE_URLS: 'http://127.0.0.1:1',
    TOKEN_CONTRACT: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
    MASTER_KEY: TEST_MASTER_KEY,
    RATE_SOURCES: 'static',
    ADMIN_PORT: '0',
    USER: 'tester',
    ...extra,
  };
  noteKeysOf(all);
  return all;
}

/**
 * The command line under `env`. `answer` is what the person at the keyboard types; without it nobody is there. `input`
 * is what stands on standard input.
 */
export function cliWith(env: Record<string, string>, answer?: string, input?: string): Cli {
  return async (...args) => {
    let out = '';
    let err = '';
    noteKeysOf(env);
    const code = await runCli(args, {
      env: args.includes('migrate') ? env : envAs(env, 'cli'),
      user: '',
      out: (text) => (out += text),
      err: (text) => (err += text),
      input: input === undefined ? undefined : Readable.from([Buffer.from(input)]),
      ask: answer === undefined ? undefined : () => Promise.resolve(answer),
    });
    keepSaid('command line', err);
    // Where secrets are shown: a new API key or webhook to the operator who has just made it, and the keys that were derived.
    const given = /\b(?:test_)?[0-9a-f]{48}\b/.exec(args.includes('project') || args.includes('keys') ? out : '')?.[0];
    // The link of an invitation is shown once too.
    const isInviting = args.includes('console') && args.includes('invite');
    const isShowing = args.includes('webhooks') && (args.includes('create') || args.includes('rotate'));
    if (given === undefined && !args.includes('derive') && !isInviting)
      (isShowing ? keepShown : keepSaid)('command line', out);
    if (given !== undefined) noteSecret('API key', given);
    return { code, out, err, json: () => JSON.parse(out) };
  };
}
