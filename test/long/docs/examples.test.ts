// The examples as a merchant runs them, against a whole service with its worker. The guide's answers are compared with
// the service's answers.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import { Merchant } from '../../../packages/local/src/merchant.js';
import { afterAnnouncement } from '../../support/api/announcement.js';
import type { SignatureSchemes } from '../../../src/domain/scopes.js';
import type { Customer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { installSdk } from '../../support/api/installed-sdk.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { refusal, ScriptedService, type Reply } from '../../support/api/scripted-service.js';
import { envAs } from '../../setup/roles.js';

const execute = promisify(execFile);
const FOLDER = new URL('../../../examples/', import.meta.url).pathname;
const RENTAL_SEC = 30;

/** The command that starts each example. It shows if this machine has the language. */
const LANGUAGES: Record<string, readonly [command: string, ...args: string[]]> = {
  bash: ['bash', `${FOLDER}bash/energy.sh`],
  node: [process.execPath],
  python: ['python3', `${FOLDER}python/energy.py`],
  php: ['php', `${FOLDER}php/energy.php`],
  go: ['go'],
};

async function isHere(command: string): Promise<boolean> {
  return execute('bash', ['-c', 'command -v "$0"', command]).then(
    () => true,
    () => false,
  );
}

// PHP and Go are optional. Where they exist, their examples must behave the same.
const HERE = await Promise.all(Object.values(LANGUAGES).map(([command]) => isHere(command)));
const RUNNABLE = Object.keys(LANGUAGES).filter((_, index) => HERE[index]);

let folder: string;
let fixture: OrderFixture;
let worker: NodeProcess<unknown>;
let customer: Customer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'energy-examples-'));
  await cp(`${FOLDER}node`, join(folder, 'node'), { recursive: true });
  await installSdk(folder);
  LANGUAGES['node'] = [process.execPath, join(folder, 'node/energy.mjs')];
  if (RUNNABLE.includes('go')) {
    // Built once: `go run` would hide the exit code.
    LANGUAGES['go'] = [join(folder, 'energy')];
    await execute('go', ['build', '-o', folder, './energy.go'], { cwd: `${FOLDER}go`, timeout: 120_000 });
  }
  fixture = await openOrderFixture({ DURATION_MIN_SEC: String(RENTAL_SEC) });
  customer = await makeCustomer(fixture.api);
  worker = await startNode('dist/bundle/main.worker.js', { name: 'the worker', env: envAs(fixture.env, 'worker') });
});

afterAll(async () => {
  await worker.stop();
  await fixture.close();
  await rm(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly body: Record<string, unknown>;
  readonly err: string;
}

async function run(language: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const [command, ...first] = LANGUAGES[language]!;
  const signer = { BASE_URL: fixture.api.baseUrl, MERCHANT: customer.merchant, API_KEY: customer.apiKey };
  const options = { env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...signer, ...env }, timeout: 50_000 };
  const { code, stdout, stderr } = await execute(command, [...first, ...args], options).then(
    (done) => ({ code: 0, ...done }),
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  );
  return { code, body: stdout.trim() === '' ? {} : (JSON.parse(stdout) as Record<string, unknown>), err: stderr };
}

const takeSignatures = (signatureSchemes: SignatureSchemes): Promise<void> =>
  afterAnnouncement([fixture.api.app], customer, () =>
    fixture.api.projects.change(customer.merchant, { signatureSchemes }, AUTHOR),
  );

it.each(RUNNABLE)('%s refuses an amount that is not a whole number, and sends nothing', async (language) => {
  const service = await ScriptedService.open();
  try {
    for (const amount of ['90 000', '9e4', '-5', 'NaN', '65000.5', '65,000']) {
      const ran = await run(language, ['quote', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF', amount], service.env);
      expect([amount, ran.code === 0, ran.err]).toEqual([amount, false, expect.stringContaining('whole number')]);
    }
    expect(service.asked).toEqual([]);
  } finally {
    service.close();
  }
});

it('bash, Node and Python are on every machine that runs this test', () => {
  expect(RUNNABLE).toEqual(expect.arrayContaining(['bash', 'node', 'python']));
});

const SCHEMES = ['hmac', 'md5'] as const;
const RUNS = RUNNABLE.flatMap((language) => SCHEMES.map((scheme) => [language, scheme] as const));

it.each(RUNS)('%s, signed by %s, buys by a quote, once, and reads the order', async (language, scheme) => {
  const receiver = fixture.receiver(10 + RUNS.findIndex((each) => each[0] === language && each[1] === scheme));
  await takeSignatures(scheme);
  const example = (of: string, args: readonly string[], env: Record<string, string> = {}) =>
    run(of, args, { SIGNATURES: scheme, ...env });
  const quoted = await example(language, ['quote', receiver, '65000', String(RENTAL_SEC)]);
  expect([quoted.code, quoted.err, quoted.body['error']]).toEqual([0, '', undefined]);
  expect(quoted.body).toMatchObject({ receive_address: receiver, energy: 65_000, duration_sec: RENTAL_SEC });
  const sized = await example(language, ['quote', receiver]);
  expect(sized.body).toMatchObject({ duration_sec: 3600, recipient_state: 'cold' });

  const key = `${language} ${scheme} order`;
  const before = (await example(language, ['balance'])).body['credits_balance'] as number;
  const bought = await example(language, ['order', String(quoted.body['ref']), key]);
  const again = await example(language, ['order', String(quoted.body['ref']), key]);
  expect([bought.code, again.code, again.body['id']]).toEqual([0, 0, bought.body['id']]);
  const after = (await example(language, ['balance'])).body['credits_balance'] as number;
  expect(before - after).toBe(quoted.body['credits']);
  expect((await example(language, ['get', key])).body).toMatchObject({ id: bought.body['id'] });

  const listed = await example(language, ['call', 'GET', '/v1/orders?limit=1']);
  expect([listed.code, listed.body['items']]).toMatchObject([0, [{ id: bought.body['id'] }]]);
  const called = JSON.stringify({ duration_sec: RENTAL_SEC, energy: 65_000, receive_address: receiver });
  expect((await example(language, ['call', 'POST', '/v1/quotes', called])).body).toMatchObject({ energy: 65_000 });
  const refused = await example(language, ['order', String(quoted.body['ref']), 'another key']);
  expect([refused.code, refused.body['error']]).toEqual([1, 'QUOTE_ALREADY_USED']);
  const unsigned = await example(language, ['balance'], { API_KEY: 'not the key' });
  expect([unsigned.code, unsigned.body['error']]).toEqual([1, 'INVALID_SIGNATURE']);
  expect((await example(language, ['steal'])).code).toBe(2);
});

it('Node extends a rental once it is settled, once for each key', async () => {
  await takeSignatures('hmac');
  const quoted = await run('node', ['quote', fixture.receiver(3), '65000', '3600']);
  const { body: bought } = await run('node', ['order', String(quoted.body['ref']), 'long']);
  const read = async () => (await run('node', ['get', 'long'])).body;
  const { body: settled } = await until(read, (order) => order['settled'] === true);
  const extended = await run('node', ['extend', 'long', '600', 'long, and longer']);
  expect([extended.code, extended.err, extended.body['id']]).toEqual([0, '', bought['id']]);
  expect(extended.body['extensions']).toMatchObject([{ key: 'long, and longer', duration_sec: 600 }]);
  const moved = Date.parse(String(extended.body['ends_at'])) - Date.parse(String((settled as Ran['body'])['ends_at']));
  expect(moved).toBe(600_000);
  expect((await run('node', ['extend', 'long', '600', 'long, and longer'])).body).toEqual(extended.body);
});

it.each(RUNNABLE)('%s labels an order, and finds it by its reference', async (language) => {
  await takeSignatures('hmac');
  const reference = `invoice of ${language}`;
  const body = JSON.stringify({
    duration_sec: RENTAL_SEC,
    energy: 65_000,
    metadata: { cart: '7' },
    receive_address: fixture.receiver(5),
    reference,
  });
  const key = `${language} labelled`;
  const bought = await run(language, ['call', 'POST', '/v1/orders', body, key]);
  expect(bought).toMatchObject({ code: 0, err: '', body: { key, reference, metadata: { cart: '7' } } });
  const path = `/v1/orders?reference=${encodeURIComponent(reference)}`;
  const listed = await run(language, ['call', 'GET', path]);
  expect(listed).toMatchObject({ code: 0, body: { items: [{ id: bought.body['id'] }] } });
});

it.each(RUNNABLE)('%s sets an auto-delegation for an address, and removes it', async (language) => {
  await takeSignatures('hmac');
  const address = fixture.receiver(4);
  const path = `/v1/auto-delegations/${address}`;
  const terms = ['65000', '0'] as const;
  const body = JSON.stringify({ daily_cap_credits: 0, keep_energy: 65_000 });
  const kept = await run(language, language === 'node' ? ['keep', address, ...terms] : ['call', 'PUT', path, body]);
  expect([kept.code, kept.err]).toEqual([0, '']);
  expect(kept.body).toMatchObject({ address, keep_energy: 65_000, daily_cap_credits: 0 });
  const listed = await run(language, ['call', 'GET', '/v1/auto-delegations']);
  expect(listed.body).toMatchObject({ items: [{ id: kept.body['id'] }] });
  expect(await run(language, ['call', 'DELETE', path])).toEqual({ code: 0, body: {}, err: '' });
  expect((await run(language, ['call', 'DELETE', path])).body).toMatchObject({ error: 'NOT_FOUND' });
});

/** The fate of the first request. The second request is answered. */
const LOSSES: readonly (readonly [string, Reply])[] = [
  ['a connection that ends without an answer', (response) => void response.socket?.end()],
  ['a connection that is reset', (response) => void response.socket?.resetAndDestroy()],
  [
    'an answer that ends in its middle',
    (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 100 });
      response.write('{"id":', () => response.socket?.end());
    },
  ],
  [
    'a refusal that ends in its middle',
    (response) => {
      response.writeHead(402, { 'Content-Type': 'application/json', 'Content-Length': 100 });
      response.write('{"error":', () => response.socket?.end());
    },
  ],
];

it.each(RUNNABLE)('%s sends the body that it was given, with objects and lists that are empty', async (language) => {
  const service = await ScriptedService.open();
  const bodies = ['{}', '{"a":{},"b":[],"c":{"d":[{}],"e":1}}'];
  service.answer({ body: {} });
  for (const body of bodies) {
    expect(await run(language, ['call', 'POST', '/v1/any', body], service.env)).toMatchObject({ code: 0, err: '' });
  }
  service.close();
  expect(service.asked.map(({ text }) => text)).toEqual(bodies);
});

it.each(RUNNABLE)('%s reads an order by a key with any character that a key may have', async (language) => {
  const service = await ScriptedService.open();
  const key = Array.from({ length: 0x7e - 0x20 }, (_, index) => String.fromCharCode(0x21 + index)).join(' ');
  service.answer({ body: { id: 1, key, status: 'reserved' } });
  expect(await run(language, ['get', key], service.env)).toMatchObject({ code: 0, err: '' });
  service.close();
  const [{ target } = { target: '' }] = service.asked;
  expect([target.slice(0, 11), decodeURIComponent(target.slice(11))]).toEqual(['/v1/orders/', key]);
});

// The Bash example leaves retries to its user.
const REPEATING = RUNNABLE.filter((language) => language !== 'bash');

it.each(REPEATING.flatMap((language) => LOSSES.map(([loss, reply]) => [language, loss, reply] as const)))(
  '%s repeats after %s',
  async (language, _loss, reply) => {
    const service = await ScriptedService.open();
    const body = { id: 1, key: 'lost', status: 'reserved' };
    service.answer(reply, { body });
    const ran = await run(language, ['order', 'a-quote', 'lost'], service.env);
    service.close();
    expect(ran).toEqual({ code: 0, body, err: '' });
    expect(service.asked.map(({ headers }) => headers['idempotency-key'])).toEqual(['lost', 'lost']);
  },
);

it('Python reports the answer of a proxy as a refusal, and waits when that names a date', async () => {
  const service = await ScriptedService.open();
  const said = (status: number): Reply => ({
    status,
    headers: { 'Content-Type': 'text/html', 'Retry-After': 'Fri, 20 Nov 2026 12:00:00 GMT' },
    text: '<html>Bad gateway</html>',
  });
  service.answer(said(503), said(502));
  const ran = await run('python', ['order', 'a-quote', 'lost'], service.env);
  service.close();
  expect([ran.code, ran.body['error'], ran.err]).toEqual([1, 'HTTP_502', '']);
});

const REPLAYED = refusal(401, 'SIGNATURE_REPLAYED');
const noncesOf = ({ asked }: ScriptedService): string[] => asked.map(({ headers }) => headers['x-cc-nonce'] ?? '');

it.each(REPEATING)('%s signs again when a copy of its request arrived first', async (language) => {
  const service = await ScriptedService.open();
  const body = { id: 1, key: 'copied', status: 'reserved' };
  service.answer(REPLAYED, { body });
  const ran = await run(language, ['order', 'a-quote', 'copied'], service.env);
  service.close();
  expect(ran).toEqual({ code: 0, body, err: '' });
  expect(new Set(noncesOf(service)).size).toBe(2);
});

it.each(RUNNABLE.filter((language) => language === 'go'))(
  '%s buys although its HTTP client repeats a lost request by itself, with the same nonce',
  async (language) => {
    const service = await ScriptedService.open();
    const body = { id: 1, key: 'copied', status: 'reserved' };
    // The first answer keeps the connection, on which the second request is lost.
    service.answer(refusal(429, 'RATE_LIMITED', {}, { 'Retry-After': '0' }), LOSSES[0]![1], REPLAYED, { body });
    const ran = await run(language, ['order', 'a-quote', 'copied'], service.env);
    service.close();
    expect(ran).toEqual({ code: 0, body, err: '' });
    const [limited, lost, copy, last] = noncesOf(service);
    expect(copy).toBe(lost);
    expect(new Set([limited, lost, last]).size).toBe(3);
  },
);

it('the merchant of the demo signs by HMAC too', async () => {
  await takeSignatures('hmac');
  const merchant = new Merchant(fixture.api.baseUrl, customer.merchant, customer.apiKey, 'hmac');
  expect((await merchant.get('/v1/orders/a%2Fb?x=%20')).status).toBe(404);
  const terms = { receive_address: fixture.receiver(2), duration_sec: RENTAL_SEC };
  expect((await merchant.post('/v1/orders', terms, { 'Idempotency-Key': 'by HMAC' })).status).toBe(202);
});

it('every answer in the guide has the members of the service’s answer', async () => {
  await takeSignatures('either');
  const shown = await answersOfGuide();
  const answered = await firstHour();
  expect([...shown.keys()]).toEqual([...answered.keys()]);
  for (const [name, body] of answered) expect([name, membersOf(shown.get(name))]).toEqual([name, membersOf(body)]);
});

/** Returns the JSON after each `<!-- answer: NAME -->`. */
async function answersOfGuide(): Promise<Map<string, unknown>> {
  const guide = await readFile(`${FOLDER}README.md`, 'utf8');
  const blocks = guide.matchAll(/<!-- answer: ([a-z ]+) -->\n\n```json\n(.*?)\n```/gs);
  return new Map([...blocks].map(([, name, text]) => [name!, JSON.parse(text!)]));
}

/** Performs the guide's steps on the running service. */
async function firstHour(): Promise<Map<string, unknown>> {
  const answers = new Map<string, unknown>();
  const keep = async (name: string, answer: Promise<{ body: unknown }>): Promise<Record<string, unknown>> => {
    const body = (await answer).body as Record<string, unknown>;
    answers.set(name, body);
    return body;
  };
  const read = async (): Promise<Record<string, unknown>> => (await customer.get('/v1/orders/guide')).body;
  await keep('balance', customer.get('/v1/balance'));
  const terms = { receive_address: fixture.receiver(1), duration_sec: RENTAL_SEC };
  const { ref } = await keep('quote', customer.post('/v1/quotes', terms));
  const buy = (key: string, more = {}) => customer.post('/v1/orders', { quote_ref: ref }, { ...withKey(key), ...more });
  await keep('order', buy('guide'));
  await keep('delivered', buy('guide', { Prefer: 'wait=20' }));
  await keep('refused', buy('guide, another key'));
  await keep(
    'settled',
    until(read, (order) => order['settled'] === true),
  );
  await keep(
    'reclaimed',
    until(read, (order) => order['reclaimed_at'] !== undefined),
  );
  await keep('balance after', customer.get('/v1/balance'));
  await keep('wrong', customer.post('/v1/quotes', { receive_address: 'Tx', colour: 'red' }));
  return answers;
}

async function until(
  read: () => Promise<Record<string, unknown>>,
  isReached: (order: Record<string, unknown>) => boolean,
): Promise<{ body: unknown }> {
  for (let look = 0; look < 400; look += 1) {
    const body = await read();
    if (isReached(body)) return { body };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the order did not come so far');
}

/** Returns names and types of all members, at every depth. */
function membersOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(membersOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, membersOf(member)]));
}
