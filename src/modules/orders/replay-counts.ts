/**
 * Counts the replays of each order for its page. Counts are kept in memory and written in batches, so that a replay
 * costs one addition. Decides nothing. A killed process loses its unwritten counts.
 */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { Database } from '../../platform/database/database.js';

const WRITE_MS = 5000;
/** Orders between two writes; a few hundred bytes each. */
const ORDERS_MAX = 20_000;

/**
 * The database's clock is never compared with this process's, so only the elapsed time is passed. Rows are sorted,
 * since several processes write concurrently. Test orders may have been deleted.
 */
const WRITE = `INSERT INTO order_replay AS r (order_id, replays, last_at)
  SELECT o.id, n.replays, clock_timestamp() - make_interval(secs => n.ago_sec)
    FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS n(id, replays, ago_sec) JOIN orders o ON o.id = n.id
   ORDER BY o.id
  ON CONFLICT (order_id) DO UPDATE
    SET replays = r.replays + excluded.replays, last_at = greatest(r.last_at, excluded.last_at)`;

interface ReplayCount {
  replays: number;
  lastMs: number;
}

@Injectable()
export class ReplayCounts implements BeforeApplicationShutdown {
  private replaysOf = new Map<bigint, ReplayCount>();
  private timer: NodeJS.Timeout | undefined;
  private readonly uncounted: Counter;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.uncounted = new Counter({
      name: 'order_replays_uncounted_total',
      help: 'Replays missing on order pages: beyond 20 000 orders in 5 s, or without the database.',
      registers: [metrics.registry],
    });
  }

  /** Counts a replay of the order. */
  countReplay(orderId: bigint): void {
    const seen = this.replaysOf.get(orderId);
    if (seen !== undefined) {
      seen.replays += 1;
      seen.lastMs = monotonicMs();
    } else if (this.replaysOf.size < ORDERS_MAX) this.replaysOf.set(orderId, { replays: 1, lastMs: monotonicMs() });
    else this.uncounted.inc();
    this.timer ??= setTimeout(() => void this.write(), WRITE_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.write();
  }

  /** Never retried: a failed write may have succeeded, and too low a count is better than too high a count. */
  private async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const seen = [...this.replaysOf];
    this.replaysOf = new Map();
    if (seen.length === 0) return;
    const now = monotonicMs();
    const columns = [
      seen.map(([id]) => id),
      seen.map(([, { replays }]) => replays),
      seen.map(([, { lastMs }]) => (now - lastMs) / 1000),
    ];
    await this.database.query(WRITE, columns).catch((error: unknown) => {
      this.uncounted.inc(seen.reduce((sum, [, { replays }]) => sum + replays, 0));
      this.log.warn({ fault: messageOf(error) }, 'failed to write replay counts of orders');
    });
  }
}
