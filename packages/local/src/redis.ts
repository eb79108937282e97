// Redis for the demo and the tests: a given server, otherwise an installed one, otherwise one written in JavaScript.
// Its contents may be lost at any time, because Postgres is the source of truth.
import { createRequire } from 'node:module';
import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { GuardedProcess } from './guard.js';
import { freePort } from './ports.js';
import { until } from './wait.js';

const READY_LIMIT_MS = 20_000;
const GIVEN_LIMIT_MS = 5_000;
const STOP_GRACE_MS = 5_000;
const PORT_ATTEMPTS_MAX = 5;

// The JavaScript server runs in a process of its own, so that it never delays the API: a BullMQ job costs it about 4 ms
// of CPU (measured: 200 jobs added and processed in 0.84 s). It is a string, because it must start from src under Jest
// and from dist alike. The package's own server is not used for two reasons. First, it listens on every interface.
// Second, it notices a lost connection only when that connection's blocking command times out. A killed worker's
// connection then still receives the next job's marker, and that job waits for seconds. Therefore the transport reads
// client data immediately, up to 1 MiB ahead of the commands: only a pending read detects the end of a connection.
const JS_SERVER = `
import { createServer } from 'node:net';
import { PassThrough } from 'node:stream';
const [core, port] = process.argv.slice(1);
const { RedisServerState, SocketConnectionTransport, attachSession, createRedisCommandExecutor } = await import(core);
class EagerTransport extends SocketConnectionTransport {
  ahead = this.socket.pipe(new PassThrough({ writableHighWaterMark: 1_048_576 }));
  read() {
    return this.ahead;
  }
}
const state = new RedisServerState({ databaseCount: 16 });
const executor = createRedisCommandExecutor();
createServer({ noDelay: true, keepAlive: true }, (socket) => {
  const clientAddress = socket.remoteAddress + ':' + socket.remotePort;
  const transport = new EagerTransport(socket);
  const { session } = attachSession(transport, { state, executor, clientAddress });
  socket.once('close', () => {
    session.close();
    transport.ahead.destroy();
  });
}).listen(Number(port), '127.0.0.1');
`;

export type RedisKind = 'given' | 'valkey-server' | 'redis-server' | 'js-redis-server';

export interface RedisServer {
  /** redis://… */
  readonly url: string;
  readonly kind: RedisKind;
  /** Process id of the server; undefined for a given server. */
  readonly pid: number | undefined;
  /** Sends a signal to the server, for tests that break it. Does nothing for a given one. */
  signal(signal: NodeJS.Signals): void;
  /** Ends a server that was started here; leaves a given one running. */
  stop(): Promise<void>;
}

export interface RedisOptions {
  /**
   * The value of REDIS_URL: a URL is used directly, `embedded` selects the JavaScript server, undefined selects
   * automatically.
   */
  readonly redisUrl?: string | undefined;
  /** A fixed port, for a server that restarts at the same address; default a free one. */
  readonly port?: number;
}

/** Finds or starts a Redis server and returns when it answers. Throws if a given one does not answer within 5 s. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const given = options.redisUrl?.trim() ?? '';
  if (given !== '' && given !== 'embedded') return useGiven(given);
  const program = given === 'embedded' ? undefined : await installedServer();
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const url = `redis://127.0.0.1:${port}`;
    const server = await (program ? startProgram(program.path, port) : startJavaScript(port));
    try {
      // If the port was taken, our server has ended, and the server that answers is another one.
      const ready = async (): Promise<true | undefined> => {
        if (!server.isRunning) throw new Error(`ended with code ${await server.exited}`);
        return (await refusal(url)) === undefined ? true : undefined;
      };
      await until(ready, READY_LIMIT_MS, 'becoming ready');
      if (!server.isRunning) throw new Error(`ended with code ${await server.exited}`);
    } catch (error) {
      const tail = server.tail();
      await server.stop('SIGKILL', 0);
      const isPortTaken = /address (already )?in use/i.test(tail);
      if (isPortTaken && options.port === undefined && attempt < PORT_ATTEMPTS_MAX) continue;
      throw new Error(`Redis: ${(error as Error).message}. The end of its log:\n${tail}`, { cause: error });
    }
    return {
      url,
      kind: program?.kind ?? 'js-redis-server',
      pid: server.pid,
      signal: (signal) => {
        server.signal(signal);
      },
      stop: () => server.stop('SIGTERM', STOP_GRACE_MS),
    };
  }
}

async function useGiven(url: string): Promise<RedisServer> {
  if (!/^rediss?:\/\//.test(url)) {
    throw new Error('REDIS_URL is neither "embedded" nor a redis:// or rediss:// URL');
  }
  let reason: string | undefined;
  const ready = async (): Promise<true | undefined> => {
    reason = await refusal(url);
    return reason === undefined ? true : undefined;
  };
  // The message names only the variable: the URL may contain a password.
  await until(ready, GIVEN_LIMIT_MS, 'an answer').catch((error: unknown) => {
    const message = `The server that REDIS_URL names does not answer (${reason ?? 'no answer'}): start it, or unset REDIS_URL.`;
    throw new Error(message, { cause: error });
  });
  return { url, kind: 'given', pid: undefined, signal: () => undefined, stop: () => Promise.resolve() };
}

/** Returns undefined if the server answers, otherwise the reason. */
async function refusal(url: string): Promise<string | undefined> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: string | undefined;
  // The error of connect() only says that the connection is closed.
  redis.on('error', (error: Error) => {
    reason = error.message;
  });
  try {
    await redis.connect();
    await redis.ping();
    return undefined;
  } catch (error) {
    return reason ?? (error as Error).message;
  } finally {
    // Disconnecting a closed connection would start a timer of 2 s that nothing clears.
    if (redis.status !== 'end') redis.disconnect();
  }
}

/** Returns the first server program on PATH. Prefers Valkey for its permissive licence. */
async function installedServer(): Promise<{ kind: RedisKind; path: string } | undefined> {
  for (const kind of ['valkey-server', 'redis-server'] as const) {
    for (const dir of (process.env['PATH'] ?? '').split(delimiter)) {
      if (dir === '') continue;
      const path = join(dir, kind);
      const isRunnable = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isRunnable) return { kind, path };
    }
  }
  return undefined;
}

function startProgram(path: string, port: number): Promise<GuardedProcess> {
  const settings = ['--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--port', String(port)];
  return GuardedProcess.start({
    name: 'Redis',
    command: path,
    args: [...settings, '--daemonize', 'no', '--dir', tmpdir(), '--databases', '16'],
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    abandonSignal: 'KILL',
  });
}

function startJavaScript(port: number): Promise<GuardedProcess> {
  const core = pathToFileURL(createRequire(import.meta.url).resolve('js-redis-server/core')).href;
  return GuardedProcess.start({
    name: 'Redis',
    command: process.execPath,
    args: ['--input-type=module', '--eval', JS_SERVER, '--', core, String(port)],
    env: { PATH: process.env['PATH'], TZ: 'UTC' },
    abandonSignal: 'KILL',
  });
}
