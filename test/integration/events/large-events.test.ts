// Numbering of large events: in batches of bounded size, once and in order.
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';
import { openLog } from '../../support/log.js';

const EVENTS = 100;
const CHARS = 100_000;
/** Larger than a whole batch may be. */
const HUGE = 5_000_000;

let fixture: OrderFixture;
beforeAll(async () => {
  fixture = await openOrderFixture();
});
afterAll(() => fixture.close());

it('numbers events of ten megabytes in several batches, and one that exceeds a batch alone', async () => {
  const { database } = fixture.api;
  const { merchant } = await makeCustomer(fixture.api);
  const numberer = new Numberer(database, new Metrics(), openLog('silent'));
  while ((await numberer.numberBatch()) > 0);
  await database.query(
    `INSERT INTO event (project_id, type, snapshot)
     SELECT $1::uuid, 'project.frozen', json_build_object('project', json_build_object(
              'id', $1::uuid, 'name', repeat('x', CASE n WHEN 1 THEN $2::int ELSE $3::int END), 'frozen', true))
       FROM generate_series(1, $4) n`,
    [merchant, HUGE, CHARS, EVENTS],
  );
  const batches: number[] = [];
  for (let count = await numberer.numberBatch(); count > 0; count = await numberer.numberBatch()) batches.push(count);
  expect(batches[0]).toBe(1);
  expect(batches.length).toBeGreaterThan(3);
  expect(batches.reduce((sum, count) => sum + count, 0)).toBe(EVENTS);
  const rows = await database.query<{ position: bigint }>(
    'SELECT position FROM event WHERE project_id = $1 AND position IS NOT NULL ORDER BY id',
    [merchant],
  );
  expect(rows.map(({ position }) => Number(position))).toEqual(Array.from({ length: EVENTS }, (_, n) => n + 1));
});
