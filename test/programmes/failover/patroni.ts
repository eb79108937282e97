// Two Postgres servers under Patroni. Patroni alone elects the primary in etcd and promotes it.
import { randomBytes } from 'node:crypto';
import { chown, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GuardedProcess } from '../../../packages/local/src/guard.js';
import { freePort } from '../../../packages/local/src/ports.js';
import { makeServerDir, serverUser, type ServerUser } from '../../../packages/local/src/postgres-binaries.js';
import { until } from '../../../packages/local/src/wait.js';
import { Server, urlOfBoth } from './server.js';
import { binaries, killWithChildren } from './tools.js';

/** Seconds. A dead primary keeps its leadership for `ttl`; Patroni accepts no shorter one. */
const TIMES = { ttl: 20, loop_wait: 2, retry_timeout: 5 };
const LIMIT_MS = 120_000;
const ENV = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', TZ: 'UTC' };

interface Cluster {
  readonly dir: string;
  readonly user: ServerUser;
  readonly password: string;
  readonly etcd: string;
}

/** One server with its Patroni. */
class Member {
  private process: GuardedProcess | undefined;
  private readonly server: Server;

  constructor(
    /** Patroni writes the label into synchronous_standby_names without quotes, where `first` and `any` are keywords. */
    private readonly label: string,
    private readonly cluster: Cluster,
    readonly port: number,
    private readonly restPort: number,
  ) {
    this.server = new Server(this.dataDir, port, cluster.user, cluster.password);
  }

  get name(): string {
    return this.server.name;
  }

  get url(): string {
    return this.server.url;
  }

  private get dataDir(): string {
    return join(this.cluster.dir, this.label);
  }

  async ask<Row extends object>(text: string): Promise<Row[]> {
    return this.server.ask<Row>(text);
  }

  /** Starts Patroni, which decides when and how Postgres runs. */
  async start(): Promise<void> {
    const { dir, user } = this.cluster;
    const file = join(dir, `${this.label}.yml`);
    await writeFile(file, JSON.stringify(this.settings, undefined, 2), { mode: 0o600 });
    if (user) await chown(file, user.uid, user.gid);
    this.process = await GuardedProcess.start({
      name: `Patroni ${this.label}`,
      command: 'patroni',
      args: [file],
      env: ENV,
      user,
      abandonSignal: 'TERM',
    });
  }

  /** Kills Patroni and Postgres, as the loss of their machine does. */
  async kill(): Promise<void> {
    const pid = Number((await readFile(join(this.dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]);
    this.process?.signal('SIGKILL');
    if (pid > 1) await killWithChildren(pid);
    await this.process?.stop('SIGKILL', 0);
    this.process = undefined;
  }

  /** Returns the last lines of output, for error messages. */
  tail(): string {
    return this.process?.tail() ?? '';
  }

  /** Patroni's settings as JSON, which is valid YAML. */
  private get settings(): object {
    const { etcd, dir, password } = this.cluster;
    const rest = `127.0.0.1:${this.restPort.toString()}`;
    return {
      scope: 'energy',
      name: this.label,
      restapi: { listen: rest, connect_address: rest },
      etcd3: { host: etcd },
      bootstrap: {
        dcs: {
          ...TIMES,
          synchronous_mode: true,
          postgresql: {
            use_pg_rewind: true,
            use_slots: true,
            parameters: {
              max_connections: 200,
              wal_keep_size: '1GB',
              fsync: 'off',
              synchronous_commit: 'on',
              jit: 'off',
            },
          },
        },
        initdb: ['data-checksums', { encoding: 'UTF8' }, { locale: 'C' }],
      },
      postgresql: {
        listen: this.name,
        connect_address: this.name,
        data_dir: this.dataDir,
        bin_dir: binaries(),
        pgpass: join(dir, `${this.label}.pgpass`),
        parameters: { unix_socket_directories: '' },
        pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
        authentication: {
          superuser: { username: 'postgres', password },
          replication: { username: 'replicator', password },
        },
      },
    };
  }
}

export class PatroniServers {
  readonly isSynchronous = true;

  private constructor(
    private readonly cluster: Cluster,
    private readonly etcd: GuardedProcess,
    readonly all: readonly [Member, Member],
    public primary: Member,
    public standby: Member,
  ) {}

  /** Starts the cluster. Throws if `patroni` or `etcd` is not installed. */
  static async start(): Promise<PatroniServers> {
    const user = await serverUser();
    const dir = await makeServerDir(user);
    const [client, peer] = [`127.0.0.1:${(await freePort()).toString()}`, `127.0.0.1:${(await freePort()).toString()}`];
    const cluster = { dir, user, password: randomBytes(24).toString('hex'), etcd: client };
    const etcd = await GuardedProcess.start({
      name: 'etcd',
      command: 'etcd',
      args: [
        ['data-dir', join(dir, 'etcd')],
        ['listen-client-urls', `http://${client}`],
        ['advertise-client-urls', `http://${client}`],
        ['listen-peer-urls', `http://${peer}`],
        ['initial-advertise-peer-urls', `http://${peer}`],
        ['initial-cluster', `default=http://${peer}`],
      ].map(([key, value]) => `--${key ?? ''}=${value ?? ''}`),
      env: ENV,
      user,
      abandonSignal: 'KILL',
    });
    const first = new Member('h1', cluster, await freePort(), await freePort());
    const second = new Member('h2', cluster, await freePort(), await freePort());
    const servers = new PatroniServers(cluster, etcd, [first, second], first, second);
    try {
      await first.start();
      await servers.untilPrimary(first);
      await second.start();
      await servers.untilFollowed(first);
      return servers;
    } catch (error) {
      const tails = servers.all.map((each) => each.tail().slice(-2000));
      await servers.close();
      throw new Error(`${String(error)}\n${tails.join('\n')}`, { cause: error });
    }
  }

  get url(): string {
    return urlOfBoth(this.all);
  }

  /** Waits until Patroni has promoted the standby. Leaves the previous primary unchanged. */
  async promote(): Promise<void> {
    const { standby } = this;
    await this.untilPrimary(standby);
    [this.primary, this.standby] = [standby, this.primary];
  }

  /** Restarts the old primary's machine and waits until it follows the new one synchronously. Returns the method. */
  async rejoin(): Promise<string> {
    await this.standby.start();
    await this.untilFollowed(this.primary).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.standby.tail().slice(-2000)}`, { cause: error });
    });
    return 'Patroni';
  }

  async close(): Promise<void> {
    for (const member of this.all) await member.kill();
    await this.etcd.stop('SIGKILL', 0);
    await rm(this.cluster.dir, { recursive: true, force: true });
  }

  private async untilPrimary(member: Member): Promise<void> {
    const isOver = async (): Promise<true | undefined> =>
      member.ask<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby').then(
        (rows) => (rows[0]?.standby === false ? true : undefined),
        () => undefined,
      );
    await until(isOver, LIMIT_MS, `the promotion of ${member.name}`, 20);
  }

  private async untilFollowed(member: Member): Promise<void> {
    const follows = async (): Promise<true | undefined> => {
      const rows = await member.ask<{ state: string }>('SELECT sync_state AS state FROM pg_stat_replication');
      return rows.some(({ state }) => state === 'sync') ? true : undefined;
    };
    await until(follows, LIMIT_MS, `a synchronous standby of ${member.name}`);
  }
}
