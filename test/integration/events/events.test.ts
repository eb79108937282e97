// The event log: every event once and in order, despite late commits and crashes.
import pg from 'pg';
import { EventLog, type EventPage } from '../../../src/modules/events/event-log.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { pruneEvents } from '../../../src/modules/events/retention.js';
import { until } from '../../../packages/local/src/wait.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import type { Customer } from '../../support/api/client.js';
import { credits } from '../../../src/domain/units.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { apiKeysOn } from '../../support/api/services.js';
import type { OrderFixture } from '../../support/api/order-fixture.js';
import { openOrderFixture, refundOrder, settleOrder, withKey } from '../../support/api/order-fixture.js';

interface Seen {
  readonly id: string;
  readonly type: string;
  readonly position: number;
  readonly timestamp: string;
  readonly data: {
    readonly order?: Readonly<Record<string, unknown>>;
    readonly project?: { readonly frozen: boolean };
    readonly balance?: Readonly<Record<string, unknown>>;
  };
}

const LIMIT_MS = 60_000;
let fixture: OrderFixture;
let database: Database;
let log: EventLog;

beforeAll(async () => {
  fixture = await openOrderFixture();
  database = fixture.api.database;
  log = new EventLog(database);
});

afterAll(() => fixture.close());

const newNumberer = (on = database): Numberer => new Numberer(on, new Metrics(), openLog('silent'));

const die = (): never => {
  throw new Error('killed');
};

async function numberAll(numberer = newNumberer()): Promise<void> {
  while ((await numberer.numberBatch()) > 0);
}

/** Reads pages until none is left, using positions alone. */
async function readAll(projectId: string, after?: bigint): Promise<Seen[]> {
  const seen: Seen[] = [];
  for (let from = after; ;) {
    const page = (await log.read(projectId, from, undefined, 7)) as EventPage;
    if (page.items.length === 0) return seen;
    seen.push(...page.items.map(({ payload }) => JSON.parse(payload) as Seen));
    from = page.lastPosition;
  }
}

const typesOf = (events: readonly Seen[]): string[] => events.map(({ type }) => type);
const lastOf = (events: readonly Seen[]): bigint => BigInt(events.at(-1)?.position ?? 0);

/** Opens a separate session, so that its transaction stays open. */
async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: fixture.env['DATABASE_URL']! });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const toggle = `UPDATE credit_account SET frozen = NOT frozen WHERE project_id = $1`;

/** Adds one event of a new object. */
const addEvent = `INSERT INTO event (project_id, type, snapshot)
  VALUES ($1::uuid, 'project.frozen', json_build_object('project', json_build_object('id', $1::uuid, 'name', $2::text, 'frozen', true)))`;

const nameIn = (event: Seen): string => (event.data.project as unknown as { name: string }).name;

async function buy(customer: Customer, key: string, receiver = 0): Promise<Record<string, unknown>> {
  const order = { receive_address: fixture.receiver(receiver), energy: 65_000, duration_sec: 3600 };
  const answer = await customer.post('/v1/orders', order, withKey(key));
  expect(answer.status).toBe(202);
  return answer.body;
}

it('reports an accepted and refunded order as it was at each moment, however late it is numbered', async () => {
  const customer = await makeCustomer(fixture.api);
  const accepted = await buy(customer, 'reported');
  await refundOrder(fixture.api, customer.merchant, 'reported');
  const refunded = (await customer.get('/v1/orders/reported')).body;
  expect(await readAll(customer.merchant)).toEqual([]);
  await numberAll();
  const [first, second, ...more] = await readAll(customer.merchant);
  expect(more).toEqual([]);
  expect(first).toMatchObject({ type: 'order.created', position: 1, data: { order: accepted } });
  expect(second).toMatchObject({ type: 'order.refunded', position: 2, data: { order: refunded } });
  expect(Object.keys(first!.data.order!)).toEqual(Object.keys(accepted));
  expect(Object.keys(second!.data.order!)).toEqual(Object.keys(refunded));
  expect(first!.id).toMatch(/^evt_[0-9a-f]{32}$/);
  expect(second!.id).not.toBe(first!.id);
});

it('a refused order has no event', async () => {
  const customer = await makeCustomer(fixture.api, 0n);
  const order = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
  expect((await customer.post('/v1/orders', order)).status).toBe(402);
  await numberAll();
  expect(await readAll(customer.merchant)).toEqual([]);
});

it('reports acts on a project: a freeze, its end, and compensations for an order', async () => {
  const customer = await makeCustomer(fixture.api);

  const order = await buy(customer, 'compensated');
  const id = BigInt(order['id'] as number);
  await expect(fixture.api.ledger.compensate(id, credits(5n), AUTHOR)).rejects.toThrow('not settled');
  await settleOrder(fixture.api, id);
  await fixture.api.ledger.compensate(id, credits(5n), AUTHOR);
  await fixture.api.ledger.compensate(id, credits(7n), AUTHOR);
  await fixture.api.ledger.setFrozen(customer.merchant, true, AUTHOR);
  await fixture.api.ledger.setFrozen(customer.merchant, true, AUTHOR);
  await fixture.api.ledger.setFrozen(customer.merchant, false, AUTHOR);
  await numberAll();
  const events = await readAll(customer.merchant);
  const gifts = ['order.compensated', 'order.compensated'];
  expect(typesOf(events)).toEqual(['order.created', ...gifts, 'project.frozen', 'project.unfrozen']);
  // Each event shows the order as it was at that moment.
  const given = events.slice(1, 3).map(({ data }) => data.order!['compensations'] as readonly { credits: number }[]);
  expect(given.map((each) => each.map((one) => one.credits))).toEqual([[5], [5, 7]]);
  expect(events[3]!.data).toEqual({
    project: { id: customer.merchant, name: expect.any(String) as string, frozen: true },
  });
});

it('the log has the changes of a key, and nothing of its secrets', async () => {
  const customer = await makeCustomer(fixture.api);
  const keys = apiKeysOn(database, fixture.api.app);
  const { id, apiKey } = await keys.create(customer.merchant, { name: 'reports', scopes: ['read'] }, AUTHOR);
  const rotated = await keys.rotate(id, 3600, AUTHOR);
  await keys.revoke(id, AUTHOR);
  const primary = await fixture.api.projects.rotateKey(customer.merchant, AUTHOR);
  await numberAll();
  const events = await readAll(customer.merchant);
  expect(typesOf(events)).toEqual(['key.created', 'key.rotated', 'key.revoked', 'key.rotated']);
  const made = { id, name: 'reports', is_primary: false, scopes: ['read'] };
  const until = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
  const all = ['read', 'quote', 'order', 'manage'];
  expect(events.map(({ data }) => data)).toEqual([
    { key: made },
    { key: { ...made, previous_until: until } },
    { key: made },
    { key: { id: customer.merchant, name: expect.any(String) as string, is_primary: true, scopes: all } },
  ]);
  for (const secret of [apiKey, rotated, primary]) expect(JSON.stringify(events)).not.toContain(secret);
});

describe('a balance below its project’s threshold', () => {
  const PRICE = 10_000n;

  async function lowEvents(customer: Customer): Promise<Seen[]> {
    await numberAll();
    return (await readAll(customer.merchant)).filter(({ type }) => type === 'balance.low');
  }

  /** Creates a project whose balance exceeds its threshold by this many orders. */
  async function makeWatched(ordersAbove: bigint): Promise<{ customer: Customer; price: bigint; low: bigint }> {
    const customer = await makeCustomer(fixture.api);
    const price = BigInt((await buy(customer, 'first'))['credits'] as number);
    const { balanceCredits } = (await fixture.api.ledger.balanceOf(customer.merchant))!;
    const low = balanceCredits - ordersAbove * price;
    await fixture.api.ledger.setLowBalance(customer.merchant, credits(low), AUTHOR);
    return { customer, price, low };
  }

  it('is an event when an order or a correction takes it there, but not when a threshold is set', async () => {
    const { customer, price, low } = await makeWatched(1n);
    await buy(customer, 'reaches it');
    expect(await lowEvents(customer)).toEqual([]);
    await buy(customer, 'falls below');
    const [event, ...more] = await lowEvents(customer);
    expect(more).toEqual([]);
    expect(event!.data).toEqual({
      balance: {
        credits_balance: Number(low - price),
        usd_balance: expect.stringMatching(/^\d+\.\d\d$/) as string,
        low_balance_credits: Number(low),
      },
    });
    const other = await makeCustomer(fixture.api, PRICE);
    await fixture.api.ledger.setLowBalance(other.merchant, credits(2n * PRICE), AUTHOR);
    await fixture.api.ledger.adjust(other.merchant, credits(-1n), 'below already', AUTHOR);
    expect(await lowEvents(other)).toEqual([]);
    await fixture.api.ledger.setLowBalance(other.merchant, credits(PRICE / 2n), AUTHOR);
    await fixture.api.ledger.adjust(other.merchant, credits(-PRICE / 2n), 'falls below', AUTHOR);
    expect(await lowEvents(other)).toHaveLength(1);
  });

  it('is an event again only after it was as high as the threshold', async () => {
    const { customer } = await makeWatched(0n);
    await buy(customer, 'falls below');
    await buy(customer, 'falls further');
    await refundOrder(fixture.api, customer.merchant, 'falls further');
    expect(await lowEvents(customer)).toHaveLength(1);
    await refundOrder(fixture.api, customer.merchant, 'falls below');
    await buy(customer, 'falls again');
    expect(await lowEvents(customer)).toHaveLength(2);
    await fixture.api.ledger.setLowBalance(customer.merchant, undefined, AUTHOR);
    await fixture.api.ledger.topUp(customer.merchant, credits(1_000_000_000n), `up-${customer.merchant}`, AUTHOR);
    await fixture.api.ledger.adjust(customer.merchant, credits(-1_500_000_000n), 'watched no more', AUTHOR);
    expect(await lowEvents(customer)).toHaveLength(2);
  });

  it('is exactly one event, whichever of many concurrent orders takes it there', async () => {
    const { customer, price, low } = await makeWatched(3n);
    const orders = Array.from({ length: 8 }, (_, n) => buy(customer, `beside ${n.toString()}`, n));
    await Promise.all(orders);
    const [event, ...more] = await lowEvents(customer);
    expect(more).toEqual([]);
    expect(event!.data.balance).toMatchObject({ credits_balance: Number(low - price) });
  });

  it('is none if the order that would take it there is refused', async () => {
    const { customer, low } = await makeWatched(0n);
    await fixture.api.ledger.setDailyCap(customer.merchant, credits(1n), AUTHOR);
    const order = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
    expect((await customer.post('/v1/orders', order)).status).toBe(402);
    expect((await fixture.api.ledger.balanceOf(customer.merchant))!.balanceCredits).toBe(low);
    expect(await lowEvents(customer)).toEqual([]);
  });
});

it('a hundred writers and a reader by position: every event once, and none of one object reversed', async () => {
  const customers = await Promise.all(Array.from({ length: 10 }, () => makeCustomer(fixture.api)));
  const each = 12;
  const write = async (customer: Customer, writer: number): Promise<void> => {
    for (let n = 0; n < each; n += 1) {
      await database.transaction(async (tx) => {
        // Some writers keep their event uncommitted while others commit.
        if (writer % 2 === 0) await tx.query(addEvent, [customer.merchant, `${writer.toString()}/${n.toString()}`]);
        else await tx.query(toggle, [customer.merchant]);
        if (writer % 4 === 0) await tx.query(`SELECT pg_sleep(random() / 50)`);
      });
    }
  };
  let isOver = false;
  const writers = Promise.all(
    customers.flatMap((customer) => Array.from({ length: 10 }, (_, writer) => write(customer, writer))),
  ).finally(() => {
    isOver = true;
  });
  const numbering = [newNumberer(), newNumberer()].map(async (numberer) => {
    while (!isOver) await numberer.numberBatch();
    await numberAll(numberer);
  });
  const reading = customers.map(async (customer) => {
    const seen: Seen[] = [];
    const readOn = async (): Promise<true | undefined> => {
      seen.push(...(await readAll(customer.merchant, lastOf(seen))));
      return seen.length >= 10 * each ? true : undefined;
    };
    await until(readOn, LIMIT_MS, 'every event');
    return seen;
  });
  const [logs] = await Promise.all([Promise.all(reading), Promise.all(numbering), writers]);
  for (const seen of logs) {
    expect(seen.map(({ position }) => position)).toEqual(seen.map((_, index) => index + 1));
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    const own = seen.filter((event) => event.data.project !== undefined && nameIn(event).includes('/'));
    expect(new Set(own.map(nameIn)).size).toBe(5 * each);
    const toggled = seen.filter((event) => !nameIn(event).includes('/')).map(({ type }) => type);
    expect(toggled).toEqual(toggled.map((_, index) => (index % 2 === 0 ? 'project.frozen' : 'project.unfrozen')));
  }
});

it('a late commit comes later: a reader past it misses nothing', async () => {
  const customer = await makeCustomer(fixture.api);
  const late = await session();
  try {
    await late.query('BEGIN');
    await late.query(addEvent, [customer.merchant, 'late']);
    await database.query(addEvent, [customer.merchant, 'early']);
    await numberAll();
    const first = await readAll(customer.merchant);
    expect(first.map(nameIn)).toEqual(['early']);
    await late.query('COMMIT');
    await numberAll();
    const rest = await readAll(customer.merchant, lastOf(first));
    expect(rest.map(nameIn)).toEqual(['late']);
  } finally {
    await late.end();
  }
});

it('while one session numbers, no other one does, and none waits', async () => {
  const customer = await makeCustomer(fixture.api);
  const other = await session();
  try {
    await database.query(addEvent, [customer.merchant, 'one']);
    await other.query('BEGIN');
    const { rows } = await other.query<{ held: boolean }>(`SELECT pg_try_advisory_xact_lock(4202001) AS held`);
    expect(rows).toEqual([{ held: true }]);
    expect(await newNumberer().numberBatch()).toBe(0);
    expect(await pruneEvents(database, 30, 1000)).toBe(0);
    await other.query('ROLLBACK');
    expect(await newNumberer().numberBatch()).toBe(1);
  } finally {
    await other.end();
  }
});

it('an event never changes, is never deleted, and is numbered once', async () => {
  const customer = await makeCustomer(fixture.api);
  await database.query(addEvent, [customer.merchant, 'one']);
  await numberAll();
  const mine = `project_id = '${customer.merchant}'`;
  for (const change of [
    `payload = 'x'`,
    `position = position + 1`,
    `type = 'project.unfrozen'`,
    `at = now()`,
    `snapshot = '{}'`,
    `position = NULL, payload = NULL`,
  ])
    await expect(database.query(`UPDATE event SET ${change} WHERE ${mine}`)).rejects.toThrow('event is append-only');
  await expect(database.query(`DELETE FROM event WHERE ${mine}`)).rejects.toThrow('event is append-only');
  await expect(
    database.query(`INSERT INTO event (project_id, type, position, payload) VALUES ($1, 'order.created', 7, '{}')`, [
      customer.merchant,
    ]),
  ).rejects.toThrow('event is append-only');
});

it('reads only the wanted types, and the position passes the others', async () => {
  const customer = await makeCustomer(fixture.api);
  await buy(customer, 'typed');
  for (let n = 0; n < 3; n += 1) await database.query(toggle, [customer.merchant]);
  await numberAll();
  const page = (await log.read(customer.merchant, undefined, ['project.unfrozen'], 10)) as EventPage;
  expect(page.items.map(({ payload }) => (JSON.parse(payload) as Seen).type)).toEqual(['project.unfrozen']);
  expect([page.lastPosition, page.hasMore]).toEqual([4n, false]);
  const one = (await log.read(customer.merchant, 0n, ['project.frozen'], 1)) as EventPage;
  expect([one.lastPosition, one.hasMore]).toEqual([2n, true]);
});

it('an expired event cannot be read any more and says so, but its row stays', async () => {
  const customer = await makeCustomer(fixture.api);
  for (let n = 0; n < 4; n += 1) await database.query(toggle, [customer.merchant]);
  await numberAll();
  const events = await readAll(customer.merchant);
  const owner = await session();
  try {
    await owner.query('SET session_replication_role = replica');
    await owner.query(
      `UPDATE event SET at = at - interval '31 days' WHERE id <= (SELECT id FROM event WHERE project_id = $1 AND position = 2)`,
      [customer.merchant],
    );
  } finally {
    await owner.end();
  }
  while ((await pruneEvents(database, 30, 3)) > 0);
  expect(await log.read(customer.merchant, 1n, undefined, 10)).toEqual({ oldestPosition: 3n });
  expect(await readAll(customer.merchant, 2n)).toEqual(events.slice(2));
  expect(await readAll(customer.merchant)).toEqual(events.slice(2));
  const [kept] = await database.query(`SELECT count(*)::int AS rows FROM event WHERE project_id = $1`, [
    customer.merchant,
  ]);
  expect(kept).toEqual({ rows: 4 });
});

it('an old event that waits for its position keeps it and its payload, and is deleted once numbered', async () => {
  const customer = await makeCustomer(fixture.api);
  await numberAll();
  await database.query(toggle, [customer.merchant]);
  const owner = await session();
  try {
    await owner.query('SET session_replication_role = replica');
    // Deletion stops at the first event that is too recent, so all are old.
    await owner.query(`UPDATE event SET at = at - interval '31 days'`);
  } finally {
    await owner.end();
  }
  while ((await pruneEvents(database, 30, 1000)) > 0);
  await numberAll();
  expect((await readAll(customer.merchant)).map(({ type }) => type)).toContain('project.frozen');
  while ((await pruneEvents(database, 30, 1000)) > 0);
  expect(await readAll(customer.merchant)).toEqual([]);
});

it('on a server that may have lost commits every log continues a million higher, after an announcement', async () => {
  const customer = await makeCustomer(fixture.api);
  await database.query(toggle, [customer.merchant]);
  await numberAll();
  const before = lastOf(await readAll(customer.merchant));
  const silent = await makeCustomer(fixture.api);
  await database.query(
    `UPDATE event_numbering SET server_mark = regexp_replace(server_mark, '^([^/]*)/0*1/', '\\1/00000000/')`,
  );
  await database.query(toggle, [customer.merchant]);
  await numberAll();
  const events = await readAll(customer.merchant, before);
  expect(events.map(({ type, position }) => [type, position])).toEqual([
    ['log.restarted', Number(before) + 1_000_001],
    ['project.unfrozen', Number(before) + 1_000_002],
  ]);
  // Also when every position that was read has been lost.
  expect((await readAll(silent.merchant)).map(({ type, position }) => [type, position])).toEqual([
    ['log.restarted', 1_000_001],
  ]);
  await numberAll();
  expect(await readAll(customer.merchant, lastOf(events))).toEqual([]);
});

const STATEMENTS = ['hold_numbering', 'take_events', 'number_events'];

it.each(STATEMENTS)(
  'a numberer that dies before %s leaves nothing, and the next one numbers everything',
  async (name) => {
    const customer = await makeCustomer(fixture.api);
    for (let n = 0; n < 3; n += 1) await database.query(toggle, [customer.merchant]);
    const mortal = new Database(database.source);
    aroundStatements(mortal, [name], { before: die });
    await expect(newNumberer(mortal).numberBatch()).rejects.toThrow('killed');
    expect(await readAll(customer.merchant)).toEqual([]);
    await numberAll();
    expect((await readAll(customer.merchant)).map(({ position }) => position)).toEqual([1, 2, 3]);
  },
);

it('a numberer that dies after its commit has numbered, and nothing is numbered again', async () => {
  const customer = await makeCustomer(fixture.api);
  await database.query(toggle, [customer.merchant]);
  const mortal = new Database(database.source);
  aroundStatements(mortal, ['number_events'], { after: die });
  await expect(newNumberer(mortal).numberBatch()).rejects.toThrow('killed');
  const seen = await readAll(customer.merchant);
  expect(seen.map(({ position }) => position)).toEqual([1]);
  await database.query(toggle, [customer.merchant]);
  await numberAll();
  expect((await readAll(customer.merchant)).map(({ position }) => position)).toEqual([1, 2]);
});
