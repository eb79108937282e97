// The sender on a real database, against local receivers: no event lost or out of order, no endpoint delayed by
// another.
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { until } from '../../../packages/local/src/wait.js';
import { DeliveryClaims } from '../../../src/modules/sender/delivery-claims.js';
import { DeliveryRecords } from '../../../src/modules/sender/delivery-records.js';
import { DestinationSlots } from '../../../src/modules/sender/destination-slots.js';
import type { Taken } from '../../support/webhooks/receivers.js';
import { openDeliveryFixture, type DeliveryFixture } from '../../support/webhooks/delivery-fixture.js';
import type { TestSender } from '../../support/webhooks/sender.js';

let fixture: DeliveryFixture;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterEach(() => fixture.endAll());
afterAll(() => fixture.close());

it('sends each event once it has a position, in the form of Standard Webhooks', async () => {
  const { customer, id, secret } = await fixture.setUp('/sent');
  const sender = await fixture.openSender();
  await fixture.fixture.freeze(customer);
  await sender.loop.runPass();
  expect(fixture.at('/sent')).toEqual([]);
  await fixture.fixture.happen(customer);
  await sender.run(() => fixture.areAll(id, 'delivered'));
  expect(fixture.at('/sent').length).toBe((await fixture.rowsOf(id)).length);
  for (const { headers, body } of fixture.at('/sent')) {
    const event = new Webhook(secret).verify(body, headers) as { id: string; type: string };
    expect(event.id).toBe(headers['webhook-id']);
    expect(event.type).toMatch(/^project\.(un)?frozen$/);
    const log = await fixture.database.query(`SELECT payload FROM event WHERE payload = $1`, [body]);
    expect(log).toHaveLength(1);
  }
});

it('sends in order of position, at most ten concurrently', async () => {
  const { customer, id } = await fixture.setUp('/order', {
    url: `https://shop.example.com:${fixture.receivers.tlsPort.toString()}/order`,
  });
  let [now, most] = [0, 0];
  fixture.receivers.answers.set('/order', (_one, response) => {
    now += 1;
    most = Math.max(most, now);
    setTimeout(() => {
      now -= 1;
      response.writeHead(204).end();
    }, 100);
  });
  for (let round = 0; round < 20; round += 1) await fixture.fixture.freeze(customer, round % 2 === 0);
  await fixture.fixture.freeze(customer, false);
  await fixture.fixture.numberAll();
  const sender = await fixture.openSender();
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const positions = fixture.at('/order').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect(positions).toEqual([...positions].sort((one, other) => one - other));
  expect(positions).toHaveLength(20);
  expect(most).toBeLessThanOrEqual(10);
});

/**
 * Controls the turns at hosts. `give` gets the caller's place from 1 and the real turn; it returns ms, or undefined for
 * busy.
 */
function giveTurns(
  { app }: TestSender,
  give: (place: number, take: () => Promise<number | undefined>) => Promise<number | undefined>,
): { readonly asked: number } {
  const slots = app.get(DestinationSlots);
  const takeTurn = slots.reserve.bind(slots);
  const turns = { asked: 0 };
  slots.reserve = async (name) => {
    turns.asked += 1;
    return give(turns.asked, () => takeTurn(name));
  };
  return turns;
}

it('the next event does not overtake one whose host is busy', async () => {
  const { customer, id } = await fixture.setUp('/postponed', {
    url: `https://shop.example.com:${fixture.receivers.tlsPort.toString()}/postponed`,
  });
  await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  // The first caller finds its host busy, after the next one has both of its turns.
  const turns = giveTurns(sender, async (place, take) => {
    if (place > 1) return take();
    await until(() => (turns.asked >= 3 ? true : undefined), 20_000, 'the turns of the next one', 5);
    return undefined;
  });
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const positions = fixture.at('/postponed').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect(positions).toEqual([...positions].sort((one, other) => one - other));
  expect(positions).toHaveLength(2);
});

it('events behind one that waits for its turn do not overtake those whose host is busy', async () => {
  const { customer, id } = await fixture.setUp('/waiting', {
    url: `https://shop.example.com:${fixture.receivers.tlsPort.toString()}/waiting`,
  });
  await fixture.fixture.happen(customer);
  await fixture.fixture.freeze(customer);
  await fixture.fixture.numberAll();
  const sender = await fixture.openSender();
  // Only the second of three gets a turn at its host, and a late one.
  const turns = giveTurns(sender, async (place, take) => (place > 3 ? take() : place === 2 ? 1500 : undefined));
  await sender.run(() => turns.asked >= 3);
  // The endpoint's rest is over by then.
  await sleep(600);
  await fixture.fixture.freeze(customer, false);
  await fixture.fixture.numberAll();
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const positions = fixture.at('/waiting').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  expect(positions).toEqual([...positions].sort((one, other) => one - other));
  expect(positions).toHaveLength(4);
});

it('an endpoint with unreadable deliveries delays no other, and rests', async () => {
  const [slow, ...others] = await Promise.all(
    Array.from({ length: 4 }, (_, index) => fixture.setUp(`/unread-${index.toString()}`)),
  );
  for (const { customer } of [slow!, ...others]) await fixture.fixture.happen(customer);
  const sender = await fixture.openSender();
  const claims = sender.app.get(DeliveryClaims);
  const due = claims.readDue.bind(claims);
  let asked = 0;
  claims.readDue = async (wanted, underWay) => {
    if (wanted.some(({ id }) => id === slow!.id)) {
      asked += 1;
      throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
    }
    return due(wanted, underWay);
  };
  const step = async (): Promise<unknown> => sender.loop.runPass().catch(() => undefined);
  const areDelivered = async (): Promise<boolean> =>
    (await Promise.all(others.map(({ id }) => fixture.areAll(id, 'delivered')))).every(Boolean);
  await until(async () => (await step(), (await areDelivered()) ? true : undefined), 20_000, 'the others', 20);
  expect(fixture.at('/unread-0')).toEqual([]);
  // Read once with the others and once alone: a new event does not end the rest.
  await fixture.fixture.happen(slow!.customer);
  for (let look = 0; look < 3; look += 1) await sender.loop.runPass();
  expect(asked).toBe(2);
  // A sender that can read it may claim it.
  const next = await fixture.openSender();
  await fixture.hurry(slow!.id);
  await next.run(() => fixture.areAll(slow!.id, 'delivered'));
});

it('claims nothing more while nothing can be read', async () => {
  const [one, other] = [await fixture.setUp('/claimed'), await fixture.setUp('/not-claimed')];
  await fixture.fixture.happen(one.customer);
  const sender = await fixture.openSender();
  const claims = sender.app.get(DeliveryClaims);
  claims.readDue = () => Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }));
  await expect(sender.loop.runPass()).rejects.toThrow();
  expect(await fixture.heldBy(one.id)).not.toBeNull();
  await fixture.fixture.happen(other.customer);
  for (let step = 0; step < 3; step += 1) await expect(sender.loop.runPass()).rejects.toThrow();
  expect(await fixture.heldBy(other.id)).toBeNull();
});

it('signs by both secrets during a rotation, and only by the new one after the old has expired', async () => {
  const { customer, id, secret } = await fixture.setUp('/rotated');
  const sender = await fixture.openSender();
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
  await fixture.fixture.happen(customer);
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const during = fixture.at('/rotated').splice(0);
  expect(during.map((one) => [verifies(secret, one), verifies(next, one)])).toEqual([
    [true, true],
    [true, true],
  ]);
  expect(during[0]!.headers['webhook-signature']!.split(' ')).toHaveLength(2);
  await fixture.database.transaction(async (tx) => {
    // With triggers off: a trigger would treat this as another rotation.
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(`UPDATE webhook_endpoint SET previous_until = now() - interval '1 second' WHERE id = $1`, [id]);
  });
  await fixture.fixture.happen(customer);
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const after = fixture.at('/rotated').slice(2);
  expect(after.map((one) => [verifies(secret, one), verifies(next, one)])).toEqual([
    [false, true],
    [false, true],
  ]);
});

it('tests once, whatever the answer, and the test does not affect the endpoint’s state', async () => {
  const { customer, id } = await fixture.setUp('/test');
  fixture.receivers.answers.set('/test', (_one, response) => void response.writeHead(500).end('no'));
  await customer.request('POST', `/v1/webhooks/${id}/test`);
  const sender = await fixture.openSender();
  await sender.run(() => fixture.areAll(id, 'failed'));
  expect(JSON.parse(fixture.at('/test')[0]!.body)).toMatchObject({ type: 'webhook.test', data: { webhook: { id } } });
  expect((await customer.get(`/v1/webhooks/${id}`)).body).not.toHaveProperty('failing_since');
});

it('replays after new events', async () => {
  const { customer, id } = await fixture.setUp('/replay', {
    url: `https://shop.example.com:${fixture.receivers.tlsPort.toString()}/replay`,
    types: ['webhook.changed'],
  });
  const change = async (): Promise<void> => {
    for (const description of ['one', 'two']) await customer.post(`/v1/webhooks/${id}`, { description });
    await fixture.fixture.numberAll();
  };
  await change();
  const sender = await fixture.openSender();
  await sender.run(() => fixture.areAll(id, 'delivered'));
  fixture.receivers.taken.length = 0;
  await customer.post(`/v1/webhooks/${id}/replay`, { after: 0 });
  await change();
  await sender.run(() => fixture.areAll(id, 'delivered'));
  const positions = fixture.at('/replay').map(({ body }) => (JSON.parse(body) as { position: number }).position);
  const [new1, new2, ...old] = positions;
  expect([new1, new2]).toEqual([...[new1!, new2!]].sort((one, other) => one - other));
  expect(Math.min(new1!, new2!)).toBeGreaterThan(Math.max(...old));
});

it('ends the waiting deliveries of a deleted endpoint, and sends nothing there', async () => {
  const { customer, id } = await fixture.setUp('/deleted');
  await fixture.fixture.happen(customer);
  // As after a failure: the next attempt is far away.
  await fixture.database.query(
    `WITH d AS (UPDATE webhook_delivery SET is_fresh = false, next_at = clock_timestamp() + interval '1 hour' WHERE endpoint_id = $1)
     UPDATE webhook_state SET due_at = clock_timestamp() + interval '1 hour' WHERE endpoint_id = $1`,
    [id],
  );
  await customer.request('DELETE', `/v1/webhooks/${id}`);
  const sender = await fixture.openSender();
  await sender.run(() => fixture.areAll(id, 'dropped'));
  expect(fixture.at('/deleted')).toEqual([]);
});

it('continues what a dead sender held, and late results of that one change nothing', async () => {
  const { customer, id } = await fixture.setUp('/fence');
  await fixture.fixture.happen(customer);
  const [one, other] = [await fixture.openSender(), await fixture.openSender()];
  const [claims, records] = [one.app.get(DeliveryClaims), one.app.get(DeliveryRecords)];
  await claims.makeNewDeliveriesDue();
  const held = (await claims.claim(100, 0)).find((each) => each.id === id)!;
  const [delivery] = await claims.readDue([{ ...held, room: 1, isFailing: false }], []);
  // The first sender holds the endpoint, so the other one sends nothing.
  await other.loop.runPass();
  // Also when a new event arrives meanwhile.
  await fixture.fixture.happen(customer);
  await other.loop.runPass();
  await other.loop.runPass();
  expect(fixture.at('/fence')).toEqual([]);
  await fixture.database.query(
    `UPDATE webhook_state SET lease_until = now() - interval '1 second', due_at = now() WHERE endpoint_id = $1`,
    [id],
  );
  await other.run(() => fixture.areAll(id, 'delivered'));
  await fixture.database.query(
    `UPDATE webhook_delivery SET status = 'pending', next_at = now(), ended_at = NULL WHERE id = $1`,
    [delivery!.id],
  );
  const answered = { fault: undefined, status: 204, answer: undefined, durationMs: 1 };
  const isTaken = await records.record(held, delivery!, { status: 'delivered', delayMs: 0, answered });
  expect(isTaken).toBe(false);
  const failed = { ...answered, fault: 'STATUS', status: 500 };
  expect(await records.record(held, delivery!, { status: 'failed', delayMs: 0, answered: failed })).toBe(false);
  expect((await fixture.rowsOf(id))[0]).toMatchObject({ status: 'pending' });
});

it('a resend during an attempt is due immediately, whatever the attempt’s result', async () => {
  const { customer, id } = await fixture.setUp('/resent');
  await fixture.fixture.happen(customer);
  const { app } = await fixture.openSender();
  const [claims, records] = [app.get(DeliveryClaims), app.get(DeliveryRecords)];
  await claims.makeNewDeliveriesDue();
  const held = (await claims.claim(100, 0)).find((each) => each.id === id)!;
  const [delivery] = await claims.readDue([{ ...held, room: 1, isFailing: false }], []);
  const resent = await customer.request('POST', `/v1/webhooks/${id}/deliveries/${delivery!.id.toString()}/resend`);
  expect(resent.status).toBe(202);
  const answered = { fault: 'REFUSED', status: 500, answer: undefined, durationMs: 1 };
  const outcome = { status: 'pending', delayMs: 3_600_000, answered } as const;
  expect(await records.record(held, delivery!, outcome)).toBe(true);
  const due = () =>
    fixture.database.query(`SELECT FROM webhook_delivery WHERE id = $1 AND is_fresh AND next_at <= clock_timestamp()`, [
      delivery!.id,
    ]);
  expect(await due()).toHaveLength(1);
  await claims.makeNewDeliveriesDue();
  const [again] = await claims.readDue([{ ...held, room: 1, isFailing: false }], []);
  expect(again!.id).toBe(delivery!.id);
  expect(await records.record(held, again!, outcome)).toBe(true);
  expect(await due()).toEqual([]);
});

it('two concurrent senders send every event once', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, (_, index) => fixture.setUp(`/two-${index.toString()}`)));
  const two = [await fixture.openSender(), await fixture.openSender()];
  await Promise.all(all.map(({ customer }) => fixture.fixture.freeze(customer)));
  await fixture.fixture.numberAll();
  await Promise.all(
    two.map((each) =>
      each.run(async () => (await Promise.all(all.map(({ id }) => fixture.areAll(id, 'delivered')))).every(Boolean)),
    ),
  );
  for (const index of all.keys()) expect(fixture.at(`/two-${index.toString()}`)).toHaveLength(1);
});

it('sends at most twenty a second to one host, over all projects', async () => {
  const all = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const customer = await fixture.fixture.newCustomer();
      const url = `http://127.1.1.1:${fixture.receivers.port.toString()}/host-${index.toString()}`;
      const webhook = await fixture.fixture.newWebhook(customer, { url, types: ['project.frozen'] });
      await fixture.fixture.freeze(customer);
      return webhook;
    }),
  );
  await fixture.fixture.numberAll();
  const times: number[] = [];
  for (const index of all.keys()) {
    fixture.receivers.answers.set(`/host-${index.toString()}`, (_one, response) => {
      times.push(performance.now());
      response.writeHead(204).end();
    });
  }
  const sender = await fixture.openSender();
  await sender.run(async () =>
    (await Promise.all(all.map(({ id }) => fixture.areAll(id, 'delivered')))).every(Boolean),
  );
  expect(times).toHaveLength(30);
  // Each attempt took a turn of 50 ms at its address, across projects. An address needs no second turn as a host.
  const turns = await fixture.database.query(`SELECT name FROM webhook_destination WHERE name LIKE '%127.1.1.1'`);
  expect(turns).toEqual([{ name: 'address 127.1.1.1' }]);
  expect(times.at(-1)! - times[0]!).toBeGreaterThan(20 * 50);
});
