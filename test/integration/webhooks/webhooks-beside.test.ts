// New events that arrive while an endpoint is held: beside a slow answer, and beside its release by another sender.
import type { ServerResponse } from 'node:http';
import pg from 'pg';
import { until } from '../../../packages/local/src/wait.js';
import { DeliveryClaims } from '../../../src/modules/sender/delivery-claims.js';
import { openDeliveryFixture, type DeliveryFixture } from '../../support/webhooks/delivery-fixture.js';

let fixture: DeliveryFixture;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterEach(() => fixture.endAll());
afterAll(() => fixture.close());

it('a new event is sent beside a slow answer of its endpoint', async () => {
  const { customer } = await fixture.setUp('/slow');
  const open: ServerResponse[] = [];
  fixture.receivers.answers.set('/slow', (_one, response) => open.push(response));
  const sender = await fixture.openSender();
  await fixture.fixture.freeze(customer);
  await fixture.fixture.numberAll();
  await sender.run(() => open.length === 1);
  await fixture.fixture.freeze(customer, false);
  await fixture.fixture.numberAll();
  await sender.run(() => open.length === 2);
  expect(open[0]!.closed).toBe(false);
  for (const response of open) response.writeHead(204).end();
  await sender.run(() => sender.loop.attemptsInProgress === 0);
});

it('a new event makes its endpoint due; the sender does it for a failing one and for one that another session holds', async () => {
  const [answering, failing, held] = [await fixture.setUp('/a'), await fixture.setUp('/f'), await fixture.setUp('/h')];
  await fixture.database.query(
    `UPDATE webhook_state SET failures = 1, failing_since = clock_timestamp() WHERE endpoint_id = $1`,
    [failing.id],
  );
  const holder = new pg.Client({ connectionString: fixture.fixture.env['DATABASE_URL'] });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM webhook_state WHERE endpoint_id = $1 FOR UPDATE`, [held.id]);
    for (const { customer } of [answering, failing, held]) await fixture.fixture.happen(customer);
  } finally {
    await holder.end();
  }
  const found = async ({ id }: { readonly id: string }): Promise<unknown> => {
    const [row] = await fixture.database.query(
      `SELECT s.due_at <= clock_timestamp() AS is_due, array_agg(d.is_fresh) AS fresh FROM webhook_state s
         JOIN webhook_delivery d USING (endpoint_id) WHERE s.endpoint_id = $1 GROUP BY s.due_at`,
      [id],
    );
    return row;
  };
  expect(await found(answering)).toEqual({ is_due: true, fresh: [false, false] });
  expect(await found(failing)).toEqual({ is_due: null, fresh: [true, true] });
  expect(await found(held)).toEqual({ is_due: null, fresh: [true, true] });
  const sender = await fixture.openSender();
  await sender.run(async () => {
    const sent = await Promise.all([answering, failing, held].map(({ id }) => fixture.areAll(id, 'delivered')));
    return sent.every(Boolean);
  });
});

it('an event that another sender sees during the release of its slowed endpoint is due after the rest', async () => {
  const both = [await fixture.setUp('/release-1'), await fixture.setUp('/release-2')];
  const [first, last] = both.sort((one, other) => (one.id < other.id ? -1 : 1));
  await fixture.database.query(
    `UPDATE webhook_state SET failures = 3, failing_since = clock_timestamp() - interval '1 hour', due_at = clock_timestamp()
      WHERE endpoint_id = ANY ($1::uuid[])`,
    [both.map(({ id }) => id)],
  );
  const claims = (await fixture.openSender()).app.get(DeliveryClaims);
  const other = (await fixture.openSender()).app.get(DeliveryClaims);
  const held = await claims.claim(100, 100);
  expect(held.map(({ id }) => id).sort()).toEqual([first!.id, last!.id]);
  const holder = new pg.Client({ connectionString: fixture.fixture.env['DATABASE_URL'] });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM webhook_state WHERE endpoint_id = $1 FOR UPDATE`, [first!.id]);
    const releasing = claims.release(held.map((each) => ({ ...each, restMs: 0 })));
    await until(
      async () => {
        const waiting = await fixture.database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return waiting.length > 0 ? true : undefined;
      },
      5000,
      'the release to wait',
      20,
    );
    await fixture.fixture.freeze(last!.customer);
    await fixture.fixture.numberAll();
    await other.makeNewDeliveriesDue();
    await holder.query('COMMIT');
    await releasing;
  } finally {
    await holder.end();
  }
  const [state] = await fixture.database.query<{ rest_sec: number | null }>(
    `SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS rest_sec FROM webhook_state WHERE endpoint_id = $1`,
    [last!.id],
  );
  expect(state!.rest_sec).toBeGreaterThan(50);
  expect(state!.rest_sec).toBeLessThanOrEqual(60);
});
