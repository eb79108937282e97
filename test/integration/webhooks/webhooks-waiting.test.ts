// Endpoints with very many waiting or past deliveries: statements read only the rows they need.
import { getRepositoryToken } from '@nestjs/typeorm';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { Config } from '../../../src/platform/config/config.js';
import { SenderConfig } from '../../../src/platform/config/sender-config.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { DeliveryClaims, type ClaimedEndpoint } from '../../../src/modules/sender/delivery-claims.js';
import { EndpointWatch } from '../../../src/modules/sender/endpoint-watch.js';
import { Database } from '../../../src/platform/database/database.js';
import { WebhookEndpoint } from '../../../src/platform/database/entities/webhook-endpoint.entity.js';
import { WebhookDeliveries } from '../../../src/modules/webhooks/webhook-deliveries.js';
import { Webhooks } from '../../../src/modules/webhooks/webhooks.js';
import { openLog } from '../../support/log.js';
import { openDeliveryFixture, type DeliveryFixture } from '../../support/webhooks/delivery-fixture.js';
import type { TestSender } from '../../support/webhooks/sender.js';

const MANY = 4000;
/** Room for the wanted rows, the index entries that find them, and the pages around them. */
const FEW = 200;

let fixture: DeliveryFixture;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterEach(() => fixture.endAll());
afterAll(() => fixture.close());

/** Returns the rows and index entries of a table that `work` reads, counted in its single session. */
async function readBy(database: Database, table: string, work: (on: Database) => Promise<unknown>): Promise<number> {
  return database.transaction(async (tx) => {
    const read = async (): Promise<bigint> => {
      const [row] = await tx.query<{ read: bigint }>(
        `SELECT sum(pg_stat_get_xact_tuples_returned(oid))::bigint AS read FROM pg_class WHERE oid = $1::regclass
            OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1::regclass)`,
        [table],
      );
      return row!.read;
    };
    const before = await read();
    await work(tx as unknown as Database);
    return Number((await read()) - before);
  });
}

interface Kept {
  readonly count?: number;
  readonly cause?: 'event' | 'replay';
  readonly status?: 'pending' | 'delivered' | 'failed';
  readonly attempts?: number;
  /** Position of the first one; the others follow. */
  readonly position?: number;
  /** Seconds until the pending ones are due. */
  readonly dueSec?: number;
  readonly ageDays?: number;
}

async function keep(id: string, kept: Kept): Promise<void> {
  const { count = 1, cause = 'event', status = 'pending', attempts = 4, position = 1, dueSec = 0, ageDays = 0 } = kept;
  await fixture.database.query(
    `INSERT INTO webhook_delivery (endpoint_id, cause, event_key, type, payload, is_fresh, attempts, position, status, created_at,
         attempted_at, next_at, ended_at)
     SELECT $1, $2, 'evt_' || n, 'project.frozen', '{}', false, $3, $4::bigint + n, $5, clock_timestamp() - $7 * interval '1 day',
         CASE WHEN $3 > 0 THEN clock_timestamp() END,
         CASE WHEN $5 = 'pending' THEN clock_timestamp() + $6 * interval '1 second' END,
         CASE WHEN $5 <> 'pending' THEN clock_timestamp() END
       FROM generate_series(0, $8::int - 1) n`,
    [id, cause, attempts, position, status, dueSec, ageDays, count],
  );
}

const HOURS_SEC = 36_000;

/** Returns an endpoint with very many refused deliveries, each of which is retried hours later. */
async function refusing(
  path: string,
): Promise<{ sender: TestSender; claims: DeliveryClaims; held: ClaimedEndpoint; id: string }> {
  const { id } = await fixture.setUp(path);
  await keep(id, { count: MANY, dueSec: HOURS_SEC });
  await fixture.database.query(`UPDATE webhook_state SET due_at = clock_timestamp() WHERE endpoint_id = $1`, [id]);
  await fixture.database.query('VACUUM ANALYZE webhook_delivery');
  const sender = await fixture.openSender();
  const claims = sender.app.get(DeliveryClaims);
  const held = (await claims.claim(100, 0)).find((each) => each.id === id)!;
  return { sender, claims, held, id };
}

const claimsOn = ({ app }: TestSender, on: Database): DeliveryClaims => new DeliveryClaims(on, app.get(SenderConfig));

it('a check of an endpoint reads its due deliveries, not all that are due in hours', async () => {
  const { sender, held, id } = await refusing('/look');
  await keep(id, { position: 20, dueSec: -1 });
  await keep(id, { attempts: 0, position: MANY * 2 });
  const found: bigint[] = [];
  const read = await readBy(sender.app.get(Database), 'webhook_delivery', async (on) => {
    const due = await claimsOn(sender, on).readDue([{ ...held, room: 10, isFailing: false }], []);
    found.push(...due.map(({ attempts }) => BigInt(attempts)));
  });
  expect(found).toEqual([4n, 0n]);
  expect(read).toBeLessThan(FEW);
});

it('a check of an endpoint takes due deliveries in order of position, replays last', async () => {
  const { claims, held, id } = await refusing('/shares');
  await keep(id, { position: 7, dueSec: -60 });
  await keep(id, { position: 5, dueSec: -1, cause: 'replay' });
  await keep(id, { count: 2, attempts: 0, position: MANY * 2 });
  await keep(id, { count: 2, attempts: 0, position: 3, cause: 'replay' });
  const due = await claims.readDue([{ ...held, room: 5, isFailing: false }], []);
  const at = (position: number): number => MANY * 2 + position;
  const rows = await fixture.database.query<{ id: bigint; position: bigint }>(
    `SELECT id, position FROM webhook_delivery WHERE endpoint_id = $1`,
    [id],
  );
  const positionOf = new Map(rows.map((row) => [row.id, Number(row.position)]));
  expect(due.map((each) => [each.cause, positionOf.get(each.id)])).toEqual([
    ['event', 7],
    ['event', at(0)],
    ['event', at(1)],
    ['replay', 3],
    ['replay', 4],
  ]);
});

const slowDown = (id: string): Promise<unknown> =>
  fixture.database.query(
    'UPDATE webhook_state SET failures = 3, failing_since = clock_timestamp() WHERE endpoint_id = $1',
    [id],
  );

const positionsOf = async (due: readonly { readonly id: bigint }[]): Promise<number[]> => {
  const rows = await fixture.database.query<{ position: bigint }>(
    `SELECT position FROM webhook_delivery WHERE id = ANY ($1::bigint[]) ORDER BY array_position($1::bigint[], id)`,
    [due.map(({ id }) => id)],
  );
  return rows.map(({ position }) => Number(position));
};

it('probes a slowed-down endpoint with an untried event, otherwise with the longest overdue retry', async () => {
  const { sender, claims, held, id } = await refusing('/slow');
  await slowDown(id);
  await keep(id, { position: MANY * 2, attempts: 0 });
  await keep(id, { position: MANY * 3, dueSec: -5 });
  await keep(id, { position: MANY * 4, dueSec: -60 });
  const wanted = [{ ...held, room: 10, isFailing: true }];
  const never = await claims.readDue(wanted, []);
  expect(await positionsOf(never)).toEqual([MANY * 2]);
  const read = await readBy(sender.app.get(Database), 'webhook_delivery', async (on) => {
    expect(await positionsOf(await claimsOn(sender, on).readDue(wanted, [never[0]!.id]))).toEqual([MANY * 4]);
  });
  expect(read).toBeLessThan(FEW);
});

it('requested deliveries come first, and alone while their endpoint is slowed down', async () => {
  const { sender, claims, held, id } = await refusing('/requested');
  await keep(id, { position: MANY * 2, attempts: 0 });
  await fixture.database.query(
    `UPDATE webhook_delivery SET is_requested = true, next_at = clock_timestamp() WHERE endpoint_id = $1 AND position = $2`,
    [id, MANY],
  );
  const wanted = { ...held, room: 10 };
  expect(await positionsOf(await claims.readDue([{ ...wanted, isFailing: false }], []))).toEqual([MANY, MANY * 2]);
  await slowDown(id);
  const read = await readBy(sender.app.get(Database), 'webhook_delivery', async (on) => {
    expect(await positionsOf(await claimsOn(sender, on).readDue([{ ...wanted, isFailing: true }], []))).toEqual([MANY]);
  });
  expect(read).toBeLessThan(FEW);
});

it.each([false, true])(
  'releases an endpoint without reading all of its waiting deliveries; failing: %s',
  async (isFailing) => {
    const { sender, held, id } = await refusing(`/given-back-${String(isFailing)}`);
    await keep(id, { position: 20, dueSec: 60 });
    if (isFailing) await slowDown(id);
    const read = await readBy(sender.app.get(Database), 'webhook_delivery', (on) =>
      claimsOn(sender, on).release([{ ...held, restMs: 0 }]),
    );
    expect(read).toBeLessThan(FEW);
    const isIn = (seconds: string) => `due_at > clock_timestamp() + ${seconds} * interval '1 second'`;
    const [state] = await fixture.database.query(
      `SELECT ${isIn('30')} AND NOT ${isIn('90')} AS "isInAMinute", holder FROM webhook_state WHERE endpoint_id = $1`,
      [id],
    );
    expect(state).toEqual({ isInAMinute: true, holder: null });
  },
);

it('lists a project’s webhooks without counting all that waits for them', async () => {
  const { customer, id } = await fixture.setUp('/counted');
  await keep(id, { count: 30_000, dueSec: HOURS_SEC });
  const url = `https://shop.example.com:${fixture.receivers.tlsPort.toString()}/other`;
  const other = await fixture.fixture.newWebhook(customer, { url });
  await fixture.database.query('VACUUM ANALYZE webhook_delivery');
  const { api } = fixture.fixture;
  const repository = api.app.get<never>(getRepositoryToken(WebhookEndpoint));
  const read = await readBy(api.app.get(Database), 'webhook_delivery', (on) =>
    new Webhooks(on, api.app.get(Sealers), api.app.get(Config), repository).list(customer.merchant),
  );
  expect(read).toBeLessThan(10_000 + FEW);
  const { items } = (await customer.get('/v1/webhooks')).body as { items: { id: string; pending: number }[] };
  expect(items.map((each) => [each.id, each.pending])).toEqual([
    [id, 10_000],
    [other.id, 0],
  ]);
});

it.each(['failed', undefined] as const)('lists deliveries a page at a time by status %s', async (status) => {
  const { id } = await fixture.setUp(`/listed-${status ?? 'all'}`);
  await keep(id, { count: 3, status: 'failed' });
  await keep(id, { count: MANY, status: 'delivered' });
  await fixture.database.query('VACUUM ANALYZE webhook_delivery');
  let found: string[] = [];
  const read = await readBy(fixture.fixture.api.app.get(Database), 'webhook_delivery', async (on) => {
    const deliveries = new WebhookDeliveries(on);
    const page = await deliveries.list(id, status, 2, undefined);
    const next = await deliveries.list(id, status, 2, page.at(-1)?.id);
    found = [...page, ...next].map((each) => each.status);
  });
  const wanted = status === 'failed' ? Array(3).fill('failed') : Array(4).fill('delivered');
  expect(found).toEqual(wanted);
  expect(read).toBeLessThan(FEW);
});

it('a test of a webhook counts those of the last minute, not all ever sent', async () => {
  const { customer, id } = await fixture.setUp('/tested');
  await keep(id, { count: MANY, status: 'delivered' });
  await fixture.database.query('VACUUM ANALYZE webhook_delivery');
  const database = fixture.fixture.api.app.get(Database);
  const read = await readBy(database, 'webhook_delivery', async (on) => {
    const inside = Object.assign(on, { transaction: async (work: (tx: Database) => Promise<unknown>) => work(on) });
    await new WebhookDeliveries(inside).test(customer.merchant, id, () => Promise.resolve());
  });
  expect(read).toBeLessThan(FEW);
});

const watchOn = ({ app }: TestSender, on: Database): EndpointWatch =>
  new EndpointWatch(on, app.get(SenderConfig), new Metrics(), openLog('silent'));

it('forgets a recovered endpoint without reading every endpoint', async () => {
  const { customer } = await fixture.setUp('/forgotten');
  await fixture.database.query(
    `WITH made AS (INSERT INTO webhook_endpoint (id, project_id, url, deleted_at)
       SELECT gen_random_uuid(), $1, 'https://a.example', clock_timestamp() FROM generate_series(1, $2) RETURNING id)
     INSERT INTO webhook_state (endpoint_id) SELECT id FROM made`,
    [customer.merchant, MANY],
  );
  await fixture.database.query('VACUUM ANALYZE webhook_endpoint');
  await fixture.database.query('VACUUM ANALYZE webhook_state');
  const sender = await fixture.openSender();
  const read = await readBy(sender.app.get(Database), 'webhook_endpoint', (on) => watchOn(sender, on).runTasks());
  expect(read).toBeLessThan(FEW);
});

it('deletes old deliveries in one step, however many there are', async () => {
  const { id } = await fixture.setUp('/pruned');
  await fixture.database.query('DELETE FROM webhook_delivery');
  await keep(id, { count: 3500, status: 'delivered', ageDays: 365 });
  await keep(id, { count: 2, status: 'delivered' });
  const sender = await fixture.openSender();
  await sender.app.get(EndpointWatch).runTasks();
  expect(await fixture.rowsOf(id)).toHaveLength(2);
});

it('an endpoint that cannot be written blocks nothing else of a step', async () => {
  const [refused, failing] = [await fixture.setUp('/refused'), await fixture.setUp('/fails')];
  await fixture.database.query('DELETE FROM webhook_delivery');
  await keep(failing.id, { status: 'delivered', ageDays: 365 });
  await fixture.database.query('UPDATE webhook_endpoint SET failing_told_at = clock_timestamp() WHERE id = $1', [
    refused.id,
  ]);
  await fixture.database.query(
    `UPDATE webhook_state SET failing_since = clock_timestamp() - interval '2 hours', failures = 3 WHERE endpoint_id = $1`,
    [failing.id],
  );
  await fixture.database.query(
    `CREATE TRIGGER refused_by_the_test BEFORE UPDATE ON webhook_endpoint FOR EACH ROW WHEN (OLD.id = '${refused.id}')
       EXECUTE FUNCTION refuse_change()`,
  );
  const sender = await fixture.openSender();
  await expect(sender.app.get(EndpointWatch).runTasks()).rejects.toThrow();
  await fixture.database.query('DROP TRIGGER refused_by_the_test ON webhook_endpoint');
  const reported = await fixture.database.query(
    `SELECT failing_told_at IS NOT NULL AS reported FROM webhook_endpoint WHERE id = $1`,
    [failing.id],
  );
  expect(reported).toEqual([{ reported: true }]);
  expect(await fixture.rowsOf(failing.id)).toEqual([]);
});
