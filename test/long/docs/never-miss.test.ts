// docs/never-miss-an-order.md walked as a merchant would: every command of the page in order, and its promises about
// outages.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../packages/local/src/ports.js';
import { until } from '../../../packages/local/src/wait.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { HmacCustomer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { installSdk } from '../../support/api/installed-sdk.js';
import { openOrderFixture, refundOrder, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { keepShown } from '../../setup/canary.js';
import { openSender, type TestSender } from '../../support/webhooks/sender.js';

const LIMIT_MS = 30_000;
const PAGE = await readFile('docs/never-miss-an-order.md', 'utf8');
/** Every shell line of the page, without comments. */
const COMMANDS = [...PAGE.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block]) =>
  block!
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '')),
);

let fixture: OrderFixture;
let sender: TestSender;
let folder: string;
let port: number;
let customer: HmacCustomer;
let env: Record<string, string>;
const background: ChildProcess[] = [];

beforeAll(async () => {
  port = await freePort();
  folder = await mkdtemp(join(tmpdir(), 'energy-never-miss-'));
  await cp('examples', join(folder, 'examples'), { recursive: true });
  await installSdk(folder);
  const here = {
    WEBHOOK_PORTS: port.toString(),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  fixture = await openOrderFixture(here);
  sender = await openSender({ ...fixture.env, ...here });
});

beforeEach(async () => {
  const made = await makeCustomer(fixture.api);
  customer = new HmacCustomer(made.baseUrl, made.merchant, made.apiKey);
  const place = await mkdtemp(join(folder, 'place-'));
  env = {
    ...{ PATH: process.env['PATH']!, HOME: process.env['HOME'] ?? folder },
    ...{ BASE_URL: customer.baseUrl, MERCHANT: customer.merchant, API_KEY: customer.apiKey },
    ...{ INBOX: join(place, 'inbox'), STATE: join(place, 'state') },
  };
});

afterEach(async () => {
  for (const child of background.splice(0)) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});

afterAll(async () => {
  await sender.app.close();
  await fixture.close();
  await rm(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs one line as a merchant types it, in the folder of the Node examples. */
async function run(line: string): Promise<Ran> {
  const child = spawn('bash', ['-c', line], {
    cwd: join(folder, 'examples/node'),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (text) => (said.out += String(text)));
  child.stderr.on('data', (text) => (said.err += String(text)));
  const [code] = (await once(child, 'close')) as [number];
  keepShown('output of examples', said.out + said.err);
  return { code, ...said };
}

/** Starts the receiver that the page runs in the background. */
async function startReceiver(): Promise<void> {
  const child = spawn(process.execPath, ['receive.mjs'], {
    cwd: join(folder, 'examples/node'),
    env: { ...env, PORT: port.toString() },
    stdio: 'ignore',
  });
  background.push(child);
  const isThere = (): Promise<true | undefined> =>
    fetch(`http://127.0.0.1:${port.toString()}/`).then(
      () => true as const,
      () => undefined,
    );
  await until(isThere, LIMIT_MS, 'the receiver');
}

async function numberAll(): Promise<void> {
  const numberer = new Numberer(fixture.api.database, new Metrics(), openLog('silent'));
  while ((await numberer.numberBatch()) > 0);
}

async function buy(key: string, receiver: number): Promise<void> {
  const order = { receive_address: fixture.receiver(receiver), energy: 65_000, duration_sec: 3600 };
  expect((await customer.post('/v1/orders', order, withKey(key))).status).toBe(202);
}

/** Returns the events in the inbox. Its folder is created with the first event. */
async function inboxNames(): Promise<string[]> {
  const names = await readdir(env['INBOX']!).catch(() => []);
  return names.filter((name) => name.endsWith('.json'));
}

const statuses = async (): Promise<Record<string, string>> => {
  const orders = JSON.parse(await readFile(join(env['STATE']!, 'orders.json'), 'utf8')) as Record<
    string,
    { order: { status: string } }
  >;
  return Object.fromEntries(Object.entries(orders).map(([key, { order }]) => [key, order.status]));
};

/** A step of the page: its line, and the check of its result. */
type Step = readonly [line: string, walk: (line: string) => Promise<void>];

const follow: Step = [
  'node orders.mjs follow --once',
  async (line) => {
    await numberAll();
    expect(await run(line)).toMatchObject({ code: 0, err: '' });
  },
];

const WALK: readonly Step[] = [
  ['cd examples/node', () => Promise.resolve()],
  ['export BASE_URL=... MERCHANT=... API_KEY=...', () => Promise.resolve()],
  ['export INBOX=./inbox STATE=./state', () => Promise.resolve()],
  [
    'export URL=https://shop.example.com/energy',
    () => {
      env['URL'] = `http://127.0.0.1:${port.toString()}/energy`;
      return Promise.resolve();
    },
  ],
  [
    'node energy.mjs call POST /v1/webhooks "{\\"url\\":\\"$URL\\"}"',
    async (line) => {
      const { code, out } = await run(line);
      const { id, secret } = JSON.parse(out) as { id: string; secret: string };
      expect(code).toBe(0);
      env['WEBHOOK'] = id;
      env['WEBHOOK_SECRET'] = secret;
    },
  ],
  ['export WEBHOOK=... WEBHOOK_SECRET=...', () => Promise.resolve()],
  ['PORT=4000 node receive.mjs &', () => startReceiver()],
  [
    'node energy.mjs call POST "/v1/webhooks/$WEBHOOK/test"',
    async (line) => {
      expect((await run(line)).code).toBe(0);
      // Only the test event: other events have no position yet.
      await sender.run(async () => (await inboxNames()).length === 1);
    },
  ],
  [
    follow[0],
    async (line) => {
      await buy('invoice-2041', 1);
      await buy('invoice-2042', 2);
      await numberAll();
      await sender.run(async () => (await inboxNames()).length === 4);
      await refundOrder(fixture.api, customer.merchant, 'invoice-2042');
      await follow[1](line);
      expect(await inboxNames()).toHaveLength(5);
    },
  ],
  [
    'node orders.mjs work',
    async (line) => {
      expect(await run(line)).toMatchObject({ code: 0, err: '' });
      expect(await statuses()).toEqual({ 'invoice-2041': 'reserved', 'invoice-2042': 'refunded' });
    },
  ],
  [
    'node orders.mjs reconcile',
    async (line) => {
      expect(await run(line)).toEqual({ code: 0, out: '2 orders, 0 differed\n', err: '' });
    },
  ],
  [
    'node energy.mjs call GET "/v1/webhooks/$WEBHOOK/deliveries?status=failed"',
    async (line) => {
      expect(JSON.parse((await run(line)).out)).toMatchObject({ items: [] });
    },
  ],
  [
    `node energy.mjs call POST "/v1/webhooks/$WEBHOOK" '{"enabled":true}'`,
    async (line) => {
      expect(await run(line)).toMatchObject({ code: 0 });
    },
  ],
  [
    `node energy.mjs call POST "/v1/webhooks/$WEBHOOK/replay" '{"after":0}'`,
    async (line) => {
      const { code, out } = await run(line);
      expect([code, (JSON.parse(out) as { events: number }).events]).toEqual([0, 4]);
    },
  ],
  [
    'node energy.mjs call GET "/v1/events?types=order.created,order.delivered,order.settled&limit=100"',
    async (line) => {
      const { items } = JSON.parse((await run(line)).out) as { items: unknown[] };
      expect(items).toHaveLength(2);
    },
  ],
  [
    'node energy.mjs get "invoice-2041"',
    async (line) => {
      expect(JSON.parse((await run(line)).out)).toMatchObject({ key: 'invoice-2041', status: 'reserved' });
    },
  ],
];

it('every command of the page works, in its order, and there is no other', async () => {
  expect(COMMANDS).toEqual(WALK.map(([line]) => line));
  for (const [line, walk] of WALK) await walk(line);
});

it('an order that the records lost, or that was never written down, is found by reconciling, once', async () => {
  await buy('known', 3);
  await follow[1](follow[0]);
  await run('node orders.mjs work');
  await buy('never heard of', 4);
  await refundOrder(fixture.api, customer.merchant, 'known');
  const found = await run('node orders.mjs reconcile');
  expect(found.code).toBe(1);
  expect(found.out.split('\n').sort()).toEqual([
    '',
    '2 orders, 2 differed',
    'known was reserved, is refunded',
    'never heard of was unknown, is reserved',
  ]);
  expect(await run('node orders.mjs reconcile')).toMatchObject({ code: 0, out: '2 orders, 0 differed\n' });
});

it('events that arrive out of order, twice, or again from a restored copy leave each order as its last event says', async () => {
  await buy('turned', 5);
  await refundOrder(fixture.api, customer.merchant, 'turned');
  await follow[1](follow[0]);
  await run('node orders.mjs work');
  const done = join(env['INBOX']!, 'done');
  const names = await readdir(done);
  const created = await Promise.all(names.map((name) => readFile(join(done, name), 'utf8')));
  const early = names[created.findIndex((text) => text.includes('order.created'))]!;
  // As a webhook after many retries would deliver it.
  await cp(join(done, early), join(env['INBOX']!, early));
  await run('node orders.mjs work');
  expect(await statuses()).toEqual({ turned: 'refunded' });
  await rm(join(env['STATE']!, 'position'));
  await follow[1](follow[0]);
  expect(await run('node orders.mjs work')).toMatchObject({ code: 0, out: '' });
  expect(await statuses()).toEqual({ turned: 'refunded' });
});

it('events that are no longer stored are reported as a gap, and reading goes on after it', async () => {
  for (const n of [6, 7]) await buy(`pruned ${n.toString()}`, n);
  await numberAll();
  await run('node orders.mjs follow --once');
  await writeFile(join(env['STATE']!, 'position'), '0');
  await fixture.api.database.query(`UPDATE event_position SET pruned_to = 1 WHERE project_id = $1`, [
    customer.merchant,
  ]);
  const { code, err } = await run('node orders.mjs follow --once');
  expect([code, err]).toEqual([0, 'What came between 0 and 2 is not kept any more: reconcile.\n']);
  expect(await readFile(join(env['STATE']!, 'position'), 'utf8')).toBe('2');
});
