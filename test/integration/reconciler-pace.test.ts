// How soon the reconciler makes its next pass.
import { until } from '../../packages/local/src/wait.js';
import { ReconcileWorld } from '../reconcile-world.js';

/** A busy machine judges the records in seconds too. */
const LIMIT_MS = 60_000;

let world: ReconcileWorld;

beforeAll(async () => {
  world = await ReconcileWorld.open({ RECONCILE_SEC: '1' });
});

afterAll(() => world.close());

it('a pass that waited for slow nodes is followed by the next one as soon as ever', async () => {
  const passedAt = async (): Promise<string> => {
    const [row] = await world.database.query<{ at: string }>(`SELECT passed_at::text AS at FROM reconcile_state`);
    return row!.at;
  };
  const [slow] = await world.faults([{ kind: 'slow', ms: 300, path: 'wallet*', rate: 1 }]);
  const startedMs = performance.now();
  await world.pass();
  // Ten times as long is a rest beyond the limit.
  expect(performance.now() - startedMs).toBeGreaterThan(LIMIT_MS / 10);
  await world.clearFault(slow);
  const first = await passedAt();
  const next = async (): Promise<true | undefined> => {
    await world.look();
    return (await passedAt()) === first ? undefined : true;
  };
  await until(next, LIMIT_MS, 'the next pass');
}, 120_000);
