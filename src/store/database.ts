/**
 * Statements on the one pool: named prepared statements for the hot ones, short transactions, retries of what
 * Postgres itself calls retryable. Plain reads and writes go by repositories; SQL is for what locks, one round trip or
 * batches decide. Owns no table.
 */
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { isNativeError } from 'node:util/types';
import pg from 'pg';
import { DataSource, type EntityManager, type EntityTarget, type ObjectLiteral, type Repository } from 'typeorm';
import { sleep } from '../base/clock.js';
import { waysOf } from './data-source.js';
import type { DatabaseHosts } from './database-hosts.js';
import { REFUSAL_SQLSTATE } from './refusals.js';

/** bigint columns come as bigint, so that no amount ever passes through a float. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') {
    if (oid === pg.types.builtins.INT8 && format !== 'binary') return (value: string) => BigInt(value);
    return pg.types.getTypeParser(oid, format) as (value: string) => unknown;
  },
};

/** One statement: `name` makes it a prepared statement of its connection, planned once. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  /** How long the client waits for the answer, ms; the connection's own limit unless said. */
  readonly query_timeout?: number;
}

export type Row = Record<string, unknown>;

/** Whatever runs statements: the pool itself or a transaction. */
export interface Queryable {
  query<R extends object = Row>(statement: Statement | string, params?: readonly unknown[]): Promise<R[]>;
}

/** A transaction: statements, and the repositories that work within it. */
export interface Transaction extends Queryable {
  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity>;
}

/** serialization_failure, deadlock_detected. */
const RETRYABLE = new Set(['40001', '40P01']);
const ATTEMPTS_MAX = 3;
const READ_ONLY = '25006';
const IS_READ_ONLY = `SELECT current_setting('transaction_read_only') AS setting`;
const TAKES_NO_WRITES =
  'the server takes no writes (a standby, or default_transaction_read_only is on): point DATABASE_URL at the one that does';

/** The SQLSTATE of a database error, if it is one. */
export function sqlStateOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  // Every state holds a digit; EPIPE has five letters too, and is a socket's.
  return typeof thrown.code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(thrown.code) ? thrown.code : undefined;
}

/**
 * Whether the connection went away or never came, so that what was asked may or may not have happened.
 * 57P01–57P03: the server is stopping or starting; 08xxx: the connection broke; 25P03: an idle transaction was ended.
 */
export function isConnectionFault(thrown: unknown): boolean {
  const state = sqlStateOf(thrown);
  if (state !== undefined) return /^(08|57P0)/.test(state) || state === '53300' || state === '25P03';
  // Errors of Node's own sockets come from another realm under Jest, where instanceof would deny them.
  if (!isNativeError(thrown)) return false;
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
  return (
    /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOHOST|EMFILE|ENFILE)/.test(code) ||
    /Connection terminated|^timeout expired$|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable|Query read timeout/i.test(
      thrown.message,
    )
  );
}

/**
 * Whether the statement failed by the rows it was about: a constraint, a guard, a value. Any other error is the
 * database's own, and the next statement would meet it too.
 */
export function isRowFault(thrown: unknown): boolean {
  return /^(ER|P0|21|22|23|44)/.test(sqlStateOf(thrown) ?? '');
}

/**
 * Whether the server is there and cannot do its work: 53xxx out of disk, memory or connections, 58xxx its own files
 * fail it, 25006 it takes no writes. Whatever was asked, the next statement meets the same.
 */
export function isServerUnable(thrown: unknown): boolean {
  return /^(53|58|25006)/.test(sqlStateOf(thrown) ?? '');
}

/** Whether nothing can be written just now, for a reason that is nobody's request: the caller may come again. */
export function isDatabaseAway(thrown: unknown): boolean {
  return isConnectionFault(thrown) || isServerUnable(thrown);
}

/** Whether the database is there, but not in time: a lock was not had (55P03), or the statement's time ran out (57014). */
export function isTooSlow(thrown: unknown): boolean {
  return /^(55P03|57014)$/.test(sqlStateOf(thrown) ?? '');
}

/** Whether the transaction is gone for the sake of others and may be run again. */
export function isRetryable(thrown: unknown): boolean {
  return RETRYABLE.has(sqlStateOf(thrown) ?? '');
}

/** Whether a lock was not had in time: another session holds what the statement is about. */
export function isLockTimeout(thrown: unknown): boolean {
  return sqlStateOf(thrown) === '55P03';
}

/**
 * Classes of errors after which the connection is as good as before: refusals of our own functions, data and
 * constraint errors, rollbacks, locks not had, cancelled statements, a full disk. All others end the connection: a new
 * one may meet a server, or prepare a statement, that the old one cannot.
 */
const HARMLESS = /^(ER|P0|22|23|40|55|57014|53100)/;

/** What to release a connection with: the fault that makes it useless, or nothing. */
function spoiledBy(thrown: unknown): Error | undefined {
  const isFatal = typeof thrown === 'object' && thrown !== null && 'severity' in thrown && thrown.severity !== 'ERROR';
  if (!isFatal && HARMLESS.test(sqlStateOf(thrown) ?? '')) return undefined;
  return isNativeError(thrown) ? thrown : new Error(String(thrown));
}

/** How a failed statement is counted: its SQLSTATE, or what became of the connection. */
function kindOf(thrown: unknown): string {
  const state = sqlStateOf(thrown);
  if (state !== undefined) return state;
  const code = isNativeError(thrown) && 'code' in thrown ? thrown.code : undefined;
  if (code === 'EMFILE' || code === 'ENFILE') return code;
  return isConnectionFault(thrown) ? 'connection' : 'none';
}

/** Not by its name: a pooler in transaction mode gives the next one a connection that does not know it. */
function unnamed({ text, query_timeout }: Statement): Statement {
  return { text, ...(query_timeout !== undefined && { query_timeout }) };
}

async function run<R extends object>(
  client: pg.PoolClient,
  statement: Statement,
  params: readonly unknown[],
): Promise<R[]> {
  const result = await client.query<R>({ ...statement, values: params as unknown[], types });
  return result.rows;
}

/** Of TypeORM's Postgres driver: its pool, and how its query runners get a connection. */
interface Driver {
  readonly master: pg.Pool;
  obtainMasterConnection: () => Promise<Lent>;
}

/** A connection of TypeORM's, and what gives it back. */
export type Lent = [client: pg.PoolClient, release: (fault?: Error) => void];

@Injectable()
export class Database implements Queryable, OnApplicationBootstrap, OnApplicationShutdown {
  /** Called for every failed statement, a repository's too: its SQLSTATE, or `connection`. For counting only. */
  onFault: ((kind: string) => void) | undefined;

  private readonly isNaming: boolean;

  constructor(readonly source: DataSource) {
    this.isNaming = waysOf(source).isNaming;
    this.watchRepositories();
  }

  /** The hosts that its connections choose among. */
  get hosts(): DatabaseHosts {
    return waysOf(this.source).hosts;
  }

  /** The same past a pooler, for a session of one's own. */
  get direct(): DatabaseHosts {
    return waysOf(this.source).direct;
  }

  /** The same on other connections, such as a replica's: what it runs in a scope is in that scope there too. */
  beside(source: DataSource): Database {
    return new (this.constructor as new (source: DataSource) => Database)(source);
  }

  onApplicationBootstrap(): void {
    for (const hosts of new Set([this.hosts, this.direct])) hosts.watch();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const hosts of new Set([this.hosts, this.direct])) await hosts.stop();
  }

  /** TypeORM's own pool: one pool per process, whoever asks. */
  get pool(): pg.Pool {
    return this.driver.master;
  }

  private get driver(): Driver {
    return this.source.driver as unknown as Driver;
  }

  /** What repositories ask goes by TypeORM: it reports each statement to a subscriber, and a connection that could not be had to nobody. */
  private watchRepositories(): void {
    this.source.subscribers.push({
      afterQuery: ({ success, error }: { readonly success: boolean; readonly error?: unknown }) => {
        if (!success) this.onFault?.(kindOf(error));
      },
    });
    const { driver } = this;
    const obtain = driver.obtainMasterConnection.bind(driver);
    driver.obtainMasterConnection = async () => this.lent(await this.watched(obtain()));
  }

  /** How a transaction begins. */
  protected async begin(client: pg.PoolClient): Promise<void> {
    await client.query('BEGIN');
  }

  /** Whether a single statement wants a transaction of ours around it. */
  protected isInTransaction(): boolean {
    return false;
  }

  /** What a repository is given, outside of a transaction of ours. */
  protected async lent(connection: Lent): Promise<Lent> {
    return Promise.resolve(connection);
  }

  /**
   * One statement, its own transaction. Not by `pg.Pool.query`, which closes the connection after any error: a refusal
   * is one, and would cost a new backend each time.
   */
  async query<R extends object = Row>(statement: Statement | string, params: readonly unknown[] = []): Promise<R[]> {
    if (this.isInTransaction()) return this.attempt(async (tx) => tx.query<R>(statement, params));
    return this.onConnection(async (client, spoil) => {
      try {
        return await this.watched(run<R>(client, this.asSent(statement), params));
      } catch (error) {
        spoil(spoiledBy(error));
        throw error;
      }
    });
  }

  /**
   * Runs `work` in one READ COMMITTED transaction, again (up to 3 times) on a deadlock or serialization failure.
   * Nothing may be awaited inside but statements of `tx`. `before`: what its connection is asked before it begins.
   */
  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    before?: (client: pg.ClientBase) => Promise<void>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(work, before);
      } catch (error) {
        if (attempt >= ATTEMPTS_MAX || !isRetryable(error)) throw error;
        await sleep(Math.random() * 20 * attempt);
      }
    }
  }

  /**
   * Throws unless the server answers and takes writes. If it takes none its connection is closed: a new one may meet the
   * server's successor, and while nobody is ready nothing else would make one.
   */
  async checkWritable(): Promise<void> {
    await this.onConnection(async (client, spoil) => {
      try {
        const [row] = await this.watched(run<{ setting: string }>(client, { text: IS_READ_ONLY }, []));
        if (row?.setting !== 'off') throw new Error(TAKES_NO_WRITES);
      } catch (error) {
        spoil(spoiledBy(error));
        throw error;
      }
    });
  }

  private asSent(statement: Statement | string): Statement {
    if (typeof statement === 'string') return { text: statement };
    return this.isNaming ? statement : unnamed(statement);
  }

  private async watched<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      this.onFault?.(kindOf(error));
      throw error;
    }
  }

  private async attempt<T>(
    work: (tx: Transaction) => Promise<T>,
    before?: (client: pg.ClientBase) => Promise<void>,
  ): Promise<T> {
    return this.onConnection(async (client, spoil) => {
      try {
        await before?.(client);
        await this.begin(client);
        const result = await work({
          query: async (statement, params = []) => this.watched(run(client, this.asSent(statement), params)),
          repository: (entity) => this.managerOn(client).getRepository(entity),
        });
        await this.watched(client.query('COMMIT'));
        return result;
      } catch (error) {
        // Who did not answer in time will not answer this either: its connection ends the transaction.
        if (isConnectionFault(error)) spoil(spoiledBy(error));
        else
          await client.query('ROLLBACK').catch((rollbackError: unknown) => {
            spoil(isNativeError(rollbackError) ? rollbackError : new Error(String(rollbackError)));
          });
        // A server that takes no writes any more may have a successor, which only a new connection meets.
        if (sqlStateOf(error) === READ_ONLY) spoil(spoiledBy(error));
        throw error;
      }
    });
  }

  /** TypeORM's manager on this connection, on which our transaction is open; left to itself it takes another one. */
  private managerOn(client: pg.PoolClient): EntityManager {
    const runner = this.source.createQueryRunner();
    Object.assign(runner, { connect: () => Promise.resolve(client), isTransactionActive: true });
    return runner.manager;
  }

  /** Works on a connection of its own, which is closed afterwards if it went away or `work` says that it is spoiled. */
  private async onConnection<T>(
    work: (client: pg.PoolClient, spoil: (fault: Error | undefined) => void) => Promise<T>,
  ): Promise<T> {
    const client = await this.watched(this.pool.connect());
    let broken: Error | undefined;
    // Reported here when the connection goes while no statement waits for it; without a listener that ends the process.
    const onLost = (error: Error): void => {
      broken = error;
    };
    client.on('error', onLost);
    try {
      return await work(client, (fault) => (broken ??= fault));
    } finally {
      client.off('error', onLost);
      client.release(broken);
    }
  }
}

/** Whether a database function of ours refused (sql/functions/accept_order.sql); the message is then an error code. */
export function isRefusal(thrown: unknown): boolean {
  return sqlStateOf(thrown) === REFUSAL_SQLSTATE;
}
