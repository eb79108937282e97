/**
 * Listens for sessions that any process has ended, on a separate connection outside the pool that reconnects by itself.
 * Notifications may be lost while it is down, so all sessions are checked when it is back.
 */
import { sleep } from '../../platform/support/clock.js';
import type { Log } from '../../platform/observability/logger.js';
import type { DatabaseHosts } from '../../platform/database/database-hosts.js';
import { HostsClient } from '../../platform/database/hosts-client.js';

const CHANNEL = 'console_session_ended';
const CONNECT_LIMIT_MS = 2000;
const QUERY_LIMIT_MS = 2000;
const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 2000;

interface Heard {
  readonly onEnded: (sessionId: string) => void;
  /** Called when it listens again; earlier notifications may be lost. */
  readonly onListening: () => void;
}

export class SessionFeed {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(
    private readonly hosts: DatabaseHosts,
    private readonly heard: Heard,
    private readonly log: Log,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    let backoffMs = BACKOFF_MS_MIN;
    const isStopping = (): boolean => this.stopping.signal.aborted;
    while (!isStopping()) {
      try {
        await this.listen(() => (backoffMs = BACKOFF_MS_MIN));
      } catch (err) {
        if (!isStopping()) this.log.warn({ err }, 'failed to listen for ended sessions');
      }
      await sleep(backoffMs * (0.5 + Math.random()), this.stopping.signal);
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX);
    }
  }

  /** Listens until the connection is lost or the process stops. */
  private async listen(onConnected: () => void): Promise<void> {
    const client = new HostsClient({
      hosts: this.hosts,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      query_timeout: QUERY_LIMIT_MS,
      keepAlive: true,
      application_name: 'energy-sessions',
    });
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve()).on('end', () => resolve());
      this.stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('notification', ({ payload }) => this.heard.onEnded(payload ?? ''));
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      onConnected();
      this.heard.onListening();
      await lost;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
