// What becomes of events that a receiver refuses, and of an endpoint that fails: how often each is tried, and when it ends.
import { createLogger } from '../../src/observability/logger.js';
import { Metrics } from '../../src/observability/metrics.js';
import { EndpointWatch } from '../../src/sender/endpoint-watch.js';
import { WebhookGauges } from '../../src/webhooks/webhook-gauges.js';
import type { Answer } from '../webhook-receivers.js';
import { openWebhookScene, type WebhookScene } from '../webhook-scene.js';

let scene: WebhookScene;

beforeAll(async () => {
  scene = await openWebhookScene();
}, 60_000);

afterEach(() => scene.endAll());
afterAll(() => scene.close());

const failWith =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_taken, response) =>
    void response.writeHead(status, headers).end('no');

it('repeats a failed event by its own schedule, and holds up no other by it', async () => {
  const { customer, id } = await scene.setUp('/one-bad');
  let isFirst = true;
  scene.receivers.answers.set('/one-bad', (_one, response) => {
    response.writeHead(isFirst ? 500 : 204).end('out of order');
    isFirst = false;
  });
  await scene.world.happen(customer);
  const sender = await scene.openSender();
  await sender.run(async () => (await scene.rowsOf(id)).every(({ attempts }) => attempts === 1));
  // Sent side by side, so that either may be the one that came first.
  const rows = await scene.rowsOf(id);
  const [failed, other] = [
    rows.find(({ attempts, fault }) => attempts > 0 && fault !== null),
    rows.find(({ fault }) => fault === null),
  ];
  expect(failed).toMatchObject({ status: 'pending', fault: 'STATUS', answer: 'out of order' });
  expect(failed!.wait_sec).toBeGreaterThan(3.9);
  expect(failed!.wait_sec).toBeLessThan(6.1);
  expect(other).toMatchObject({ status: 'delivered', attempts: 1 });
  await scene.hurry(id);
  await sender.run(() => scene.areAll(id, 'delivered'));
  const [first, , again] = scene.at('/one-bad');
  expect([again!.body, again!.headers['webhook-id']]).toEqual([first!.body, first!.headers['webhook-id']]);
});

it('heeds Retry-After, and disables an endpoint that answers 410', async () => {
  const { customer, id } = await scene.setUp('/later');
  scene.receivers.answers.set('/later', failWith(503, { 'Retry-After': '600' }));
  await scene.world.happen(customer);
  const sender = await scene.openSender();
  await sender.run(async () => (await scene.rowsOf(id)).some(({ attempts }) => attempts > 0));
  expect((await scene.rowsOf(id)).find(({ attempts }) => attempts > 0)!.wait_sec).toBeGreaterThan(599);
  scene.receivers.answers.set('/later', failWith(410));
  await scene.hurry(id);
  await sender.run(async () => (await customer.get(`/v1/webhooks/${id}`)).body.enabled === false);
  expect((await customer.get(`/v1/webhooks/${id}`)).body.disabled_reason).toBe('gone');
  const before = scene.at('/later').length;
  await scene.world.happen(customer);
  for (let step = 0; step < 5; step += 1) await sender.loop.step();
  expect(scene.at('/later').length - before).toBeLessThanOrEqual(1);
});

it('a 410 from where it was sent before disables nothing, and the event goes to the new URL', async () => {
  const { customer, id } = await scene.setUp('/moved', { types: ['project.frozen'] });
  scene.receivers.answers.set('/moved', (_one, response) => {
    const url = `http://127.1.2.1:${scene.receivers.port.toString()}/moved-to`;
    void customer.post(`/v1/webhooks/${id}`, { url }).then(() => response.writeHead(410).end());
  });
  await scene.world.happen(customer);
  const sender = await scene.openSender();
  await sender.run(async () => (await scene.rowsOf(id)).every(({ attempts }) => attempts === 1));
  expect((await customer.get(`/v1/webhooks/${id}`)).body.enabled).toBe(true);
  await scene.hurry(id);
  await sender.run(() => scene.areAll(id, 'delivered'));
  expect(scene.at('/moved-to')).toHaveLength(1);
});

it('tries the oldest alone after three failures in a row, until one succeeds', async () => {
  const { customer, id } = await scene.setUp('/down');
  scene.receivers.answers.set('/down', failWith(500));
  await scene.world.happen(customer);
  await scene.world.happen(customer);
  const sender = await scene.openSender();
  await sender.run(async () => (await scene.rowsOf(id)).reduce((sum, { attempts }) => sum + attempts, 0) >= 4);
  await scene.world.happen(customer);
  for (let round = 1; round <= 3; round += 1) {
    await scene.hurry(id);
    await sender.run(async () => (await scene.heldBy(id)) === null && (await scene.rowsOf(id))[0]!.attempts > round);
  }
  expect((await scene.rowsOf(id)).map(({ attempts }) => attempts)).toEqual([4, 1, 1, 1, 0, 0]);
  scene.receivers.answers.delete('/down');
  await scene.hurry(id);
  await sender.run(() => scene.areAll(id, 'delivered'));
  const positions = scene.at('/down').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect([...new Set(positions.slice(-6))]).toHaveLength(6);
});

/** As if what failed came again in hours. */
const putOff = (id: string): Promise<unknown> =>
  scene.database.query(
    `WITH d AS (UPDATE webhook_delivery SET next_at = now() + interval '10 hours' WHERE endpoint_id = $1 AND status = 'pending')
     UPDATE webhook_state SET due_at = now() + interval '10 hours' WHERE endpoint_id = $1`,
    [id],
  );

it.each([1, 3])('refused for ever, the first %i hold up nothing that comes later', async (count) => {
  const path = `/refused-${count.toString()}`;
  const { customer, id } = await scene.setUp(path, { types: ['project.frozen'] });
  scene.receivers.answers.set(path, failWith(400));
  for (let each = 0; each < count; each += 1) await scene.world.happen(customer);
  const sender = await scene.openSender();
  for (let round = 1; round <= 4; round += 1) {
    await scene.hurry(id);
    await sender.run(async () => (await scene.rowsOf(id))[0]!.attempts >= round);
  }
  await sender.run(async () => (await scene.heldBy(id)) === null);
  // Each once, however often it was tried.
  expect(await scene.database.query(`SELECT failures FROM webhook_state WHERE endpoint_id = $1`, [id])).toEqual([
    { failures: count },
  ]);
  await putOff(id);
  scene.receivers.answers.delete(path);
  await scene.world.happen(customer);
  await scene.world.happen(customer);
  await sender.run(async () => (await scene.rowsOf(id)).slice(count).every(({ status }) => status === 'delivered'));
  expect((await scene.rowsOf(id)).slice(0, count).map(({ status }) => status)).toEqual(Array(count).fill('pending'));
});

it('spares a receiver that is down: one at a time, and then a rest of up to a minute, whatever else happens', async () => {
  const { customer, id } = await scene.setUp('/spared');
  scene.receivers.answers.set('/spared', failWith(500));
  for (let each = 0; each < 3; each += 1) await scene.world.happen(customer);
  const sender = await scene.openSender();
  await sender.run(async () => (await scene.heldBy(id)) === null && scene.at('/spared').length >= 3);
  await scene.database.query(
    `UPDATE webhook_state SET failing_since = now() - interval '1 hour' WHERE endpoint_id = $1`,
    [id],
  );
  await scene.hurry(id);
  scene.receivers.taken.length = 0;
  await scene.world.happen(customer);
  await sender.run(async () => (await scene.heldBy(id)) === null && scene.at('/spared').length > 0);
  await scene.world.happen(customer);
  for (let step = 0; step < 5; step += 1) await sender.loop.step();
  expect(scene.at('/spared')).toHaveLength(1);
  const [state] = await scene.database.query<{ rest: number }>(
    `SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS rest FROM webhook_state WHERE endpoint_id = $1`,
    [id],
  );
  expect(state!.rest).toBeGreaterThan(30);
  expect(state!.rest).toBeLessThan(60);
});

it('gives up after the twelfth attempt', async () => {
  const { customer, id } = await scene.setUp('/never');
  scene.receivers.answers.set('/never', failWith(500));
  await scene.world.happen(customer);
  await scene.database.query(`UPDATE webhook_delivery SET attempts = 11 WHERE endpoint_id = $1`, [id]);
  const sender = await scene.openSender();
  await sender.run(() => scene.areAll(id, 'failed'));
  expect((await scene.rowsOf(id)).map(({ attempts }) => attempts)).toEqual([12, 12]);
});

it('says after an hour that an endpoint fails, once, and disables it after five days', async () => {
  const { customer, id } = await scene.setUp('/failing');
  scene.receivers.answers.set('/failing', failWith(500));
  await scene.world.happen(customer);
  const sender = await scene.openSender();
  await sender.run(async () => (await scene.rowsOf(id)).some(({ attempts }) => attempts > 0));
  const watch = sender.app.get(EndpointWatch);
  const failingFor = async (time: string): Promise<string[]> => {
    await scene.database.query(`UPDATE webhook_state SET failing_since = now() - $2::interval WHERE endpoint_id = $1`, [
      id,
      time,
    ]);
    await watch.look();
    await watch.look();
    const rows = await scene.database.query<{ type: string }>(
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
  scene.receivers.answers.delete('/failing');
  await customer.post(`/v1/webhooks/${id}`, { enabled: true });
  await scene.hurry(id);
  await sender.run(() => scene.areAll(id, 'delivered'));
});

it('what waits where no sender runs shows at the workers, until nothing is to be sent any more', async () => {
  const { customer, id } = await scene.setUp('/nobody');
  const metrics = new Metrics();
  const gauges = new WebhookGauges(scene.database, metrics, createLogger({ logLevel: 'silent' }));
  const lateSec = async (): Promise<number> => {
    await gauges.sample();
    return (await metrics.registry.getSingleMetric('webhook_late_seconds')!.get()).values[0]!.value;
  };
  expect(await lateSec()).toBe(0);
  await scene.world.happen(customer);
  await scene.database.query(
    `UPDATE webhook_delivery SET next_at = clock_timestamp() - interval '40 seconds' WHERE endpoint_id = $1`,
    [id],
  );
  expect(await lateSec()).toBeGreaterThan(39);
  // As a sender leaves it that saw them and is gone.
  await scene.database.query(
    `WITH d AS (UPDATE webhook_delivery SET is_fresh = false WHERE endpoint_id = $1)
     UPDATE webhook_state SET due_at = clock_timestamp() - interval '50 seconds' WHERE endpoint_id = $1`,
    [id],
  );
  expect(await lateSec()).toBeGreaterThan(49);
  await customer.post(`/v1/webhooks/${id}`, { enabled: false });
  expect(await lateSec()).toBe(0);
});
