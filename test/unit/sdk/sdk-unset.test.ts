// Required values that a caller left unset: the SDK refuses them by name, and sends nothing.
import { readFile } from 'node:fs/promises';
import { EnergyClient, verifyWebhook } from '../../../packages/sdk/src/index.js';
import { ScriptedService } from '../../support/api/scripted-service.js';

const ADDRESS = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
const UNSET = [undefined, null, NaN] as const;

let service: ScriptedService;

beforeAll(async () => {
  service = await ScriptedService.open();
});

afterAll(() => service.close());

type Call = (client: EnergyClient, value: never) => Promise<unknown>;

/** Required members of bodies, as `schema.member` of the OpenAPI document, and a call that leaves each unset. */
const MEMBERS: Readonly<Record<string, Call>> = {
  'QuoteRequest.receive_address': (to, it) => to.quotes.create({ receive_address: it }),
  'SimulateRequest.owner_address': (to, it) =>
    to.quotes.simulate({ owner_address: it, contract_address: ADDRESS, data: 'a9059cbb' }),
  'SimulateRequest.contract_address': (to, it) =>
    to.quotes.simulate({ owner_address: ADDRESS, contract_address: it, data: 'a9059cbb' }),
  'ActivationRequest.address': (to, it) => to.orders.activate({ address: it }),
  'ExtensionRequest.duration_sec': (to, it) => to.orders.extend('a', { duration_sec: it }),
  'AutoDelegationRequest.keep_energy': (to, it) =>
    to.autoDelegations.set(ADDRESS, { keep_energy: it, daily_cap_credits: 1 }),
  'AutoDelegationRequest.daily_cap_credits': (to, it) =>
    to.autoDelegations.set(ADDRESS, { keep_energy: 65_000, daily_cap_credits: it }),
  'WebhookRequest.url': (to, it) => to.webhooks.create({ url: it }),
  'WebhookReplayRequest.after': (to, it) => to.webhooks.replay('w', { after: it }),
};

/** Bodies of which one of several members is required, and arguments that become part of a path. */
const ARGUMENTS: readonly (readonly [string, string, Call])[] = [
  ['an order by quote', 'quote_ref', (to, it) => to.orders.create({ quote_ref: it })],
  ['a direct order', 'receive_address', (to, it) => to.orders.create({ receive_address: it, energy: 65_000 })],
  ['createAndWait', 'quote_ref', (to, it) => to.orders.createAndWait({ quote_ref: it })],
  [
    'a simulated function',
    'function_selector',
    (to, it) => to.quotes.simulate({ owner_address: ADDRESS, contract_address: ADDRESS, function_selector: it }),
  ],
  ['orders.get', 'key', (to, it) => to.orders.get(it)],
  ['orders.wait', 'key', (to, it) => to.orders.wait(it)],
  ['orders.extend', 'key', (to, it) => to.orders.extend(it, { duration_sec: 60 })],
  ['explain', 'txid', (to, it) => to.explain(it)],
  ['autoDelegations.set', 'address', (to, it) => to.autoDelegations.set(it, { keep_energy: 1, daily_cap_credits: 1 })],
  ['autoDelegations.get', 'address', (to, it) => to.autoDelegations.get(it)],
  ['autoDelegations.wake', 'address', (to, it) => to.autoDelegations.wake(it)],
  ['autoDelegations.delete', 'address', (to, it) => to.autoDelegations.delete(it)],
  ['webhooks.get', 'id', (to, it) => to.webhooks.get(it)],
  ['webhooks.update', 'id', (to, it) => to.webhooks.update(it, { enabled: true })],
  ['webhooks.delete', 'id', (to, it) => to.webhooks.delete(it)],
  ['webhooks.rotate', 'id', (to, it) => to.webhooks.rotate(it)],
  ['webhooks.test', 'id', (to, it) => to.webhooks.test(it)],
  ['webhooks.replay', 'id', (to, it) => to.webhooks.replay(it, { after: 1 })],
  ['webhooks.deliveries', 'id', async (to, it) => to.webhooks.deliveries(it).page()],
  ['webhooks.resend', 'id', (to, it) => to.webhooks.resend(it, 1)],
  ['webhooks.resend, its delivery', 'delivery', (to, it) => to.webhooks.resend('w', it)],
  ['account.statement', 'number', (to, it) => to.account.statement(it)],
  ['account.statementLines', 'number', (to, it) => to.account.statementLines(it)],
  ['any request, its path', 'path', (to, it) => to.request({ method: 'GET', path: it })],
  ['any request, its method', 'method', (to, it) => to.request({ method: it, path: '/v1/limits' })],
  [
    'any request, its key',
    'idempotencyKey',
    (to, it) => to.request({ method: 'POST', path: '/v1/orders', body: {}, idempotencyKey: it }),
  ],
];

/** Makes the call inside a promise: some methods throw before they return one. */
const thrownBy = async (call: Call, value: unknown): Promise<unknown> => {
  try {
    return await call(service.client(), value as never);
  } catch (error) {
    return error;
  }
};

const calls: [string, string, Call][] = [
  ...Object.entries(MEMBERS).map(([name, call]): [string, string, Call] => [name, name.split('.')[1]!, call]),
  ...ARGUMENTS.map(([title, name, call]): [string, string, Call] => [title, name, call]),
];

it.each(calls)('rejects an unset value by name, and sends nothing: %s', async (_title, name, call) => {
  for (const value of UNSET) {
    const thrown = await thrownBy(call, value);
    expect([value, thrown]).toEqual([value, expect.any(TypeError)]);
    expect((thrown as TypeError).message).toMatch(new RegExp(`^${name} (?:is|must be) `));
  }
  expect(service.asked).toEqual([]);
});

it('checks every member that the interface requires', async () => {
  const document = JSON.parse(await readFile('openapi.json', 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: object }>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, { readonly required?: readonly string[] }>> };
  };
  const bodies = Object.entries(document.paths)
    // The routes of the client family have no methods here.
    .filter(([path]) => !/^\/v1\/(?:energy|credits)\//.test(path))
    .flatMap(([, methods]) => Object.values(methods))
    .flatMap(({ requestBody }) => /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(requestBody ?? {}))?.[1] ?? []);
  const required = new Set(
    bodies.flatMap((name) => (document.components.schemas[name]?.required ?? []).map((member) => `${name}.${member}`)),
  );
  expect([...required].sort()).toEqual(Object.keys(MEMBERS).sort());
});

it.each(['baseUrl', 'merchant', 'apiKey'])('makes no client with an unset %s', (name) => {
  for (const value of [...UNSET, '']) {
    const settings = { baseUrl: 'http://127.0.0.1:1', merchant: 'm', apiKey: 'k', [name]: value };
    expect(() => new EnergyClient(settings)).toThrow(new RegExp(`^${name} is `));
  }
});

it('verifies no webhook without a body or a secret, and names which is missing', () => {
  const verify = verifyWebhook as (...args: readonly unknown[]) => unknown;
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
  expect(() => verify(undefined, {}, secret)).toThrow(/^the body is undefined/);
  expect(() => verify('{}', {}, undefined)).toThrow(/^the webhook secret is undefined/);
  expect(() => verify('{}', {}, [secret, undefined])).toThrow(/^the webhook secret is undefined/);
});

it('sends a request whose optional members are unset', async () => {
  service.answer({ body: { ref: 'aq' } });
  const asked = service.asked.length;
  const quote = { receive_address: ADDRESS, energy: undefined, transfer_to: null };
  await service.client().quotes.create(quote);
  expect(service.asked.slice(asked).map(({ text }) => text)).toEqual([
    `{"receive_address":"${ADDRESS}","transfer_to":null}`,
  ]);
});
