// Refused events and failing endpoints: retries and their end.
import { createLogger } from '../../../src/platform/observability/logger.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { EndpointWatch } from '../../../src/modules/sender/endpoint-watch.js';
import { WebhookGauges } from '../../../src/modules/webhooks/webhook-gauges.js';
import type { Answer } from '../../support/webhooks/receivers.js';
import { openDeliveryFixture, type DeliveryFixture } from '../../support/webhooks/delivery-fixture.js';

let fixture: DeliveryFixture;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterEach(() => fixture.endAll());
afterAll(() => fixture.close());

const failWith =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_taken, response) =>
    void response.writeHead(status, headers).end('no');

it('repeats a failed event by its own schedule, and delays no other by it', async () => {
  const { customer, id } = await fixture.setUp('/one-bad');
  let isFirst = true;
  fixture.receivers.answers.set('/one-bad', (_one, response) => {
    response.writeHead(isFirst ? 500 : 204).end('out of order');
    isFirst = false;
  });
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await fixture.rowsOf(id)).every(({ attempts }) => attempts === 1));
  // Sent in parallel, so either may arrive first.
  const rows = await fixture.rowsOf(id);
  const [failed, other] = [
    rows.find(({ attempts, fault }) => attempts > 0 && fault !== null),
    rows.find(({ fault }) => fault === null),
  ];
  expect(failed).toMatchObject({ status: 'pending', fault: 'STATUS', answer: 'out of order' });
  expect(failed!.wait_sec).toBeGreaterThan(3.9);
  expect(failed!.wait_sec).toBeLessThan(6.1);
  expect(other).toMatchObject({ status: 'delivered', attempts: 1 });
  await fixture.hurry(id);
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const [first, , again] = fixture.at('/one-bad');
  expect([again!.body, again!.headers['webhook-id']]).toEqual([first!.body, first!.headers['webhook-id']]);
});

it('heeds Retry-After, and disables an endpoint that answers 410', async () => {
  const { customer, id } = await fixture.setUp('/later');
  fixture.receivers.answers.set('/later', failWith(503, { 'Retry-After': '600' }));
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await fixture.rowsOf(id)).some(({ attempts }) => attempts > 0));
  expect((await fixture.rowsOf(id)).find(({ attempts }) => attempts > 0)!.wait_sec).toBeGreaterThan(599);
  fixture.receivers.answers.set('/later', failWith(410));
  await fixture.hurry(id);
  await sender.run(async () => (await customer.get(`/v1/webhooks/${id}`)).body.enabled === false);
  expect((await customer.get(`/v1/webhooks/${id}`)).body.disabled_reason).toBe('gone');
  const before = fixture.at('/later').length;
  await fixture.fixture.happen(customer);
  for (let step = 0; step < 5; step += 1) await sender.loop.runPass();
  expect(fixture.at('/later').length - before).toBeLessThanOrEqual(1);
});

it('a 410 from an earlier URL disables nothing, and the event goes to the new URL', async () => {
  const { customer, id } = await fixture.setUp('/moved', { types: ['project.frozen'] });
  fixture.receivers.answers.set('/moved', (_one, response) => {
    const url = `http://127.1.2.1:${fixture.receivers.port.toString()}/moved-to`;
    void customer.post(`/v1/webhooks/${id}`, { url }).then(() => response.writeHead(410).end());
  });
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await fixture.rowsOf(id)).every(({ attempts }) => attempts === 1));
  expect((await customer.get(`/v1/webhooks/${id}`)).body.enabled).toBe(true);
  await fixture.hurry(id);
  await sender.run(() => fixture.areAll(id, 'delivered'));
  expect(fixture.at('/moved-to')).toHaveLength(1);
});

it('slows down after three consecutive failures: one at a time, untried events first', async () => {
  const { customer, id } = await fixture.setUp('/down');
  fixture.receivers.answers.set('/down', failWith(500));
  await fixture.fixture.happen(customer);
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await fixture.rowsOf(id)).reduce((sum, { attempts }) => sum + attempts, 0) >= 4);
  await fixture.fixture.happen(customer);
  for (const tried of [
    [1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 1],
    [2, 1, 1, 1, 1, 1],
  ]) {
    await fixture.hurry(id);
    const total = tried.reduce((sum, each) => sum + each);
    const attempts = async () => (await fixture.rowsOf(id)).map((row) => row.attempts);
    await sender.run(async () => {
      const made = (await attempts()).reduce((sum, each) => sum + each);
      return made >= total && (await fixture.heldBy(id)) === null;
    });
    expect(await attempts()).toEqual(tried);
  }
  fixture.receivers.answers.delete('/down');
  await fixture.hurry(id);
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const positions = fixture.at('/down').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect([...new Set(positions.slice(-6))]).toHaveLength(6);
});

interface State {
  readonly failures: number;
  readonly is_failing: boolean;
}

async function stateOf(id: string): Promise<State> {
  const [state] = await fixture.database.query<State>(
    `SELECT failures, failing_since IS NOT NULL AS is_failing FROM webhook_state WHERE endpoint_id = $1`,
    [id],
  );
  return state!;
}

/** Dates all times of the endpoint's answers back. */
const age = (id: string, time: string): Promise<unknown> =>
  fixture.database.query(
    `UPDATE webhook_state s SET failing_since = s.failing_since - $2::interval, taken_at = s.taken_at - $2::interval,
        refused_since = (SELECT coalesce(jsonb_object_agg(key, value::timestamptz - $2::interval), '{}') FROM jsonb_each_text(s.refused_since))
      WHERE endpoint_id = $1`,
    [id, time],
  );

/** Refuses events of the given types. */
const refuse =
  (status: number, ...types: readonly string[]): Answer =>
  (taken, response) => {
    const { type } = JSON.parse(taken.body) as { type: string };
    response.writeHead(types.includes(type) ? status : 204).end();
  };

const FREEZES = 'project.frozen';
const UNFREEZES = 'project.unfrozen';

it.each([400, 401, 404, 413, 422])('an answer of %d delays only its own event', async (status) => {
  const path = `/refuses-${status.toString()}`;
  const { customer, id } = await fixture.setUp(path);
  fixture.receivers.answers.set(path, refuse(status, FREEZES));
  for (let each = 0; each < 12; each += 1) await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await fixture.rowsOf(id)).every(({ attempts }) => attempts === 1));
  const statuses = (await fixture.rowsOf(id)).map((row) => row.status);
  expect(statuses.filter((each) => each === 'delivered')).toHaveLength(12);
  expect(await stateOf(id)).toEqual({ failures: 0, is_failing: false });
});

it.each([400, 404, 422])('consecutive refusals of %d leave the next events at full speed', async (status) => {
  const path = `/refuses-all-${status.toString()}`;
  const { customer, id } = await fixture.setUp(path, { types: [FREEZES] });
  fixture.receivers.answers.set(path, refuse(status, FREEZES));
  for (let each = 0; each < 6; each += 1) await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => {
    const rows = await fixture.rowsOf(id);
    return rows.length >= 3 && rows.every(({ attempts }) => attempts >= 1);
  });
  expect(await stateOf(id)).toMatchObject({ failures: 0 });
});

it.each([408, 425, 429, 500, 503, 301])('an answer of %d slows its endpoint down', async (status) => {
  const path = `/slows-${status.toString()}`;
  const { customer, id } = await fixture.setUp(path);
  fixture.receivers.answers.set(path, failWith(status));
  await fixture.fixture.happen(customer);
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await stateOf(id)).failures >= 3);
  expect((await stateOf(id)).is_failing).toBe(true);
});

it('an answer ends the slowing down, even if it refuses the event', async () => {
  const { customer, id } = await fixture.setUp('/back', { types: [FREEZES] });
  fixture.receivers.answers.set('/back', failWith(503));
  for (let each = 0; each < 3; each += 1) await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await stateOf(id)).failures === 3);
  fixture.receivers.answers.set('/back', failWith(400));
  await fixture.hurry(id);
  await sender.run(async () => (await stateOf(id)).failures === 0);
  expect(await stateOf(id)).toEqual({ failures: 0, is_failing: true });
});

it('events that are always refused delay nothing that comes later', async () => {
  const { customer, id } = await fixture.setUp('/refused');
  fixture.receivers.answers.set('/refused', refuse(400, FREEZES));
  for (let each = 0; each < 3; each += 1) await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  for (let round = 1; round <= 4; round += 1) {
    await fixture.hurry(id);
    await sender.run(async () => (await fixture.rowsOf(id))[0]!.attempts >= round);
  }
  await fixture.fixture.happen(customer);
  await sender.run(async () => (await fixture.rowsOf(id))[7]!.status === 'delivered');
  expect((await stateOf(id)).failures).toBe(0);
});

it('an endpoint that always refuses one type while it accepts another does not fail', async () => {
  const { customer, id } = await fixture.setUp('/one-type');
  fixture.receivers.answers.set('/one-type', refuse(400, FREEZES));
  const sender = await fixture.openSender();
  const watch = sender.app.get(EndpointWatch);
  for (let day = 0; day < 7; day += 1) {
    await fixture.fixture.happen(customer);
    await sender.run(async () => (await fixture.rowsOf(id)).every(({ attempts }) => attempts > 0));
    await age(id, '20 hours');
    // Only the refused event is retried, hours after the endpoint last accepted one.
    await fixture.hurry(id);
    const tried = fixture.at('/one-type').length;
    await sender.run(async () => (await fixture.heldBy(id)) === null && fixture.at('/one-type').length > tried);
    await watch.runTasks();
    await age(id, '4 hours');
    await watch.runTasks();
    // The first day shows only refusals. From the next success on, the endpoint is known to accept other types.
    if (day > 0) expect((await stateOf(id)).is_failing).toBe(false);
  }
  const { body } = await customer.get(`/v1/webhooks/${id}`);
  expect([body.enabled, body.failing_since]).toEqual([true, undefined]);
});

it.each([
  ['never accepted anything', false],
  ['accepted everything before', true],
])('disables an endpoint that refuses everything for five days: it %s', async (_what, tookBefore) => {
  const path = `/refuses-all-${String(tookBefore)}`;
  const { customer, id } = await fixture.setUp(path);
  const sender = await fixture.openSender();
  const watch = sender.app.get(EndpointWatch);
  const happenings = async (): Promise<void> => {
    await fixture.fixture.happen(customer);
    await sender.run(async () => (await fixture.rowsOf(id)).every((row) => row.attempts > 0));
  };
  if (tookBefore) await happenings();
  fixture.receivers.answers.set(path, refuse(401, FREEZES, UNFREEZES));
  await happenings();
  await age(id, '2 hours');
  await happenings();
  expect(await stateOf(id)).toEqual({ failures: 0, is_failing: true });
  await watch.runTasks();
  await age(id, '117 hours');
  await watch.runTasks();
  expect((await customer.get(`/v1/webhooks/${id}`)).body.enabled).toBe(true);
  await age(id, '2 hours');
  await watch.runTasks();
  expect((await customer.get(`/v1/webhooks/${id}`)).body).toMatchObject({
    enabled: false,
    disabled_reason: 'failing',
  });
  const reported = await fixture.database.query<{ type: string }>(
    `SELECT type FROM event WHERE project_id = $1 AND type IN ('webhook.failing', 'webhook.disabled') ORDER BY id`,
    [customer.merchant],
  );
  expect(reported.map(({ type }) => type)).toEqual(['webhook.failing', 'webhook.disabled']);
});

it('a resend goes to a slowed-down endpoint without its rest, and alone', async () => {
  const { customer, id } = await fixture.setUp('/resent');
  fixture.receivers.answers.set('/resent', failWith(503));
  await fixture.fixture.happen(customer);
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(
    async () => (await fixture.heldBy(id)) === null && (await fixture.rowsOf(id)).every((row) => row.attempts > 0),
  );
  await fixture.database.query(
    `WITH d AS (UPDATE webhook_delivery SET next_at = now() + interval '10 hours' WHERE endpoint_id = $1)
     UPDATE webhook_state SET failing_since = now() - interval '1 hour', due_at = now() + interval '1 minute' WHERE endpoint_id = $1`,
    [id],
  );
  await fixture.fixture.happen(customer);
  const before = fixture.at('/resent').length;
  const [, second] = await fixture.rowsOf(id);
  const resend = () => customer.request('POST', `/v1/webhooks/${id}/deliveries/${second!.id.toString()}/resend`);
  expect((await resend()).status).toBe(202);
  await sender.run(async () => (await fixture.heldBy(id)) === null && fixture.at('/resent').length > before);
  expect((await fixture.rowsOf(id)).map(({ attempts }) => attempts)).toEqual([1, 2, 1, 1, 0, 0]);
  fixture.receivers.answers.delete('/resent');
  expect((await resend()).status).toBe(202);
  await sender.run(async () => (await fixture.rowsOf(id)).slice(4).every(({ status }) => status === 'delivered'));
});

it('spares a receiver that is down: one at a time, and then a rest of up to a minute, whatever else happens', async () => {
  const { customer, id } = await fixture.setUp('/spared');
  fixture.receivers.answers.set('/spared', failWith(500));
  for (let each = 0; each < 3; each += 1) await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await fixture.heldBy(id)) === null && fixture.at('/spared').length >= 3);
  await fixture.database.query(
    `UPDATE webhook_state SET failing_since = now() - interval '1 hour' WHERE endpoint_id = $1`,
    [id],
  );
  await fixture.hurry(id);
  fixture.receivers.taken.length = 0;
  await fixture.fixture.happen(customer);
  await sender.run(async () => (await fixture.heldBy(id)) === null && fixture.at('/spared').length > 0);
  await fixture.fixture.happen(customer);
  for (let step = 0; step < 5; step += 1) await sender.loop.runPass();
  expect(fixture.at('/spared')).toHaveLength(1);
  const [state] = await fixture.database.query<{ rest: number }>(
    `SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS rest FROM webhook_state WHERE endpoint_id = $1`,
    [id],
  );
  expect(state!.rest).toBeGreaterThan(30);
  expect(state!.rest).toBeLessThan(60);
});

it('gives up after the twelfth attempt', async () => {
  const { customer, id } = await fixture.setUp('/never');
  fixture.receivers.answers.set('/never', failWith(500));
  await fixture.fixture.happen(customer);
  await fixture.database.query(`UPDATE webhook_delivery SET attempts = 11 WHERE endpoint_id = $1`, [id]);
  const sender = await fixture.openSender();
  await sender.run(() => fixture.areAll(id, 'failed'));
  expect((await fixture.rowsOf(id)).map(({ attempts }) => attempts)).toEqual([12, 12]);
});

it('reports after an hour that an endpoint fails, once, and disables it after five days', async () => {
  const { customer, id } = await fixture.setUp('/failing');
  fixture.receivers.answers.set('/failing', failWith(500));
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  await sender.run(async () => (await fixture.rowsOf(id)).some(({ attempts }) => attempts > 0));
  const watch = sender.app.get(EndpointWatch);
  const failingFor = async (time: string): Promise<string[]> => {
    await fixture.database.query(
      `UPDATE webhook_state SET failing_since = now() - $2::interval WHERE endpoint_id = $1`,
      [id, time],
    );
    await watch.runTasks();
    await watch.runTasks();
    const rows = await fixture.database.query<{ type: string }>(
      `SELECT type FROM event WHERE project_id = $1 AND type IN ('webhook.failing', 'webhook.disabled') ORDER BY id`,
      [customer.merchant],
    );
    return rows.map(({ type }) => type);
  };
  expect(await failingFor('59 minutes')).toEqual([]);
  expect(await failingFor('61 minutes')).toEqual(['webhook.failing']);
  expect(await failingFor('119 hours')).toEqual(['webhook.failing']);
  expect(await failingFor('121 hours')).toEqual(['webhook.failing', 'webhook.disabled']);
  expect((await customer.get(`/v1/webhooks/${id}`)).body).toMatchObject({ enabled: false, disabled_reason: 'failing' });
  const kept = await customer.post(`/v1/webhooks/${id}`, { enabled: false });
  expect(kept.body).toMatchObject({ enabled: false, disabled_reason: 'owner' });
  fixture.receivers.answers.delete('/failing');
  await customer.post(`/v1/webhooks/${id}`, { enabled: true });
  await fixture.hurry(id);
  await sender.run(() => fixture.areAll(id, 'delivered'));
});

it.each<[string, { readonly enabled?: boolean; readonly url?: string }]>([
  ['was enabled', { enabled: true }],
  ['got another URL', { url: 'http://127.0.9.9:8080/elsewhere' }],
])(
  'an endpoint that %s has no failures, and its next ones are reported, however soon they begin',
  async (_what, act) => {
    const { customer, id } = await fixture.setUp('/failing-again');
    const sender = await fixture.openSender();
    const watch = sender.app.get(EndpointWatch);
    const set = `UPDATE webhook_state SET failing_since = clock_timestamp() - $2::interval WHERE endpoint_id = $1`;
    const reports = async (): Promise<number> => {
      await watch.runTasks();
      const rows = await fixture.database.query(
        `SELECT FROM event WHERE project_id = $1 AND type = 'webhook.failing'`,
        [customer.merchant],
      );
      return rows.length;
    };
    await fixture.database.query(set, [id, '61 minutes']);
    expect(await reports()).toBe(1);
    const url = act.url?.replace('8080', fixture.receivers.port.toString());
    const { body } = await customer.post(`/v1/webhooks/${id}`, { ...act, ...(url !== undefined && { url }) });
    expect(body).not.toHaveProperty('failing_since');
    // The next attempt fails before the watch has seen the endpoint without failures.
    await fixture.database.query(set, [id, '0']);
    expect(await reports()).toBe(1);
    // An hour later.
    await fixture.database.query(set, [id, '61 minutes']);
    await fixture.database.query(
      `UPDATE webhook_endpoint SET failing_told_at = failing_told_at - interval '2 hours' WHERE id = $1`,
      [id],
    );
    expect(await reports()).toBe(2);
  },
);

it('workers show deliveries that wait without a sender, until nothing is to be sent any more', async () => {
  const { customer, id } = await fixture.setUp('/nobody');
  const metrics = new Metrics();
  const gauges = new WebhookGauges(fixture.database, metrics, createLogger({ logLevel: 'silent' }));
  const lateSec = async (): Promise<number> => {
    await gauges.sample();
    return (await metrics.registry.getSingleMetric('webhook_late_seconds')!.get()).values[0]!.value;
  };
  expect(await lateSec()).toBe(0);
  await fixture.fixture.happen(customer);
  await fixture.database.query(
    `WITH d AS (UPDATE webhook_delivery SET next_at = clock_timestamp() - interval '40 seconds', is_fresh = true
        WHERE endpoint_id = $1)
     UPDATE webhook_state SET due_at = NULL WHERE endpoint_id = $1`,
    [id],
  );
  expect(await lateSec()).toBeGreaterThan(39);
  // The state that a sender leaves after it saw the deliveries and ended.
  await fixture.database.query(
    `WITH d AS (UPDATE webhook_delivery SET is_fresh = false WHERE endpoint_id = $1)
     UPDATE webhook_state SET due_at = clock_timestamp() - interval '50 seconds' WHERE endpoint_id = $1`,
    [id],
  );
  expect(await lateSec()).toBeGreaterThan(49);
  await customer.post(`/v1/webhooks/${id}`, { enabled: false });
  expect(await lateSec()).toBe(0);
});
