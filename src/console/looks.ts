/**
 * Records each look of an operator at a project in the audit log, visible to its owners: one row per session, route and
 * ten minutes.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../base/clock.js';
import { recordAct } from '../store/audit-log.js';
import { Database } from '../store/database.js';
import type { ConsoleCaller } from './authority.js';

const AGAIN_MS = 600_000;
const REMEMBERED_MAX = 10_000;

@Injectable()
export class Looks {
  private readonly noted = new Map<string, number>();

  constructor(private readonly database: Database) {}

  /** Throws if the look cannot be recorded, so that nothing is shown then. `what` is the route's path pattern. */
  async note(caller: ConsoleCaller, projectId: string, what: string): Promise<void> {
    const key = [caller.sessionId, projectId, what].join(' ');
    const notedMs = this.noted.get(key);
    if (notedMs !== undefined && monotonicMs() - notedMs < AGAIN_MS) return;
    const detail = { what, role: caller.role ?? '' };
    const author = { actor: caller.email, reason: 'read in the operator console' };
    await this.database.transaction((tx) =>
      recordAct(tx, author, { action: 'console.look', subject: projectId, detail }),
    );
    this.noted.delete(key);
    this.noted.set(key, monotonicMs());
    const [oldest] = this.noted.size > REMEMBERED_MAX ? this.noted.keys() : [];
    if (oldest !== undefined) this.noted.delete(oldest);
  }
}
