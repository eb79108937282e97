// The cost of more processes, and of a pooler's restrictions. A service with several APIs and workers, or under those
// restrictions, runs next to one with one of each on the same machine. This shows losses by contention, but no gains by
// more cores.
import { CHAIN, lives, Meter, spentRow, type LifePace, type Spent } from './lives.js';
import type { Row } from './measure.js';
import { BenchCluster, type BenchClusterOptions } from './cluster.js';

/** Measures `processes` APIs and as many workers on one database. */
export async function scaleRows(processes: number, pace: LifePace): Promise<Row[]> {
  const many = processes.toString();
  return twoServices([CHAIN, CHAIN], [processes, 1], async ([more, one]) => {
    const row = spentRow(
      {
        what: `CPU of an order’s life, ${many} APIs and ${many} workers`,
        against: 'one of each',
        goal: 'ratio ≤ 1.25',
      },
      await lives(pace, [more, one]),
    );
    const idle = `idle, ms a second: ${spentText(more.idlePerSec)}, beside ${spentText(one.idlePerSec)}`;
    return [{ ...row, note: `${row.note ?? ''}; ${idle}` }, shareRow(many, await more.placedByWorker())];
  });
}

/** Measures the cost of unnamed statements, which PgBouncer requires. */
export async function unnamedRow(pace: LifePace): Promise<Row> {
  const unnamed = { ...CHAIN, env: { ...CHAIN.env, PG_NAMED_STATEMENTS: 'off' } };
  return twoServices([unnamed, CHAIN], [1, 1], async (meters) =>
    spentRow(
      { what: 'CPU of an order’s life, PG_NAMED_STATEMENTS=off', against: 'on', goal: 'report' },
      await lives(pace, meters),
    ),
  );
}

/** Runs two services with workers, with the given numbers of processes. */
async function twoServices<T>(
  [ours, limit]: readonly [BenchClusterOptions, BenchClusterOptions],
  [processes, others]: readonly [number, number],
  work: (meters: readonly [Meter, Meter]) => Promise<T>,
): Promise<T> {
  const clusters: BenchCluster[] = [];
  try {
    for (const options of [ours, limit]) clusters.push(await BenchCluster.open(options));
    const [first, second] = clusters;
    if (first === undefined || second === undefined) throw new Error('two services are measured');
    const meters = [await Meter.of(first, processes), await Meter.of(second, others)] as const;
    await Promise.all(meters.map((meter) => meter.startWorkers()));
    return await work(meters);
  } finally {
    for (const cluster of clusters) await cluster.close();
  }
}

const spentText = ({ api, worker, postgres }: Spent): string =>
  `api ${api.toFixed(1)}, worker ${worker.toFixed(1)}, postgres ${postgres.toFixed(1)}`;

function shareRow(many: string, placed: readonly number[]): Row {
  const all = placed.reduce((sum, count) => sum + count, 0);
  const shares = placed.map((count) => (count * placed.length) / Math.max(all, 1));
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  return {
    what: `orders of the busiest of ${many} workers`,
    against: 'an even share',
    unit: '',
    ours: Math.max(...placed),
    limit: all / placed.length,
    ratio: most,
    goal: 'ratio ≤ 1.25',
    spread: [least, most],
    note: `placed by each: ${placed.join(', ')}`,
  };
}
