/** When each API key was last used, to the minute: noted in memory and written for all keys at once. */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Log } from '../observability/logger.js';
import { Database } from '../store/database.js';

const WRITE_MS = 60_000;
const KEYS_NOTED_MAX = 100_000;

/** A key whose row another transaction has locked, as one that takes an order does, is left out: nothing waits for it. */
const WRITE = `UPDATE api_key k SET last_used_at = clock_timestamp()
  FROM (SELECT id FROM api_key WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) v WHERE k.id = v.id`;

@Injectable()
export class KeyUse implements BeforeApplicationShutdown {
  private used = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** The key signed a request just now. */
  note(keyId: string): void {
    if (this.used.size < KEYS_NOTED_MAX) this.used.add(keyId);
    this.timer ??= setTimeout(() => void this.write(), WRITE_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.write();
  }

  /** Nothing depends on it: what cannot be written is lost. */
  private async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const keys = [...this.used];
    this.used = new Set();
    if (keys.length === 0) return;
    await this.database.query(WRITE, [keys]).catch((error: unknown) => {
      this.log.warn({ err: error }, 'The last use of API keys could not be written.');
    });
  }
}
