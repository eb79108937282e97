/** Says of endpoints that they fail, disables those that have failed for days, and deletes what was delivered long ago. */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Repeater } from '../base/repeat.js';
import { SenderConfig } from '../config/sender-config.js';
import { messageOf } from '../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Database } from '../store/database.js';

const EVERY_MS = 5000;
const BATCH = 1000;

const SAY_FAILING = `UPDATE webhook_endpoint e SET failing_told_at = clock_timestamp() FROM webhook_state s
  WHERE s.endpoint_id = e.id AND s.failing_since < clock_timestamp() - interval '1 hour'
    AND e.failing_told_at IS NULL AND e.disabled_at IS NULL AND e.deleted_at IS NULL`;

/** So that the next time is said again. */
const FORGET_FAILING = `UPDATE webhook_endpoint e SET failing_told_at = NULL FROM webhook_state s
  WHERE e.failing_told_at IS NOT NULL AND s.endpoint_id = e.id AND s.failing_since IS NULL`;

const DISABLE = `UPDATE webhook_endpoint e SET disabled_at = clock_timestamp(), disabled_reason = 'failing' FROM webhook_state s
  WHERE s.endpoint_id = e.id AND s.failing_since < clock_timestamp() - interval '5 days'
    AND e.disabled_at IS NULL AND e.deleted_at IS NULL`;

/** From the oldest, where all that is old lies together; what waits that long is for an event that cannot be read. */
const PRUNE = `DELETE FROM webhook_delivery WHERE id IN (
    SELECT id FROM (SELECT id, created_at FROM webhook_delivery ORDER BY id LIMIT $2) oldest
     WHERE created_at < clock_timestamp() - $1 * interval '1 day')`;

const PRUNE_DESTINATIONS = `DELETE FROM webhook_destination WHERE free_at < clock_timestamp() - interval '1 minute'`;

const FAILING = {
  name: 'webhooks_failing',
  text: `SELECT count(*)::int AS failing FROM webhook_state s JOIN webhook_endpoint e ON e.id = s.endpoint_id
     WHERE s.failing_since IS NOT NULL AND e.disabled_at IS NULL AND e.deleted_at IS NULL`,
};

@Injectable()
export class EndpointWatch implements BeforeApplicationShutdown {
  private readonly repeater: Repeater;
  private readonly failing: Gauge;

  constructor(
    private readonly database: Database,
    private readonly config: SenderConfig,
    metrics: Metrics,
    log: Log,
  ) {
    this.failing = new Gauge({
      name: 'webhook_endpoints_failing',
      help: 'Enabled endpoints whose last attempt failed.',
      registers: [metrics.registry],
    });
    this.repeater = new Repeater({
      run: async () => {
        await this.look();
        return EVERY_MS;
      },
      retryMs: EVERY_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'the endpoints of webhooks could not be checked');
      },
    });
  }

  start(): void {
    void this.repeater.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.repeater.stop();
  }

  async look(): Promise<void> {
    await this.database.query(FORGET_FAILING);
    await this.database.query(SAY_FAILING);
    await this.database.query(DISABLE);
    await this.database.query(PRUNE_DESTINATIONS);
    const { deliveriesDays } = this.config;
    if (deliveriesDays > 0) await this.database.query(PRUNE, [deliveriesDays, BATCH]);
    const [row] = await this.database.query<{ failing: number }>(FAILING);
    this.failing.set(row?.failing ?? 0);
  }
}
