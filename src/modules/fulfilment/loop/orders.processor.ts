/**
 * The worker's BullMQ consumer. A job is active while a run advances its order. It completes after that run, or if
 * there was nothing to do, and fails if the run threw. The queue of record is Postgres: lost, duplicate, late or forged
 * jobs change only how soon an order is claimed.
 */
import { Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { withDeadline } from '../../../platform/support/clock.js';
import { Config } from '../../../platform/config/config.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { createWorkerConnection } from '../../../platform/queue/connections.js';
import {
  KEPT_JOBS,
  ORDER_DUE_JOB,
  ORDERS_QUEUE,
  queuePrefix,
  type JobName,
  type OrderDueJob,
} from '../../../platform/queue/jobs.js';
import { FulfilmentLoop } from './fulfilment-loop.js';

const ORDER_ID = /^\d{1,18}$/;
/** Limit of orders that wait or run because of a job. */
const CONCURRENCY = 200;
/** A worker renews the lock of its active jobs. If the worker dies, another worker takes over the job, once. */
const STALLED = { lockDuration: 30_000, stalledInterval: 30_000, maxStalledCount: 1 } as const;
const CLOSE_MS = 3000;

@Injectable()
export class OrdersProcessor implements OnModuleDestroy, OnApplicationShutdown {
  private worker: Worker<OrderDueJob> | undefined;
  private connection: Redis | undefined;
  private closing: Promise<void> | undefined;
  private readonly handlers: Readonly<Record<JobName, (job: OrderDueJob) => Promise<void>>> = {
    [ORDER_DUE_JOB]: (job) => this.loop.advanceOrder(orderOf(job)),
  };

  constructor(
    private readonly loop: FulfilmentLoop,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Consumes the queue once orders may be advanced. While Redis is unavailable the sweep alone finds due orders. */
  start(): void {
    this.connection = createWorkerConnection(this.config.redis, (error) => {
      this.log.debug({ fault: messageOf(error), effect: 'the sweep continues' }, 'failed to reach Redis');
    });
    const worker = new Worker<OrderDueJob>(ORDERS_QUEUE, (job) => this.handle(job), {
      connection: this.connection,
      prefix: queuePrefix(this.config.redis),
      concurrency: CONCURRENCY,
      ...KEPT_JOBS,
      ...STALLED,
      skipVersionCheck: true,
      autorun: false,
    });
    this.worker = worker;
    const onFault = (error: unknown): void => {
      this.log.debug({ fault: messageOf(error), effect: 'the sweep continues' }, 'failed to reach the queue');
    };
    worker.on('error', onFault);
    this.loop.opened.then(() => (this.closing === undefined ? worker.run() : undefined)).catch(onFault);
  }

  /** Takes no more jobs. Active jobs end with the runs they wait for, before any connection closes. */
  onModuleDestroy(): void {
    this.closing = this.worker?.close();
  }

  /** BullMQ may wait for ever if Redis is gone, so this wait has a deadline. */
  async onApplicationShutdown(): Promise<void> {
    await withDeadline(this.closing ?? Promise.resolve(), CLOSE_MS, 'closing the queue').catch(() => undefined);
    this.connection?.disconnect();
  }

  private async handle({ name, data }: Job<OrderDueJob>): Promise<void> {
    const handler = (this.handlers as Readonly<Record<string, ((job: OrderDueJob) => Promise<void>) | undefined>>)[
      name
    ];
    if (handler === undefined) throw new Error(`no handler for a job ${name}`);
    await handler(data);
  }
}

/** Job data is untrusted: any Redis client may write it. */
function orderOf({ orderId }: { readonly orderId: unknown }): bigint {
  if (typeof orderId !== 'string' || !ORDER_ID.test(orderId)) throw new Error('the job names no order');
  return BigInt(orderId);
}
