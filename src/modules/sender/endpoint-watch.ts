/** Writes events for endpoints that changed or fail, disables those that failed for days, and prunes old deliveries. */
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { SenderConfig } from '../../platform/config/sender-config.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { confirmedNow, steadySince } from '../../platform/database/confirmed-clock.js';
import { Database, isDatabaseAway } from '../../platform/database/database.js';
import { oldestIds } from '../../platform/database/retention-sql.js';

const EVERY_MS = 5000;
const BATCH = 1000;
/** Batches per pass, so that the other tasks run again in time. */
const BATCHES_MAX = 50;

/** Time before a jump of the clock does not count: an endpoint may have failed for minutes only. */
const FAILING_SINCE = steadySince('s.failing_since');

const SAY_FAILING = `UPDATE webhook_endpoint e SET failing_told_at = clock_timestamp() FROM webhook_state s
  WHERE s.endpoint_id = e.id AND s.failing_since IS NOT NULL AND ${FAILING_SINCE} < $1::timestamptz - interval '1 hour'
    AND e.failing_told_at IS NULL AND e.disabled_at IS NULL AND e.deleted_at IS NULL`;

/**
 * Writes one event for changes that followed another one within seconds (webhooks/webhooks.ts), with the endpoint's
 * present state.
 */
const SAY_CHANGED = `UPDATE webhook_endpoint SET change_reported_at = clock_timestamp()
  WHERE changed_at > change_reported_at AND deleted_at IS NULL
    AND change_reported_at NOT BETWEEN clock_timestamp() - interval '20 seconds' AND clock_timestamp()`;

/** Resets the mark of failures that have ended, so that the next ones are reported, even if they began a moment later. */
const FORGET_FAILING = `UPDATE webhook_endpoint e SET failing_told_at = NULL FROM webhook_state s
  WHERE e.failing_told_at IS NOT NULL AND e.deleted_at IS NULL AND s.endpoint_id = e.id
    AND (s.failing_since IS NULL OR s.failing_since > e.failing_told_at)`;

const DISABLE = `UPDATE webhook_endpoint e SET disabled_at = clock_timestamp(), disabled_reason = 'failing' FROM webhook_state s
  WHERE s.endpoint_id = e.id AND s.failing_since IS NOT NULL AND ${FAILING_SINCE} < $1::timestamptz - interval '5 days'
    AND e.disabled_at IS NULL AND e.deleted_at IS NULL`;

/** A delivery still waiting at that age belongs to an event that can no longer be read. */
const OLDEST = oldestIds('webhook_delivery', 'created_at');
const PRUNE = `DELETE FROM webhook_delivery WHERE id = ANY (ARRAY(${OLDEST})) RETURNING id`;

const PRUNE_DESTINATIONS = `DELETE FROM webhook_destination WHERE free_at < clock_timestamp() - interval '1 minute'`;

const FAILING = {
  name: 'webhooks_failing',
  text: `SELECT count(*)::int AS failing FROM webhook_state s JOIN webhook_endpoint e ON e.id = s.endpoint_id
     WHERE s.failing_since IS NOT NULL AND e.disabled_at IS NULL AND e.deleted_at IS NULL`,
};

@Injectable()
export class EndpointWatch extends RepeatedTask {
  private readonly failing: Gauge;

  constructor(
    private readonly database: Database,
    private readonly config: SenderConfig,
    metrics: Metrics,
    log: Log,
  ) {
    super(EVERY_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to check webhook endpoints');
    });
    this.failing = new Gauge({
      name: 'webhook_endpoints_failing',
      help: 'Enabled webhooks that accept no event.',
      registers: [metrics.registry],
    });
  }

  protected override async runOnce(): Promise<number> {
    await this.runTasks();
    return EVERY_MS;
  }

  /** Runs all tasks even if one fails. Throws the last error, or immediately if the database is unavailable. */
  async runTasks(): Promise<void> {
    const parts = [
      ...[SAY_CHANGED, FORGET_FAILING, PRUNE_DESTINATIONS].map((text) => () => this.database.query(text)),
      ...[SAY_FAILING, DISABLE].map((text) => () => this.runAtConfirmedTime((now) => this.database.query(text, [now]))),
      () => this.runAtConfirmedTime((now) => this.prune(now)),
      () => this.countFailing(),
    ];
    let failure: { readonly error: unknown } | undefined;
    for (const part of parts) {
      try {
        await part();
      } catch (error) {
        if (isDatabaseAway(error)) throw error;
        failure = { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Judges ages only while the database's clock is confirmed: a clock jump must neither disable nor delete. */
  private async runAtConfirmedTime(work: (now: Date) => Promise<unknown>): Promise<void> {
    const now = await confirmedNow(this.database);
    if (now !== undefined) await work(now);
  }

  /** Repeats while there are more rows, up to the limit of batches. */
  private async prune(now: Date): Promise<void> {
    const { deliveriesDays } = this.config;
    if (deliveriesDays <= 0) return;
    for (let batch = 0; batch < BATCHES_MAX && !this.repeater.isEnding; batch += 1) {
      if ((await this.database.query(PRUNE, [deliveriesDays, BATCH, now])).length < BATCH) return;
    }
  }

  private async countFailing(): Promise<void> {
    const [row] = await this.database.query<{ failing: number }>(FAILING);
    this.failing.set(row?.failing ?? 0);
  }
}
