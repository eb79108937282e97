/**
 * The queue's names and payloads, and the only place that adds jobs. A job asks a worker to check an order that may be
 * due. The due work is in Postgres, so any job may be lost, late or duplicated.
 */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { Counter } from 'prom-client';
import { withDeadline } from '../support/clock.js';
import { Config } from '../config/config.js';
import { Metrics } from '../observability/metrics.js';

export const ORDERS_QUEUE = 'orders';
export const ORDER_DUE_JOB = 'order-due';
/** Every job name; a worker refuses to start without a handler for each. */
export const JOB_NAMES = [ORDER_DUE_JOB] as const;
export type JobName = (typeof JOB_NAMES)[number];

/** Holds only the id: jobs are plain text, and a forged one can only cause a wake-up. */
export interface OrderDueJob {
  readonly orderId: string;
}

/** Finished jobs to keep, of each kind. BullMQ assigns the ids, so that an old job cannot block a later one. */
export const KEPT_JOBS = { removeOnComplete: { count: 100 }, removeOnFail: { count: 100 } } as const;
/** One attempt: a failed order is due again by its row, and no sooner. */
const JOB_OPTIONS = { ...KEPT_JOBS, attempts: 1 } as const;
/** Limit of waiting jobs. More mean that no worker runs, and the next worker claims everything that is due anyway. */
const WAITING_MAX = 1000;

/** After this time the order is left to the sweeper. */
const WAKE_DEADLINE_MS = 250;
/** Concurrent wake-ups; further ones are left to the sweeper, so that a hanging Redis cannot accumulate them. */
const WAKE_UPS_MAX = 50;
/**
 * At most one job per process in this time: a woken worker claims everything that is due. A job costs Redis many times
 * the cost of an order's cached key (4 ms of CPU on the embedded server).
 */
const WAKE_EVERY_MS = 10;

/** The prefix of BullMQ's keys; worker and producer must agree. */
export function queuePrefix(config: Config['redis']): string {
  return `${config.prefix}:queue`;
}

@Injectable()
export class WakeUps implements BeforeApplicationShutdown {
  private queue: Queue<OrderDueJob> | undefined;
  private inFlight = 0;
  private pause: NodeJS.Timeout | undefined;
  /** The newest order that arrived in the pause; its job also covers those before it. */
  private waiting: bigint | undefined;
  private readonly failed: Counter;

  constructor(
    private readonly redis: Redis,
    private readonly config: Config,
    metrics: Metrics,
  ) {
    this.failed = new Counter({
      name: 'order_wakes_failed_total',
      help: 'Wake-ups that Redis did not take, or beyond a thousand waiting.',
      registers: [metrics.registry],
    });
  }

  /** Sends a wake-up for an order, best effort, now or within 10 ms. Returns immediately and never throws. */
  wake(orderId: bigint): void {
    if (this.pause !== undefined) {
      this.waiting = orderId;
      return;
    }
    this.send(orderId);
    this.pause = setTimeout(() => {
      this.pause = undefined;
      const next = this.waiting;
      this.waiting = undefined;
      if (next !== undefined) this.wake(next);
    }, WAKE_EVERY_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.pause);
    await this.queue?.close();
  }

  private send(orderId: bigint): void {
    if (this.redis.status !== 'ready' || this.inFlight >= WAKE_UPS_MAX) {
      this.failed.inc();
      return;
    }
    this.inFlight += 1;
    withDeadline(this.add(orderId), WAKE_DEADLINE_MS, 'waking a worker')
      .catch(() => this.failed.inc())
      .finally(() => {
        this.inFlight -= 1;
      });
  }

  private async add(orderId: bigint): Promise<void> {
    // Created at the first use while Redis is ready: BullMQ waits for ever if constructed without a connection.
    if (this.queue === undefined) {
      this.queue = new Queue<OrderDueJob>(ORDERS_QUEUE, {
        connection: this.redis,
        prefix: queuePrefix(this.config.redis),
        streams: { events: { maxLen: 100 } },
      });
      this.queue.on('error', () => undefined);
    }
    if ((await this.queue.getWaitingCount()) >= WAITING_MAX) throw new Error('no worker takes the waiting jobs');
    await this.queue.add(ORDER_DUE_JOB, { orderId: orderId.toString() }, JOB_OPTIONS);
  }
}
