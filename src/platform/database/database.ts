/**
 * Statements on the process's one pool: named prepared statements for frequent ones, short transactions, retries of
 * errors that Postgres calls retryable. Plain reads and writes use repositories; SQL is for code where locks, one round
 * trip or batches decide.
 */
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { isNativeError } from 'node:util/types';
import pg from 'pg';
import { DataSource, type EntityManager, type EntityTarget, type ObjectLiteral, type Repository } from 'typeorm';
import { sleep } from '../support/clock.js';
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
  /** Limit of the client's wait for the answer, ms; by default the connection's own limit. */
  readonly query_timeout?: number;
}

export type Row = Record<string, unknown>;

/** Runs statements: the pool itself or a transaction. */
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
  'the server accepts no writes (a standby, or default_transaction_read_only is on): point DATABASE_URL at the primary';

/** The SQLSTATE of a database error, if it is one. */
export function sqlStateOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  // Every SQLSTATE contains a digit. EPIPE, a socket error, has five letters too.
  return typeof thrown.code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(thrown.code) ? thrown.code : undefined;
}

/**
 * Returns true if the connection was lost or never made, so that the statement may or may not have taken effect.
 * 57P01–57P03: the server is stopping or starting; 08xxx: the connection broke; 53300: too many connections; 25P03: an
 * idle transaction was ended.
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
 * Returns true if the rows of the statement caused the error: a constraint, a guard, a value. Any other error concerns
 * the database itself, and the next statement would fail too.
 */
export function isRowFault(thrown: unknown): boolean {
  return /^(ER|P0|21|22|23|44)/.test(sqlStateOf(thrown) ?? '');
}

/**
 * Returns true if the server answers but cannot work: 53xxx out of disk, memory or connections; 58xxx errors of its own
 * files; 25006 read-only. Any other statement would fail too.
 */
export function isServerUnable(thrown: unknown): boolean {
  return /^(53|58|25006)/.test(sqlStateOf(thrown) ?? '');
}

/** Returns true if writing is impossible at present for a reason outside the request; the caller may retry. */
export function isDatabaseAway(thrown: unknown): boolean {
  return isConnectionFault(thrown) || isServerUnable(thrown);
}

/**
 * Returns true if the database answered too late: a lock was not granted (55P03), or the statement timed out (57014).
 */
export function isTooSlow(thrown: unknown): boolean {
  return /^(55P03|57014)$/.test(sqlStateOf(thrown) ?? '');
}

/** Returns true if a conflict with other transactions rolled this one back; it may be retried. */
export function isRetryable(thrown: unknown): boolean {
  return RETRYABLE.has(sqlStateOf(thrown) ?? '');
}

/** Returns true if a lock timed out because another session holds it. */
export function isLockTimeout(thrown: unknown): boolean {
  return sqlStateOf(thrown) === '55P03';
}

/**
 * Classes of errors that leave the connection usable: refusals of our own functions, data and constraint errors,
 * rollbacks, lock timeouts, cancelled statements, a full disk. All others end the connection, because a new one may
 * reach a server, or prepare a statement, that the old one cannot.
 */
const HARMLESS = /^(ER|P0|22|23|40|55|57014|53100)/;

/** Returns the fault that makes a connection useless, for its release; undefined if it is still usable. */
function spoiledBy(thrown: unknown): Error | undefined {
  const isFatal = typeof thrown === 'object' && thrown !== null && 'severity' in thrown && thrown.severity !== 'ERROR';
  if (!isFatal && HARMLESS.test(sqlStateOf(thrown) ?? '')) return undefined;
  return isNativeError(thrown) ? thrown : new Error(String(thrown));
}

/** Returns the label that counts a failed statement: its SQLSTATE, or the kind of connection fault. */
function kindOf(thrown: unknown): string {
  const state = sqlStateOf(thrown);
  if (state !== undefined) return state;
  const code = isNativeError(thrown) && 'code' in thrown ? thrown.code : undefined;
  if (code === 'EMFILE' || code === 'ENFILE') return code;
  return isConnectionFault(thrown) ? 'connection' : 'none';
}

/** Drops the statement's name: behind a pooler in transaction mode, the next connection would not know it. */
function unnamed({ text, query_timeout }: Statement): Statement {
  return { text, ...(query_timeout !== undefined && { query_timeout }) };
}

/** Repeats work that a conflict with other transactions rolled back, at most ATTEMPTS_MAX times. */
async function repeated<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX || !isRetryable(error)) throw error;
      await sleep(Math.random() * 20 * attempt);
    }
  }
}

async function run<R extends object>(
  client: pg.PoolClient,
  statement: Statement,
  params: readonly unknown[],
): Promise<R[]> {
  const result = await client.query<R>({ ...statement, values: params as unknown[], types });
  return result.rows;
}

/** The used part of TypeORM's Postgres driver: its pool, and the method that gives query runners a connection. */
interface Driver {
  readonly master: pg.Pool;
  obtainMasterConnection: () => Promise<Lent>;
}

/** A connection of TypeORM's pool, and the function that releases it. */
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

  /** The hosts of the pool's connections. */
  get hosts(): DatabaseHosts {
    return waysOf(this.source).hosts;
  }

  /** The hosts that bypass a pooler, for sessions that keep session state. */
  get direct(): DatabaseHosts {
    return waysOf(this.source).direct;
  }

  /**
   * Returns a Database of the same class on another DataSource, such as a replica's. Inside a project scope its
   * statements are in that scope too.
   */
  onSource(source: DataSource): Database {
    return new (this.constructor as new (source: DataSource) => Database)(source);
  }

  onApplicationBootstrap(): void {
    for (const hosts of new Set([this.hosts, this.direct])) hosts.watch();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const hosts of new Set([this.hosts, this.direct])) await hosts.stop();
  }

  /** TypeORM's own pool, the only one of the process. */
  get pool(): pg.Pool {
    return this.driver.master;
  }

  private get driver(): Driver {
    return this.source.driver as unknown as Driver;
  }

  /**
   * Counts the faults of repositories. TypeORM reports failed statements to a subscriber, but not a failure to get a
   * connection.
   */
  private watchRepositories(): void {
    this.source.subscribers.push({
      afterQuery: ({ success, error }: { readonly success: boolean; readonly error?: unknown }) => {
        if (!success) this.onFault?.(kindOf(error));
      },
    });
    const { driver } = this;
    const obtain = driver.obtainMasterConnection.bind(driver);
    driver.obtainMasterConnection = async () => this.lendConnection(await this.reportFaults(obtain()));
  }

  /** Begins a transaction; subclasses may add to it. */
  protected async begin(client: pg.PoolClient): Promise<void> {
    await client.query('BEGIN');
  }

  /** Returns true if a single statement must run in a transaction. */
  protected isInTransaction(): boolean {
    return false;
  }

  /** Returns the connection that a repository gets outside of our transactions. */
  protected async lendConnection(connection: Lent): Promise<Lent> {
    return Promise.resolve(connection);
  }

  /**
   * Runs one statement as its own transaction, repeated like `transaction`. `pg.Pool.query` is not used: it closes the
   * connection after any error, so every refusal would cost a new backend.
   */
  async query<R extends object = Row>(statement: Statement | string, params: readonly unknown[] = []): Promise<R[]> {
    if (this.isInTransaction()) return repeated(async () => this.attempt(async (tx) => tx.query<R>(statement, params)));
    return repeated(async () =>
      this.onConnection(async (client, spoil) => {
        try {
          return await this.reportFaults(run<R>(client, this.statementToSend(statement), params));
        } catch (error) {
          spoil(spoiledBy(error));
          throw error;
        }
      }),
    );
  }

  /**
   * Runs `work` in one READ COMMITTED transaction, and retries it (at most 3 attempts) after a deadlock or
   * serialization failure. `work` may await only statements of `tx`. `before` runs on the connection before the
   * transaction begins.
   */
  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    before?: (client: pg.ClientBase) => Promise<void>,
  ): Promise<T> {
    return repeated(async () => this.attempt(work, before));
  }

  /**
   * Throws unless the server answers and takes writes. If it takes none, its connection is closed, because a new one
   * may reach the server's successor. While the process is not ready, nothing else would make a new one.
   */
  async checkWritable(): Promise<void> {
    await this.onConnection(async (client, spoil) => {
      try {
        const [row] = await this.reportFaults(run<{ setting: string }>(client, { text: IS_READ_ONLY }, []));
        if (row?.setting !== 'off') throw new Error(TAKES_NO_WRITES);
      } catch (error) {
        spoil(spoiledBy(error));
        throw error;
      }
    });
  }

  private statementToSend(statement: Statement | string): Statement {
    if (typeof statement === 'string') return { text: statement };
    return this.isNaming ? statement : unnamed(statement);
  }

  private async reportFaults<T>(work: Promise<T>): Promise<T> {
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
          query: async (statement, params = []) =>
            this.reportFaults(run(client, this.statementToSend(statement), params)),
          repository: (entity) => this.managerOn(client).getRepository(entity),
        });
        await this.reportFaults(client.query('COMMIT'));
        return result;
      } catch (error) {
        // A server that did not answer in time will not answer ROLLBACK either. Closing the connection ends the
        // transaction.
        if (isConnectionFault(error)) spoil(spoiledBy(error));
        else
          await client.query('ROLLBACK').catch((rollbackError: unknown) => {
            spoil(isNativeError(rollbackError) ? rollbackError : new Error(String(rollbackError)));
          });
        // A server that became read-only may have a successor, which only a new connection reaches.
        if (sqlStateOf(error) === READ_ONLY) spoil(spoiledBy(error));
        throw error;
      }
    });
  }

  /**
   * Returns TypeORM's manager on this connection with its open transaction. By default it would take another
   * connection.
   */
  private managerOn(client: pg.PoolClient): EntityManager {
    const runner = this.source.createQueryRunner();
    Object.assign(runner, { connect: () => Promise.resolve(client), isTransactionActive: true });
    return runner.manager;
  }

  /**
   * Runs `work` on a pooled connection. Afterwards the connection is closed if it was lost or `work` called `spoil`.
   */
  private async onConnection<T>(
    work: (client: pg.PoolClient, spoil: (fault: Error | undefined) => void) => Promise<T>,
  ): Promise<T> {
    const client = await this.reportFaults(this.pool.connect());
    let broken: Error | undefined;
    // The pool client emits this if the connection is lost between statements. Without a listener it would end the
    // process.
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

/**
 * Returns true if one of our database functions refused (sql/functions/take_order.sql); the message is then an error
 * code.
 */
export function isRefusal(thrown: unknown): boolean {
  return sqlStateOf(thrown) === REFUSAL_SQLSTATE;
}
