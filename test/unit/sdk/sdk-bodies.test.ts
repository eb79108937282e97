// Values that the SDK refuses to send, with the member's name: JSON would turn them into null or omit them.
import type { EnergyClient } from '../../../packages/sdk/src/index.js';
import { ScriptedService } from '../../support/api/scripted-service.js';

const ADDRESS = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';

let service: ScriptedService;

beforeAll(async () => {
  service = await ScriptedService.open();
});

beforeEach(() => service.answer({ body: { ref: 'aq' } }));
afterAll(() => service.close());

/** Calls with a value that their types forbid. */
type Loose = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

const sparse: unknown[] = [];
sparse[1] = 'order.created';
const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

it.each<[string, unknown, string]>([
  ['NaN', Number('90 000'), 'energy'],
  ['Infinity', Infinity, 'energy'],
  ['minus Infinity', -Infinity, 'energy'],
  ['a number in an object', Object(NaN), 'energy'],
  ['an integer that is not exact', 2 ** 53, 'energy'],
  ['a BigInt', 65_000n, 'energy'],
  ['a function', () => 65_000, 'energy'],
  ['a symbol', Symbol('many'), 'energy'],
  ['a date', new Date(), 'energy'],
  ['an invalid date', new Date(NaN), 'energy'],
  ['a map', new Map([['energy', 1]]), 'energy'],
  ['NaN in an object', { at: { last: NaN } }, 'energy.at.last'],
  ['NaN in a list', [1, NaN], 'energy[1]'],
  ['undefined in a list', [undefined], 'energy[0]'],
  ['a hole in a list', sparse, 'energy[0]'],
  ['an object whose toJSON gives NaN', { toJSON: () => NaN }, 'energy'],
  ['an object that contains itself', cycle, 'energy.self'],
])('rejects %s by name, and sends nothing', async (_what, value, name) => {
  const quotes = service.client().quotes as unknown as Loose;
  const thrown: unknown = await quotes['create']!({ receive_address: ADDRESS, energy: value }).catch(
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(TypeError);
  expect((thrown as TypeError).message).toMatch(
    new RegExp(`^${name.replace(/[[\].]/g, '\\$&')}\\b|^${name.replace(/[[\].]/g, '\\$&')} `),
  );
  expect(service.asked).toEqual([]);
});

const CALLS: readonly (readonly [string, string, (client: EnergyClient, value: never) => Promise<unknown>])[] = [
  ['orders.create', 'duration_sec', (to, it) => to.orders.create({ receive_address: ADDRESS, duration_sec: it })],
  ['orders.create, its wait', 'waitSec', (to, it) => to.orders.create({ quote_ref: 'q' }, { waitSec: it })],
  ['orders.extend', 'duration_sec', (to, it) => to.orders.extend('a', { duration_sec: it })],
  [
    'quotes.simulate',
    'call_value',
    (to, it) =>
      to.quotes.simulate({ owner_address: ADDRESS, contract_address: ADDRESS, data: 'a9059cbb', call_value: it }),
  ],
  [
    'autoDelegations.set',
    'max_sun_per_energy',
    (to, it) => to.autoDelegations.set(ADDRESS, { keep_energy: 65_000, daily_cap_credits: 1, max_sun_per_energy: it }),
  ],
  ['webhooks.rotate', 'expire_old_after_sec', (to, it) => to.webhooks.rotate('w', { expire_old_after_sec: it })],
  ['webhooks.replay', 'after', (to, it) => to.webhooks.replay('w', { after: it })],
  ['webhooks.resend', 'delivery', (to, it) => to.webhooks.resend('w', it)],
  ['account.statement', 'number', (to, it) => to.account.statement(it)],
  ['account.statementLines', 'number', (to, it) => to.account.statementLines(it)],
  ['a list', 'limit', (to, it) => to.orders.list({ limit: it }).page()],
  ['events.list', 'after', (to, it) => to.events.list({ after: it })],
  ['events.poll', 'waitSec', (to, it) => to.events.poll({ waitSec: it })],
  ['events.stream', 'after', async (to, it) => to.events.stream({ after: it })[Symbol.asyncIterator]().next()],
  ['any request', 'energy', (to, it) => to.request({ method: 'POST', path: '/v1/quotes', body: { energy: it } })],
];

it.each(CALLS)('rejects NaN before anything is sent: %s', async (_what, name, call) => {
  const thrown: unknown = await call(service.client(), NaN as never).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(TypeError);
  expect((thrown as TypeError).message).toContain(`${name} is NaN`);
  expect(service.asked).toEqual([]);
});

it.each(['timeoutMs', 'attemptTimeoutMs', 'retries'])('makes no client with %s NaN', (name) => {
  expect(() => service.client({ [name]: NaN })).toThrow(name);
});

it('leaves out undefined members, and sorts keys', async () => {
  const quotes = service.client().quotes as unknown as Loose;
  await quotes['create']!({ receive_address: ADDRESS, energy: 65_000, duration_sec: undefined });
  expect(service.asked.map(({ text }) => text)).toEqual([`{"energy":65000,"receive_address":"${ADDRESS}"}`]);
});
