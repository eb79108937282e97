/**
 * Records each access of an operator to a project's data in the audit log, visible to its owners: one row per session,
 * route and ten minutes.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { recordAct } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import type { ConsoleCaller } from './authority.js';

const AGAIN_MS = 600_000;
const REMEMBERED_MAX = 10_000;

@Injectable()
export class AccessAudit {
  private readonly recordedAtMs = new Map<string, number>();

  constructor(private readonly database: Database) {}

  /** Throws if the access cannot be recorded, so that nothing is shown then. `routePath` is the route's path pattern. */
  async recordAccess(caller: ConsoleCaller, projectId: string, routePath: string): Promise<void> {
    const key = [caller.sessionId, projectId, routePath].join(' ');
    const recordedMs = this.recordedAtMs.get(key);
    if (recordedMs !== undefined && monotonicMs() - recordedMs < AGAIN_MS) return;
    const detail = { what: routePath, role: caller.role ?? '' };
    const author = { actor: caller.email, reason: 'read in the operator console' };
    await this.database.transaction((tx) =>
      recordAct(tx, author, { action: 'console.look', subject: projectId, detail }),
    );
    this.recordedAtMs.delete(key);
    this.recordedAtMs.set(key, monotonicMs());
    const [oldest] = this.recordedAtMs.size > REMEMBERED_MAX ? this.recordedAtMs.keys() : [];
    if (oldest !== undefined) this.recordedAtMs.delete(oldest);
  }
}
