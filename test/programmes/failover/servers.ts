// Two Postgres servers on this machine, a primary and its standby, that exchange roles.
import { randomBytes } from 'node:crypto';
import { chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../packages/local/src/ports.js';
import { makeServerDir, serverUser } from '../../../packages/local/src/postgres-binaries.js';
import { until } from '../../../packages/local/src/wait.js';
import { Server, urlOfBoth } from './server.js';

const LIMIT_MS = 60_000;

export class Servers {
  private constructor(
    private readonly dir: string,
    readonly all: readonly [Server, Server],
    readonly isSynchronous: boolean,
    public primary: Server,
    public standby: Server,
  ) {}

  static async start(isSynchronous: boolean): Promise<Servers> {
    const user = await serverUser();
    const dir = await makeServerDir(user);
    const password = randomBytes(24).toString('hex');
    const file = join(dir, 'password');
    await writeFile(file, password, { mode: 0o600 });
    if (user) await chown(file, user.uid, user.gid);
    const [first, second] = [
      new Server(join(dir, 'first'), await freePort(), user, password),
      new Server(join(dir, 'second'), await freePort(), user, password),
    ];
    const servers = new Servers(dir, [first, second], isSynchronous, first, second);
    try {
      await first.initdb(file);
      await first.start();
      await second.copy(first);
      await second.start();
      await first.demandStandby(isSynchronous);
      return servers;
    } catch (error) {
      await servers.close();
      throw error;
    }
  }

  get url(): string {
    return urlOfBoth(this.all);
  }

  /** Cuts the standby off from the primary, as a broken network link does. */
  async cut(): Promise<void> {
    const { standby } = this;
    await standby.ask(`ALTER SYSTEM SET primary_conninfo = ''`);
    await standby.ask('SELECT pg_reload_conf()');
    const deaf = async (): Promise<true | undefined> =>
      (await standby.ask('SELECT FROM pg_stat_wal_receiver')).length === 0 ? true : undefined;
    await until(deaf, LIMIT_MS, 'the end of the replication');
    // The received WAL may end within a record, which is never replayed. So comparing positions is not sufficient: wait
    // until the server waits for more WAL.
    const replayed = async (): Promise<true | undefined> => {
      const rows = await standby.ask<{ event: string | null }>(
        `SELECT wait_event AS event FROM pg_stat_activity WHERE backend_type = 'startup'`,
      );
      return rows[0]?.event === 'RecoveryRetrieveRetryInterval' ? true : undefined;
    };
    await until(replayed, LIMIT_MS, 'the replay of what was received');
  }

  /** Promotes the standby and returns when it accepts writes. Leaves the previous primary unchanged. */
  async promote(): Promise<void> {
    const { standby } = this;
    await standby.ask('SELECT pg_promote(false)');
    const isOver = async (): Promise<true | undefined> => {
      const rows = await standby.ask<{ still: boolean }>('SELECT pg_is_in_recovery() AS still');
      return rows[0]?.still === false ? true : undefined;
    };
    await until(isOver, LIMIT_MS, 'the promotion', 20);
    [this.primary, this.standby] = [standby, this.primary];
  }

  /** Makes the old primary follow the new one, which waits for it from then on. Returns the method. */
  async rejoin(): Promise<string> {
    const { primary, standby } = this;
    await standby.stop();
    // Before version 16, pg_rewind reads the timeline from the source's last checkpoint. A checkpoint from before the
    // promotion has the old timeline. Then nothing is rewound, and the standby replays past the fork and never confirms
    // a commit.
    await primary.ask('CHECKPOINT');
    let way = 'pg_rewind';
    await standby.rewind(primary).catch(async (error: unknown) => {
      way = `pg_basebackup, since pg_rewind failed: ${String(error).slice(0, 200)}`;
      await standby.copy(primary);
    });
    await standby.start();
    await primary.demandStandby(this.isSynchronous);
    return way;
  }

  async close(): Promise<void> {
    for (const server of this.all) await server.kill();
    await rm(this.dir, { recursive: true, force: true });
  }
}
