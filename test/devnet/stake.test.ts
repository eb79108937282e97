// Stake, delegation, permissions and fees: rules of the real node that the recorded session does not cover.
import { type Answer, type Client, TRX, keyOf, startChain } from './client.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const bob = keyOf('bob');
const carol = keyOf('carol');
let chain: Client;

beforeEach(async () => {
  chain = await startChain();
  await chain.send(bank, 'createtransaction', { to_address: bob.address, amount: 1000 * TRX });
  await chain.send(bank, 'createaccount', { account_address: carol.address });
  await chain.send(pool, 'freezebalancev2', { frozen_balance: 500_000 * TRX, resource: 'ENERGY' });
  await chain.send(pool, 'freezebalancev2', { frozen_balance: 100_000 * TRX, resource: 'BANDWIDTH' });
  await chain.mine();
});
afterEach(() => chain.node.stop());

function lend(amountTrx: number, options: object = {}): object {
  return { receiver_address: bob.address, balance: amountTrx * TRX, resource: 'ENERGY', ...options };
}

function rows(answer: Answer): Answer[] {
  return (answer['delegatedResource'] ?? []) as Answer[];
}

function lent(): Promise<Answer> {
  return chain.post('getdelegatedresourcev2', { fromAddress: pool.address, toAddress: bob.address });
}

test('a locked delegation merges into the locked row and extends it; the unlocked row stays apart', async () => {
  await chain.run(pool, 'delegateresource', lend(300));
  await chain.run(pool, 'delegateresource', lend(100, { lock: true, lock_period: 8 }));
  const first = rows(await lent());
  await chain.run(pool, 'delegateresource', lend(50, { lock: true, lock_period: 20 }));
  const [free, locked] = rows(await lent());
  expect(first).toHaveLength(2);
  expect(free).toMatchObject({ frozen_balance_for_energy: 300 * TRX });
  expect(free).not.toHaveProperty('expire_time_for_energy');
  expect(locked).toMatchObject({ frozen_balance_for_energy: 150 * TRX });
  expect(locked?.['expire_time_for_energy']).toBe(Number(first[1]?.['expire_time_for_energy']) + (1 + 12) * 3000);
  await expect(chain.send(pool, 'delegateresource', lend(1, { lock: true, lock_period: 5 }))).rejects.toThrow(
    /cannot be less than the remaining time\[57000ms\] of the last lock period for ENERGY!/,
  );
});

test('an expired lock can be reclaimed together with what was never locked', async () => {
  await chain.run(pool, 'delegateresource', lend(30));
  await chain.run(pool, 'delegateresource', lend(10, { lock: true, lock_period: 3 }));
  const all = { receiver_address: bob.address, balance: 40 * TRX, resource: 'ENERGY' };
  await expect(chain.send(pool, 'undelegateresource', all)).rejects.toThrow(
    `insufficient delegateFrozenBalance(Energy), request=${40 * TRX}, unlock_balance=${30 * TRX}`,
  );
  await chain.mine(2);
  // At the expiry itself the lock still holds. It ends when the head is later.
  await expect(chain.send(pool, 'undelegateresource', all)).rejects.toThrow('insufficient');
  await chain.mine(1);
  await chain.run(pool, 'undelegateresource', all);
  expect(await lent()).toEqual({});
  expect(await chain.post('getdelegatedresourceaccountindexv2', { value: pool.address })).toEqual({
    account: pool.address,
  });
});

test('without a period a lock holds three days; a period without lock is ignored', async () => {
  const info = await chain.run(pool, 'delegateresource', lend(10, { lock: true }));
  expect(rows(await lent())[0]?.['expire_time_for_energy']).toBe(Number(info['blockTimeStamp']) - 3000 + 86_400 * 3000);
  await chain.run(pool, 'delegateresource', { ...lend(10, { lock_period: 5 }), receiver_address: carol.address });
  const carols = await chain.post('getdelegatedresourcev2', { fromAddress: pool.address, toAddress: carol.address });
  expect(rows(carols)[0]).not.toHaveProperty('expire_time_for_energy');
});

test('bandwidth can be delegated, used and returned', async () => {
  await chain.run(pool, 'delegateresource', lend(50_000, { resource: 'BANDWIDTH' }));
  const before = await chain.resources(bob);
  expect(Number(before['NetLimit'])).toBeGreaterThan(1_000_000);
  const info = await chain.run(bob, 'createtransaction', { to_address: carol.address, amount: 1 });
  const used = Number((info['receipt'] as Answer)['net_usage']);
  expect(await chain.resources(bob)).toMatchObject({ NetUsed: used });
  const own = Number((await chain.resources(pool))['NetUsed']);
  await chain.run(pool, 'undelegateresource', {
    receiver_address: bob.address,
    balance: 50_000 * TRX,
    resource: 'BANDWIDTH',
  });
  expect(await chain.resources(bob)).not.toHaveProperty('NetUsed');
  expect(Number((await chain.resources(pool))['NetUsed'])).toBeGreaterThan(own + used - 10);
  await expect(chain.send(pool, 'delegateresource', lend(100_000, { resource: 'BANDWIDTH' }))).rejects.toThrow(
    'delegateBalance must be less than or equal to available FreezeBandwidthV2 balance',
  );
});

// TRON: DelegateResourceActuator, BandwidthProcessor and EnergyProcessor. The full port reads the pending state.
test.each([
  ['ENERGY', 'EnergyLimit', 'TotalEnergyLimit', 'TotalEnergyWeight', 'account_resource'],
  ['BANDWIDTH', 'NetLimit', 'TotalNetLimit', 'TotalNetWeight', undefined],
])('delegated %s counts from its transaction, and on the solid port from its solid block', async (...names) => {
  const [resource, limit, total, weight, part] = names;
  const acquired = `acquired_delegated_frozenV2_balance_for_${resource.toLowerCase()}`;
  const solidly = async (): Promise<unknown> => {
    const account = await chain.solid('getaccount', { address: bob.address });
    return ((part === undefined ? account : (account[part] ?? {})) as Answer)[acquired];
  };
  await chain.send(pool, 'delegateresource', lend(7, { resource }));
  const pending = await chain.resources(bob);
  // TIP-833: the exact fraction, rounded down.
  const exact = (BigInt(7 * TRX) * BigInt(pending[total] as number)) / (1_000_000n * BigInt(pending[weight] as number));
  expect(BigInt(pending[limit] as number)).toBe(exact);
  await chain.mine();
  expect([(await chain.resources(bob))[limit], await solidly()]).toEqual([pending[limit], undefined]);
  await chain.mine();
  expect(await solidly()).toBe(7 * TRX);
});

test('the index lists both ends in the order of their last delegation', async () => {
  await chain.run(pool, 'delegateresource', lend(1));
  await chain.run(pool, 'delegateresource', { ...lend(1), receiver_address: carol.address });
  await chain.run(pool, 'delegateresource', lend(1));
  expect(await chain.post('getdelegatedresourceaccountindexv2', { value: pool.address })).toEqual({
    account: pool.address,
    toAccounts: [carol.address, bob.address],
  });
  expect(await chain.post('getdelegatedresourceaccountindexv2', { value: bob.address })).toEqual({
    account: bob.address,
    fromAccounts: [pool.address],
  });
});

test('unstaked TRX waits, can be cancelled, and no more than 32 unstakings wait at once', async () => {
  const some = { unfreeze_balance: 5 * TRX, resource: 'ENERGY' };
  const info = await chain.run(pool, 'unfreezebalancev2', some);
  expect(info).toMatchObject({ unfreeze_amount: 5 * TRX });
  expect(await chain.account(pool)).toMatchObject({
    unfrozenV2: [
      {
        type: 'ENERGY',
        unfreeze_amount: 5 * TRX,
        unfreeze_expire_time: Number(info['blockTimeStamp']) - 3000 + 14 * 86_400_000,
      },
    ],
  });
  expect(await chain.post('getavailableunfreezecount', { owner_address: pool.address })).toEqual({ count: 31 });
  const far = Number(info['blockTimeStamp']) + 15 * 86_400_000;
  const asked = { owner_address: pool.address, timestamp: far };
  expect(await chain.post('getcanwithdrawunfreezeamount', asked)).toEqual({ amount: 5 * TRX });
  expect(await chain.post('getcanwithdrawunfreezeamount', { owner_address: pool.address })).toEqual({});
  await expect(chain.send(pool, 'withdrawexpireunfreeze', {})).rejects.toThrow('no unFreeze balance to withdraw ');
  await chain.run(pool, 'cancelallunfreezev2', {});
  expect((await chain.resources(pool))['TotalEnergyWeight']).toBe(500_000);
  for (let i = 0; i < 32; i++) await chain.send(pool, 'unfreezebalancev2', { ...some, unfreeze_balance: i + 1 });
  await expect(chain.send(pool, 'unfreezebalancev2', some)).rejects.toThrow('unfreezing times is over limit');
  await expect(
    chain.send(pool, 'unfreezebalancev2', { unfreeze_balance: 600_000 * TRX, resource: 'ENERGY' }),
  ).rejects.toThrow(`Invalid unfreeze_balance, [${600_000 * TRX}] is error`);
});

test('unstaked TRX comes back when its wait is over', async () => {
  await chain.node.control('parameters', { getUnfreezeDelayDays: 0 });
  const before = Number((await chain.account(pool))['balance']);
  await chain.run(pool, 'unfreezebalancev2', { unfreeze_balance: 7 * TRX, resource: 'ENERGY' });
  const info = await chain.run(pool, 'withdrawexpireunfreeze', {});
  expect(info).toMatchObject({ withdraw_expire_amount: 7 * TRX });
  expect(Number((await chain.account(pool))['balance'])).toBe(before + 7 * TRX);
});

test('used bandwidth comes back over a day, linearly', async () => {
  await chain.run(bob, 'createtransaction', { to_address: carol.address, amount: 1 });
  const at = async (): Promise<number> => Number((await chain.resources(bob))['freeNetUsed'] ?? 0);
  const full = await at();
  await chain.mine(7_200);
  expect(Math.abs((await at()) - full * 0.75)).toBeLessThan(2);
  for (let i = 0; i < 3; i++) await chain.mine(7_200);
  expect(await at()).toBe(0);
});

test('two signatures cost the multi-signature fee, one under an active permission does not', async () => {
  const keys = [pool, carol].map((k) => ({ address: k.address, weight: 1 }));
  const operations = '0200000000000006' + '00'.repeat(24);
  const info = await chain.run(pool, 'accountpermissionupdate', {
    owner: { type: 0, permission_name: 'owner', threshold: 1, keys: keys.slice(0, 1) },
    actives: [
      { type: 2, permission_name: 'both', threshold: 2, operations, keys },
      { type: 2, permission_name: 'one', threshold: 1, operations, keys },
    ],
  });
  expect(info['fee']).toBe(100 * TRX);
  const build = (Permission_id: number, amount: number): Promise<Parameters<Client['broadcast']>[0]> =>
    chain.build('createtransaction', { owner_address: pool.address, to_address: bob.address, amount, Permission_id });
  const both = await chain.broadcast(await build(2, 1), pool, carol);
  const one = await chain.broadcast(await build(3, 1), carol);
  expect((await chain.broadcast(await build(2, 2), pool)).answer['message']).toBe(
    'Validate signature error: sig error',
  );
  expect((await chain.broadcast(await build(2, 3), pool, pool)).answer['message']).toBe(
    `Validate signature error: ${pool.address} has signed twice!`,
  );
  expect((await chain.broadcast(await build(3, 4), pool, carol, bob)).answer['message']).toBe(
    'Validate signature error: Signature count is 3 more than key counts of permission : 2',
  );
  await chain.mine();
  expect(await chain.info(both.txId)).toMatchObject({ fee: TRX });
  expect(await chain.info(one.txId)).not.toHaveProperty('fee');
});

test.each([
  [{ actives: [] }, 'active permission is missed'],
  [{ owner: undefined }, 'owner permission is missed'],
  [{ operations: '00' }, 'operations size must 32'],
  [{ operations: '0000000000000080' + '00'.repeat(24) }, "63 isn't a validate ContractType"],
  [{ keys: [] }, "key's count should be greater than 0"],
  [{ threshold: 2 }, "sum of all key's weight should not be less than threshold in permission Active"],
])('a permission update with %j is refused: %s', async (fault, message) => {
  const keys = [{ address: pool.address, weight: 1 }];
  const good = { type: 2, permission_name: 'a', threshold: 1, operations: '02'.padEnd(64, '0'), keys };
  const body = {
    owner: { type: 0, permission_name: 'owner', threshold: 1, keys },
    actives: [{ ...good, ...fault }],
    ...fault,
  };
  await expect(chain.build('accountpermissionupdate', { owner_address: pool.address, ...body })).rejects.toThrow(
    message,
  );
});

test('a memo costs its fee when the chain requires one', async () => {
  await chain.node.control('parameters', { getMemoFee: TRX });
  const info = await chain.run(pool, 'createtransaction', { to_address: bob.address, amount: 1, extra_data: 'hello' });
  expect(info['fee']).toBe(TRX);
  const tx = await chain.post('gettransactionbyid', { value: info['id'] });
  expect((tx['raw_data'] as Answer)['data']).toBe(Buffer.from('hello').toString('hex'));
});

test('an account is made with staked bandwidth when there is some, never with free bandwidth', async () => {
  const staked = await chain.run(pool, 'createaccount', { account_address: keyOf('erin').address });
  expect(staked).toMatchObject({ fee: TRX, receipt: { net_usage: 266 } });
  const free = await chain.run(bob, 'createaccount', { account_address: keyOf('frank').address });
  expect(free).toMatchObject({ fee: 1.1 * TRX, receipt: { net_fee: 100_000 } });
});
