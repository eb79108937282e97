// The operator's auto-delegation commands: the rules of the HTTP API, audited, paid for by the primary key.
import {
  LEAST,
  made,
  openAutoDelegationFixture,
  PAUSED,
  put,
  type AutoDelegationFixture,
} from '../../support/api/auto-delegation-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { cliWith, type Cli } from '../../support/cli.js';
import { newAddress } from '../../support/chain/quote-chain.js';
import { apiKeysOn } from '../../support/api/services.js';

let autoDelegations: AutoDelegationFixture;
let cli: Cli;

beforeAll(async () => {
  autoDelegations = await openAutoDelegationFixture();
  cli = cliWith({ ...autoDelegations.fixture.env, USER: 'tester' });
});

afterAll(() => autoDelegations.fixture.close());

const run = (...args: string[]) => cli('auto-delegations', ...args);
const NEEDED = ['--keep-energy', '65_000', '--daily-cap', '1000000000'];

it('sets, shows, lists, wakes and deletes, with the operator in the audit log', async () => {
  const { merchant } = await autoDelegations.newCustomer();
  const address = autoDelegations.receiver();
  const set = await run('set', merchant, address, ...NEEDED, '--json');
  expect([set.code, set.err]).toEqual([0, '']);
  expect(set.json()).toMatchObject({
    ...{ address, status: 'active', keep_energy: 65_000, refill_below: 52_000, duration_sec: 86_400 },
    ...{ idle_after_sec: 86_400, daily_cap_credits: 1_000_000_000, api_key: merchant },
  });
  const more = ['--refill-below', '1000', '--duration', '3600', '--max-sun-per-energy', '70', '--idle-after', '60'];
  const again = await run('set', merchant, address, ...NEEDED, ...more, '--until', '2096-01-01T00:00:00Z', '--json');
  expect(again.json()).toMatchObject({
    ...{ id: set.json().id, refill_below: 1000, duration_sec: 3600, max_sun_per_energy: 70, idle_after_sec: 60 },
    until: '2096-01-01T00:00:00.000Z',
  });
  await autoDelegations.leave({ merchant }, address, `${PAUSED}, asleep = true`);
  expect((await run('list', merchant, '--status', 'paused')).out).toContain('paused (INSUFFICIENT_CREDITS)');
  expect((await run('list', merchant, '--status', 'asleep', '--json')).json()).toEqual({ auto_delegations: [] });
  const shown = await run('show', merchant, address);
  expect(shown.out).toMatch(/Paused +INSUFFICIENT_CREDITS, since 2026/);
  expect((await run('wake', merchant, address)).code).toBe(0);
  expect(await autoDelegations.rowOf({ merchant }, address)).toMatchObject({ asleep: false, is_due: true });
  expect((await run('delete', merchant, address)).code).toBe(2);
  expect((await run('delete', merchant, address, '--yes')).code).toBe(0);
  expect((await run('show', merchant, address)).err).toContain('no auto-delegation for this address');
  const acts = await autoDelegations.fixture.api.database.query<{ action: string; actor: string }>(
    `SELECT action, actor FROM audit_log WHERE subject = $1 AND action LIKE 'auto-delegation.%' ORDER BY id`,
    [merchant],
  );
  expect(acts).toEqual(
    ['set', 'set', 'wake', 'delete'].map((act) => ({ action: `auto-delegation.${act}`, actor: 'tester' })),
  );
});

it('rejects what a request could not set, and settings that nothing could pay for', async () => {
  const { merchant } = await autoDelegations.newCustomer();
  const address = autoDelegations.receiver();
  const refused = async (says: string, ...args: string[]): Promise<void> => {
    const { code, err } = await run('set', merchant, ...args);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(says)]);
  };
  await refused('keep_energy must be an integer from 1000', address, '--keep-energy', '999', '--daily-cap', '1');
  await refused('refill_below: must be at most keep_energy', address, ...NEEDED, '--refill-below', '65001');
  await refused('duration_sec must be', address, ...NEEDED, '--duration', '2592001');
  await refused('until must be a UTC time', address, ...NEEDED, '--until', 'tomorrow');
  await refused('until: must be in the future', address, ...NEEDED, '--until', '2020-01-01T00:00:00Z');
  await refused('It must be a TRON address', 'Tx', ...NEEDED);
  await refused('exist on chain yet', newAddress(), ...NEEDED);
  await refused('a contract', autoDelegations.fixture.chain.token, ...NEEDED);
  await refused('belongs to the service', autoDelegations.fixture.chain.pool.address, ...NEEDED);
  await apiKeysOn(autoDelegations.fixture.api.database, autoDelegations.fixture.api.app).revoke(merchant, AUTHOR);
  await refused('The primary key is revoked', address, ...NEEDED);
  expect((await run('list', merchant)).out).toBe('No auto-delegations.\n');
});

it('lists the auto-delegations of a key when its secret changes or it is revoked', async () => {
  const customer = await autoDelegations.newCustomer();
  const keys = apiKeysOn(autoDelegations.fixture.api.database, autoDelegations.fixture.api.app);
  const key = await keys.create(customer.merchant, { name: 'shop', scopes: ['order', 'manage'] }, AUTHOR);
  const merchant = customer.withKey(key.apiKey);
  const [mine, theirs] = [autoDelegations.receiver(), autoDelegations.receiver()];
  const webhook = (await merchant.post('/v1/webhooks', { url: 'https://shop.example.com/energy' })).body;
  await made(merchant, mine);
  await made(customer, theirs);
  const asJson = { webhooks: [webhook.id], auto_delegations: [mine], auto_delegations_count: 1 };
  const rotated = await cli('keys', 'rotate', key.id, '--yes', '--json');
  expect(rotated.json().made).toEqual(asJson);
  const primary = await cli('project', 'rotate-key', customer.merchant, '--yes', '--json');
  expect(primary.json().made).toEqual({ webhooks: [], auto_delegations: [theirs], auto_delegations_count: 1 });
  const revoked = await cli('keys', 'revoke', key.id);
  expect(revoked.out).toContain(webhook.id);
  expect(revoked.out).toContain(`${mine} (paused until they are set with another key)`);
  // An auto-delegation belongs to the key that set it last.
  const own = customer.withKey(primary.json().api_key as string);
  expect((await put(own, mine, LEAST)).status).toBe(200);
  expect((await cli('keys', 'revoke', key.id)).out).not.toContain(mine);
  expect((await cli('keys', 'revoke', key.id, '--json')).json().made).toMatchObject({ auto_delegations_count: 0 });
});
