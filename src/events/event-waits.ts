/**
 * Callers that wait for their project's log to go on: one look at the database for all of them, not one each. Bounded in
 * time; how many there may be is up to who lets them wait.
 */
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { messageOf } from '../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Database } from '../store/database.js';

/** As often as events are numbered; an idle process does not look at all. */
const LOOK_EVERY_MS = 100;

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
  async until(projectId: string, position: bigint, ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || signal.aborted || this.isStopping) return;
    await new Promise<void>((resolve) => {
      const release = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', release);
        this.remove(projectId, waiter);
        resolve();
      };
      const waiter: Waiter = { position, release };
      // Apart from the reads of positions, which may have to wait for a connection.
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
      void this.look().finally(() => {
        this.timer = undefined;
        this.schedule();
      });
    }, LOOK_EVERY_MS);
  }

  private async look(): Promise<void> {
    for (const { project_id, position } of await this.moved()) {
      for (const waiter of [...(this.waiters.get(project_id) ?? [])]) if (waiter.position < position) waiter.release();
    }
  }

  /** The awaited logs that have gone on; none while the database is away. */
  private async moved(): Promise<{ project_id: string; position: bigint }[]> {
    const projects = [...this.waiters.keys()];
    const positions = projects.map((id) => lowestOf(this.waiters.get(id) ?? []));
    try {
      const moved = await this.database.query<{ project_id: string; position: bigint }>(MOVED, [projects, positions]);
      this.isAway = false;
      return moved;
    } catch (error) {
      // One line per outage, not ten a second.
      if (!this.isAway) this.log.warn({ fault: messageOf(error) }, 'new events cannot be looked for; trying again');
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
