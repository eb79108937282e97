// Every kind of invalid body or query. The whole answer to each is compared with a recorded list, because callers show
// these messages to people and branch on the fields.
import { readFileSync, writeFileSync } from 'node:fs';
import { HmacCustomer, type Answer, type Customer } from '../../support/api/client.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const FILE = 'test/vectors/invalid-requests.jsonl';
const ADDRESS = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';

let database: TestDatabase;
let redis: TestRedis;
let api: TestApi;

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  const limits = { RATE_LIMIT_PER_MINUTE: '1000000', GENERAL_RATE_LIMIT_PER_MINUTE: '1000000' };
  const env = { REDIS_URL: redis.url, LOG_LEVEL: 'silent', ...limits };
  api = await openApi(settings(database.url, env));
});

afterAll(async () => {
  await api.close();
  await database.drop();
  await redis.close();
});

/** Literals that are valid for some kind of member and invalid for most. */
const LITERALS = [
  ...['null', 'true', 'false', '[]', '[1]', '{}', '{"a":{"b":[null,"x"]}}', '""', '" "', '"x"', '"true"', '"65000"'],
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '299',
    '300',
    '999',
    '1000',
    '65000',
    '604800',
    '604801',
    '2592000',
    '2592001',
    '100000000',
  ],
  ...['100000001', '9007199254740991', '9007199254740992', '99999999999999999999', '-65000', '65000.0', '6.5e4', '1E3'],
  ...[
    '0.5',
    '1e400',
    `"${ADDRESS}"`,
    `"${ADDRESS.slice(0, -1)}G"`,
    `"${ADDRESS} "`,
    '"«1*34»"',
    '"«T*35»"',
    '"«😀*17»"',
  ],
  ...[
    '"0x"',
    '"0xa9"',
    '"a9059cbb"',
    '"A9059CBB"',
    '"0x0"',
    '"zz"',
    '"«a*600»"',
    '"«😀*256»"',
    '"«😀*257»"',
    '"«a*513»"',
  ],
  ...['"pay()"', '"transfer(address,uint256)"', '"pay(uint)"', '"pay( )"', '"«a*1023»()"', '"p(((((((((bool)))))))))"'],
  ...['"\\u0000"', '"$value $property $target $constraint1"', '"T123"', '"f(bool"', '"\\ud83d\\ude00"'],
];

interface Form {
  readonly path: string;
  readonly valid: Readonly<Record<string, string>>;
  readonly members: readonly string[];
}

const call = { contract_address: `"${ADDRESS}"`, owner_address: `"${ADDRESS}"` };
const FORMS: readonly Form[] = [
  {
    path: '/v1/quotes',
    valid: { energy: '65000', receive_address: `"${ADDRESS}"` },
    members: ['receive_address', 'energy', 'duration_sec'],
  },
  {
    path: '/v1/orders',
    valid: { energy: '65000', receive_address: `"${ADDRESS}"` },
    members: ['receive_address', 'energy', 'duration_sec', 'quote_ref', 'reference', 'metadata'],
  },
  {
    path: '/v1/simulate',
    valid: { ...call, data: '"a9059cbb"' },
    members: [
      ...['owner_address', 'contract_address', 'function_selector', 'parameter', 'data', 'call_value'],
      ...['duration_sec', 'quote'],
    ],
  },
  { path: '/v1/activate', valid: { address: `"${ADDRESS}"` }, members: ['address', 'reference', 'metadata'] },
];

/** The one form sent by PUT, which requires HMAC. */
const KEPT: Form = {
  path: `/v1/auto-delegations/${ADDRESS}`,
  valid: { keep_energy: '65000', daily_cap_credits: '1' },
  members: [
    ...['keep_energy', 'refill_below', 'duration_sec', 'max_sun_per_energy', 'daily_cap_credits', 'idle_after_sec'],
    'until',
  ],
};

/** Names that no form has. Every object inherits some of them. */
const UNKNOWN = [
  ...[
    'colour',
    '',
    ' ',
    'Energy',
    'energy ',
    '$where',
    '0',
    '1.5',
    'a.b',
    '«n*65»',
    'é',
    '\\u0000',
    '😀',
    'then',
    'toJSON',
  ],
  ...['hasOwnProperty', 'toString', 'valueOf', 'isPrototypeOf', 'propertyIsEnumerable', 'toLocaleString'],
  ...['__defineGetter__', '__lookupSetter__', '__proto__', 'constructor', 'prototype', 'length', 'name'],
];

const text = (members: Readonly<Record<string, string>>): string =>
  `{${Object.entries(members)
    .map(([name, literal]) => `"${name}":${literal}`)
    .join(',')}}`;

/** Bodies in the order of their members: each member with each literal, unknown names, and combined errors. */
function bodies({ valid, members }: Form): string[] {
  const wrong = Object.fromEntries(members.map((name) => [name, '"$"']));
  return [
    ...members.flatMap((name) => LITERALS.map((literal) => text({ ...valid, [name]: literal }))),
    ...UNKNOWN.map((name) => text({ ...valid, [name]: 'null' })),
    ...['toString', 'colour'].map((name) => text({ [name]: '1', ...wrong, zebra: '[]' })),
    text({}),
    text(wrong),
    text(Object.fromEntries(Object.entries(wrong).reverse())),
    text(Object.fromEntries(members.map((name) => [name, 'null']))),
    ...members.map((name) => text({ zebra: '1', [name]: '-5', apple: 'null' })),
    ...members.map((name) => text(Object.fromEntries(Object.entries(valid).filter(([other]) => other !== name)))),
    `{"${members[0]!}":1,"${members[0]!}":2}`,
    text(Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`m${index.toString()}`, '1']))),
  ];
}

/** Labels are sent by HMAC, which `metadata` requires, in requests that buy nothing. */
const LABELS = [
  ...[
    '{"":"x"}',
    '{" a":"x"}',
    '{"a":1}',
    '{"a":null}',
    '{"a":{}}',
    '{"a":[]}',
    '{"a":"x","a":"y"}',
    '{"a":"\\u0000"}',
  ],
  ...[
    '{"a":"\\n"}',
    '{"\\t":"x"}',
    '{"__proto__":"x"}',
    '{"constructor":"x"}',
    '{"toString":1}',
    '{"a":"x","toString":"\\u202e"}',
  ],
  ...[
    '{"«n*40»":"«v*200»"}',
    '{"«n*41»":"x"}',
    '{"a":"«v*201»"}',
    '{"a":"«😀*100»"}',
    '{"a":"«😀*101»"}',
    '[["a","b"]]',
  ],
  ...[20, 21, 60, 70].map((count) =>
    text(Object.fromEntries(Array.from({ length: count }, (_, at) => [`e${at.toString()}`, '"x"']))),
  ),
].flatMap((metadata) => [
  `/v1/orders {"quote_ref":"x","metadata":${metadata}}`,
  `/v1/activate {"address":"${ADDRESS}","metadata":${metadata},"reference":" "}`,
]);

const REFERENCES = [
  '""',
  '" a"',
  '"a "',
  '"a\\u0009b"',
  '"a\\u200bb"',
  '"\\u202e"',
  '"«r*64»"',
  '"«r*65»"',
  '"«😀*32»"',
  '"«😀*33»"',
  '"a  é"',
];

const CALLS = [
  '{"function_selector":"pay()"}',
  '{"function_selector":"pay()","parameter":""}',
  '{"function_selector":"pay(bool)"}',
  '{"function_selector":"pay(bool)","parameter":"0x"}',
  '{"parameter":"00"}',
  '{"data":"0x"}',
  '{"data":"00","function_selector":"pay()"}',
  '{"data":"00","parameter":""}',
  '{"data":null,"function_selector":null,"parameter":null}',
  '{"data":"00","function_selector":"pay()","parameter":"0","quote":1}',
].map((members) => `${text(call).slice(0, -1)},${members.slice(1)}`);

const QUERIES = [
  ...[
    '',
    '?',
    '?&',
    '?limit=1',
    '?limit=100',
    '?limit=0',
    '?limit=101',
    '?limit=01',
    '?limit=1e1',
    '?limit=',
    '?limit',
  ],
  ...['?limit=-1', '?limit=%31', '?limit=+1', '?limit=1.0', '?limit=1&limit=2', '?limit=0&limit=2', '?limit=2&limit=0'],
  ...[
    '?limit[]=1',
    '?limit[a]=1',
    '?status=delivered',
    '?status=lost',
    '?status=',
    '?status=Delivered',
    '?Status=delivered',
  ],
  ...['?status=delivered&status=lost', '?status=lost&status=delivered', '?limit=0&status=lost', '?status=lost&limit=0'],
  ...[
    '?limit=0&page=1',
    '?page=1&limit=0',
    '?page=1&page=2',
    '?page=1&limit=1&limit=1&other=2',
    '?limit=1&limit=1&page=1',
  ],
  ...[
    '?reference=',
    '?reference=a',
    '?reference=+a',
    '?reference=a%00',
    '?reference=a&reference=b',
    '?reference=«r*65»',
    '?Reference=a',
  ],
  ...[
    `?receive_address=${ADDRESS}`,
    '?receive_address=',
    '?receive_address=T123',
    `?receive_address=${ADDRESS}&receive_address=a`,
  ],
  ...[
    '?from=2026-01-01',
    '?from=',
    '?from=now',
    '?from=2026-02-30',
    '?from=2026-01-01T00:00:00',
    '?to=2026-01-01T00:00:00.1234567Z',
  ],
  ...[
    '?from=2026-01-02&to=2026-01-01',
    '?from=2026-01-01&to=2026-01-01',
    '?to=x&from=y&status=z&reference=&receive_address=T',
  ],
  ...['?cursor=', '?cursor=abc', '?cursor=NDcxMQ', '?cursor=NDcxMQ&cursor=NDcxMQ', '?cursor=abc&cursor=NDcxMQ'],
  ...[
    '?cursor=abc&limit=0',
    '?cursor=abc&page=1',
    '?cursor=%',
    '?cursor=%ff',
    '?%ff=1',
    '?%=1',
    '?a+b=1',
    '?a%20b',
    '?=1',
  ],
  ...['?hasOwnProperty=1', '?toString', '?__proto__=1', '?constructor=1', '?prototype=1', '?__proto__=1&__proto__=2'],
  ...['?__proto__[limit]=5', '?limit=1;status=delivered', '?limit=5#x', '?limit=5&limit#x', '?status=delivered%00'],
  ...[
    '?«p*70»=1',
    `?${Array.from({ length: 1200 }, () => 'a').join('&')}&limit=0`,
    '?limit=5?',
    '?limit=5%26status%3Dlost',
  ],
  ...[
    '?%00=1',
    '?then=1',
    '?length=1',
    '?0=1',
    '?limit=1&0=1&colour=2&Ü=1'.replace('Ü', '%C3%9C'),
    '?10=1&9=1&b=1&a=1',
  ],
];

const expand = (request: string): string =>
  request.replace(/«(.+?)\*(\d+)»/gu, (_, unit: string, times: string) => unit.repeat(Number(times)));

/** Returns the text to sign for a body: its members sorted by name, every literal as written. */
function sortedMembers(body: string): string {
  const names = Object.keys(JSON.parse(body) as object);
  const starts = [...body.matchAll(/[{,]"((?:[^"\\]|\\.)*)":/g)].filter(({ 1: name }) =>
    names.includes(JSON.parse(`"${name!}"`) as string),
  );
  const members = starts.map(({ index, 1: name }, at) => ({
    name: JSON.parse(`"${name!}"`) as string,
    text: body.slice(index + 1, starts[at + 1]?.index ?? body.length - 1),
  }));
  members.sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
  return `{${members.map((member) => member.text).join(',')}}`;
}

interface Recorded {
  readonly request: string;
  readonly key?: string;
  readonly status: number;
  readonly error?: string;
  readonly msg?: string;
  readonly details?: unknown;
}

const REQUESTS: readonly (readonly [request: string, key?: string])[] = [
  ...FORMS.flatMap((form) => bodies(form).map((body) => [`POST ${form.path} ${body}`] as const)),
  ...bodies(KEPT).map((body) => [`PUT ${KEPT.path} ${body}`] as const),
  ...CALLS.map((body) => [`POST /v1/simulate ${body}`] as const),
  ...['/v1/orders', '/v1/activate'].flatMap((path) =>
    ['{}', '{"colour":1}'].map((body) => [`POST ${path} ${body}`, ' bad key'] as const),
  ),
  [`POST /v1/orders {"quote_ref":"x"}`, 'é'],
  ...LABELS.map((rest) => [`HMAC POST ${rest}`] as const),
  ...REFERENCES.map((reference) => [`POST /v1/orders {"quote_ref":"x","reference":${reference}}`] as const),
  ...QUERIES.map((query) => [`GET /v1/orders${query}`] as const),
];

async function ask(customer: Customer, [request, key]: (typeof REQUESTS)[number]): Promise<Answer> {
  const headers = key === undefined ? {} : { 'Idempotency-Key': Buffer.from(key).toString('latin1') };
  const [method = '', path = '', ...rest] = expand(request)
    .replace(/^HMAC /, '')
    .split(' ');
  if (method === 'GET') return customer.get(path, headers);
  const body = rest.join(' ');
  if (method === 'PUT' || request.startsWith('HMAC ')) {
    const { baseUrl, merchant, apiKey } = customer;
    return new HmacCustomer(baseUrl, merchant, apiKey).request(method, path, headers, body);
  }
  return customer.postSigned(path, body, sortedMembers(body), headers);
}

/** Records an accepted request by status and code only: the rest depends on prices and times. */
function recorded([request, key]: (typeof REQUESTS)[number], { status, body }: Answer): Recorded {
  const { error, msg, details } = body as Recorded;
  const said = error === 'INVALID_REQUEST' ? { error, msg: msg!, details } : error === undefined ? {} : { error };
  return { request, ...(key !== undefined && { key }), status, ...said };
}

test('every wrong body and query gets the recorded answer (UPDATE_VECTORS=1 writes the list)', async () => {
  const customer = await makeCustomer(api);
  const answers: string[] = [];
  for (const request of REQUESTS) answers.push(JSON.stringify(recorded(request, await ask(customer, request))));
  if (process.env['UPDATE_VECTORS'] === '1') writeFileSync(FILE, `${answers.join('\n')}\n`);
  expect(answers).toEqual(readFileSync(FILE, 'utf8').trimEnd().split('\n'));
}, 240_000);
