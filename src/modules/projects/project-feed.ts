/**
 * The directory's own Postgres connection, for project reads and change notifications. It is separate from the pool, so
 * that a flood of unknown callers cannot take connections from orders. Reconnects automatically.
 */
import type pg from 'pg';
import { sleep } from '../../platform/support/clock.js';
import { KEYS_MAX, type Scope, type SignatureSchemes } from '../../domain/scopes.js';
import type { Log } from '../../platform/observability/logger.js';
import type { DatabaseHosts } from '../../platform/database/database-hosts.js';
import { HostsClient } from '../../platform/database/hosts-client.js';

const CHANNEL = 'project_changed';
const CONNECT_LIMIT_MS = 2000;
const QUERY_LIMIT_MS = 2000;
/**
 * Reads that may wait for the one connection; further ones are refused immediately. Unknown ids have a lower limit, so
 * that thousands of made-up ids leave capacity to existing projects.
 */
const PENDING_MAX = { known: 256, unknown: 64 } as const;
/** Ids read on connecting, newest projects first; older ones are learnt when they call. */
const IDS_READ_MAX = 100_000;
const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 2000;

/** A key that is not revoked. */
export interface KeyRow {
  readonly id: string;
  readonly scopes: readonly Scope[];
  readonly sources: readonly string[];
  /** Hex. */
  readonly sealed: string;
  /** The previous secret in hex, and how long it still verifies. */
  readonly previous: string | null;
  readonly previous_ms: number | null;
}

export interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly keys: readonly KeyRow[];
  readonly signature_schemes: SignatureSchemes;
  readonly require_idempotency_key: boolean;
  readonly require_quote: boolean;
  readonly allowed_sources: readonly string[];
  readonly is_postpaid: boolean;
  /** bigint columns are text on this connection. */
  readonly floor_credits: string | null;
  readonly daily_cap_credits: string | null;
  readonly frozen: boolean;
  readonly test: boolean;
}

/** Skips revoked keys, which are never deleted, by the index api_key_unrevoked. */
export const PROJECT_BY_ID = {
  name: 'project_by_id',
  text: `SELECT p.id, p.name, p.signature_schemes, p.require_idempotency_key, p.require_quote, p.allowed_sources,
                a.is_postpaid, a.floor_credits, a.daily_cap_credits, a.frozen, p.test,
                ARRAY(SELECT json_build_object(
                        'id', k.id, 'scopes', k.scopes, 'sources', k.allowed_sources,
                        'sealed', encode(k.sealed, 'hex'), 'previous', encode(k.previous_sealed, 'hex'),
                        'previous_ms', extract(epoch FROM k.previous_until - clock_timestamp()) * 1000)
                        FROM api_key k WHERE k.project_id = p.id AND k.revoked_at IS NULL
                       ORDER BY k.id <> p.id, k.created_at LIMIT ${KEYS_MAX.toString()}) AS keys
           FROM project p JOIN credit_account a ON a.project_id = p.id
          WHERE p.id = $1`,
};

const NEWEST_IDS = `SELECT id FROM project ORDER BY created_at DESC LIMIT ${IDS_READ_MAX.toString()}`;

/** A connection. `lose` abandons it and settles `lost`, even if the other side does not respond. */
interface Link {
  readonly client: pg.Client;
  readonly lost: Promise<void>;
  readonly lose: () => void;
}

interface FeedEvents {
  /** A project changed. */
  readonly onChange: (projectId: string) => void;
  /** Announcements may have been missed. */
  readonly onGap: () => void;
  /** These ids belong to projects. */
  readonly onIds: (projectIds: readonly string[]) => void;
}

export class ProjectFeed {
  private link: Link | undefined;
  private readonly pending = { known: 0, unknown: 0 };
  /** The previous read: a connection serves one query at a time. Never rejects. */
  private last: Promise<unknown> = Promise.resolve();
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly hosts: DatabaseHosts,
    private readonly events: FeedEvents,
    private readonly log: Log,
  ) {}

  get isConnected(): boolean {
    return this.link !== undefined;
  }

  /** Connects, and stays connected in the background. Resolves after the first attempt, also if it failed. */
  async start(): Promise<void> {
    await this.connect();
    this.running = this.stayConnected();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.link?.client.end().catch(() => undefined);
    await this.running;
  }

  /** Returns the row of a project; undefined if there is none. Throws if the database does not answer. */
  async read(projectId: string, kind: 'known' | 'unknown'): Promise<ProjectRow | undefined> {
    const link = this.link;
    if (link === undefined) throw new Error('the database is unavailable');
    if (this.pending[kind] >= PENDING_MAX[kind]) throw new Error('too many projects are being looked up');
    this.pending[kind] += 1;
    const reading = this.last.then(() => this.readOver(link, projectId)).finally(() => (this.pending[kind] -= 1));
    this.last = reading.catch(() => undefined);
    return reading;
  }

  private async readOver(link: Link, projectId: string): Promise<ProjectRow | undefined> {
    // Reads queued behind a lost connection fail immediately instead of each waiting for its timeout.
    if (this.link !== link) throw new Error('the database is unavailable');
    try {
      const { rows } = await link.client.query<ProjectRow>({ ...PROJECT_BY_ID, values: [projectId] });
      return rows[0];
    } catch (error) {
      // A connection that failed once may also miss announcements.
      link.lose();
      throw error;
    }
  }

  private async stayConnected(): Promise<void> {
    let backoffMs = BACKOFF_MS_MIN;
    for (;;) {
      if (this.link !== undefined) {
        await this.link.lost;
        backoffMs = BACKOFF_MS_MIN;
      }
      if (this.isStopping()) return;
      this.log.warn({}, 'lost the connection for project changes');
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
    const link = this.open();
    link.client.on('notification', ({ payload }) => this.events.onChange(payload ?? ''));
    try {
      await link.client.connect();
      await link.client.query(`LISTEN ${CHANNEL}`);
      const { rows } = await link.client.query<{ id: string }>(NEWEST_IDS);
      this.events.onIds(rows.reverse().map(({ id }) => id));
    } catch (error) {
      this.log.warn({ err: error }, 'failed to open the connection for project changes');
      link.lose();
      return;
    }
    if (this.isStopping()) {
      link.lose();
      return;
    }
    // Only now, while listening: this drops entries that changed before, and later changes arrive as announcements.
    this.events.onGap();
    this.link = link;
  }

  private open(): Link {
    const client = new HostsClient({
      hosts: this.hosts,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      query_timeout: QUERY_LIMIT_MS,
      keepAlive: true,
      application_name: 'energy-projects',
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
