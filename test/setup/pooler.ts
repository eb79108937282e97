// PgBouncer between the services under test and Postgres, when TEST_THROUGH=pgbouncer is set. It runs in transaction
// mode, as docs/high-availability.md prescribes.
import { chmod, chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { GuardedProcess } from '../../packages/local/src/guard.js';
import { freePort } from '../../packages/local/src/ports.js';
import { makeServerDir, serverUser } from '../../packages/local/src/postgres-binaries.js';
import { startNode } from '../../packages/local/src/processes.js';
import { until } from '../../packages/local/src/wait.js';
import type { Role } from '../../src/platform/database/grants.js';
import { asAdmin, databaseUrl, fromSetup } from './admin.js';

const READY_LIMIT_MS = 20_000;
const STOP_GRACE_MS = 5_000;
/** Forty API processes with the default DATABASE_POOL_MAX of 16. */
const CROWD = 40 * 16;
const CROWD_LIMIT_MS = 60_000;

export function isThroughPooler(): boolean {
  return process.env['TEST_THROUGH'] === 'pgbouncer';
}

/** Sets the session settings on the role. PgBouncer does not pass the settings that a process sends at connect. */
export async function limitByRole(client: pg.Client, login: string, role: Role): Promise<void> {
  for (const [name, value] of [
    ['statement_timeout', '12s'],
    ['lock_timeout', role === 'worker' ? '2s' : '10s'],
    ['idle_in_transaction_session_timeout', '10s'],
    ['timezone', 'UTC'],
  ] as const) {
    await client.query(`ALTER ROLE ${login} SET ${name} = '${value}'`);
  }
}

/** Returns the database URL for a service: through the pooler when the tests use one. */
export function servedUrl(url: string): string {
  const port = process.env['TEST_POOLER_PORT'];
  if (port === undefined) return url;
  const pooled = new URL(url);
  pooled.hostname = '127.0.0.1';
  pooled.port = port;
  return pooled.href;
}

/** Returns the database settings of a service. `url` is the server's URL, or that of a proxy in front of `servedUrl`. */
export function databaseEnv(url: string): Record<string, string> {
  if (process.env['TEST_POOLER_PORT'] === undefined) return { DATABASE_URL: url };
  const server = new URL(fromSetup('TEST_DATABASE_URL'));
  const direct = new URL(url);
  const isServer = direct.host === server.host;
  direct.host = server.host;
  return {
    DATABASE_URL: isServer ? servedUrl(url) : url,
    DATABASE_DIRECT_URL: direct.href,
    PG_NAMED_STATEMENTS: 'off',
  };
}

interface Pooler {
  readonly port: number;
  stop(): Promise<void>;
}

function pooledUrl(adminUrl: string, port: number): string {
  const pooled = new URL(databaseUrl(adminUrl, 'postgres'));
  pooled.port = port.toString();
  return pooled.href;
}

/** Starts PgBouncer together with the connections of other clients. */
export async function startCrowdedPooler(adminUrl: string, logins: Logins): Promise<Pooler> {
  const pooler = await startPooler(adminUrl, logins);
  try {
    const crowd = await startCrowd(pooledUrl(adminUrl, pooler.port));
    const stop = async () => {
      try {
        await crowd.stop();
      } finally {
        await pooler.stop();
      }
    };
    return { ...pooler, stop };
  } catch (error) {
    await pooler.stop();
    throw error;
  }
}

type Logins = readonly (readonly [string, string])[];

export async function startPooler(
  adminUrl: string,
  logins: Logins,
  mode: 'transaction' | 'session' = 'transaction',
): Promise<Pooler> {
  const admin = new URL(adminUrl);
  const user = await serverUser();
  const dir = await makeServerDir(user);
  const port = await freePort();
  const users = [[admin.username, decodeURIComponent(admin.password)] as const, ...logins];
  const files = {
    'users.txt': users.map(([name, password]) => `"${name}" "${password}"\n`).join(''),
    'pgbouncer.ini': `[databases]
* = host=${admin.hostname} port=${admin.port || '5432'}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port.toString()}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(dir, 'users.txt')}
pool_mode = ${mode}
ignore_startup_parameters = options
max_client_conn = 1000
default_pool_size = 30
server_idle_timeout = 1
`,
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(dir, name), text, { mode: 0o600 });
    if (user) await chown(join(dir, name), user.uid, user.gid);
  }
  await chmod(dir, 0o700);
  const bouncer = await GuardedProcess.start({
    name: 'pgbouncer',
    command: 'pgbouncer',
    args: [join(dir, 'pgbouncer.ini')],
    env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
    user,
    abandonSignal: 'KILL',
  });
  const pooled = pooledUrl(adminUrl, port);
  const answers = async (): Promise<true | undefined> => {
    if (!bouncer.isRunning) throw new Error(`pgbouncer ended at its start:\n${bouncer.tail()}`);
    return asAdmin(pooled, (client) => client.query('SELECT 1')).then(
      () => true,
      () => undefined,
    );
  };
  const stop = async (): Promise<void> => {
    await bouncer.stop('SIGKILL', STOP_GRACE_MS);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await until(answers, READY_LIMIT_MS, 'PgBouncer becoming ready');
    return { port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts the connections of other clients beside the tests. `stop` throws when one was lost. */
async function startCrowd(url: string): Promise<{ stop(): Promise<void> }> {
  const crowd = await startNode<true>(fileURLToPath(new URL('crowd.mjs', import.meta.url)), {
    name: 'crowd',
    env: { CROWD_URL: url, CROWD_SIZE: CROWD.toString() },
    readyWhen: (line) => (line === 'ready' ? true : undefined),
    readyLimitMs: CROWD_LIMIT_MS,
  });
  return {
    stop: async () => {
      await crowd.stop();
      if ((await crowd.exited) !== 0) throw new Error(`other connections through PgBouncer: ${crowd.tail()}`);
      console.log(`through PgBouncer beside the tests: ${crowd.tail(1)}`);
    },
  };
}
