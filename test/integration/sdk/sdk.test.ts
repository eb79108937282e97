// The SDK against a whole service with its worker: every call, lists and streams.
import { readFileSync } from 'node:fs';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import { until } from '../../../packages/local/src/wait.js';
import { EnergyClient, type ClientSettings, type EnergyEvent } from '../../../packages/sdk/src/index.js';
import type { Customer } from '../../support/api/client.js';
import { sellBandwidth } from '../../support/api/bandwidth-sale.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { actAs, newOwner } from '../../support/chain/order-chain.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';
import { openProxy } from '../../support/database/proxy.js';
import { envAs } from '../../setup/roles.js';

const LIMIT_MS = 60_000;

let fixture: OrderFixture;
let worker: NodeProcess<unknown>;
let customer: Customer;
let client: EnergyClient;
/** Every reached route, as openapi.json names it. */
const reached = new Set<string>();
const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as { paths: Record<string, object> };
const routes = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    form: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  })),
);

const noting: typeof fetch = async (input, init) => {
  const { pathname } = new URL(input);
  const known = routes.filter(({ method, form }) => method === init?.method && form.test(pathname));
  // Prefers the pattern with the fewest parameters.
  known.sort((a, b) => a.name.split('{').length - b.name.split('{').length);
  reached.add(known[0]?.name ?? `${init?.method ?? ''} ${pathname}`);
  return fetch(input, init);
};

const clientOf = ({ baseUrl, merchant, apiKey }: Customer, more: Partial<ClientSettings> = {}): EnergyClient =>
  new EnergyClient({ baseUrl, merchant, apiKey, fetch: noting, ...more });

beforeAll(async () => {
  fixture = await openOrderFixture({ MARKET_REFRESH_SEC: '1' });
  await sellBandwidth(fixture);
  customer = await makeCustomer(fixture.api, 100_000_000_000n);
  client = clientOf(customer);
  worker = await startNode('dist/bundle/main.worker.js', { name: 'the worker', env: envAs(fixture.env, 'worker') });
});

afterAll(async () => {
  await worker.stop();
  await fixture.close();
});

it('a quote, a simulation, an order until it is settled, an extension, an activation', async () => {
  const receive_address = fixture.receiver(1);
  const simulation = await client.quotes.simulate({
    owner_address: receive_address,
    contract_address: fixture.chain.token,
    function_selector: 'balanceOf(address)',
    parameter: '0'.repeat(64),
  });
  expect(simulation.energy_needed).toBeGreaterThan(0);
  const quote = await client.quotes.create({ receive_address, energy: 65_000 });
  const before = await client.account.balance();
  const idempotencyKey = `it's 100% (a/b)?#&+ "c"`;
  const order = await client.orders.createAndWait({ quote_ref: quote.ref }, { idempotencyKey, until: 'settled' });
  expect(order).toMatchObject({ key: idempotencyKey, status: 'delivered', settled: true, credits: quote.credits });
  const after = await client.account.balance();
  expect(before.credits_balance - after.credits_balance).toBe(quote.credits);
  expect(await client.orders.create({ quote_ref: quote.ref }, { idempotencyKey })).toMatchObject({ id: order.id });
  expect(await client.orders.wait(idempotencyKey)).toMatchObject({ id: order.id });

  const extended = await client.orders.extend(idempotencyKey, { duration_sec: 600 }, { idempotencyKey: 'longer' });
  expect(extended.extensions).toMatchObject([{ key: 'longer', duration_sec: 600 }]);
  const { address } = newOwner();
  const activation = await client.orders.activate({ address }, { waitSec: 20 });
  expect(activation).toMatchObject({ kind: 'activation', receive_address: address, status: 'delivered' });
});

it('a refusal is an ApiError with its code', async () => {
  const calls: Record<string, Promise<unknown>> = {
    INVALID_REQUEST: client.quotes.create({ receive_address: 'Tx' }),
    QUOTE_NOT_FOUND: client.orders.create({ quote_ref: 'none' }),
    RECEIVER_NOT_ACTIVATED: client.orders.create({ receive_address: newOwner().address }),
    NOT_FOUND: client.orders.get('none'),
    INVALID_SIGNATURE: clientOf(customer, { apiKey: 'another' }).account.balance(),
    HMAC_REQUIRED: clientOf(customer, { signature: 'md5' }).webhooks.list(),
    TOPUP_NOT_CONFIGURED: client.account.depositAddress(),
  };
  for (const [code, call] of Object.entries(calls)) {
    const thrown = (await call.catch((error: unknown) => error)) as { requestId: string };
    expect(thrown).toMatchObject({ name: 'ApiError', code });
    expect(thrown.requestId).toMatch(/^[0-9a-f-]{36}$/);
  }
  const isListed = async (): Promise<true | undefined> => {
    for await (const { error } of client.account.refusedRequests({ limit: 2 })) {
      if (error === 'INVALID_REQUEST') return true;
    }
    return undefined;
  };
  expect(await until(isListed, LIMIT_MS, 'the request log')).toBe(true);
});

it('reads lists to their end, whatever the size of a page', async () => {
  const keys = ['list 1', 'list 2', 'list 3', 'list 4', 'list 5'];
  for (const [index, idempotencyKey] of keys.entries()) {
    await client.orders.create({ receive_address: fixture.receiver(index), energy: 65_000 }, { idempotencyKey });
  }
  const listed: string[] = [];
  for await (const { key } of client.orders.list({ limit: 2 })) listed.push(key);
  expect(listed.slice(0, 5)).toEqual(keys.toReversed());
  expect(listed).toHaveLength(7);
  const { items, next_cursor } = await client.orders.list({ limit: 3 }).page();
  expect((await client.orders.list({ limit: 3 }).page(next_cursor)).items[0]!.id).toBeLessThan(items[2]!.id);
  let sum = 0;
  for await (const { credits } of client.account.ledger({ limit: 3 })) sum += credits;
  expect(sum).toBe((await client.account.balance()).credits_balance);
  for await (const each of client.account.statements()) throw new Error(`a statement ${each.month}`);
  for (const call of [client.account.statement(1), client.account.statementLines(1)]) {
    await expect(call).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
  await expect(client.account.deposits().page()).resolves.toMatchObject({ items: [] });
});

it('one order of energy, bandwidth and an activation, and an extension of both delegations', async () => {
  const { address: receive_address } = newOwner();
  const parts = { receive_address, energy: 65_000, bandwidth: 10_000, activate: true, duration_sec: 1800 };
  const quote = await client.quotes.create(parts);
  expect(quote.items?.map(({ kind, amount }) => [kind, amount])).toEqual([
    ['energy', 65_000],
    ['bandwidth', 10_000],
    ['activation', 1],
  ]);
  const options = { idempotencyKey: 'whole', until: 'settled' } as const;
  const order = await client.orders.createAndWait({ quote_ref: quote.ref }, options);
  const { bandwidth, items, credits } = quote;
  expect(order).toMatchObject({ status: 'delivered', settled: true, bandwidth, items, credits });
  expect(order.delivered_energy).toBeGreaterThanOrEqual(65_000);
  expect(order.delivered_bandwidth).toBeGreaterThanOrEqual(10_000);
  expect(order.txid).toMatch(/^[0-9a-f]{64}$/);
  expect(order.delegations?.map(({ resource }) => resource)).toEqual([undefined, 'BANDWIDTH']);
  const { extensions } = await client.orders.extend('whole', { duration_sec: 600 });
  expect(extensions).toMatchObject([{ credits: 3 * (65_000 * 38 + 10_000 * 700) }]);
  await expect(client.orders.create(parts)).rejects.toMatchObject({ code: 'ALREADY_ACTIVATED' });
});

it('explains a transaction, or says that it is unknown or no id', async () => {
  await expect(client.explain('ab'.repeat(32))).rejects.toMatchObject({ code: 'NOT_FOUND', status: 404 });
  await expect(client.explain('0x/../12')).rejects.toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
  const { chain } = fixture;
  const txid = await actAs(chain.fullUrl, chain.pool, 'createtransaction', {
    to_address: fixture.receiver(8),
    amount: 5,
  });
  await client.orders.create({ receive_address: fixture.receiver(8), energy: 65_000 });
  const { causes, owner_address, receive_address } = await client.explain(txid);
  expect([owner_address, receive_address]).toEqual([chain.pool.address, fixture.receiver(8)]);
  expect(causes.map(({ next }) => next)).not.toContain('');
});

it('returns the sale’s limits, and finds an order by its labels', async () => {
  const limits = await client.limits();
  expect(limits.duration_sec.min).toBeLessThanOrEqual(limits.duration_sec.default);
  expect(limits.durations.length).toBeGreaterThan(0);
  expect(limits.durations.map(({ max_energy }) => max_energy > 0)).not.toContain(false);
  expect(limits.rate_limits.quotes.window_sec).toBeGreaterThan(0);

  const labels = { reference: 'invoice 7', metadata: { customer: 'c-1', ünïcode: '"é" & 1' } };
  const labelled = await client.orders.create({ receive_address: fixture.receiver(1), energy: 65_000, ...labels });
  expect(labelled).toMatchObject(labels);
  expect((await client.orders.list({ reference: labels.reference }).page()).items).toMatchObject([
    { id: labelled.id, ...labels },
  ]);
  expect((await client.orders.list({ reference: 'invoice 8' }).page()).items).toEqual([]);
});

it('creates, changes, rotates, tests, replays and deletes a webhook', async () => {
  const { id, secret } = await client.webhooks.create({
    url: 'https://shop.example.com/energy',
    types: ['order.ended'],
  });
  expect(secret).toMatch(/^whsec_/);
  expect(await client.webhooks.get(id)).toMatchObject({ id, enabled: true });
  expect((await client.webhooks.list()).map((each) => each.id)).toEqual([id]);
  expect(await client.webhooks.update(id, { enabled: false })).toMatchObject({ enabled: false });
  await client.webhooks.update(id, { enabled: true });
  expect((await client.webhooks.rotate(id, { expire_old_after_sec: 60 })).secret).not.toBe(secret);
  const tested = await client.webhooks.test(id);
  expect(tested).toMatchObject({ type: 'webhook.test', cause: 'test' });
  const deliveries = await client.webhooks.deliveries(id, { status: 'pending' }).page();
  expect(deliveries.items.map((each) => each.id)).toContain(tested.id);
  expect(await client.webhooks.resend(id, tested.id)).toMatchObject({ event_id: tested.event_id });
  expect((await client.webhooks.replay(id, { after: 0 })).events).toBe(0);
  expect(await client.webhooks.delete(id)).toEqual({ id, deleted: true });
});

it('sets, reads, lists, wakes and removes an auto-delegation', async () => {
  const address = fixture.receiver(7);
  const set = await client.autoDelegations.set(address, { keep_energy: 65_000, daily_cap_credits: 0 });
  expect(set).toMatchObject({ address, status: 'active', keep_energy: 65_000, purchases: 0 });
  expect(set.idle_cost_credits_per_day).toBeGreaterThan(0);
  expect(await client.autoDelegations.get(address)).toMatchObject({ id: set.id, address });
  expect((await client.autoDelegations.list({ limit: 1 }).page()).items).toMatchObject([{ id: set.id }]);
  expect(await client.autoDelegations.wake(address)).toMatchObject({ id: set.id });
  await expect(client.autoDelegations.delete(address)).resolves.toBeUndefined();
  await expect(client.autoDelegations.delete(address)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('a stream survives cuts of its connection with every event, each once and in order', async () => {
  const shopper = await makeCustomer(fixture.api, 100_000_000_000n);
  const direct = clientOf(shopper);
  const proxy = await openProxy(fixture.api.baseUrl);
  const through = clientOf(shopper, { baseUrl: proxy.url.replace(/\/$/, '') });
  const controller = new AbortController();
  const events: EnergyEvent[] = [];
  let cuts = 0;
  const stream = through.events.stream({}, { signal: controller.signal, onCut: () => (cuts += 1) });
  const following = (async () => {
    for await (const event of stream) events.push(event);
  })();
  /** Waits until the stream has delivered `count` created orders. */
  const came = (count: number): Promise<true> =>
    until(
      () => (events.filter(({ type }) => type === 'order.created').length === count ? true : undefined),
      LIMIT_MS,
      `${count.toString()} orders in the stream`,
    );
  const ROUNDS = 4;
  try {
    for (let round = 1; round <= ROUNDS; round += 1) {
      await direct.orders.create({ receive_address: fixture.receiver(round), energy: 65_000 });
      await came(2 * round - 1);
      const before = cuts;
      proxy.cut();
      // Causes an event while the stream is cut off.
      await direct.orders.activate({ address: newOwner().address });
      await until(() => (cuts > before ? true : undefined), LIMIT_MS, 'a cut');
      proxy.mend();
      await came(2 * round);
    }
  } finally {
    controller.abort();
    await following;
    await proxy.close();
  }
  expect(cuts).toBeGreaterThanOrEqual(ROUNDS);
  const page = await direct.events.list({ limit: 100 });
  expect(events).toEqual(page.items.slice(0, events.length));
  expect(events.length).toBeGreaterThanOrEqual(2 * ROUNDS);
  expect((await direct.events.poll({ after: page.last_position, types: ['log.restarted'], waitSec: 0 })).items).toEqual(
    [],
  );
});

it('the older signature reaches what it reached before', async () => {
  await fixture.api.projects.change(customer.merchant, { signatureSchemes: 'md5' }, AUTHOR);
  const old = clientOf(customer, { signature: 'md5' });
  const { ref } = await old.quotes.create({ receive_address: fixture.receiver(2), energy: 65_000, duration_sec: 600 });
  const order = await old.orders.create({ quote_ref: ref }, { idempotencyKey: 'by MD5' });
  expect(await old.orders.get('by MD5')).toMatchObject({ id: order.id });
});

it('every route of the interface has a call, except those of the client family', () => {
  const wanted = routes.map(({ name }) => name).filter((name) => !/ \/v1\/(?:energy|credits)\//.test(name));
  expect([...reached].sort()).toEqual(wanted.sort());
});
