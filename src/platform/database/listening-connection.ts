/**
 * A Postgres connection that listens on one channel, separate from the pool. Reconnects by itself. Notifications sent
 * while it is down are lost.
 */
import type pg from 'pg';
import { sleep } from '../support/clock.js';
import type { Log } from '../observability/logger.js';
import type { DatabaseHosts } from './database-hosts.js';
import { HostsClient } from './hosts-client.js';

const CONNECT_LIMIT_MS = 2000;
const QUERY_LIMIT_MS = 2000;
const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 2000;

interface ListeningOptions {
  readonly hosts: DatabaseHosts;
  readonly channel: string;
  readonly applicationName: string;
  readonly log: Log;
  /** Receives the payload of each notification. */
  readonly onNotification: (payload: string) => void;
  /** Runs on each new connection once it listens. If it rejects, the connection is replaced. */
  readonly onListening: (client: pg.Client) => Promise<void> | void;
}

/** `lose` abandons the connection and settles `lost`, even if the other side does not respond. */
interface Link {
  readonly client: pg.Client;
  readonly lost: Promise<void>;
  readonly lose: () => void;
}

export class ListeningConnection {
  private link: Link | undefined;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly options: ListeningOptions) {}

  /** The listening connection, undefined while there is none. It serves one query at a time. */
  get client(): pg.Client | undefined {
    return this.link?.client;
  }

  /** Connects, and stays connected in the background. Resolves after the first attempt, also if it failed. */
  start(): Promise<void> {
    const connected = this.connect();
    this.running = connected.then(() => this.stayConnected());
    return connected;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.link?.client.end().catch(() => undefined);
    await this.running;
  }

  /** Replaces the connection, if `client` is still in use. */
  replace(client: pg.Client): void {
    if (this.link?.client === client) this.link.lose();
  }

  private async stayConnected(): Promise<void> {
    const { log, channel } = this.options;
    let backoffMs = BACKOFF_MS_MIN;
    for (;;) {
      if (this.link !== undefined) {
        await this.link.lost;
        backoffMs = BACKOFF_MS_MIN;
        if (!this.isStopping()) log.warn({ channel }, 'lost the listening connection');
      }
      if (this.isStopping()) return;
      // Jitter: the processes of one service lose their database together and should not reconnect together.
      await sleep(backoffMs * (0.5 + Math.random()), this.stopping.signal);
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX);
      if (this.isStopping()) return;
      await this.connect();
    }
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async connect(): Promise<void> {
    const { log, channel, onListening, onNotification } = this.options;
    const link = this.open();
    link.client.on('notification', ({ payload }) => {
      onNotification(payload ?? '');
    });
    try {
      await link.client.connect();
      await link.client.query(`LISTEN ${channel}`);
      await onListening(link.client);
    } catch (error) {
      log.warn({ channel, err: error }, 'failed to open the listening connection');
      link.lose();
      return;
    }
    if (this.isStopping()) link.lose();
    else this.link = link;
  }

  private open(): Link {
    const client = new HostsClient({
      hosts: this.options.hosts,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      query_timeout: QUERY_LIMIT_MS,
      keepAlive: true,
      application_name: this.options.applicationName,
    });
    let settle = (): void => undefined;
    const lost = new Promise<void>((resolve) => (settle = resolve));
    const lose = (): void => {
      if (this.link?.client === client) this.link = undefined;
      settle();
      client.end().catch(() => undefined);
    };
    client.on('error', lose).on('end', lose);
    return { client, lost, lose };
  }
}
