// Two services on one Postgres server, alternating: one with millions of ended orders, one with a few. A difference
// shows the costs that grow with history.
import { FEW, historyRows, loadEnded } from './history.js';
import type { Row } from './measure.js';
import { HttpRows, type Pace } from './rows-http.js';
import { BenchCluster, type BenchClusterOptions } from './cluster.js';

/** Of ten million orders, the most recent ones are not archived yet. */
const NOT_ARCHIVED = 1_000_000;

export interface MillionRows {
  readonly history: readonly Row[];
  readonly orders: readonly Row[];
}

export interface MillionTerms {
  readonly orders: number;
  /** Goal for requests, as a ratio. */
  readonly goal: string;
  readonly historyAlone: boolean;
}

/** Measures a worker's recurring work and, unless `historyAlone`, orders too. */
export async function millionRows(
  options: BenchClusterOptions,
  pace: Pace,
  { orders: count, goal, historyAlone }: MillionTerms,
): Promise<MillionRows> {
  const many = await BenchCluster.open(options);
  try {
    const few = await BenchCluster.open({ ...options, databaseUrl: many.service.databaseUrl });
    try {
      await loadEnded(many, count, Math.max(0, count - NOT_ARCHIVED));
      await loadEnded(few, FEW, 0);
      const label = `, ${count.toLocaleString('en').replaceAll(',', ' ')} orders in the tables`;
      const history = await historyRows(many, few, { rounds: pace.rounds * 2, label });
      if (historyAlone) return { history, orders: [] };
      // Workers have run and stopped: their reading of the wallets would expire within a minute or two.
      for (const cluster of [many, few]) await cluster.sellWithoutWorker();
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
