/**
 * Queues requests that may cause node requests, if a node has a request budget. Look-ups share one queue, so without
 * this limit one project's look-ups would delay those of others. Without a request budget no request waits.
 */
import { Injectable } from '@nestjs/common';
import { FairQueue } from '../../support/fair-queue.js';
import { Config } from '../../config/config.js';

/**
 * Callers get half of the budget, and a look-up sends up to three requests. With an eighth of the budget in progress, a
 * project keeps the look-ups of others waiting for about a second: a quote waits two for a receiver's state.
 */
const BUDGET_SHARE = 0.125;
/** Over all projects. Each has its own share, and none waits for another's. */
const TOTAL = 10_000;
const WAITING_MAX = 2000;
const WAITING_PER_PROJECT = 200;
const WAIT_MS = 10_000;

@Injectable()
export class LookupQueue {
  private readonly queue: FairQueue | undefined;

  constructor({ chain }: Config) {
    const budgets = chain.requestsPerSec.filter((perSec) => perSec > 0);
    if (budgets.length === 0) return;
    this.queue = new FairQueue({
      total: TOTAL,
      perProject: Math.max(1, Math.floor(Math.min(...budgets) * BUDGET_SHARE)),
      waitingMax: WAITING_MAX,
      waitingPerProject: WAITING_PER_PROJECT,
      waitMs: WAIT_MS,
    });
  }

  /** Runs `lookup` in the project's turn. Throws 503 SERVICE_UNAVAILABLE after 10 s, or if 200 of the project wait. */
  async run<T>(projectId: string, lookup: () => Promise<T>): Promise<T> {
    return this.queue === undefined ? lookup() : this.queue.run(projectId, lookup);
  }
}
