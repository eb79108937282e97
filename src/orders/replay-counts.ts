/**
 * How often each order's key came again, for its page: counted in memory and written for all orders at once,
 * so that a replay costs one addition. Decides nothing. What a killed process had not written yet is lost.
 */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs } from '../base/clock.js';
import { messageOf } from '../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Database } from '../store/database.js';

const WRITE_MS = 5000;
/** Orders between two writes; some hundred bytes each. */
const ORDERS_MAX = 20_000;

/**
 * By the database's clock, which is never compared with this process's: only how long ago it was is said. In order of the
 * rows, since processes write at once. Test orders may be gone by now.
 */
const WRITE = `INSERT INTO order_replay AS r (order_id, replays, last_at)
  SELECT o.id, n.replays, clock_timestamp() - make_interval(secs => n.ago_sec)
    FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS n(id, replays, ago_sec) JOIN orders o ON o.id = n.id
   ORDER BY o.id
  ON CONFLICT (order_id) DO UPDATE
    SET replays = r.replays + excluded.replays, last_at = greatest(r.last_at, excluded.last_at)`;

interface Seen {
  replays: number;
  lastMs: number;
}

@Injectable()
export class ReplayCounts implements BeforeApplicationShutdown {
  private seen = new Map<bigint, Seen>();
  private timer: NodeJS.Timeout | undefined;
  private readonly uncounted: Counter;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.uncounted = new Counter({
      name: 'order_replays_uncounted_total',
      help: 'Replays that no order’s page shows: of too many orders at once, or not written while the database was away.',
      registers: [metrics.registry],
    });
  }

  /** The order was answered to a request whose key it has. */
  note(orderId: bigint): void {
    const seen = this.seen.get(orderId);
    if (seen !== undefined) {
      seen.replays += 1;
      seen.lastMs = monotonicMs();
    } else if (this.seen.size < ORDERS_MAX) this.seen.set(orderId, { replays: 1, lastMs: monotonicMs() });
    else this.uncounted.inc();
    this.timer ??= setTimeout(() => void this.write(), WRITE_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.write();
  }

  /** Never repeated: whether a failed one was written may be unknown, and too few is better than too many. */
  private async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const seen = [...this.seen];
    this.seen = new Map();
    if (seen.length === 0) return;
    const now = monotonicMs();
    const columns = [
      seen.map(([id]) => id),
      seen.map(([, { replays }]) => replays),
      seen.map(([, { lastMs }]) => (now - lastMs) / 1000),
    ];
    await this.database.query(WRITE, columns).catch((error: unknown) => {
      this.uncounted.inc(seen.reduce((sum, [, { replays }]) => sum + replays, 0));
      this.log.warn({ fault: messageOf(error) }, 'how often orders were replayed could not be written');
    });
  }
}
