// The sender on a real database, against receivers of the test's own: nothing lost, nothing reversed, nobody held up.
import { setTimeout as sleep } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { Webhook } from 'standardwebhooks';
import { until } from '../../packages/local/src/wait.js';
import { DeliveryClaims } from '../../src/sender/delivery-claims.js';
import { EndpointWatch } from '../../src/sender/endpoint-watch.js';
import type { Database } from '../../src/store/database.js';
import type { HmacCustomer } from '../client.js';
import { openReceivers, type Answer, type Receivers, type Taken } from '../webhook-receivers.js';
import { openSender as openSenderOn, type TestSender } from '../webhook-sender.js';
import { openWebhookWorld, type WebhookWorld } from '../webhook-world.js';

let world: WebhookWorld;
let database: Database;
let receivers: Receivers;
let port: number;
let taken: Taken[];
let answers: Receivers['answers'];
const senders: INestApplicationContext[] = [];

beforeAll(async () => {
  receivers = await openReceivers();
  ({ port, taken, answers } = receivers);
  world = await openWebhookWorld({
    WEBHOOK_PORTS: [port, receivers.tlsPort].join(','),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  });
  database = world.api.database;
}, 60_000);

afterEach(async () => {
  // Nothing of one test is due in the next.
  await database.query(`UPDATE webhook_delivery SET status = 'dropped', next_at = NULL, ended_at = now(), is_fresh = false
    WHERE status = 'pending'`);
  await database.query(`UPDATE webhook_state SET due_at = NULL, lease_until = NULL, holder = NULL, fence = fence + 1`);
  for (const sender of senders.splice(0)) await sender.close();
  taken.length = 0;
  answers.clear();
});

afterAll(async () => {
  await world.close();
  await receivers.close();
});

async function openSender(extra: Record<string, string> = {}): Promise<TestSender> {
  const sender = await openSenderOn(world.env, { ...receivers.env, ...extra });
  senders.push(sender.app);
  return sender;
}

/** An endpoint on an address of its own, so that no test waits for the turns of another. */
let addresses = 0;
async function newEndpoint(customer: HmacCustomer, path: string, more: object = {}) {
  addresses += 1;
  const host = `127.0.${Math.floor(addresses / 200).toString()}.${((addresses % 200) + 2).toString()}`;
  return world.newWebhook(customer, {
    url: `http://${host}:${port.toString()}${path}`,
    types: ['project.frozen', 'project.unfrozen'],
    ...more,
  });
}

const at = (path: string): Taken[] => taken.filter((each) => each.path === path);

interface Row {
  readonly id: bigint;
  readonly status: string;
  readonly attempts: number;
  readonly wait_sec: number | null;
  readonly fault: string | null;
  readonly answer: string | null;
  readonly position: bigint;
}

const rowsOf = (id: string): Promise<Row[]> =>
  database.query<Row>(
    `SELECT id, status, attempts, extract(epoch FROM next_at - attempted_at)::float8 AS wait_sec, fault, answer, position
       FROM webhook_delivery WHERE endpoint_id = $1 ORDER BY id`,
    [id],
  );

const areAll = async (id: string, status: string): Promise<boolean> =>
  (await rowsOf(id)).every((row) => row.status === status);

/** As if the time of what waits had come. */
const hurry = (id: string): Promise<unknown> =>
  database.query(
    `WITH d AS (UPDATE webhook_delivery SET next_at = clock_timestamp() WHERE endpoint_id = $1 AND status = 'pending')
     UPDATE webhook_state SET due_at = clock_timestamp() WHERE endpoint_id = $1`,
    [id],
  );

async function setUp(path: string, more: object = {}) {
  const customer = await world.newCustomer();
  return { customer, ...(await newEndpoint(customer, path, more)) };
}

const failWith =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_taken, response) =>
    void response.writeHead(status, headers).end('no');

it('sends each event once it has a position, as Standard Webhooks wants it', async () => {
  const { customer, id, secret } = await setUp('/sent');
  const sender = await openSender();
  await world.freeze(customer);
  await sender.loop.step();
  expect(at('/sent')).toEqual([]);
  await world.happen(customer);
  await sender.run(() => areAll(id, 'delivered'));
  expect(at('/sent').length).toBe((await rowsOf(id)).length);
  for (const { headers, body } of at('/sent')) {
    const event = new Webhook(secret).verify(body, headers) as { id: string; type: string };
    expect(event.id).toBe(headers['webhook-id']);
    expect(event.type).toMatch(/^project\.(un)?frozen$/);
    const log = await database.query(`SELECT payload FROM event WHERE payload = $1`, [body]);
    expect(log).toHaveLength(1);
  }
});

it('sends in order of position, ten at once at most', async () => {
  const { customer, id } = await setUp('/order', {
    url: `https://shop.example.com:${receivers.tlsPort.toString()}/order`,
  });
  let [now, most] = [0, 0];
  answers.set('/order', (_one, response) => {
    now += 1;
    most = Math.max(most, now);
    setTimeout(() => {
      now -= 1;
      response.writeHead(204).end();
    }, 100);
  });
  for (let round = 0; round < 20; round += 1) await world.freeze(customer, round % 2 === 0);
  await world.freeze(customer, false);
  await world.numberAll();
  const sender = await openSender();
  await sender.run(() => areAll(id, 'delivered'));
  const positions = at('/order').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect(positions).toEqual([...positions].sort((one, other) => one - other));
  expect(positions).toHaveLength(20);
  expect(most).toBeLessThanOrEqual(10);
});

it('an event whose host is busy is not overtaken by the next one', async () => {
  const { customer, id } = await setUp('/postponed');
  await world.happen(customer);
  const sender = await openSender();
  const claims = sender.app.get(DeliveryClaims);
  const takeTurn = claims.takeTurn.bind(claims);
  let asked = 0;
  // The first to ask finds its host busy, when the next one has both of its turns.
  claims.takeTurn = async (name) => {
    asked += 1;
    if (asked > 1) return takeTurn(name);
    await until(() => (asked >= 3 ? true : undefined), 20_000, 'the turns of the next one', 5);
    return undefined;
  };
  await sender.run(() => areAll(id, 'delivered'));
  const positions = at('/postponed').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect(positions).toEqual([...positions].sort((one, other) => one - other));
  expect(positions).toHaveLength(2);
});

it('events whose host is busy are not overtaken by those behind one that waits for its turn', async () => {
  const { customer, id } = await setUp('/waiting', {
    url: `https://shop.example.com:${receivers.tlsPort.toString()}/waiting`,
  });
  await world.happen(customer);
  await world.freeze(customer);
  await world.numberAll();
  const sender = await openSender();
  const claims = sender.app.get(DeliveryClaims);
  const takeTurn = claims.takeTurn.bind(claims);
  let asked = 0;
  // Of three the second alone gets a turn at its host, and that one late.
  claims.takeTurn = async (name) => {
    asked += 1;
    if (asked > 3) return takeTurn(name);
    return asked === 2 ? 1500 : undefined;
  };
  await sender.run(() => asked >= 3);
  // By then the endpoint rests no longer.
  await sleep(600);
  await world.freeze(customer, false);
  await world.numberAll();
  await sender.run(() => areAll(id, 'delivered'));
  const positions = at('/waiting').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect(positions).toEqual([...positions].sort((one, other) => one - other));
  expect(positions).toHaveLength(4);
});

it('repeats a failed event by its own schedule, and holds up no other by it', async () => {
  const { customer, id } = await setUp('/one-bad');
  let isFirst = true;
  answers.set('/one-bad', (_one, response) => {
    response.writeHead(isFirst ? 500 : 204).end('out of order');
    isFirst = false;
  });
  await world.happen(customer);
  const sender = await openSender();
  await sender.run(async () => (await rowsOf(id)).every(({ attempts }) => attempts === 1));
  const [failed, other] = await rowsOf(id);
  expect(failed).toMatchObject({ status: 'pending', fault: 'STATUS', answer: 'out of order' });
  expect(failed!.wait_sec).toBeGreaterThan(3.9);
  expect(failed!.wait_sec).toBeLessThan(6.1);
  expect(other).toMatchObject({ status: 'delivered', attempts: 1 });
  await hurry(id);
  await sender.run(() => areAll(id, 'delivered'));
  const [first, , again] = at('/one-bad');
  expect([again!.body, again!.headers['webhook-id']]).toEqual([first!.body, first!.headers['webhook-id']]);
});

it('heeds Retry-After, and disables an endpoint that answers 410', async () => {
  const { customer, id } = await setUp('/later');
  answers.set('/later', failWith(503, { 'Retry-After': '600' }));
  await world.happen(customer);
  const sender = await openSender();
  await sender.run(async () => (await rowsOf(id)).some(({ attempts }) => attempts > 0));
  expect((await rowsOf(id)).find(({ attempts }) => attempts > 0)!.wait_sec).toBeGreaterThan(599);
  answers.set('/later', failWith(410));
  await hurry(id);
  await sender.run(async () => (await customer.get(`/v1/webhooks/${id}`)).body.enabled === false);
  expect((await customer.get(`/v1/webhooks/${id}`)).body.disabled_reason).toBe('gone');
  const before = at('/later').length;
  await world.happen(customer);
  for (let step = 0; step < 5; step += 1) await sender.loop.step();
  expect(at('/later').length - before).toBeLessThanOrEqual(1);
});

it('a 410 from where it was sent before disables nothing, and the event goes to the new URL', async () => {
  const { customer, id } = await setUp('/moved', { types: ['project.frozen'] });
  answers.set('/moved', (_one, response) => {
    const url = `http://127.1.2.1:${port.toString()}/moved-to`;
    void customer.post(`/v1/webhooks/${id}`, { url }).then(() => response.writeHead(410).end());
  });
  await world.happen(customer);
  const sender = await openSender();
  await sender.run(async () => (await rowsOf(id)).every(({ attempts }) => attempts === 1));
  expect((await customer.get(`/v1/webhooks/${id}`)).body.enabled).toBe(true);
  await hurry(id);
  await sender.run(() => areAll(id, 'delivered'));
  expect(at('/moved-to')).toHaveLength(1);
});

it('tries the oldest alone after three failures in a row, until one succeeds', async () => {
  const { customer, id } = await setUp('/down');
  answers.set('/down', failWith(500));
  await world.happen(customer);
  await world.happen(customer);
  const sender = await openSender();
  await sender.run(async () => (await rowsOf(id)).reduce((sum, { attempts }) => sum + attempts, 0) >= 4);
  await world.happen(customer);
  for (let round = 0; round < 3; round += 1) {
    await hurry(id);
    const before = (await rowsOf(id))[0]!.attempts;
    await sender.run(async () => (await rowsOf(id))[0]!.attempts > before);
  }
  expect((await rowsOf(id)).map(({ attempts }) => attempts)).toEqual([4, 1, 1, 1, 0, 0]);
  answers.delete('/down');
  await hurry(id);
  await sender.run(() => areAll(id, 'delivered'));
  const positions = at('/down').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect([...new Set(positions.slice(-6))]).toHaveLength(6);
});

it('gives up after the twelfth attempt', async () => {
  const { customer, id } = await setUp('/never');
  answers.set('/never', failWith(500));
  await world.happen(customer);
  await database.query(`UPDATE webhook_delivery SET attempts = 11 WHERE endpoint_id = $1`, [id]);
  const sender = await openSender();
  await sender.run(() => areAll(id, 'failed'));
  expect((await rowsOf(id)).map(({ attempts }) => attempts)).toEqual([12, 12]);
});

it('signs by both secrets during a rotation, and by the new one alone when the old has expired', async () => {
  const { customer, id, secret } = await setUp('/rotated');
  const sender = await openSender();
  const verifies = (by: string, { body, headers }: Taken): boolean => {
    try {
      new Webhook(by).verify(body, headers);
      return true;
    } catch {
      return false;
    }
  };
  const rotated = await customer.request('POST', `/v1/webhooks/${id}/rotate`);
  const next = rotated.body.secret as string;
  await world.happen(customer);
  await sender.run(() => areAll(id, 'delivered'));
  const during = at('/rotated').splice(0);
  expect(during.map((one) => [verifies(secret, one), verifies(next, one)])).toEqual([
    [true, true],
    [true, true],
  ]);
  expect(during[0]!.headers['webhook-signature']!.split(' ')).toHaveLength(2);
  await database.query(`UPDATE webhook_endpoint SET previous_until = now() - interval '1 second' WHERE id = $1`, [id]);
  await world.happen(customer);
  await sender.run(() => areAll(id, 'delivered'));
  const after = at('/rotated').slice(2);
  expect(after.map((one) => [verifies(secret, one), verifies(next, one)])).toEqual([
    [false, true],
    [false, true],
  ]);
});

it('tests once, whatever is answered, and the test says nothing of how the endpoint does', async () => {
  const { customer, id } = await setUp('/test');
  answers.set('/test', failWith(500));
  await customer.request('POST', `/v1/webhooks/${id}/test`);
  const sender = await openSender();
  await sender.run(() => areAll(id, 'failed'));
  expect(JSON.parse(at('/test')[0]!.body)).toMatchObject({ type: 'webhook.test', data: { webhook: { id } } });
  expect((await customer.get(`/v1/webhooks/${id}`)).body).not.toHaveProperty('failing_since');
});

it('replays behind what is new', async () => {
  const { customer, id } = await setUp('/replay', {
    url: `https://shop.example.com:${receivers.tlsPort.toString()}/replay`,
    types: ['webhook.changed'],
  });
  const change = async (): Promise<void> => {
    for (const description of ['one', 'two']) await customer.post(`/v1/webhooks/${id}`, { description });
    await world.numberAll();
  };
  await change();
  const sender = await openSender();
  await sender.run(() => areAll(id, 'delivered'));
  taken.length = 0;
  await customer.post(`/v1/webhooks/${id}/replay`, { after: 0 });
  await change();
  await sender.run(() => areAll(id, 'delivered'));
  const positions = at('/replay').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  const [new1, new2, ...old] = positions;
  expect([new1, new2]).toEqual([...[new1!, new2!]].sort((one, other) => one - other));
  expect(Math.min(new1!, new2!)).toBeGreaterThan(Math.max(...old));
});

it('ends what waits for an endpoint that is deleted, and sends nothing there', async () => {
  const { customer, id } = await setUp('/deleted');
  await world.happen(customer);
  await customer.request('DELETE', `/v1/webhooks/${id}`);
  const sender = await openSender();
  await sender.run(() => areAll(id, 'dropped'));
  expect(at('/deleted')).toEqual([]);
});

it('goes on with what another sender held when that one is gone, and what the other says late changes nothing', async () => {
  const { customer, id } = await setUp('/fence');
  await world.happen(customer);
  const [one, other] = [await openSender(), await openSender()];
  const claims = one.app.get(DeliveryClaims);
  await claims.takeFresh();
  const held = (await claims.claim(100, false)).find((each) => each.id === id)!;
  const [delivery] = await claims.due([{ ...held, room: 1, isOldestOnly: false }], []);
  // It holds the endpoint: nobody else sends.
  await other.loop.step();
  // Also when something new comes meanwhile.
  await world.happen(customer);
  await other.loop.step();
  await other.loop.step();
  expect(at('/fence')).toEqual([]);
  await database.query(
    `UPDATE webhook_state SET lease_until = now() - interval '1 second', due_at = now() WHERE endpoint_id = $1`,
    [id],
  );
  await other.run(() => areAll(id, 'delivered'));
  await database.query(
    `UPDATE webhook_delivery SET status = 'pending', next_at = now(), ended_at = NULL WHERE id = $1`,
    [delivery!.id],
  );
  const answered = { fault: undefined, status: 204, answer: undefined, durationMs: 1 };
  const isTaken = await claims.record(held, delivery!, { status: 'delivered', delayMs: 0, answered });
  expect(isTaken).toBe(false);
  expect((await rowsOf(id))[0]).toMatchObject({ status: 'pending' });
});

it('two at once send every event once', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, (_, index) => setUp(`/two-${index.toString()}`)));
  const two = [await openSender(), await openSender()];
  await Promise.all(all.map(({ customer }) => world.freeze(customer)));
  await world.numberAll();
  await Promise.all(
    two.map((each) =>
      each.run(async () => (await Promise.all(all.map(({ id }) => areAll(id, 'delivered')))).every(Boolean)),
    ),
  );
  for (const index of all.keys()) expect(at(`/two-${index.toString()}`)).toHaveLength(1);
});

it('sends twenty a second at most to one host, over all projects', async () => {
  const all = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const customer = await world.newCustomer();
      const url = `http://127.1.1.1:${port.toString()}/host-${index.toString()}`;
      const webhook = await world.newWebhook(customer, { url, types: ['project.frozen'] });
      await world.freeze(customer);
      return webhook;
    }),
  );
  await world.numberAll();
  const times: number[] = [];
  for (const index of all.keys()) {
    answers.set(`/host-${index.toString()}`, (_one, response) => {
      times.push(performance.now());
      response.writeHead(204).end();
    });
  }
  const sender = await openSender();
  await sender.run(async () => (await Promise.all(all.map(({ id }) => areAll(id, 'delivered')))).every(Boolean));
  expect(times).toHaveLength(30);
  // Each took a turn of 50 ms at its host, whoever it was for.
  const [turn] = await database.query<{ sum: number }>(
    `SELECT count(*)::int AS sum FROM webhook_destination WHERE name IN ('host 127.1.1.1', 'address 127.1.1.1')`,
  );
  expect(turn!.sum).toBe(2);
  expect(times.at(-1)! - times[0]!).toBeGreaterThan(20 * 50);
});

it('says after an hour that an endpoint fails, once, and disables it after five days', async () => {
  const { customer, id } = await setUp('/failing');
  answers.set('/failing', failWith(500));
  await world.happen(customer);
  const sender = await openSender();
  await sender.run(async () => (await rowsOf(id)).some(({ attempts }) => attempts > 0));
  const watch = sender.app.get(EndpointWatch);
  const failingFor = async (time: string): Promise<string[]> => {
    await database.query(`UPDATE webhook_state SET failing_since = now() - $2::interval WHERE endpoint_id = $1`, [
      id,
      time,
    ]);
    await watch.look();
    await watch.look();
    const rows = await database.query<{ type: string }>(
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
  answers.delete('/failing');
  await customer.post(`/v1/webhooks/${id}`, { enabled: true });
  await hurry(id);
  await sender.run(() => areAll(id, 'delivered'));
});
