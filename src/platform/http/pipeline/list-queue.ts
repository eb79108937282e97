/**
 * Queues list reads. A page of orders costs as much as a hundred single reads, so few run concurrently, at most two of
 * one project. Further ones wait without delaying other projects. Every route that returns many rows to a project uses
 * this queue.
 */
import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { monotonicMs, sleep } from '../../support/clock.js';
import { FairQueue } from '../../support/fair-queue.js';

/** The share of Postgres connections that all lists together may use. */
const CONNECTIONS_SHARE = 0.25;
/** Per project, and never more than half of all lists. */
const PER_PROJECT_MAX = 2;
const WAITING_MAX = 2000;
const WAITING_PER_PROJECT = 200;
const WAIT_MS = 10_000;
/**
 * A slot is free again after twice the time its list took, at most REST_MS_MAX: two thirds of the time belong to
 * others.
 */
const REST_FACTOR = 2;
const REST_MS_MAX = 50;

@Injectable()
export class ListQueue {
  private readonly queue: FairQueue;

  constructor(config: Config) {
    const total = Math.max(2, Math.floor(config.database.poolMax * CONNECTIONS_SHARE));
    this.queue = new FairQueue({
      total,
      perProject: Math.min(PER_PROJECT_MAX, Math.floor(total / 2)),
      waitingMax: WAITING_MAX,
      waitingPerProject: WAITING_PER_PROJECT,
      waitMs: WAIT_MS,
    });
  }

  /** Runs `list` in the project's turn. Throws 503 SERVICE_UNAVAILABLE after 10 s, or if 200 of the project wait. */
  async run<T>(projectId: string, list: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const place = this.queue.run(projectId, async () => {
        const begunMs = monotonicMs();
        const listed = list();
        // Answer the caller before the rest period.
        listed.then(resolve, reject);
        await listed.catch(() => undefined);
        await sleep(Math.min(REST_FACTOR * (monotonicMs() - begunMs), REST_MS_MAX));
      });
      place.catch(reject);
    });
  }
}
