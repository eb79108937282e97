/**
 * The BullMQ side of the worker: turns jobs into wake-ups. A job decides nothing and fails never, since what is due
 * lies in Postgres; lost, doubled, late or forged jobs change only how soon an order is looked at.
 */
import { Injectable } from '@nestjs/common';
import { Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { withDeadline } from '../../base/clock.js';
import { Config } from '../../config/config.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../observability/logger.js';
import { createWorkerConnection } from '../../queue/connections.js';
import {
  JOB_NAMES,
  ORDER_DUE_JOB,
  ORDERS_QUEUE,
  queuePrefix,
  type JobName,
  type OrderDueJob,
} from '../../queue/jobs.js';
import { FulfilmentLoop } from './fulfilment-loop.js';

const ORDER_ID = /^\d{1,18}$/;
const CONCURRENCY = 200;
const CLOSE_MS = 3000;

@Injectable()
export class OrdersProcessor {
  private worker: Worker<OrderDueJob> | undefined;
  private connection: Redis | undefined;
  private readonly handlers: Readonly<Record<JobName, (job: OrderDueJob) => void>> = {
    [ORDER_DUE_JOB]: (job) => {
      if (typeof job.orderId === 'string' && ORDER_ID.test(job.orderId)) this.runner.wake(BigInt(job.orderId));
    },
  };

  constructor(
    private readonly runner: FulfilmentLoop,
    private readonly config: Config,
    private readonly logger: Log,
  ) {}

  /** Listens to the queue; while Redis is away the sweep does its work alone. */
  start(): void {
    for (const name of JOB_NAMES) if (!(name in this.handlers)) throw new Error(`no handler for job ${name}`);
    this.connection = createWorkerConnection(this.config.redis, (error) => {
      this.logger.debug({ fault: messageOf(error) }, 'Redis is away; the sweep goes on');
    });
    this.worker = new Worker<OrderDueJob>(ORDERS_QUEUE, (job) => this.handle(job), {
      connection: this.connection,
      prefix: queuePrefix(this.config.redis),
      concurrency: CONCURRENCY,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      skipVersionCheck: true,
    });
    this.worker.on('error', (error) => {
      this.logger.debug({ fault: error.message }, 'the queue is away; the sweep goes on');
    });
  }

  /** `worker.close()` may wait for ever when Redis is gone, so its wait is ours. */
  async stop(): Promise<void> {
    const closing = this.worker?.close(true) ?? Promise.resolve();
    await withDeadline(closing, CLOSE_MS, 'closing the queue').catch(() => undefined);
    this.connection?.disconnect();
  }

  private handle(job: Job<OrderDueJob>): Promise<void> {
    const handler = (this.handlers as Readonly<Record<string, ((job: OrderDueJob) => void) | undefined>>)[job.name];
    handler?.(job.data);
    return Promise.resolve();
  }
}
