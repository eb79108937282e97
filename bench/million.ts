// Two services of one Postgres server, one with a million ended orders in its tables and one with a thousand, in turn:
// what grows with history would show.
import { historyRows, loadEnded } from './history.js';
import type { Row } from './measure.js';
import { HttpRows, type Pace } from './rows-http.js';
import { Stage, type StageOptions } from './stage.js';

const MANY = 1_000_000;
const FEW = 1000;

export interface MillionRows {
  readonly history: readonly Row[];
  readonly orders: readonly Row[];
}

/** What a worker does again and again; and unless `historyAlone`, orders too. */
export async function millionRows(options: StageOptions, pace: Pace, historyAlone: boolean): Promise<MillionRows> {
  const many = await Stage.open(options);
  try {
    const few = await Stage.open({ ...options, databaseUrl: many.world.databaseUrl });
    try {
      await loadEnded(many, MANY);
      await loadEnded(few, FEW);
      const history = await historyRows(many, few, pace.rounds * 2);
      if (historyAlone) return { history, orders: [] };
      const rows = await HttpRows.open(many, pace);
      const others = await HttpRows.open(few, pace);
      const label = ', 1 000 000 orders in the tables';
      const orders = await rows.ordersAgainst(others, label, 'the same with few orders', '≥ 0.90');
      return { history, orders };
    } finally {
      await few.close();
    }
  } finally {
    await many.close();
  }
}
