/**
 * Records the last use of each API key, to the minute, and its source addresses. Collected in memory and written in
 * batches.
 */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Log } from '../../platform/observability/logger.js';
import { Database } from '../../platform/database/database.js';

const WRITE_MS = 60_000;
const KEYS_NOTED_MAX = 100_000;
/** Sources kept per key: the most recent ones, for at most this many days. */
const SOURCES_MAX = 20;
const SOURCES_DAYS = 30;

/**
 * Skips a key whose row is locked, for example by an order: nothing waits for it. Merges new source addresses with
 * recorded ones, newest first.
 */
const WRITE = `UPDATE api_key k SET last_used_at = clock_timestamp(), recent_sources = (
    SELECT coalesce(jsonb_object_agg(s.address, s.at), '{}') FROM (
      SELECT address, max(at) AS at FROM (
        SELECT jsonb_array_elements_text(v.sources) AS address, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS at
        UNION ALL SELECT b.key, b.value FROM jsonb_each_text(k.recent_sources) b
                   WHERE b.value::timestamptz > clock_timestamp() - interval '${SOURCES_DAYS.toString()} days') seen
       GROUP BY address ORDER BY 2 DESC, 1 LIMIT ${SOURCES_MAX.toString()}) s)
  FROM (SELECT l.id, n.sources FROM (SELECT id FROM api_key WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) l
          JOIN unnest($1::uuid[], $2::jsonb[]) AS n(id, sources) ON n.id = l.id) v
  WHERE k.id = v.id`;

@Injectable()
export class KeyUse implements BeforeApplicationShutdown {
  private used = new Map<string, Set<string>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** Records that the key signed a request now. */
  note(keyId: string): void {
    if (this.used.size < KEYS_NOTED_MAX && !this.used.has(keyId)) this.used.set(keyId, new Set());
    this.timer ??= setTimeout(() => void this.write(), WRITE_MS).unref();
  }

  /** Records the source address of an accepted request. */
  noteSource(keyId: string, source: string): void {
    const sources = this.used.get(keyId);
    if (sources !== undefined && sources.size < SOURCES_MAX) sources.add(source);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.write();
  }

  /** Best effort: uses that cannot be written are lost. */
  private async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const used = [...this.used];
    this.used = new Map();
    if (used.length === 0) return;
    const keys = used.map(([id]) => id);
    const sources = used.map(([, seen]) => JSON.stringify([...seen]));
    await this.database.query(WRITE, [keys, sources]).catch((error: unknown) => {
      this.log.warn({ err: error }, 'failed to write the last use of API keys');
    });
  }
}
