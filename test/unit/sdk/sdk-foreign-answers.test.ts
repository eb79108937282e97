// Success answers that do not come from the service: a proxy's page, or the body of another server.
import type { EnergyError } from '../../../packages/sdk/src/index.js';
import { NetworkError, UnknownOutcomeError, type EnergyClient } from '../../../packages/sdk/src/index.js';
import { ScriptedService, type Reply } from '../../support/api/scripted-service.js';

let service: ScriptedService;

beforeAll(async () => {
  service = await ScriptedService.open();
});

afterAll(() => service.close());

async function take(list: AsyncIterable<unknown>): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of list) items.push(item);
  return items;
}

const ADDRESS = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
const AUTO = { keep_energy: 65_000, daily_cap_credits: 0 };

type Calls = Record<string, (to: EnergyClient) => Promise<unknown>>;

/** Reads and idempotent changes: they are retried. */
const REPEATED: Calls = {
  limits: (to) => to.limits(),
  explain: (to) => to.explain('ab'),
  'quotes.create': (to) => to.quotes.create({ receive_address: ADDRESS }),
  'quotes.simulate': (to) => to.quotes.simulate({ owner_address: ADDRESS, contract_address: ADDRESS, data: '00' }),
  'orders.get': (to) => to.orders.get('mine'),
  'orders.list': (to) => take(to.orders.list()),
  'account.balance': (to) => to.account.balance(),
  'account.depositAddress': (to) => to.account.depositAddress(),
  'account.deposits': (to) => take(to.account.deposits()),
  'account.ledger': (to) => take(to.account.ledger()),
  'account.statements': (to) => take(to.account.statements()),
  'account.statement': (to) => to.account.statement(1),
  'account.statementLines': (to) => to.account.statementLines(1),
  'account.refusedRequests': (to) => to.account.refusedRequests().page(),
  'events.list': (to) => to.events.list(),
  'autoDelegations.get': (to) => to.autoDelegations.get(ADDRESS),
  'autoDelegations.list': (to) => take(to.autoDelegations.list()),
  'webhooks.list': (to) => to.webhooks.list(),
  'webhooks.get': (to) => to.webhooks.get('w'),
  'webhooks.deliveries': (to) => take(to.webhooks.deliveries('w')),
};
const SETTINGS: Calls = {
  'orders.create': (to) => to.orders.create({ receive_address: ADDRESS }),
  'autoDelegations.set': (to) => to.autoDelegations.set(ADDRESS, AUTO),
  'autoDelegations.wake': (to) => to.autoDelegations.wake(ADDRESS),
  'webhooks.update': (to) => to.webhooks.update('w', { enabled: true }),
};
/** Changes that are not repeated. */
const CHANGES: Calls = {
  'webhooks.create': (to) => to.webhooks.create({ url: 'https://a.example.com' }),
  'webhooks.rotate': (to) => to.webhooks.rotate('w'),
  'webhooks.test': (to) => to.webhooks.test('w'),
  'webhooks.delete': (to) => to.webhooks.delete('w'),
  'webhooks.resend': (to) => to.webhooks.resend('w', 1),
  'webhooks.replay': (to) => to.webhooks.replay('w', { after: 0 }),
};

const FOREIGN: [string, Reply][] = [
  ['a page', { headers: { 'Content-Type': 'text/html; charset=utf-8' }, text: '<html>Login</html>' }],
  ['another body', { body: { status: 'ok' } }],
  ['an error', { body: { ok: false, error: 'INTERNAL_ERROR', msg: 'In words.' } }],
  ['a list of another shape', { body: { items: 5 } }],
];

describe.each(FOREIGN)('%s with the status 200', (_, reply) => {
  it.each(Object.keys({ ...REPEATED, ...SETTINGS, ...CHANGES }))(
    'is not returned as the answer to %s',
    async (name) => {
      service.answer(reply);
      const call = { ...REPEATED, ...SETTINGS, ...CHANGES }[name]!;
      const thrown = await call(service.client({ retries: 1 })).catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(name in REPEATED ? NetworkError : UnknownOutcomeError);
      expect((thrown as EnergyError).message).toContain('(200, ');
      expect(service.asked).toHaveLength(name in CHANGES ? 1 : 2);
    },
  );
});

it('names the target of a redirect', async () => {
  service.answer({ status: 308, headers: { Location: 'https://energy.example.com/' }, text: '' });
  await expect(service.client().limits()).rejects.toMatchObject({
    code: 'HTTP_308',
    message: expect.stringContaining('redirects to https://energy.example.com/') as string,
  });
});
