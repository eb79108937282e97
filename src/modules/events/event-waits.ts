/**
 * Holds callers that wait for new events of their project, with one database read for all of them together. Bounded in
 * time; the callers of this class bound the number of waiters.
 */
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Database } from '../../platform/database/database.js';

/** The interval at which events are numbered. Without waiters the process does not read. */
const READ_EVERY_MS = 100;

const MOVED = {
  name: 'events_moved',
  text: `SELECT p.project_id, p.position FROM unnest($1::uuid[], $2::bigint[]) AS v(project_id, position)
    JOIN event_position p ON p.project_id = v.project_id AND p.position > v.position`,
};

interface Waiter {
  readonly position: bigint;
  readonly release: () => void;
}

@Injectable()
export class EventWaits implements OnModuleDestroy {
  private readonly waiters = new Map<string, Set<Waiter>>();
  private timer: NodeJS.Timeout | undefined;
  private isAway = false;
  private isStopping = false;

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** Resolves when the project's log has passed `position`, after `ms`, or when `signal` aborts. Never rejects. */
  async waitForEvents(projectId: string, position: bigint, ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || signal.aborted || this.isStopping) return;
    await new Promise<void>((resolve) => {
      const release = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', release);
        this.remove(projectId, waiter);
        resolve();
      };
      const waiter: Waiter = { position, release };
      // A separate timer, since reads of positions may wait for a connection.
      const timer = setTimeout(release, ms);
      signal.addEventListener('abort', release);
      const waiting = this.waiters.get(projectId) ?? new Set();
      this.waiters.set(projectId, waiting.add(waiter));
      this.schedule();
    });
  }

  onModuleDestroy(): void {
    this.isStopping = true;
    clearTimeout(this.timer);
    for (const waiter of [...this.waiters.values()].flatMap((waiting) => [...waiting])) waiter.release();
  }

  private remove(projectId: string, waiter: Waiter): void {
    const waiting = this.waiters.get(projectId);
    if (waiting?.delete(waiter) === true && waiting.size === 0) this.waiters.delete(projectId);
  }

  private schedule(): void {
    if (this.timer !== undefined || this.waiters.size === 0 || this.isStopping) return;
    this.timer = setTimeout(() => {
      void this.releaseServed().finally(() => {
        this.timer = undefined;
        this.schedule();
      });
    }, READ_EVERY_MS);
  }

  private async releaseServed(): Promise<void> {
    for (const { project_id, position } of await this.findMovedLogs()) {
      for (const waiter of [...(this.waiters.get(project_id) ?? [])]) if (waiter.position < position) waiter.release();
    }
  }

  /** Returns the awaited logs with new events; none while the database is unavailable. */
  private async findMovedLogs(): Promise<{ project_id: string; position: bigint }[]> {
    const projects = [...this.waiters.keys()];
    const positions = projects.map((id) => lowestOf(this.waiters.get(id) ?? []));
    try {
      const moved = await this.database.query<{ project_id: string; position: bigint }>(MOVED, [projects, positions]);
      this.isAway = false;
      return moved;
    } catch (error) {
      // Log once per outage, not ten times a second.
      if (!this.isAway) this.log.warn({ fault: messageOf(error) }, 'failed to look for new events; will retry');
      this.isAway = true;
      return [];
    }
  }
}

function lowestOf(waiting: Iterable<Waiter>): bigint {
  let lowest: bigint | undefined;
  for (const { position } of waiting) if (lowest === undefined || position < lowest) lowest = position;
  return lowest ?? 0n;
}
