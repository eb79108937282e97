// One Postgres server that can die and return: as a primary, as a standby, or for reading only.
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { GuardedProcess } from '../../../packages/local/src/guard.js';
import type { ServerUser } from '../../../packages/local/src/postgres-binaries.js';
import { until } from '../../../packages/local/src/wait.js';
import { binaries, killWithChildren, runTool } from './tools.js';

const START_LIMIT_MS = 60_000;
const STOP_GRACE_MS = 20_000;
const STANDBY_LIMIT_MS = 60_000;
/** For the programme's own queries, which do not measure the service: they may be slow on a busy machine. */
const TOOL_LIMIT_MS = 30_000;
const USER = 'postgres';

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  // The operating system survives a killed server, so data handed to it is not lost.
  fsync: 'off',
  synchronous_commit: 'on',
  wal_keep_size: '1GB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};

/** Returns a URL with both hosts in this order, independent of their roles. */
export function urlOfBoth([first, second]: readonly [Named, Named]): string {
  return first.url.replace(first.name, `${first.name},${second.name}`);
}

type Named = Pick<Server, 'name' | 'url'>;

export class Server {
  private process: GuardedProcess | undefined;

  constructor(
    readonly dataDir: string,
    readonly port: number,
    private readonly user: ServerUser,
    readonly password: string,
  ) {}

  get name(): string {
    return `127.0.0.1:${this.port.toString()}`;
  }

  get url(): string {
    return `postgres://${USER}:${this.password}@${this.name}/postgres`;
  }

  async initdb(passwordFile: string): Promise<void> {
    const flags = [
      '--data-checksums',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ];
    await this.tool('initdb', ['-D', this.dataDir, '-U', USER, `--pwfile=${passwordFile}`, ...flags]);
  }

  /** Starts the server and returns when it answers. `over` overrides its settings. */
  async start(over: Readonly<Record<string, string>> = {}, port = this.port): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, port: port.toString(), ...over });
    this.process = await GuardedProcess.start({
      name: `Postgres ${this.name}`,
      command: join(binaries(), 'postgres'),
      args: ['-D', this.dataDir, ...settings.flatMap(([key, value]) => ['-c', `${key}=${value}`])],
      env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
      user: this.user,
      abandonSignal: 'QUIT',
    });
    const { process: started } = this;
    const answers = async (): Promise<true | undefined> => {
      if (!started.isRunning) throw new Error(`${this.name} ended at its start:\n${started.tail()}`);
      return this.ask('SELECT 1', [], port).then(
        () => true,
        () => undefined,
      );
    };
    await until(answers, START_LIMIT_MS, `${this.name} becoming ready`);
  }

  /** Runs one statement on a new connection and returns its rows. */
  async ask<Row extends object>(text: string, values: readonly unknown[] = [], port = this.port): Promise<Row[]> {
    const connectionString = this.url.replace(`:${this.port.toString()}/`, `:${port.toString()}/`);
    const client = new pg.Client({
      connectionString,
      connectionTimeoutMillis: TOOL_LIMIT_MS,
      query_timeout: TOOL_LIMIT_MS,
      application_name: 'failover',
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Kills the server, as the loss of its machine does. */
  async kill(): Promise<void> {
    const { process: killed } = this;
    if (killed === undefined) return;
    await killWithChildren(killed.pid);
    await killed.stop('SIGKILL', 0);
    this.process = undefined;
  }

  async stop(): Promise<void> {
    await this.process?.stop('SIGINT', STOP_GRACE_MS);
    this.process = undefined;
  }

  /** Recreates the data as a copy of `source`, as its standby. */
  async copy(source: Server): Promise<void> {
    await rm(this.dataDir, { recursive: true, force: true });
    await this.tool('pg_basebackup', ['-D', this.dataDir, '-d', source.conninfo, '-X', 'stream', '-c', 'fast', '-R']);
    await this.beAsynchronous();
  }

  /** Rewinds the stopped server's data to the point where it diverged from `source`, as its standby. */
  async rewind(source: Server): Promise<string> {
    const said = await this.tool('pg_rewind', ['-D', this.dataDir, `--source-server=${source.conninfo}`, '-R']);
    await this.beAsynchronous();
    return said;
  }

  /** Makes commits wait for a standby, or for none. */
  async demandStandby(isDemanded: boolean): Promise<void> {
    await this.ask(`ALTER SYSTEM SET synchronous_standby_names = '${isDemanded ? '*' : ''}'`);
    await this.ask('SELECT pg_reload_conf()');
    const state = isDemanded ? 'sync' : 'async';
    const follows = async (): Promise<true | undefined> => {
      const rows = await this.ask<{ sync_state: string }>(
        `SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'`,
      );
      return rows.some((row) => row.sync_state === state) ? true : undefined;
    };
    await until(follows, STANDBY_LIMIT_MS, `a standby of ${this.name}`);
  }

  /** Disables its own synchronous standbys: a promoted server must not wait for one. */
  private async beAsynchronous(): Promise<void> {
    await appendFile(join(this.dataDir, 'postgresql.auto.conf'), `synchronous_standby_names = ''\n`);
  }

  private get conninfo(): string {
    return `host=127.0.0.1 port=${this.port.toString()} user=${USER} dbname=postgres`;
  }

  private tool(name: string, args: readonly string[]): Promise<string> {
    return runTool(name, args, { user: this.user, password: this.password });
  }
}
