// What more processes cost: one service of as many APIs and workers as are said beside one of one each, both on the same
// machine at once. Whatever they gain by more cores is not seen here; what they lose by each other is.
import { CHAIN, lives, Meter, spentRow, type LifePace, type Spent } from './lives.js';
import type { Row } from './measure.js';
import { Stage } from './stage.js';

/** Rows for `processes` APIs and as many workers on one database. */
export async function scaleRows(processes: number, pace: LifePace): Promise<Row[]> {
  const many = processes.toString();
  const stages: Stage[] = [];
  try {
    for (let service = 0; service < 2; service += 1) stages.push(await Stage.open(CHAIN));
    const [more, one] = await Promise.all(stages.map((stage, index) => Meter.of(stage, index === 0 ? processes : 1)));
    if (more === undefined || one === undefined) throw new Error('two services are measured');
    await Promise.all([more.startWorkers(), one.startWorkers()]);
    const living = await lives(pace, [more, one]);
    const row = spentRow(
      {
        what: `CPU of an order’s life, ${many} APIs and ${many} workers`,
        against: 'one of each',
        goal: 'ratio ≤ 1.25',
      },
      living,
    );
    const idle = `idle, ms a second: ${spentText(more.idlePerSec)}, beside ${spentText(one.idlePerSec)}`;
    return [{ ...row, note: `${row.note ?? ''}; ${idle}` }, shareRow(many, await more.placedByWorker())];
  } finally {
    for (const stage of stages) await stage.close();
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
