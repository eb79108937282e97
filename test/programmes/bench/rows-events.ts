// The cost of events: CPU of the service with and without them, concurrently, so that other load on the machine affects
// both. The service without events is a patched copy of the build. Its orders keep the history of moves, but no event
// is written or numbered. The copy's expectations for `verify` are patched too.
import { plant } from '../chaos/planted.js';
import { SCHEMA, type PlantedBug } from '../chaos/planted-bug.js';
import { bindBuild, copyOfBuild } from '../chaos/workspace.js';
import { atOnce, CHAIN, lives, Meter, spentRow, type LifePace, type Rounds } from './lives.js';
import type { Row } from './measure.js';
import { BenchCluster } from './cluster.js';

const WITHOUT_EVENTS: PlantedBug = {
  name: 'without events',
  changes: [
    {
      file: SCHEMA,
      find: `  INSERT INTO event (project_id, order_id, type) VALUES (p_project, order_id, 'order.created');\n`,
      put: '',
    },
    {
      file: SCHEMA,
      find: '     v_type text := CASE\n       WHEN NEW.project_id',
      put: '     v_type text := CASE\n       WHEN true THEN NULL\n       WHEN NEW.project_id',
    },
    {
      file: 'modules/events/numberer.ts',
      find: '  /** Numbers the next events,',
      put: '  override start(): void {}\n\n  /** Numbers the next events,',
    },
  ],
};

export interface EventPace extends LifePace {
  /** Rounds of orders that are only accepted, and orders per round. */
  readonly acceptRounds: number;
  readonly accepted: number;
}

export async function eventRows(pace: EventPace): Promise<Row[]> {
  const copy = await copyOfBuild();
  const clusters: BenchCluster[] = [];
  try {
    await plant(copy.dist, WITHOUT_EVENTS);
    await bindBuild(copy.dist);
    for (const build of [undefined, copy.root]) {
      clusters.push(await BenchCluster.open({ ...CHAIN, ...(build === undefined ? {} : { build }) }));
    }
    const [ours, bare] = await Promise.all(clusters.map((cluster) => Meter.of(cluster)));
    if (ours === undefined || bare === undefined) throw new Error('two services are measured');
    await Promise.all([ours.startWorkers(), bare.startWorkers()]);
    const living = await lives(pace, [ours, bare]);
    await Promise.all([ours.stopWorkers(), bare.stopWorkers()]);
    const accepting = await atOnce(pace.acceptRounds, [ours, bare], (meter) => meter.accept(pace.accepted));
    return [
      rowOf('CPU of accepting an order, API and Postgres', 'ratio ≤ 1.05', accepting),
      rowOf('CPU of an order’s whole life, numberer included', 'ratio ≤ 1.10', living),
    ];
  } finally {
    for (const cluster of clusters) await cluster.close();
    await copy.remove();
  }
}

const rowOf = (what: string, goal: string, rounds: Rounds): Row =>
  spentRow({ what, goal, against: 'the same without events, moves of orders kept' }, rounds);
