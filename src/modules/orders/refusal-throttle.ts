/**
 * Judges orders of API keys with recent refusals together, before they wait for a turn. One statement covers all orders
 * of some milliseconds, and one statement runs at a time. So callers without credits that retry all day cost paying
 * callers little. Accepts no order and caches no balance: each refusal was true after its request arrived.
 */
import { Injectable } from '@nestjs/common';
import { BatchLoader } from '../../platform/support/batch-loader.js';
import { monotonicMs, withDeadline } from '../../platform/support/clock.js';
import { Database } from '../../platform/database/database.js';
import { LOCK_WAIT_MS } from '../../platform/database/refusals.js';
import type { Prepared, Purchase } from './purchase.js';

/** This long after its last known refusal, a key's orders wait for their turns directly again. */
const KEPT_MS = 60_000;
const KEYS_MAX = 10_000;
/**
 * Orders that wait longer take a normal turn. Our choice: batching for 20 ms saves the others much and costs these
 * callers little.
 */
const LIMITS = { concurrent: 1, keys: 100, waitMs: 2000, gatherMs: 20 };
/** Longest wait for one statement, in ms. It exceeds the statement's own limits, in case the connection went silent. */
const STATEMENT_LIMIT_MS = 5000;

const REFUSALS = {
  name: 'order-refusals',
  text: `SELECT refusal FROM order_refusals($1, $2, $3, $4, $5, ${LOCK_WAIT_MS.toString()}) WITH ORDINALITY AS r(refusal, n) ORDER BY n`,
};

@Injectable()
export class RefusalThrottle {
  /** API key id → monotonic ms of its last refusal, oldest first. */
  private readonly refusedAtMs = new Map<string, number>();
  private readonly judgements: BatchLoader<string>;

  constructor(database: Database) {
    this.judgements = new BatchLoader(LIMITS, async (orders) => {
      const column = (at: number): (string | undefined)[] => orders.map((order) => order[at]);
      const statement = database.query<{ refusal: string | null }>(REFUSALS, [
        ...[0, 1, 2, 3].map(column),
        column(4).map((refusal) => (refusal === '' ? null : refusal)),
      ]);
      const rows = await withDeadline(statement, STATEMENT_LIMIT_MS, 'judging orders together');
      return rows.map(({ refusal }) => refusal ?? undefined);
    });
  }

  /** Records a refusal of the API key that could have been decided without a turn. */
  noteRefusal(apiKeyId: string): void {
    this.refusedAtMs.delete(apiKeyId);
    if (this.refusedAtMs.size >= KEYS_MAX) this.refusedAtMs.delete(this.refusedAtMs.keys().next().value ?? '');
    this.refusedAtMs.set(apiKeyId, monotonicMs());
  }

  /**
   * Returns the code of the refusal. Returns undefined if the order may be taken, and for keys without a recent
   * refusal.
   */
  async refusalOf(purchase: Purchase, key: string, { terms, refusal }: Prepared): Promise<string | undefined> {
    const { projectId, apiKeyId } = purchase;
    const notedMs = this.refusedAtMs.get(apiKeyId);
    // The use and expiry of a quote are judged first, under locks.
    if (notedMs === undefined || terms?.quote !== undefined) return undefined;
    const found = await this.judge(projectId, apiKeyId, key, (terms?.credits ?? 1n).toString(), refusal?.code ?? '');
    if (found === undefined || monotonicMs() - notedMs > KEPT_MS) this.refusedAtMs.delete(apiKeyId);
    return found;
  }

  private async judge(...order: readonly string[]): Promise<string | undefined> {
    try {
      return await this.judgements.load(...order);
    } catch {
      // After an error the order takes its turn, which shows the problem.
      return undefined;
    }
  }
}
