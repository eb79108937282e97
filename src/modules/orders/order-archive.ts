/**
 * Moves orders that ended long ago to the archive in small batches. So queries over open orders cost the same at any
 * total number of orders. The database decides which orders may move, and guards against loss on the way
 * (src/platform/database/sql/functions/archive_orders.sql).
 */
import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database } from '../../platform/database/database.js';

const ARCHIVE = {
  name: 'archive_orders',
  text: `SELECT archived, checked_to FROM archive_orders($1, $4::timestamptz - $2 * interval '1 day', $3)`,
};

/** The result of one step. */
export interface ArchiveStep {
  readonly archived: number;
  /** True if older orders are still unchecked. */
  readonly isMore: boolean;
}

export class OrderArchive {
  /** The last order checked in this round. Orders that could not move yet are checked again in the next round. */
  private after = 0n;

  constructor(private readonly database: Database) {}

  /**
   * Checks the next `ordersMax` orders that began more than `days` ago. Archives none while another worker archives.
   */
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
