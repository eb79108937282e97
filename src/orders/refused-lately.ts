/**
 * Projects whose orders were refused lately are asked about together before any of them gets its turn: one statement for
 * all that wait, and one at a time. So callers without credits, who try again all day, cost the paying ones little. Decides
 * no acceptance, and remembers no balance: every refusal was true after its request came.
 */
import { Injectable } from '@nestjs/common';
import { Batched } from '../base/batch-loader.js';
import { monotonicMs } from '../base/clock.js';
import { Database } from '../store/database.js';
import { LOCK_WAIT_MS } from '../store/functions/accept-order.js';
import type { Prepared, Purchase } from './purchase.js';

/** After this long without a refusal a project's orders get their turns at once again. */
const KEPT_MS = 60_000;
const PROJECTS_MAX = 10_000;
/** Whoever waits longer takes a turn like everybody else. */
const LIMITS = { atOnce: 1, keys: 100, waitMs: 2000 };

const REFUSALS = {
  name: 'order-refusals',
  text: `SELECT refusal FROM order_refusals($1, $2, $3, $4, $5, ${LOCK_WAIT_MS.toString()}) WITH ORDINALITY AS r(refusal, n) ORDER BY n`,
};

@Injectable()
export class RefusedLately {
  /** When each was refused last (monotonic ms), the oldest first. */
  private readonly projects = new Map<string, number>();
  private readonly asked: Batched<string>;

  constructor(database: Database) {
    this.asked = new Batched(LIMITS, async (orders) => {
      const column = (at: number): (string | undefined)[] => orders.map((order) => order[at]);
      const rows = await database.query<{ refusal: string | null }>(REFUSALS, [
        ...[0, 1, 2, 3].map(column),
        column(4).map((refusal) => (refusal === '' ? null : refusal)),
      ]);
      return rows.map(({ refusal }) => refusal ?? undefined);
    });
  }

  /** An order of the project was refused without a turn of its own being needed for it. */
  note(projectId: string): void {
    this.projects.delete(projectId);
    if (this.projects.size >= PROJECTS_MAX) this.projects.delete(this.projects.keys().next().value ?? '');
    this.projects.set(projectId, monotonicMs());
  }

  /** The code of the refusal; undefined where nothing speaks against taking the order, and for any other project. */
  async refusalOf(purchase: Purchase, key: string, { terms, refusal }: Prepared): Promise<string | undefined> {
    const { projectId, apiKeyId } = purchase;
    const notedMs = this.projects.get(projectId);
    // What a quote was used for, and when it ended, is judged before all else, under locks.
    if (notedMs === undefined || terms?.quote !== undefined) return undefined;
    if (monotonicMs() - notedMs > KEPT_MS) {
      this.projects.delete(projectId);
      return undefined;
    }
    try {
      return await this.asked.find(projectId, apiKeyId, key, (terms?.credits ?? 1n).toString(), refusal?.code ?? '');
    } catch {
      // Whatever is wrong, its turn will show.
      return undefined;
    }
  }
}
