/**
 * A fair queue of projects for one kind of work: bounded concurrency in total and per project, and waiting projects
 * take turns. There is no rate limit. Only a wait beyond its limit and a full queue are refused.
 */
import { monotonicMs } from './clock.js';
import { serviceBusy, type ApiError } from '../../domain/errors.js';

interface Waiter {
  readonly enter: () => void;
  readonly giveUp: (error: ApiError) => void;
  readonly deadlineMs: number;
}

interface Limits {
  /** Concurrent runs over all projects. */
  readonly total: number;
  /** Concurrent runs of one project. */
  readonly perProject: number;
  /** Waiting calls over all projects. Beyond it the process is overloaded and refuses. */
  readonly waitingMax: number;
  /** Waiting calls of one project, so that one project alone cannot fill the queue. */
  readonly waitingPerProject: number;
  readonly waitMs: number;
}

const SWEEP_MS = 500;

export class FairQueue {
  private running = 0;
  private waiting = 0;
  private readonly runningOf = new Map<string, number>();
  /** In the order of turns: a served project moves to the end. */
  private readonly queues = new Map<string, Waiter[]>();
  private sweeper: NodeJS.Timeout | undefined;

  constructor(private readonly limits: Limits) {}

  /**
   * Runs `work` when the project's turn comes. Throws 503 SERVICE_UNAVAILABLE after the maximum wait or when the queue
   * is full.
   */
  async run<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    if (this.isFull(projectId)) await this.waitForTurn(projectId);
    else this.enter(projectId);
    try {
      return await work();
    } finally {
      this.leave(projectId);
    }
  }

  private isFull(projectId: string): boolean {
    return this.running >= this.limits.total || (this.runningOf.get(projectId) ?? 0) >= this.limits.perProject;
  }

  private enter(projectId: string): void {
    this.running += 1;
    this.runningOf.set(projectId, (this.runningOf.get(projectId) ?? 0) + 1);
  }

  private leave(projectId: string): void {
    this.running -= 1;
    const left = (this.runningOf.get(projectId) ?? 1) - 1;
    if (left === 0) this.runningOf.delete(projectId);
    else this.runningOf.set(projectId, left);
    this.admit();
  }

  private async waitForTurn(projectId: string): Promise<void> {
    const queue = this.queues.get(projectId) ?? [];
    if (this.waiting >= this.limits.waitingMax || queue.length >= this.limits.waitingPerProject) throw busy();
    await new Promise<void>((resolve, reject) => {
      queue.push({ enter: resolve, giveUp: reject, deadlineMs: monotonicMs() + this.limits.waitMs });
      this.queues.set(projectId, queue);
      this.waiting += 1;
      this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS);
    });
  }

  /**
   * Admits waiting calls, one per project in turn. A served project moves to the end, where this loop reaches it again.
   */
  private admit(): void {
    for (const [projectId, queue] of this.queues) {
      if (this.running >= this.limits.total) return;
      if (this.isFull(projectId)) continue;
      const next = queue.shift();
      this.queues.delete(projectId);
      if (queue.length > 0) this.queues.set(projectId, queue);
      if (next === undefined) continue;
      this.waiting -= 1;
      this.enter(projectId);
      next.enter();
    }
    this.stopSweeperIfIdle();
  }

  private sweep(): void {
    const now = monotonicMs();
    for (const [projectId, queue] of this.queues) {
      while (queue[0] !== undefined && queue[0].deadlineMs <= now) {
        queue.shift()?.giveUp(busy());
        this.waiting -= 1;
      }
      if (queue.length === 0) this.queues.delete(projectId);
    }
    this.stopSweeperIfIdle();
  }

  private stopSweeperIfIdle(): void {
    if (this.queues.size > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }
}

const busy = (): ApiError => serviceBusy('The service is busy and took nothing');
