/**
 * The directory's own Postgres connection, for project reads and change notifications. It is separate from the pool, so
 * that a flood of unknown callers cannot take connections from orders.
 */
import type pg from 'pg';
import { KEYS_MAX, type Scope, type SignatureSchemes } from '../../domain/scopes.js';
import type { Log } from '../../platform/observability/logger.js';
import type { DatabaseHosts } from '../../platform/database/database-hosts.js';
import { ListeningConnection } from '../../platform/database/listening-connection.js';

const CHANNEL = 'project_changed';
/**
 * Reads that may wait for the one connection; further ones are refused immediately. Unknown ids have a lower limit, so
 * that thousands of made-up ids leave capacity to existing projects.
 */
const PENDING_MAX = { known: 256, unknown: 64 } as const;
/** Ids read on connecting, newest projects first; older ones are learnt when they call. */
const IDS_READ_MAX = 100_000;

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
  readonly frozen: boolean;
  readonly test: boolean;
}

/** Skips revoked keys, which are never deleted, by the index api_key_unrevoked. */
export const PROJECT_BY_ID = {
  name: 'project_by_id',
  text: `SELECT p.id, p.name, p.signature_schemes, p.require_idempotency_key, p.require_quote, p.allowed_sources,
                a.frozen, p.test,
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

interface FeedEvents {
  /** A project changed. */
  readonly onChange: (projectId: string) => void;
  /** Announcements may have been missed. */
  readonly onGap: () => void;
  /** These ids belong to projects. */
  readonly onIds: (projectIds: readonly string[]) => void;
}

export class ProjectFeed {
  private readonly connection: ListeningConnection;
  private readonly pending = { known: 0, unknown: 0 };
  /** The previous read: a connection serves one query at a time. Never rejects. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    hosts: DatabaseHosts,
    private readonly events: FeedEvents,
    log: Log,
  ) {
    this.connection = new ListeningConnection({
      hosts,
      channel: CHANNEL,
      applicationName: 'energy-projects',
      log,
      onNotification: events.onChange,
      onListening: (client) => this.readIds(client),
    });
  }

  get isConnected(): boolean {
    return this.connection.client !== undefined;
  }

  /** Connects, and stays connected in the background. Resolves after the first attempt, also if it failed. */
  async start(): Promise<void> {
    await this.connection.start();
  }

  async stop(): Promise<void> {
    await this.connection.stop();
  }

  /** Returns the row of a project; undefined if there is none. Throws if the database does not answer. */
  async read(projectId: string, kind: 'known' | 'unknown'): Promise<ProjectRow | undefined> {
    const { client } = this.connection;
    if (client === undefined) throw new Error('the database is unavailable');
    if (this.pending[kind] >= PENDING_MAX[kind]) throw new Error('too many projects are being looked up');
    this.pending[kind] += 1;
    const reading = this.last.then(() => this.readOver(client, projectId)).finally(() => (this.pending[kind] -= 1));
    this.last = reading.catch(() => undefined);
    return reading;
  }

  private async readOver(client: pg.Client, projectId: string): Promise<ProjectRow | undefined> {
    // Reads queued behind a lost connection fail immediately instead of each waiting for its timeout.
    if (this.connection.client !== client) throw new Error('the database is unavailable');
    try {
      const { rows } = await client.query<ProjectRow>({ ...PROJECT_BY_ID, values: [projectId] });
      return rows[0];
    } catch (error) {
      // A connection that failed once may also miss announcements.
      this.connection.replace(client);
      throw error;
    }
  }

  private async readIds(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ id: string }>(NEWEST_IDS);
    this.events.onIds(rows.reverse().map(({ id }) => id));
    // Only now, while listening: this drops entries that changed before, and later changes arrive as announcements.
    this.events.onGap();
  }
}
