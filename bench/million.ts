// Two services of one Postgres server, one with millions of ended orders in its tables and one with a few, in turn:
// what grows with history would show.
import { FEW, historyRows, loadEnded } from './history.js';
import type { Row } from './measure.js';
import { HttpRows, type Pace } from './rows-http.js';
import { Stage, type StageOptions } from './stage.js';

/** Of ten millions, those that began lately are not in the archive yet. */
const NOT_ARCHIVED = 1_000_000;

export interface MillionRows {
  readonly history: readonly Row[];
  readonly orders: readonly Row[];
}

export interface MillionTerms {
  readonly orders: number;
  /** Of requests, as a ratio. */
  readonly goal: string;
  readonly historyAlone: boolean;
}

/** What a worker does again and again; and unless `historyAlone`, orders too. */
export async function millionRows(
  options: StageOptions,
  pace: Pace,
  { orders: count, goal, historyAlone }: MillionTerms,
): Promise<MillionRows> {
  const many = await Stage.open(options);
  try {
    const few = await Stage.open({ ...options, databaseUrl: many.world.databaseUrl });
    try {
      await loadEnded(many, count, Math.max(0, count - NOT_ARCHIVED));
      await loadEnded(few, FEW, 0);
      const label = `, ${count.toLocaleString('en').replaceAll(',', ' ')} orders in the tables`;
      const history = await historyRows(many, few, { rounds: pace.rounds * 2, label });
      if (historyAlone) return { history, orders: [] };
      // Workers were started and have stopped: what they read of the wallets is good for a minute or two.
      for (const stage of [many, few]) await stage.sellWithoutWorker();
      const rows = await HttpRows.open(many, pace);
      const others = await HttpRows.open(few, pace);
      const orders = await rows.ordersAgainst(others, label, 'the same with few orders', goal);
      return { history, orders };
    } finally {
      await few.close();
    }
  } finally {
    await many.close();
  }
}
