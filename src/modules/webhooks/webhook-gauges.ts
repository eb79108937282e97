/**
 * Gauge of how long due deliveries have waited for a sender. Every worker reads it, so it also shows that no sender
 * runs.
 */
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { Database } from '../../platform/database/database.js';

const SAMPLE_MS = 10_000;

/**
 * The oldest delivery that no sender has seen, and the oldest endpoint that is due again. A held endpoint is due when
 * its lease ends. Without a running sender, even an endpoint that no longer accepts events stays due.
 */
const SAMPLE = {
  name: 'gauges_webhooks',
  text: `SELECT greatest(0, extract(epoch FROM clock_timestamp() - least(
      (SELECT next_at FROM webhook_delivery WHERE is_fresh ORDER BY id LIMIT 1),
      (SELECT min(s.due_at) FROM webhook_state s JOIN webhook_endpoint e ON e.id = s.endpoint_id
        WHERE s.due_at < clock_timestamp() AND s.failures = 0 AND e.disabled_at IS NULL AND e.deleted_at IS NULL)
    )))::float8 AS late_sec`,
};

@Injectable()
export class WebhookGauges extends RepeatedTask {
  private readonly late: Gauge;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    log: Log,
  ) {
    super(SAMPLE_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to read webhook lag');
    });
    this.late = new Gauge({
      name: 'webhook_late_seconds',
      help: 'Longest overdue wait of an endpoint that answers (use the `max`).',
      registers: [metrics.registry],
    });
  }

  protected override async runOnce(): Promise<number> {
    await this.sample();
    return SAMPLE_MS;
  }

  /** Reads the gauge once. */
  async sample(): Promise<void> {
    const [row] = await this.database.query<{ late_sec: number }>(SAMPLE);
    this.late.set(row?.late_sec ?? 0);
  }
}
