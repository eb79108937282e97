// Two real Postgres servers. The second is a streaming standby of the first until a test promotes it.
import { execFile } from 'node:child_process';
import { appendFile, chmod, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres, type Postgres } from '../../../packages/local/src/postgres.js';
import { asAdmin } from '../../setup/admin.js';

const COPY_LIMIT_MS = 60_000;

export interface ServerPair {
  readonly first: Postgres;
  readonly second: Postgres;
  /** Restarts a stopped server on its old port and data directory. */
  restart(which: 'first' | 'second'): Promise<void>;
  stop(which: 'first' | 'second'): Promise<void>;
  close(): Promise<void>;
}

/** Returns a URL of these servers, in the given order, with the credentials of `like`. */
export function urlOf(servers: readonly (Postgres | number)[], like: Postgres, query = ''): string {
  const { username, password } = new URL(like.url);
  const hosts = servers.map((each) => `127.0.0.1:${(typeof each === 'number' ? each : each.port).toString()}`);
  return `postgres://${username}:${password}@${hosts.join(',')}/postgres${query}`;
}

/** A data directory that pairs are copied from. Initialising a new one is the slowest part of a start. */
export interface PairImage {
  readonly dir: string;
  remove(): Promise<void>;
}

export async function makeImage(): Promise<PairImage> {
  const dir = await mkdtemp(join(tmpdir(), 'energy-pair-'));
  await chmod(dir, 0o755);
  const server = await startPostgres({ durable: false, dataDir: join(dir, 'image') });
  await server.stop();
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

/** Starts a server and a standby that follows it. */
export async function startPair(image: PairImage): Promise<ServerPair> {
  const dir = await mkdtemp(join(image.dir, 'pair-'));
  await chmod(dir, 0o755);
  const dirs = { first: join(dir, 'first'), second: join(dir, 'second') };
  for (const to of Object.values(dirs)) {
    await promisify(execFile)('cp', ['-a', join(image.dir, 'image'), to], { timeout: COPY_LIMIT_MS });
  }
  const first = await startPostgres({ durable: false, dataDir: dirs.first });
  const { username, password, port } = new URL(first.url);
  const follow = `primary_conninfo = 'host=127.0.0.1 port=${port} user=${username} password=${password}'\n`;
  await appendFile(join(dirs.second, 'data', 'postgresql.auto.conf'), follow);
  const { uid, gid } = await stat(dirs.second);
  const signal = join(dirs.second, 'data', 'standby.signal');
  await writeFile(signal, '', { mode: 0o600 });
  await chown(signal, uid, gid);
  const servers = { first, second: await startPostgres({ durable: false, dataDir: dirs.second }) };
  const running = new Set(['first', 'second']);
  const stop = async (which: 'first' | 'second'): Promise<void> => {
    if (!running.delete(which)) return;
    servers[which].signal('SIGQUIT');
    await servers[which].stop();
  };
  return {
    get first() {
      return servers.first;
    },
    get second() {
      return servers.second;
    },
    restart: async (which) => {
      servers[which] = await startPostgres({ durable: false, dataDir: dirs[which], port: servers[which].port });
      running.add(which);
    },
    stop,
    close: async () => {
      await stop('first');
      await stop('second');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Returns once the server accepts writes. */
export async function promote(server: Postgres): Promise<void> {
  await asAdmin(server.url, (client) => client.query('SELECT pg_promote(true, 15)'));
}
