/**
 * Moves orders that are long over to the archive, a little at a time, so that what is asked of open ones costs the same
 * however many there have been. What may go there, and that nothing is lost on the way, is the database's to judge
 * (store/functions/archive-functions.ts).
 */
import { confirmedNow } from '../store/confirmed-clock.js';
import type { Database } from '../store/database.js';

const ARCHIVE = {
  name: 'archive_orders',
  text: `SELECT archived, checked_to FROM archive_orders($1, $4::timestamptz - $2 * interval '1 day', $3)`,
};

/** What one step came to. */
export interface ArchiveStep {
  readonly archived: number;
  /** Whether there are older orders that were not checked yet. */
  readonly isMore: boolean;
}

export class OrderArchive {
  /** The order up to which all were checked in this round; those that could not go yet are checked in the next. */
  private after = 0n;

  constructor(private readonly database: Database) {}

  /** Checks the next `ordersMax` orders that began more than `days` ago. Another worker may be at it: then none is. */
  async step(days: number, ordersMax: number): Promise<ArchiveStep> {
    const now = await confirmedNow(this.database);
    if (now === undefined) return { archived: 0, isMore: false };
    const [done] = await this.database.query<{ archived: number; checked_to: bigint | null }>(ARCHIVE, [
      this.after,
      days,
      ordersMax,
      now,
    ]);
    this.after = done?.checked_to ?? 0n;
    return { archived: done?.archived ?? 0, isMore: this.after > 0n };
  }
}
