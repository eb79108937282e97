// A failover that loses the last commits, like a promoted asynchronous standby that lagged. A copy of the running
// server is recovered to an earlier moment, promoted, and put in the server's place.
import { execFile } from 'node:child_process';
import { appendFile, chown, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { sleep } from '../../../src/platform/support/clock.js';
import { startPostgres, type Postgres } from '../../../packages/local/src/postgres.js';
import { until } from '../../../packages/local/src/wait.js';

const run = promisify(execFile);
const COPY_LIMIT_MS = 60_000;
const PROMOTION_LIMIT_MS = 60_000;
/** Search time for a moment at which recorded bytes are not yet sent. */
const MOMENT_LIMIT_MS = 3_000;
const LOOK_MS = 20;
/** Time to wait for commits that can be lost. */
const LOSS_LIMIT_MS = 12_000;

/** The records of a server. Records missing on its successor are lost. */
export interface Recorded {
  readonly orders: ReadonlySet<string>;
  readonly legs: ReadonlySet<string>;
  /** Every sent transaction, by id. */
  readonly sent: ReadonlyMap<string, SentTx>;
}

interface SentTx {
  readonly txid: string;
  readonly key: string;
  readonly leg: string;
  /** Equal for transactions that the chain cannot distinguish. */
  readonly act: string;
  readonly attempt: number;
}

/** The losses of a failover: orders unknown to the new server, and transactions that none of its orders can explain. */
export interface Loss {
  readonly orders: ReadonlySet<string>;
  readonly txids: ReadonlySet<string>;
}

const ORDERS = `SELECT key FROM orders`;
const LEGS = `SELECT id::text AS leg FROM leg`;
const SENT = `SELECT encode(t.txid, 'hex') AS txid, o.key, t.attempt, l.id::text AS leg,
    concat_ws('/', t.purpose, t.wallet_id, l.receive_address, l.amount_sun) AS act
  FROM chain_tx t JOIN orders o ON o.id = t.order_id JOIN leg l ON l.id = t.leg_id
  WHERE t.status IN ('sending', 'included', 'solid', 'dead')`;

export async function recordedBy(sql: pg.Pool): Promise<Recorded> {
  const orders = await sql.query<{ key: string }>(ORDERS);
  const legs = await sql.query<{ leg: string }>(LEGS);
  const sent = await sql.query<SentTx>(SENT);
  return {
    orders: new Set(orders.rows.map(({ key }) => key)),
    legs: new Set(legs.rows.map(({ leg }) => leg)),
    sent: new Map(sent.rows.map((tx) => [tx.txid, tx])),
  };
}

/**
 * Returns the records that `after` lacks. A transaction of a known leg must be attributed to that leg, with two
 * exceptions. Either a lost order has an identical transaction, or the proof of death of an earlier attempt was lost. A
 * leg created later, as when an order moves to another wallet, counts as such an attempt too.
 */
export function lossBetween(before: Recorded, after: Recorded): Loss {
  const orders = new Set([...before.orders].filter((key) => !after.orders.has(key)));
  const lost = [...before.sent.values()].filter(({ txid }) => !after.sent.has(txid));
  const ofLostOrders = new Set(lost.filter(({ key }) => orders.has(key)).map(({ act }) => act));
  const unaccounted = lost.filter(
    ({ leg, act, attempt }) => !after.legs.has(leg) || ofLostOrders.has(act) || attempt > 1,
  );
  return { orders, txids: new Set(unaccounted.map(({ txid }) => txid)) };
}

/** A copy of a running server that can replace it, as of a moment after the copy. */
export class Standby {
  private constructor(
    readonly dataDir: string,
    private readonly fromDir: string,
    private readonly firstSegment: string,
  ) {}

  static async copyOf(server: Postgres, fromDir: string): Promise<Standby> {
    const dataDir = await mkdtemp(join(tmpdir(), 'energy-chaos-'));
    const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query(`SELECT pg_backup_start('standby', true)`);
      // Files that disappear during the copy are restored from the WAL.
      await run('sh', ['-c', COPY, 'sh', fromDir, dataDir], { timeout: COPY_LIMIT_MS });
      const { rows } = await client.query<{ labelfile: string }>(`SELECT labelfile FROM pg_backup_stop(false)`);
      const label = rows[0]?.labelfile ?? '';
      await writeOwned(dataDir, 'backup_label', label);
      return new Standby(dataDir, fromDir, /\(file ([0-9A-F]{24})\)/.exec(label)?.[1] ?? '');
    } catch (error) {
      await rm(dataDir, { recursive: true, force: true });
      throw error;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Recovers to `lsn` from the ended server's WAL, and serves at its port on a new timeline. */
  async promote(lsn: string, port: number): Promise<Postgres> {
    const [from, data] = [join(this.fromDir, 'data', 'pg_wal'), join(this.dataDir, 'data')];
    const logs = (await readdir(from)).filter(
      (name) =>
        name.endsWith('.history') || (/^[0-9A-F]{24}$/.test(name) && name.slice(8) >= this.firstSegment.slice(8)),
    );
    await run('cp', ['-a', ...logs.map((name) => join(from, name)), join(data, 'pg_wal')], { timeout: COPY_LIMIT_MS });
    const settings = [
      `restore_command = 'false'`,
      `recovery_target_lsn = '${lsn}'`,
      `recovery_target_action = 'promote'`,
    ];
    await appendFile(join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
    await writeOwned(this.dataDir, 'recovery.signal', '');
    const server = await startPostgres({ durable: false, dataDir: this.dataDir, port });
    try {
      await untilPromoted(server);
      return server;
    } catch (error) {
      await server.stop();
      throw new Error(`${String(error)}. The end of its log:\n${server.tail()}`, { cause: error });
    }
  }

  async remove(): Promise<void> {
    await rm(this.dataDir, { recursive: true, force: true });
  }
}

/** The server modifies and removes these files, so its user must own them. */
async function writeOwned(dataDir: string, name: string, text: string): Promise<void> {
  const file = join(dataDir, 'data', name);
  await writeFile(file, text, { mode: 0o600 });
  const { uid, gid } = await stat(dataDir);
  await chown(file, uid, gid);
}

/** Copies everything except the WAL, which is copied later up to its end, and files of the running server. */
const COPY = `chown --reference="$1" "$2" && cp -p "$1/password" "$2" && mkdir -m 700 "$2/data" && cd "$1/data" &&
  for each in * ; do case $each in pg_wal|postmaster.pid|postmaster.opts) ;; *) cp -a "$each" "$2/data" || true;; esac; done
  chown --reference="$1" "$2/data" && mkdir -m 700 "$2/data/pg_wal" && chown --reference="$1" "$2/data/pg_wal"`;

async function untilPromoted(server: Postgres): Promise<void> {
  const look = async (): Promise<true | undefined> => {
    const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ still: boolean }>(`SELECT pg_is_in_recovery() AS still`);
      return rows[0]?.still === false ? true : undefined;
    } catch {
      return undefined;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  await until(look, PROMOTION_LIMIT_MS, 'the promotion');
}

const MOMENT = `SELECT pg_current_wal_lsn()::text AS lsn,
    EXISTS (SELECT FROM chain_tx WHERE status IN ('built', 'signed')) AS unsent`;

/**
 * Returns the LSN at which the WAL shall end. Prefers a moment between recording bytes and recording that they are
 * sent: losing the latter is the worst case.
 */
export async function momentToKeep(sql: pg.Pool, over: AbortSignal): Promise<string> {
  for (let waitedMs = 0; ; waitedMs += LOOK_MS) {
    const { rows } = await sql.query<{ lsn: string; unsent: boolean }>(MOMENT);
    const [row] = rows;
    if (row === undefined) throw new Error('the server does not know its own log');
    if (row.unsent || waitedMs >= MOMENT_LIMIT_MS || over.aborted) return row.lsn;
    await sleep(LOOK_MS);
  }
}

/** Waits until something was sent and accepted that the failover can lose. */
export async function untilMoreIsRecorded(sql: pg.Pool, before: Recorded, over: AbortSignal): Promise<void> {
  for (let waitedMs = 0; waitedMs < LOSS_LIMIT_MS && !over.aborted; waitedMs += 100) {
    await sleep(100);
    const now = await recordedBy(sql);
    if (now.sent.size > before.sent.size && now.orders.size > before.orders.size) return;
  }
}
