// Rows that a clock far ahead dated: those after them are still deleted at their age.
import { randomUUID } from 'node:crypto';
import { pruneEvents } from '../../../src/modules/events/retention.js';
import { Pruning } from '../../../src/modules/fulfilment/loop/pruning.js';
import { EndpointWatch } from '../../../src/modules/sender/endpoint-watch.js';
import type { SenderConfig } from '../../../src/platform/config/sender-config.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';
import { openLog } from '../../support/log.js';
import { asAdmin } from '../../setup/admin.js';

const SENDER = { deliveriesDays: 30 } as SenderConfig;
const BATCH = 1000;

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
});
afterAll(() => fixture.close());

const run = (text: string, params: unknown[] = []) => fixture.api.database.query(text, params);

it('deliveries dated by a clock a year ahead keep no older ones', async () => {
  const endpoint = randomUUID();
  const insert = `INSERT INTO webhook_delivery (endpoint_id, cause, event_key, type, payload, created_at)
    SELECT $1, 'test', n::text, 'webhook.test', '{}', clock_timestamp() + $2::interval FROM generate_series(1, $3::int) n`;
  await run(insert, [endpoint, '1 year', BATCH]);
  await run(insert, [endpoint, '-31 days', 3]);
  await run(insert, [endpoint, '-1 day', 1]);
  await new EndpointWatch(fixture.api.database, SENDER, new Metrics(), openLog('silent')).runTasks();
  const [left] = await run(
    `SELECT count(*)::int AS left, min(created_at) > clock_timestamp() - interval '2 days' AS recent FROM webhook_delivery
      WHERE endpoint_id = $1 AND created_at < clock_timestamp()`,
    [endpoint],
  );
  expect(left).toEqual({ left: 1, recent: true });
});

const PRUNED = {
  refused_request: {
    time: 'at',
    row: `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
      SELECT gen_random_uuid(), clock_timestamp() + $1::interval, 'r', 'GET', '/', 401, 'E', 'r', '192.0.2.1'`,
  },
  broadcast: {
    time: 'sent_at',
    row: `INSERT INTO broadcast (chain_tx_id, node, answer, sent_at) SELECT n, 'a node', 'SUCCESS', clock_timestamp() + $1::interval`,
  },
} as const;

it.each(['refused_request', 'broadcast'] as const)(
  'rows of %s that a clock a year ahead dated are deleted with those after them',
  async (table) => {
    const { time, row } = PRUNED[table];
    const ages = [
      ['1 year', BATCH],
      ['-40 days', 3],
      ['1 year', 2],
      ['-31 days', 3],
      ['-1 day', 1],
      ['1 year', 1],
    ] as const;
    for (const [age, count] of ages) await run(`${row} FROM generate_series(1, $2::int) n`, [age, count]);
    const { api } = fixture;
    const pruning = new Pruning(api.database, api.config, new Metrics(), openLog('silent'));
    for (let step = 0; step < 3; step += 1) await pruning.pruneOnce();
    const left = await run(`SELECT ${time} > clock_timestamp() AS is_ahead FROM ${table} ORDER BY id`);
    expect(left).toEqual([{ is_ahead: false }, { is_ahead: true }]);
  },
);

it('events dated by a clock a year ahead are deleted with those after them', async () => {
  const { merchant } = await makeCustomer(fixture.api);
  await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    await client.query(`SET session_replication_role = replica`);
    await client.query(`DELETE FROM event`);
    const ages = [
      ['-40 days', 2],
      ['1 year', 2 * BATCH],
      ['-31 days', 2],
      ['-1 day', 1],
      ['1 year', 1],
    ] as const;
    let position = 0;
    for (const [age, count] of ages) {
      await client.query(
        `INSERT INTO event (project_id, type, at, position, payload)
         SELECT $1, 'project.frozen', clock_timestamp() + $2::interval, $3::int + n, '{}' FROM generate_series(1, $4::int) n`,
        [merchant, age, position, count],
      );
      position += count;
    }
  });
  for (let step = 0; step < 5; step += 1) await pruneEvents(fixture.api.database, 30, BATCH);
  expect(await run(`SELECT count(*)::int AS kept FROM event WHERE payload IS NOT NULL`)).toEqual([{ kept: 2 }]);
});
