// An embedded Postgres server on the loopback address: creates, starts, stops and removes it. Only the binaries come
// from the npm package; its own wrapper leaves the server running when this process is killed.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { GuardedProcess, guardDirectory } from './guard.js';
import { freePort } from './ports.js';
import { makeServerDir, memoryDir, runnableBinaries, serverUser, type ServerUser } from './postgres-binaries.js';
import { limited, until } from './wait.js';

// initdb takes half a second on an idle machine; CI machines are often busy.
const INITDB_LIMIT_MS = 60_000;
const READY_LIMIT_MS = 30_000;
const STOP_GRACE_MS = 10_000;
const PORT_ATTEMPTS_MAX = 5;
const USER = 'postgres';

export interface PostgresOptions {
  /** Keep the data here for a later start. Without it the data is removed with the server. */
  readonly dataDir?: string;
  /** false disables every wait for the disk: for tests, where a machine crash loses nothing of value. */
  readonly durable: boolean;
  /** Keep temporary data in memory if the machine has room: ext4 takes long to create the files of many databases. */
  readonly inMemory?: boolean;
  /** A fixed port, for a server that restarts at the same address; default a free one. */
  readonly port?: number;
  /** Settings of the server besides the usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Postgres {
  /** postgres://… with a superuser's password. Each data directory has a new password. */
  readonly url: string;
  readonly port: number;
  /** Process id of the server. */
  readonly pid: number;
  /** Returns the last lines of the server's log. */
  tail(): string;
  /** Sends a signal to the server, for tests that break it. */
  signal(signal: NodeJS.Signals): void;
  /** Ends the server and removes its files; keeps the data if `dataDir` was given. */
  stop(): Promise<void>;
}

interface Place {
  /** Guards of the temporary directories from their first file to the server's end. */
  readonly scratch: readonly GuardedProcess[];
  readonly data: string;
  readonly native: string;
  readonly password: string;
  readonly passwordFile: string;
  readonly user: ServerUser;
  readonly isTemporary: boolean;
}

/** Starts a server and returns when it answers. Errors contain the end of the server's log. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const place = await preparePlace(options);
  try {
    await initdb(place);
    for (let attempt = 1; ; attempt += 1) {
      const port = options.port ?? (await freePort());
      const server = await startServer(place, port, options);
      const url = `postgres://${USER}:${place.password}@127.0.0.1:${port}/postgres`;
      try {
        await untilAnswers(server, url);
        return handle(place, server, url, port);
      } catch (error) {
        const tail = server.tail();
        await server.stop('SIGQUIT', STOP_GRACE_MS);
        const isPortTaken = tail.includes('could not bind');
        if (isPortTaken && options.port === undefined && attempt < PORT_ATTEMPTS_MAX) continue;
        throw new Error(`${(error as Error).message}. The end of its log:\n${tail}`, { cause: error });
      }
    }
  } catch (error) {
    await removeScratch(place.scratch);
    throw error;
  }
}

function handle(place: Place, server: GuardedProcess, url: string, port: number): Postgres {
  return {
    url,
    port,
    pid: server.pid,
    tail: () => server.tail(),
    signal: (signal) => {
      server.signal(signal);
    },
    stop: async () => {
      // Fast shutdown writes a checkpoint, which is useful only for kept data.
      await server.stop(place.isTemporary ? 'SIGQUIT' : 'SIGINT', STOP_GRACE_MS);
      await removeScratch(place.scratch);
    },
  };
}

async function removeScratch(guards: readonly GuardedProcess[]): Promise<void> {
  await Promise.all(guards.map((guard) => guard.stop('SIGKILL', 0)));
}

/** Chooses user, binaries and directories. The password file is next to the data, readable by its owner only. */
async function preparePlace(options: PostgresOptions): Promise<Place> {
  const user = await serverUser();
  const isTemporary = options.dataDir === undefined;
  const scratch: GuardedProcess[] = [];
  const temporaryDir = async (wanted?: string): Promise<string> => {
    const dir = await makeServerDir(user, wanted);
    scratch.push(await guardDirectory(dir));
    return dir;
  };
  try {
    // Always creates a temporary directory: binaries may need to be copied even for a kept data directory.
    const dir = await temporaryDir();
    const memory = options.inMemory === true ? await memoryDir() : undefined;
    const base = options.dataDir ?? (memory === undefined ? dir : await temporaryDir(memory));
    if (!isTemporary) {
      await mkdir(base, { recursive: true, mode: 0o700 });
      if (user) await chown(base, user.uid, user.gid);
    }
    const native = await runnableBinaries(dir, user);
    const passwordFile = join(base, 'password');
    const password = await keptPassword(passwordFile, user);
    return { scratch, data: join(base, 'data'), native, password, passwordFile, user, isTemporary };
  } catch (error) {
    await removeScratch(scratch);
    throw error;
  }
}

async function keptPassword(file: string, user: ServerUser): Promise<string> {
  try {
    await writeFile(file, randomBytes(24).toString('hex'), { mode: 0o600, flag: 'wx' });
    if (user) await chown(file, user.uid, user.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return (await readFile(file, 'utf8')).trim();
}

/**
 * Creates the data directory if it is missing. Creates it under another name first and renames it, so that an existing
 * one is complete.
 */
async function initdb(place: Place): Promise<void> {
  if (existsSync(join(place.data, 'PG_VERSION'))) return;
  const unfinished = `${place.data}.new`;
  await rm(unfinished, { recursive: true, force: true });
  const args = ['-D', unfinished, '-U', USER, `--pwfile=${place.passwordFile}`, '--auth=scram-sha-256'];
  // Locale C gives the same text order on every machine, and needs no installed locale.
  args.push('--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions');
  const run = await GuardedProcess.start({
    name: 'initdb',
    command: join(place.native, 'bin', 'initdb'),
    args,
    env: serverEnv(),
    user: place.user,
    // On SIGTERM, initdb removes its files; its child processes end with the pipe they read from.
    abandonSignal: 'TERM',
  });
  try {
    const code = await limited(run.exited, INITDB_LIMIT_MS, 'initdb');
    if (code !== 0) throw new Error(`initdb ended with code ${code}:\n${run.tail()}`);
  } finally {
    await run.stop('SIGTERM', STOP_GRACE_MS);
  }
  await rename(unfinished, place.data);
}

async function startServer(place: Place, port: number, options: PostgresOptions): Promise<GuardedProcess> {
  const on = options.durable ? 'on' : 'off';
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '128MB',
    fsync: on,
    synchronous_commit: on,
    full_page_writes: on,
    // Estimates for these small tables never justify JIT compilation.
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    logging_collector: 'off',
    log_checkpoints: 'off',
    // `log` omits errors that clients provoke on purpose, such as unique violations.
    log_min_messages: 'log',
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  return GuardedProcess.start({
    name: 'Postgres',
    command: join(place.native, 'bin', 'postgres'),
    args: ['-D', place.data, ...flags],
    env: serverEnv(),
    user: place.user,
    // Immediate shutdown: the server ends its children and frees its shared memory. SIGKILL would do neither.
    abandonSignal: 'QUIT',
  });
}

/** Keeps PG* variables and the local locale away from the server. */
function serverEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}

async function untilAnswers(server: GuardedProcess, url: string): Promise<void> {
  const answer = async (): Promise<true | undefined> => {
    if (!server.isRunning) throw new Error(`Postgres ended with code ${await server.exited} at its start`);
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch {
      return undefined;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  await until(answer, READY_LIMIT_MS, 'Postgres becoming ready');
}
