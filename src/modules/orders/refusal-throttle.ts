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
import { ChargeRefusals } from './refusals.js';
import type { PricedOrder, Purchase } from './purchase.js';

/** This long after its last known refusal, a key's orders wait for their turns directly again. */
const KEPT_MS = 60_000;
const KEYS_MAX = 10_000;
/**
 * Orders that wait longer take a normal turn. Our choice: batching for 20 ms saves the others much and costs these
 * callers little.
 */
const LIMITS = { concurrent: 1, size: 100, waitMs: 2000, gatherMs: 20 };
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

  constructor(
    database: Database,
    private readonly chargeRefusals: ChargeRefusals,
  ) {
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

  /** Throws the refusal of a purchase that can be judged without a turn. */
  async refuseEarly(purchase: Purchase, priced: PricedOrder): Promise<void> {
    // Without a key from the caller no replay is possible, and without a quote no other check takes precedence.
    if (priced.refusal !== undefined && !purchase.key.isGiven && priced.terms?.quote === undefined) {
      throw priced.refusal;
    }
    const code = await this.codeOf(purchase, priced);
    if (code !== undefined) throw await this.chargeRefusals.refusalOf(code, purchase, priced);
  }

  /** Returns undefined if the order may be taken, and for API keys without a recent refusal. */
  private async codeOf({ project, apiKeyId, key }: Purchase, priced: PricedOrder): Promise<string | undefined> {
    const { terms, refusal } = priced;
    const notedMs = this.refusedAtMs.get(apiKeyId);
    // The use and expiry of a quote are judged first, under locks.
    if (notedMs === undefined || terms?.quote !== undefined) return undefined;
    const charge = (terms?.credits ?? 1n).toString();
    const found = await this.judge([project.id, apiKeyId, key.value, charge, refusal?.code ?? '']);
    if (found === undefined || monotonicMs() - notedMs > KEPT_MS) this.refusedAtMs.delete(apiKeyId);
    return found;
  }

  private async judge(order: readonly string[]): Promise<string | undefined> {
    try {
      return await this.judgements.load(...order);
    } catch {
      // After an error the order takes its turn, which shows the problem.
      return undefined;
    }
  }
}
