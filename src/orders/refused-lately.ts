/**
 * API keys whose orders were refused lately are asked about together before any of them gets its turn: one statement for
 * all that came within some milliseconds, and one at a time. So callers without credits, who try again all day, cost the
 * paying ones little. Decides no acceptance, and remembers no balance: every refusal was true after its request came.
 */
import { Injectable } from '@nestjs/common';
import { Batched } from '../base/batch-loader.js';
import { monotonicMs, withDeadline } from '../base/clock.js';
import { Database } from '../store/database.js';
import { LOCK_WAIT_MS } from '../store/functions/accept-order.js';
import type { Prepared, Purchase } from './purchase.js';

/** So long after it was found to be refused a key's orders get their turns at once again. */
const KEPT_MS = 60_000;
const KEYS_MAX = 10_000;
/** Whoever waits longer takes a turn like everybody else. Our choice: 20 ms are much to the others and little to them. */
const LIMITS = { atOnce: 1, keys: 100, waitMs: 2000, gatherMs: 20 };
/** Of one statement: longer than its own limits, for a connection that went silent. */
const STATEMENT_LIMIT_MS = 5000;

const REFUSALS = {
  name: 'order-refusals',
  text: `SELECT refusal FROM order_refusals($1, $2, $3, $4, $5, ${LOCK_WAIT_MS.toString()}) WITH ORDINALITY AS r(refusal, n) ORDER BY n`,
};

@Injectable()
export class RefusedLately {
  /** When each was noted (monotonic ms), the oldest first. */
  private readonly keys = new Map<string, number>();
  private readonly asked: Batched<string>;

  constructor(database: Database) {
    this.asked = new Batched(LIMITS, async (orders) => {
      const column = (at: number): (string | undefined)[] => orders.map((order) => order[at]);
      const statement = database.query<{ refusal: string | null }>(REFUSALS, [
        ...[0, 1, 2, 3].map(column),
        column(4).map((refusal) => (refusal === '' ? null : refusal)),
      ]);
      const rows = await withDeadline(statement, STATEMENT_LIMIT_MS, 'judging orders together');
      return rows.map(({ refusal }) => refusal ?? undefined);
    });
  }

  /** An order of the API key was refused for what could be seen without a turn. */
  note(apiKeyId: string): void {
    this.keys.delete(apiKeyId);
    if (this.keys.size >= KEYS_MAX) this.keys.delete(this.keys.keys().next().value ?? '');
    this.keys.set(apiKeyId, monotonicMs());
  }

  /** The code of the refusal; undefined where nothing speaks against taking the order, and for any other key. */
  async refusalOf(purchase: Purchase, key: string, { terms, refusal }: Prepared): Promise<string | undefined> {
    const { projectId, apiKeyId } = purchase;
    const notedMs = this.keys.get(apiKeyId);
    // What a quote was used for, and when it ended, is judged before all else, under locks.
    if (notedMs === undefined || terms?.quote !== undefined) return undefined;
    const found = await this.ask(projectId, apiKeyId, key, (terms?.credits ?? 1n).toString(), refusal?.code ?? '');
    if (found === undefined || monotonicMs() - notedMs > KEPT_MS) this.keys.delete(apiKeyId);
    return found;
  }

  private async ask(...order: readonly string[]): Promise<string | undefined> {
    try {
      return await this.asked.find(...order);
    } catch {
      // Whatever is wrong, its turn will show.
      return undefined;
    }
  }
}
