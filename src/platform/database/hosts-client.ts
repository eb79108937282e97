/**
 * The client of every connection to Postgres: pg's client, connected to the serving host. pg itself cannot choose
 * between several hosts, nor require a server that takes writes, or one that does not.
 */
import pg from 'pg';
import { DeadlineError } from '../support/clock.js';
import type { PostgresHost } from '../support/postgres-url.js';
import type { DatabaseHosts } from './database-hosts.js';
import { reportOf } from './host-report.js';
import { STARTUP_PARAMETERS } from './session-settings.js';

interface HostsClientConfig extends pg.ClientConfig {
  readonly hosts: DatabaseHosts;
  /** Limit of the connection attempt itself; a pool's limit includes the choice of a host. */
  readonly connectLimitMs?: number;
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** Members of pg's client that its types omit. */
interface Parts {
  readonly connection: { readonly stream: { destroy: () => void } };
  readonly connectionParameters: { host: string; port: number };
}

/** A timeout while waiting for a turn counts as a failed connection. */
function asConnectionFault(error: unknown): never {
  throw error instanceof DeadlineError ? Object.assign(error, { code: 'ETIMEDOUT' }) : error;
}

export class HostsClient extends pg.Client {
  private readonly hosts: DatabaseHosts;
  /** The longest wait for the connection. */
  private readonly waitMs: number;
  /** The error that ended the connection while no statement waited for it. */
  private lost: Error | undefined;

  constructor(config: HostsClientConfig) {
    // Any of the URLs: they differ by host and port, which are set before the connection is made.
    const { hosts, connectLimitMs: limitMs = config.connectionTimeoutMillis } = config;
    super({ ...config, connectionString: hosts.all[0]?.url, connectionTimeoutMillis: limitMs });
    this.hosts = hosts;
    this.waitMs = config.connectionTimeoutMillis ?? 0;
    // A dying server sends its error together with its last answer. The error arrives before the waiting caller
    // continues, so before a pool or its borrower listens. Without a listener the error would end the process.
    this.on('error', (error) => (this.lost ??= error));
  }

  /** Returns the startup parameters of a connection. A pooler drops `options`, but applies these. */
  getStartupConf(): Readonly<Record<string, unknown>> {
    const { getStartupConf } = pg.Client.prototype as unknown as {
      readonly getStartupConf: () => Readonly<Record<string, unknown>>;
    };
    return { ...getStartupConf.call(this), ...STARTUP_PARAMETERS };
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const made = this.hosts.connectSemaphore
      .run(async () => this.connectToHost(), this.waitMs)
      .catch(asConnectionFault);
    if (callback === undefined) return made;
    const settle = callback as (error: Error | null, client?: pg.Client) => void;
    made.then(
      () => settle(null, this),
      (error: unknown) => settle(error as Error),
    );
    return undefined;
  }

  private async connectToHost(): Promise<pg.Client> {
    const { hosts } = this;
    if (!hosts.areAsked) return super.connect();
    const host = await hosts.choose();
    this.setHost(host);
    try {
      await super.connect();
      const report = await reportOf(this);
      if (this.lost !== undefined) throw this.lost;
      const refusal = hosts.refuse(host, report);
      if (refusal !== undefined) throw Object.assign(new Error(`the host ${refusal}`), { code: 'ENOHOST' });
      const timeline = report.kind === 'away' ? undefined : report.timeline;
      const forget = hosts.remember({ timeline, close: () => this.drop() });
      this.once('end', forget);
      // pg emits an error for every unrequested end.
      this.once('error', () => hosts.reportLoss(host));
    } catch (error) {
      hosts.reportLoss(host);
      // Ended first, so that pg does not report the socket's end too: this error describes it.
      this.end().catch(() => undefined);
      this.drop();
      throw error;
    }
    return this;
  }

  private setHost({ url }: PostgresHost): void {
    const { host, port } = new pg.Client({ connectionString: url });
    this.host = host;
    this.port = port;
    Object.assign((this as unknown as Parts).connectionParameters, { host, port });
  }

  /** Closes the connection immediately: statements in progress fail as on a lost one. */
  private drop(): void {
    (this as unknown as Parts).connection.stream.destroy();
  }
}
