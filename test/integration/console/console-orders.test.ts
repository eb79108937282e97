// Order lists of the consoles: each filter, combined filters, and paging to the end, in one project and across all.
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { cliWith, seedTestCanaries, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 120_000;
/** Orders per project, one per day, dated noon: every third for another receiver, every fifth refunded. */
const ORDERS = 60;
const RECEIVERS = ['TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'] as const;

let test: TestDatabase;
let consoles: { merchant: TestConsole; operator: TestConsole };
let projects: { mine: string; theirs: string };
let owner: Account;
let admin: Account;

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  consoles = { merchant: await openConsole(test.url, 'merchant'), operator: await openConsole(test.url, 'operator') };
  const cli = cliWith(settings(test.url));
  const made = async (name: string): Promise<string> =>
    ((await cli('project', 'create', '--name', name, '--json')).json() as { merchant: string }).merchant;
  projects = { mine: await made('Mine'), theirs: await made('Theirs') };
  owner = await consoles.merchant.signedIn('owner', projects.mine);
  admin = await consoles.operator.signedIn('admin');
  await asAdmin(test.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    // Ids and times differ in order: every seventh order is dated 20 s before its predecessor, and every eleventh by a
    // clock that was fifteen days ahead.
    await client.query(
      `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits,
         trx_usd_e8, created_at, reference, needs_attention, settled)
       OVERRIDING SYSTEM VALUE
       SELECT 1000 + g * 2 + p.place, p.id::uuid, 'order-' || g, sha256(''), 'rental',
         CASE WHEN g = 2 THEN 'unresolved' WHEN g % 5 = 0 THEN 'refunded' ELSE 'delivered' END, ($3::text[])[1 + (g % 3 = 0)::int],
         65000, 3600, 1, 1, 1, '2026-06-01T12:00:00Z'::timestamptz + g * interval '1 day' - CASE WHEN g % 7 = 0 THEN interval '1 day 20 s' ELSE '0' END
           + CASE WHEN g % 11 = 0 THEN interval '15 days' ELSE '0' END,
         CASE WHEN g % 4 = 0 THEN 'invoice-' || g / 8 END, g = 2, g <> 2
       FROM generate_series(1, $4::int) g CROSS JOIN (VALUES ($1, 0), ($2, 1)) p (id, place)`,
      [projects.mine, projects.theirs, RECEIVERS, ORDERS],
    );
  });
}, LIMIT_MS);

afterAll(async () => {
  await consoles.merchant.close();
  await consoles.operator.close();
  await test.drop();
});

interface Line {
  readonly id: number;
  readonly key: string;
  readonly status: string;
  readonly created_at: string;
  readonly receive_address: string;
}

/** Reads every page of a list. */
async function all(account: Account, path: string, query: string, limit = 7): Promise<Line[]> {
  const items: Line[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 50; page += 1) {
    const more = cursor === undefined ? '' : `&cursor=${cursor}`;
    const { status, body } = await account.browser.get(`${path}?limit=${limit.toString()}&${query}${more}`);
    expect([query, status]).toEqual([query, 200]);
    items.push(...(body.items as Line[]));
    cursor = body.next_cursor as string | undefined;
    if (cursor === undefined) return items;
  }
  throw new Error(`${path}?${query} does not end`);
}

const mine = (query: string) => all(owner, `/api/projects/${projects.mine}/orders`, query);
const everyones = (query: string) => all(admin, '/api/operator/orders', query);
const numbers = (of: (g: number) => boolean): string[] =>
  Array.from({ length: ORDERS }, (_, index) => index + 1)
    .filter(of)
    .map((g) => `order-${g.toString()}`)
    .sort();
const keys = (lines: readonly Line[]): string[] => lines.map(({ key }) => key).sort();
const twice = (names: readonly string[]): string[] => [...names, ...names].sort();

const day = (g: number): string => new Date(Date.UTC(2026, 5, 1 + g)).toISOString().slice(0, 10);
/** Returns the day on which an order was placed. */
const dayOf = (g: number): number => (g % 7 === 0 ? g - 1 : g) + (g % 11 === 0 ? 15 : 0);

/** The orders of a project that each query must find. */
const FILTERS: readonly (readonly [string, (g: number) => boolean])[] = [
  ['', () => true],
  ['status=refunded', (g) => g % 5 === 0],
  ['status=unresolved', (g) => g === 2],
  ['status=reserved', () => false],
  ['state=running', (g) => g !== 2 && g % 5 !== 0],
  ['state=ended', (g) => g % 5 === 0],
  ['state=attention', (g) => g === 2],
  [`state=running&receiver=${RECEIVERS[1]}&from=${day(10)}`, (g) => g % 3 === 0 && g % 5 !== 0 && dayOf(g) >= 10],
  ['kind=rental', () => true],
  ['kind=activation', () => false],
  [`receiver=${RECEIVERS[1]}`, (g) => g % 3 === 0],
  [`receiver=${RECEIVERS[1]}&status=refunded`, (g) => g % 15 === 0],
  ['receiver=nobody', () => false],
  ['reference=invoice-3', (g) => g === 24 || g === 28],
  [`reference=invoice-3&receiver=${RECEIVERS[1]}`, (g) => g === 24],
  [`from=${day(10)}&to=${day(15)}`, (g) => dayOf(g) >= 10 && dayOf(g) < 15],
  [`from=${day(22)}&to=${day(30)}`, (g) => dayOf(g) >= 22 && dayOf(g) < 30],
  [`kind=rental&from=${day(47)}`, (g) => dayOf(g) >= 47],
  [`state=attention&to=${day(40)}`, (g) => g === 2],
  [`status=unresolved&to=${day(40)}`, (g) => g === 2],
  [`status=unresolved&from=${day(40)}`, () => false],
  [`status=refunded&from=${day(10)}`, (g) => g % 5 === 0 && dayOf(g) >= 10],
  [`receiver=${RECEIVERS[0]}&to=${day(9)}&kind=rental`, (g) => g % 3 !== 0 && dayOf(g) < 9],
  [`from=${day(200)}`, () => false],
  [`to=${day(-5)}`, () => false],
];

describe.each(FILTERS)('orders of “%s”', (query, isWanted) => {
  it('are those of the project, each once, latest first', async () => {
    const lines = await mine(query);
    expect(keys(lines)).toEqual(numbers(isWanted));
    const times = lines.map(({ created_at: at }) => at);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('are those of all projects, each once', async () => {
    const lines = await everyones(query);
    expect(keys(lines)).toEqual(twice(numbers(isWanted)));
    expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length);
    const within = await everyones(`${query}&project=${projects.theirs}`);
    expect(keys(within)).toEqual(numbers(isWanted));
  });
});

it('finds the few that need attention or are unresolved by id, in all projects', async () => {
  expect(keys(await everyones('attention=true'))).toEqual(['order-2', 'order-2']);
  expect(keys(await everyones(`attention=true&project=${projects.theirs}`))).toEqual(['order-2']);
  for (const query of [`from=${day(2)}`, `to=${day(3)}`])
    expect([query, keys(await everyones(`attention=true&${query}`))]).toEqual([query, ['order-2', 'order-2']]);
  expect(await everyones(`attention=true&to=${day(2)}`)).toEqual([]);
  expect(await everyones('due=true')).toEqual([]);
});

it('finds waiting orders in all projects and in one, within every other filter, page by page', async () => {
  const due = (at: string | null) =>
    asAdmin(test.url, async (client) => {
      await client.query('SET session_replication_role = replica');
      const which = numbers((g) => g % 4 === 0);
      await client.query('UPDATE orders SET next_run_at = now() + $1::interval WHERE key = ANY ($2)', [at, which]);
    });
  await due('-1 second');
  try {
    expect(keys(await everyones('due=true'))).toEqual(twice(numbers((g) => g % 4 === 0)));
    expect(keys(await everyones(`due=true&project=${projects.theirs}`))).toEqual(numbers((g) => g % 4 === 0));
    for (const [query, isWanted] of FILTERS) {
      const lines = await everyones(`due=true&${query}`);
      expect([query, keys(lines)]).toEqual([query, twice(numbers((g) => g % 4 === 0 && isWanted(g)))]);
    }
    await due('1 hour');
    expect(await everyones('due=true')).toEqual([]);
  } finally {
    await due(null);
  }
});

it('rejects a cursor of another project’s list, or of no order, without details', async () => {
  const { next_cursor: theirs } = (await admin.browser.get(`/api/operator/orders?limit=3&project=${projects.theirs}`))
    .body as { next_cursor: string };
  const none = Buffer.from('c999999', 'latin1').toString('base64url');
  const path = `/api/projects/${projects.mine}/orders`;
  const [other, nothing] = [
    await owner.browser.get(`${path}?cursor=${theirs}`),
    await owner.browser.get(`${path}?cursor=${none}`),
  ];
  expect([other.status, other.body.error]).toEqual([400, 'INVALID_REQUEST']);
  expect(other.body).toEqual(nothing.body);
});

it('counts new orders from the newest one that a list had, within its filter', async () => {
  const path = `/api/projects/${projects.mine}/orders`;
  // The latest order of the list has not the highest number.
  const { newest } = (await owner.browser.get(`${path}?limit=20&status=refunded`)).body as { newest: string };
  const count = async (query: string): Promise<number> =>
    (await owner.browser.get(`${path}/new?since=${newest}${query}`)).body.count as number;
  expect(await count('&status=refunded')).toBe(0);
  await asAdmin(test.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    for (const [id, status] of [
      [9001, 'refunded'],
      [9002, 'delivered'],
    ] as const) {
      await client.query(
        `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at, settled)
         OVERRIDING SYSTEM VALUE VALUES ($1::bigint, $2, 'new-' || $1::bigint, sha256(''), 'activation', $3, 'T', 1, 1, 1, now(), true)`,
        [id, projects.mine, status],
      );
    }
  });
  expect([await count('&status=refunded'), await count('')]).toEqual([1, 2]);
});

it('the CSV has labels, prices, transactions and the receiver’s energy, and the day in its name', async () => {
  const txid = 'ab'.repeat(32);
  await asAdmin(test.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    const { rows } = await client.query<{ id: string }>(
      `UPDATE orders SET metadata = '{"shop":"7"}', price_sun = 3575000, trx_usd_e8 = 31234567, energy_fee_sun = 100, expected_uses = 2
        WHERE project_id = $1 AND key = 'order-28' RETURNING id`,
      [projects.mine],
    );
    const order = rows[0]!.id;
    await client.query(`INSERT INTO receiver_energy VALUES ($1, 5, 1, 65005, 2)`, [order]);
    await client.query(`INSERT INTO rental_use VALUES ($1, 64285, 1, 2)`, [order]);
    await client.query(
      `WITH delegated AS (INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status)
         VALUES ($1, 1, 'rental', 1, 'T', 1, 65000, 'active') RETURNING id)
       INSERT INTO chain_tx (leg_id, order_id, purpose, status, txid, attempt, wallet_id, raw_data, ref_block_number, expires_at)
       SELECT id, $1, 'delegate', 'solid', decode($2, 'hex'), 1, 1, '', 1, now() FROM delegated`,
      [order, txid],
    );
  });
  const { status, text, headers } = await owner.browser.get(
    `/api/projects/${projects.mine}/orders.csv?reference=invoice-3&from=${day(26)}`,
  );
  expect([status, headers['content-disposition']]).toEqual([
    200,
    expect.stringMatching(/^attachment; filename="orders-\d{4}-\d{2}-\d{2}\.csv"$/),
  ]);
  const [head = '', line = '', ...more] = text.trim().split('\r\n');
  expect(more).toEqual([]);
  expect(head).toMatch(
    /,error_code,reference,metadata,price_trx,trx_usd,burn_price_trx,txids,used_energy,usable_energy_before,usable_energy_after,bandwidth,bandwidth_price_trx,activation_price_trx,kept_credits$/,
  );
  expect(line).toContain(`,invoice-3,"{""shop"":""7""}",3.575000,0.31234567,13.000000,${txid},64285,5,65005,,,,`);
});

it('finds an order by its reference, in its project and in all of them', async () => {
  const found = async (account: Account, path: string): Promise<string[]> =>
    ((await account.browser.get(`${path}?q=invoice-3`)).body.items as { by: string; name: string }[])
      .map(({ by, name }) => `${by} ${name}`)
      .sort();
  const both = ['reference order-24', 'reference order-28'];
  expect(await found(owner, `/api/projects/${projects.mine}/search`)).toEqual(both);
  expect(await found(admin, '/api/operator/search')).toEqual(twice(both));
});

it('the page of an order shows its webhooks without the query of their URLs, to everyone', async () => {
  await asAdmin(test.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(
      `WITH webhook AS (
         INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed)
         VALUES (gen_random_uuid(), $1, 'https://hooks.example.com/energy?token=secret', 'x') RETURNING id),
       happened AS (
         INSERT INTO event (order_id, project_id, type, snapshot)
         SELECT id, project_id, 'order.delivered', '{}' FROM orders WHERE project_id = $1 AND key = 'order-1' RETURNING id)
       INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type)
       SELECT webhook.id, 'event', happened.id, 'evt', 'order.delivered' FROM webhook, happened`,
      [projects.mine],
    );
  });
  const support = await consoles.operator.signedIn('support');
  for (const { browser } of [support, admin, owner]) {
    const { status, body, text } = await browser.get(`/api/projects/${projects.mine}/orders/order-1`);
    expect([status, body.deliveries]).toMatchObject([200, [{ url: 'https://hooks.example.com/…' }]]);
    expect(text).not.toContain('token');
  }
});
