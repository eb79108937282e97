// Runs the operator's CLI inside the test as a process would: arguments in, two streams and an exit code out.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { runCli } from '../../src/modules/operator/cli.js';
import { readSealKeys } from '../../src/platform/config/config.js';
import { seedCanaries } from '../../src/platform/database/migrate.js';
import { Sealers } from '../../src/platform/support/sealers.js';
import { keepSaid, keepShown, noteKeysOf, noteSecret } from '../setup/canary.js';
import { databaseEnv } from '../setup/pooler.js';
import { envAs } from '../setup/roles.js';

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Parses the one JSON document of --json. Throws when stdout is anything else. The test asserts its shape. */
  json(): ReturnType<typeof JSON.parse>;
}

export type Cli = (...args: string[]) => Promise<CliResult>;

/** Shared by every service of this process, so that services on one database can open each other's sealed data. */
export const TEST_MASTER_KEY = randomBytes(32).toString('base64');

/** Makes TEST_MASTER_KEY the key of the database, as `migrate` does: a console refuses to start with another one. */
export async function seedTestCanaries(databaseUrl: string): Promise<void> {
  const { held } = new Sealers({ sealKeys: readSealKeys({ MASTER_KEY: TEST_MASTER_KEY }) });
  await seedCanaries(databaseUrl, held);
}

/** Returns the settings of a service on `databaseUrl`. Its nodes are unreachable unless `extra` names others. */
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
 * Returns the CLI under `env`. `answer` is typed at the prompt; without it there is no terminal. `input` is standard
 * input.
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
    // Some commands show secrets by design: a new API key or webhook secret, and derived keys.
    const given = /\b(?:test_)?[0-9a-f]{48}\b/.exec(args.includes('project') || args.includes('keys') ? out : '')?.[0];
    // An invitation's link is shown once too.
    const isInviting = args.includes('console') && args.includes('invite');
    const isShowing = args.includes('webhooks') && (args.includes('create') || args.includes('rotate'));
    if (given === undefined && !args.includes('derive') && !isInviting)
      (isShowing ? keepShown : keepSaid)('command line', out);
    if (given !== undefined) noteSecret('API key', given);
    return { code, out, err, json: () => JSON.parse(out) };
  };
}
