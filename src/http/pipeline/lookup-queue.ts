/**
 * The queue of requests that may have nodes asked, where a node has a budget of requests: few of one project at once, and its
 * further ones wait, since look-ups stand in one line, and those of other projects would wait behind all of its. Where
 * nodes may be asked as often as one likes, nobody waits.
 */
import { Injectable } from '@nestjs/common';
import { FairQueue } from '../../base/fair-queue.js';
import { Config } from '../../config/config.js';

/** Of the look-ups that callers have in a second, half of the budget, one project has half on their way at once. */
const BUDGET_SHARE = 0.25;
/** Over all projects: each has its own share, and none waits for another's. */
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

  /** Runs `lookup` in the project's turn. Throws 503 SERVICE_UNAVAILABLE after 10 s, or when 200 of the project wait. */
  async run<T>(projectId: string, lookup: () => Promise<T>): Promise<T> {
    return this.queue === undefined ? lookup() : this.queue.run(projectId, lookup);
  }
}
