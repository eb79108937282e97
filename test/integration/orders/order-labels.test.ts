// Labels of an order: bounds, permanence of the first ones, and where they appear.
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { canonical, Customer, HmacCustomer, type Answer } from '../../support/api/client.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { expectRefusal, openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { openReceivers, type Receivers } from '../../support/webhooks/receivers.js';
import { openSender } from '../../support/webhooks/sender.js';

let fixture: OrderFixture;
let api: TestApi;
let receivers: Receivers;
let extra: Record<string, string>;

beforeAll(async () => {
  receivers = await openReceivers();
  extra = {
    WEBHOOK_PORTS: receivers.port.toString(),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  fixture = await openOrderFixture(extra);
  ({ api } = fixture);
});

afterAll(async () => {
  await fixture.close();
  await receivers.close();
});

async function newCustomer(): Promise<HmacCustomer> {
  const { baseUrl, merchant, apiKey } = await makeCustomer(api);
  return new HmacCustomer(baseUrl, merchant, apiKey);
}

const direct = (labels: object = {}) => ({ receive_address: fixture.receiver(), energy: 65_000, ...labels });

async function numberAll(): Promise<void> {
  const numberer = new Numberer(api.database, new Metrics(), openLog('silent'));
  while ((await numberer.numberBatch()) > 0);
}

const entries = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at.toString()}`, 'x']));

/** Returns the order's labels. */
const labelsIn = ({ body: { reference, metadata } }: Answer): unknown => ({ reference, metadata });

/** Returns the errors of a label, or the accepted labels. */
async function faultOf(customer: Customer, labels: object): Promise<unknown> {
  const { status, body } = await customer.post('/v1/orders', direct(labels));
  if (status === 202) return labelsIn({ body } as Answer);
  expect([status, body.error]).toEqual([400, 'INVALID_REQUEST']);
  return body.details.map(({ field, msg }: { field: string; msg: string }) => `${field} ${msg}`);
}

test('an order shows its labels in every answer, an activation too', async () => {
  const customer = await newCustomer();
  const labels = {
    reference: 'Rechnung 2026/1107 – Łódź',
    metadata: { customer: '4711', 'Größe €': '65 000 ✅', note: '' },
  };
  const made = await customer.post('/v1/orders', direct(labels), withKey('a'));
  expect([made.status, labelsIn(made)]).toEqual([202, labels]);
  expect(labelsIn(await customer.get('/v1/orders/a'))).toEqual(labels);
  expect((await customer.get('/v1/orders')).body.items).toMatchObject([labels]);
  const quote_ref = await fixture.quoteRef(customer);
  expect(labelsIn(await customer.post('/v1/orders', { quote_ref, ...labels }, withKey('q')))).toEqual(labels);
  const activation = await customer.post('/v1/activate', { address: newOwner().address, ...labels }, withKey('v'));
  expect([activation.status, labelsIn(activation)]).toEqual([202, labels]);
  expect(labelsIn(await customer.get('/v1/orders/v'))).toEqual(labels);
});

test('an order without labels has none of the members, even if they are null or empty', async () => {
  const customer = await newCustomer();
  for (const labels of [{}, { reference: null, metadata: null }, { metadata: {} }]) {
    const { status, body } = await customer.post('/v1/orders', direct(labels));
    expect([status, 'reference' in body, 'metadata' in body]).toEqual([202, false, false]);
  }
});

test('metadata has at most 20 entries, with names of 40 and texts of 200 UTF-16 units, and a reference has 64', async () => {
  const customer = await newCustomer();
  const metadata = (value: object) => faultOf(customer, { metadata: value });
  expect(await metadata(entries(20))).toMatchObject({ metadata: entries(20) });
  expect(await metadata(entries(21))).toEqual(['metadata must have at most 20 entries']);
  const longest = { ['n'.repeat(40)]: 'v'.repeat(200), ['😀'.repeat(20)]: '😀'.repeat(100) };
  expect(await metadata(longest)).toMatchObject({ metadata: longest });
  expect(await metadata({ a: 'v', ['n'.repeat(41)]: 'v' })).toEqual([
    'metadata entry 2: its name must have at most 40 characters',
  ]);
  expect(await metadata({ '': 'v' })).toEqual(['metadata entry 1: its name must not be empty']);
  for (const text of ['v'.repeat(201), `${'😀'.repeat(100)}v`]) {
    expect(await metadata({ a: text })).toEqual(['metadata entry 1 must have at most 200 characters']);
  }
  for (const reference of ['r'.repeat(64), '😀'.repeat(32)])
    expect(await faultOf(customer, { reference })).toEqual({ reference });
  for (const reference of ['r'.repeat(65), `${'😀'.repeat(32)}r`]) {
    expect(await faultOf(customer, { reference })).toEqual(['reference must have at most 64 characters']);
  }
  expect(await faultOf(customer, { reference: '' })).toEqual(['reference must not be empty']);
});

test('the largest allowed metadata fits into a body', async () => {
  const customer = await newCustomer();
  const metadata = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [`${'ÿ'.repeat(38)}${(at + 10).toString()}`, '漢'.repeat(200)]),
  );
  const body = { ...direct(), duration_sec: 3600, reference: '漢'.repeat(64), metadata };
  expect(labelsIn(await customer.post('/v1/orders', body, withKey('full')))).toMatchObject({ metadata });
  expect(labelsIn(await customer.get('/v1/orders/full'))).toMatchObject({ metadata });
});

test('accepts texts of any script, and refuses invisible characters', async () => {
  const customer = await newCustomer();
  const words = 'must consist of printable characters, with spaces only between others';
  for (const reference of [
    'a\tb',
    'a\u0000',
    ' a',
    'a ',
    'a\u00a0b',
    'a\u200bb',
    'a\u202eb',
    '\u007f',
    'a\nb',
    '\ue000',
  ]) {
    expect(await faultOf(customer, { reference })).toEqual([`reference ${words}`]);
    expect(await faultOf(customer, { metadata: { [reference]: 'x' } })).toEqual([
      `metadata entry 1: its name ${words}`,
    ]);
  }
  for (const reference of ['a  b', 'é', 'e\u0301', 'مرجع ۱', '注文-1', '👍', '<&"\'>']) {
    expect(await faultOf(customer, { reference, metadata: { [reference]: reference } })).toEqual({
      reference,
      metadata: { [reference]: reference },
    });
  }
  for (const value of ['\u0000', 'a\nb', 'a\tb', '\u007f', '\u0085', '\u2028', '\u2029', '\u202e', '\u2066']) {
    expect(await faultOf(customer, { metadata: { a: value } })).toEqual([
      'metadata entry 1 must not contain control characters',
    ]);
  }
  for (const value of ['', ' ', '\u00a0', '👩‍🚀', '\u200b']) {
    expect(await faultOf(customer, { metadata: { a: value } })).toMatchObject({ metadata: { a: value } });
  }
});

test('metadata is an object of strings and nothing else', async () => {
  const customer = await newCustomer();
  for (const metadata of [[], [['a', 'b']], 'x', 7, true]) {
    expect(await faultOf(customer, { metadata })).toEqual(['metadata must be an object of strings']);
  }
  for (const value of [null, 7, 0.5, true, {}, { a: 'b' }, ['b']]) {
    expect(await faultOf(customer, { metadata: { a: 'x', b: value } })).toEqual(['metadata entry 2 must be a string']);
  }
  for (const reference of [7, {}, [], true]) {
    expect(await faultOf(customer, { reference })).toEqual(['reference must be a string']);
  }
});

test('accepts names that every object inherits, except those that the reader of bodies refuses', async () => {
  const customer = await newCustomer();
  const names = [
    'toString',
    'hasOwnProperty',
    'valueOf',
    'toJSON',
    'then',
    'length',
    'name',
    '10',
    '9',
    'entries',
    '__defineGetter__',
  ];
  const metadata = Object.fromEntries(names.map((name) => [name, `of ${name}`]));
  const made = await customer.post('/v1/orders', direct({ metadata }), withKey('inherited'));
  expect(labelsIn(made)).toEqual({ metadata });
  expect(labelsIn(await customer.get('/v1/orders/inherited'))).toEqual({ metadata });
  for (const name of ['__proto__', 'constructor', 'prototype', '\\u005f_proto__']) {
    const body = `{"energy":65000,"metadata":{"${name}":"x"},"receive_address":"${fixture.receiver()}"}`;
    expectRefusal(await customer.post('/v1/orders', body), 400, 'INVALID_REQUEST');
  }
  const twice = `{"metadata":{"a":"x","\\u0061":"y"},"receive_address":"${fixture.receiver()}"}`;
  expectRefusal(await customer.post('/v1/orders', twice), 400, 'INVALID_REQUEST');
});

test('under MD5 metadata is refused and buys nothing, and a reference is accepted', async () => {
  const { baseUrl, merchant, apiKey } = await newCustomer();
  const customer = new Customer(baseUrl, merchant, apiKey);
  for (const [path, body] of [
    ['/v1/orders', direct({ metadata: { a: 'b' } })],
    ['/v1/orders', direct({ metadata: {} })],
    ['/v1/activate', { address: newOwner().address, metadata: { a: 'b' } }],
  ] as const) {
    const answer = await customer.post(path, body, withKey('md5'));
    expectRefusal(answer, 403, 'HMAC_REQUIRED');
    expect([answer.body.msg, answer.headers['idempotency-key']]).toEqual([expect.stringContaining('metadata'), 'md5']);
  }
  // An invalid label is reported before the MD5 refusal.
  expectRefusal(await customer.post('/v1/orders', direct({ metadata: { a: 1 } })), 400, 'INVALID_REQUEST');
  expect((await customer.get('/v1/orders/md5')).status).toBe(404);
  const taken = await customer.post('/v1/orders', direct({ reference: 'by MD5', metadata: null }), withKey('md5'));
  expect([taken.status, labelsIn(taken)]).toEqual([202, { reference: 'by MD5' }]);
});

test('labels are no part of a request’s identity: a repetition with others is the same order with the first ones', async () => {
  const customer = await newCustomer();
  const first = { reference: 'first', metadata: { a: '1' } };
  const made = await customer.post('/v1/orders', direct(first), withKey('same'));
  for (const other of [{}, { reference: 'second', metadata: { b: '2' } }, { metadata: null }]) {
    const again = await customer.post('/v1/orders', direct(other), withKey('same'));
    expect([again.headers['idempotency-replayed'], again.body.id, labelsIn(again)]).toEqual([
      'true',
      made.body.id,
      first,
    ]);
  }
  // Concurrent requests: any may be first, but all show the same labels.
  const at = [0, 1, 2, 3, 4, 5].map((index) => ({ metadata: { index: index.toString() } }));
  const other = await openApi({ ...fixture.env, ...extra });
  try {
    const answers = await Promise.all(
      at.map(async (labels, index) =>
        (index % 2 === 0 ? customer : customer.at(other.baseUrl)).post('/v1/orders', direct(labels), withKey('raced')),
      ),
    );
    const shown = new Set(answers.map((answer) => canonical(labelsIn(answer))));
    expect([answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, shown.size]).toEqual(
      [1, 1],
    );
  } finally {
    await other.close();
  }
});

test('a refused order keeps no label, and its key and its quote stay free for others', async () => {
  const { baseUrl, merchant, apiKey } = await makeCustomer(api, 0n);
  const poor = new HmacCustomer(baseUrl, merchant, apiKey);
  const body = direct({ reference: 'refused', metadata: { a: 'b' } });
  expectRefusal(await poor.post('/v1/orders', body, withKey('r')), 402, 'INSUFFICIENT_CREDITS');
  expect((await poor.get('/v1/orders?reference=refused')).body).toEqual({ items: [] });
});

test('events and webhooks show the order’s labels at every moment', async () => {
  const customer = await newCustomer();
  const labels = { reference: 'invoice 9', metadata: { customer: '4711' } };
  const url = `http://127.0.9.9:${receivers.port.toString()}/labelled`;
  expect((await customer.post('/v1/webhooks', { url, types: ['order.created', 'order.refunded'] })).status).toBe(201);
  await customer.post('/v1/orders', direct(labels), withKey('shown'));
  await fixture.refund(customer, 'shown');
  await customer.post('/v1/orders', direct(), withKey('bare'));
  await numberAll();
  const events = (await customer.get('/v1/events?types=order.created,order.refunded')).body.items;
  const shownIn = (types: readonly { type: string; data: { order: Record<string, unknown> } }[]) =>
    types.map(({ type, data: { order } }) => [type, order['key'], order['reference'], order['metadata']]);
  const wanted = [
    ['order.created', 'shown', labels.reference, labels.metadata],
    ['order.refunded', 'shown', labels.reference, labels.metadata],
    ['order.created', 'bare', undefined, undefined],
  ];
  expect(shownIn(events)).toEqual(wanted);
  const sender = await openSender({ ...fixture.env, ...extra }, receivers.env);
  try {
    await sender.run(() => receivers.taken.filter(({ path }) => path === '/labelled').length === 3);
  } finally {
    await sender.app.close();
  }
  const came = receivers.taken.map(
    ({ body }) => JSON.parse(body) as { position: number } & Parameters<typeof shownIn>[0][0],
  );
  expect(shownIn(came.sort((one, other) => one.position - other.position))).toEqual(wanted);
});

test('the paths of the client family know no labels, and replay orders that were bought with them', async () => {
  const customer = await newCustomer();
  const rent = (body: object) => customer.post('/v1/energy/rent', body, withKey('family'));
  for (const name of ['reference', 'metadata']) {
    const answer = await rent(direct({ [name]: name === 'reference' ? 'x' : { a: 'x' } }));
    expectRefusal(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.details).toEqual([{ field: name, msg: 'is not a member of this request' }]);
  }
  const labels = { reference: 'of the family', metadata: { a: 'b' } };
  const made = await customer.post('/v1/orders', direct(labels), withKey('family'));
  await fixture.refund(customer, 'family');
  const replayed = await rent(direct());
  expect([replayed.body.id, labelsIn(replayed)]).toEqual([made.body.id, {}]);
  expect(labelsIn(await customer.get('/v1/orders/family'))).toEqual(labels);
});

test('an order with labels is marked as judged, and any change of its row removes the mark', async () => {
  const customer = await newCustomer();
  const { status, body } = await customer.post('/v1/orders', direct({ metadata: entries(3) }), withKey('judged'));
  expect(status).toBe(202);
  const update = async (set: string): Promise<boolean> => {
    const text = [`UPDATE orders SET`, set, `WHERE id = $1 RETURNING judged`].join(' ');
    return (await api.database.query<{ judged: boolean }>(text, [body.id]))[0]!.judged;
  };
  expect(await update('judged = true')).toBe(true);
  expect(await update('needs_attention = true')).toBe(false);
  expect(await update('judged = true, needs_attention = false')).toBe(false);
  expect(await update('judged = true')).toBe(true);
  expect(await update(`metadata = '{"n0":"y"}'`)).toBe(false);
});
