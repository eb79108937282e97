// Delegation by the same rules for bandwidth and energy. TRON: DelegateResourceActuator, UnDelegateResourceActuator,
// DelegatedResourceStore, BandwidthProcessor, EnergyProcessor (release 4.8.1); limits by TIP-833. Derived from that source:
// the recorded answers of a real node (test/tron-node) have delegations of energy only.
import { type Answer, type Client, TOKEN, TRX, addressWord, keyOf, startChain, word } from './client.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const bob = keyOf('bob');
const carol = keyOf('carol');
const SLOT_MS = 3000;
let chain: Client;

/** The names of one resource in requests and answers. */
interface Names {
  readonly resource: 'BANDWIDTH' | 'ENERGY';
  readonly type: number;
  readonly limit: string;
  readonly used: string;
  readonly totalLimit: string;
  readonly totalWeight: string;
  readonly amount: string;
  readonly expiry: string;
  readonly staked: string;
  readonly short: string;
}

const BANDWIDTH: Names = {
  resource: 'BANDWIDTH',
  type: 0,
  limit: 'NetLimit',
  used: 'NetUsed',
  totalLimit: 'TotalNetLimit',
  totalWeight: 'TotalNetWeight',
  amount: 'frozen_balance_for_bandwidth',
  expiry: 'expire_time_for_bandwidth',
  staked: 'FreezeBandwidthV2',
  short: 'delegatedFrozenBalance(BANDWIDTH)',
};
const ENERGY: Names = {
  resource: 'ENERGY',
  type: 1,
  limit: 'EnergyLimit',
  used: 'EnergyUsed',
  totalLimit: 'TotalEnergyLimit',
  totalWeight: 'TotalEnergyWeight',
  amount: 'frozen_balance_for_energy',
  expiry: 'expire_time_for_energy',
  staked: 'FreezeEnergyV2',
  short: 'delegateFrozenBalance(Energy)',
};
const BOTH = [BANDWIDTH, ENERGY].map((names) => [names.resource, names] as const);

beforeEach(async () => {
  chain = await startChain();
  await chain.send(bank, 'createtransaction', { to_address: bob.address, amount: 1000 * TRX });
  await chain.send(bank, 'createaccount', { account_address: carol.address });
  for (const resource of ['ENERGY', 'BANDWIDTH']) {
    await chain.send(pool, 'freezebalancev2', { frozen_balance: 100_000 * TRX, resource });
    // Others' stake: without it the pool would hold the whole chain's resources.
    await chain.send(bank, 'freezebalancev2', { frozen_balance: 900_000_000 * TRX, resource });
  }
  await chain.mine();
});
afterEach(() => chain.node.stop());

function delegate({ resource }: Names, sun: number, options: object = {}): Promise<Answer> {
  return chain.run(pool, 'delegateresource', { receiver_address: bob.address, balance: sun, resource, ...options });
}

function reclaim({ resource }: Names, sun: number): Promise<Answer> {
  return chain.run(pool, 'undelegateresource', { receiver_address: bob.address, balance: sun, resource });
}

async function rows(): Promise<Answer[]> {
  const asked = { fromAddress: pool.address, toAddress: bob.address };
  return ((await chain.post('getdelegatedresourcev2', asked))['delegatedResource'] ?? []) as Answer[];
}

async function figure(key: typeof pool, name: string): Promise<number> {
  return ((await chain.resources(key))[name] as number | undefined) ?? 0;
}

/** Lets bob use some of a resource. */
async function use({ resource }: Names, token: string): Promise<void> {
  if (resource === 'BANDWIDTH') {
    await chain.run(bob, 'createtransaction', { to_address: carol.address, amount: 1 });
    return;
  }
  await chain.run(bob, 'triggersmartcontract', {
    contract_address: token,
    function_selector: 'transfer(address,uint256)',
    parameter: addressWord(carol.hex) + word(0),
    fee_limit: 100 * TRX,
  });
}

test.each(BOTH)('a delegation of %s moves its limit exactly, at the block of its transaction', async (_, names) => {
  const amount = 1_234_567_891;
  const info = await delegate(names, amount, { lock: true, lock_period: 7 });
  const { [names.totalLimit]: total, [names.totalWeight]: weight, [names.limit]: limit } = await chain.resources(bob);
  const exact = (BigInt(amount) * BigInt(total as number)) / (BigInt(weight as number) * 1_000_000n);
  expect(BigInt(limit as number)).toBe(exact);
  const expiry = (info['blockTimeStamp'] as number) - SLOT_MS + 7 * SLOT_MS;
  expect(await rows()).toEqual([
    { from: pool.address, to: bob.address, [names.amount]: amount, [names.expiry]: expiry },
  ]);
  // The chain's weight counts delegated stake at its owner.
  expect(weight).toBe(900_100_000);
});

test.each(BOTH)('refuses to delegate more %s than is there, and to reclaim more than is free', async (_, names) => {
  const asked = { owner_address: pool.address, type: names.type };
  const most = (await chain.post('getcandelegatedmaxsize', asked))['max_size'] as number;
  const tooMuch = `delegateBalance must be less than or equal to available ${names.staked} balance`;
  await expect(delegate(names, most + 1)).rejects.toThrow(tooMuch);
  await delegate(names, 60 * TRX);
  const after = (await chain.post('getcandelegatedmaxsize', asked))['max_size'] as number;
  expect(after).toBeLessThanOrEqual(most - 60 * TRX);
  await delegate(names, 40 * TRX, { lock: true, lock_period: 100 });
  await expect(reclaim(names, 60 * TRX + 1)).rejects.toThrow(
    `insufficient ${names.short}, request=${60 * TRX + 1}, unlock_balance=${60 * TRX}`,
  );
});

/** TRON: the stake that this many units of bandwidth take, rounded down. */
async function stakeOf(units: number): Promise<number> {
  const { TotalNetLimit: total, TotalNetWeight: weight } = await chain.resources(pool);
  return Math.trunc(units * TRX * ((weight as number) / (total as number)));
}

// TRON: Wallet.calcCanDelegatedBandWidthMaxSize and DelegateResourceActuator.validate count the owner's usage.
test('the owner’s own transactions take bandwidth stake that can no longer be delegated', async () => {
  const most = async (): Promise<number> =>
    (await chain.post('getcandelegatedmaxsize', { owner_address: pool.address, type: 0 }))['max_size'] as number;
  const before = await most();
  const { receipt } = await delegate(ENERGY, TRX);
  const used = (receipt as Answer)['net_usage'] as number;
  const taken = before - (await most());
  // Usage recovers by 1/28 800 a block.
  expect(Math.abs(taken - (await stakeOf(used)))).toBeLessThanOrEqual(await stakeOf(1));

  // The limit leaves out what the delegation itself may cost, so that all of it can be delegated.
  const all = await chain.build('delegateresource', {
    owner_address: pool.address,
    receiver_address: bob.address,
    balance: await most(),
    resource: 'BANDWIDTH',
  });
  await reclaim(ENERGY, TRX);
  expect((await chain.broadcast(all, pool)).answer).toMatchObject({ code: 'CONTRACT_VALIDATE_ERROR' });
  const left = await most();
  await delegate(BANDWIDTH, left);
  expect(await figure(pool, 'NetLimit')).toBeLessThan(2000);
});

test('locks each resource of a delegation by its own time', async () => {
  await delegate(ENERGY, 10 * TRX, { lock: true, lock_period: 3 });
  await delegate(BANDWIDTH, 20 * TRX, { lock: true, lock_period: 50 });
  const [locked] = await rows();
  expect(locked).toMatchObject({ [ENERGY.amount]: 10 * TRX, [BANDWIDTH.amount]: 20 * TRX });
  expect((locked![BANDWIDTH.expiry] as number) - (locked![ENERGY.expiry] as number)).toBe(48 * SLOT_MS);
  await chain.mine(3);
  await expect(reclaim(BANDWIDTH, 20 * TRX)).rejects.toThrow(`request=${20 * TRX}, unlock_balance=0`);
  await expect(delegate(BANDWIDTH, TRX, { lock: true, lock_period: 5 })).rejects.toThrow(
    /remaining time\[\d+ms\] of the last lock period for BANDWIDTH!/,
  );
  await reclaim(ENERGY, 10 * TRX);
  expect(await rows()).toEqual([expect.objectContaining({ [BANDWIDTH.amount]: 20 * TRX })]);
  expect(await figure(bob, ENERGY.limit)).toBe(0);
});

test('the index keeps both ends until neither resource is delegated', async () => {
  const partners = async (): Promise<unknown> =>
    (await chain.post('getdelegatedresourceaccountindexv2', { value: bob.address }))['fromAccounts'];
  await delegate(ENERGY, 5 * TRX);
  await delegate(BANDWIDTH, 6 * TRX);
  await reclaim(ENERGY, 5 * TRX);
  expect(await partners()).toEqual([pool.address]);
  await reclaim(BANDWIDTH, 6 * TRX);
  expect([await partners(), await rows()]).toEqual([undefined, []]);
});

// TRON: both resources of a pair share one record, and only a missing record is “does not exist”.
test.each([
  [BANDWIDTH, ENERGY],
  [ENERGY, BANDWIDTH],
])('a resource of a pair that has only the other one is short, not missing', async (one, other) => {
  await expect(reclaim(one, TRX)).rejects.toThrow('delegated Resource does not exist');
  await delegate(other, 5 * TRX);
  await expect(reclaim(one, TRX)).rejects.toThrow(`insufficient ${one.short}, request=${TRX}, unlock_balance=0`);
  expect(await rows()).toEqual([{ from: pool.address, to: bob.address, [other.amount]: 5 * TRX }]);
});

// TRON: DelegatedResourceStore.unLockExpireResource runs for the pair, whichever resource is moved.
test.each([
  [BANDWIDTH, ENERGY],
  [ENERGY, BANDWIDTH],
])('a delegation of one resource unlocks what has expired of the other', async (one, other) => {
  await delegate(other, 5 * TRX, { lock: true, lock_period: 2 });
  expect((await rows())[0]).toHaveProperty([other.expiry]);
  await chain.mine(3);
  await delegate(one, 6 * TRX);
  const free = { [one.amount]: 6 * TRX, [other.amount]: 5 * TRX };
  expect(await rows()).toEqual([{ from: pool.address, to: bob.address, ...free }]);
});

test.each(BOTH)('a reclaim of %s takes unlocked and expired stake together', async (_, names) => {
  await delegate(names, 5 * TRX);
  await delegate(names, 7 * TRX, { lock: true, lock_period: 3 });
  expect((await rows()).map((row) => row[names.amount])).toEqual([5 * TRX, 7 * TRX]);
  await expect(reclaim(names, 12 * TRX)).rejects.toThrow(`request=${12 * TRX}, unlock_balance=${5 * TRX}`);
  await chain.mine(4);
  await reclaim(names, 12 * TRX);
  expect([await rows(), await figure(bob, names.limit)]).toEqual([[], 0]);
});

test.each(BOTH)('a delegation of %s is judged by its stake before its receiver', async (_, names) => {
  const nobody = keyOf('nobody').address;
  const all = { receiver_address: nobody, resource: names.resource };
  await expect(chain.run(pool, 'delegateresource', { ...all, balance: 200_000 * TRX })).rejects.toThrow(names.staked);
  await expect(chain.run(pool, 'delegateresource', { ...all, balance: TRX - 1 })).rejects.toThrow('1 TRX');
  await expect(chain.run(pool, 'delegateresource', { ...all, balance: TRX })).rejects.toThrow('not exists');
});

// TRON: only getNetUsage() is shared out. The free bandwidth of an account has a usage of its own.
test('a reclaim of bandwidth leaves what the receiver used of its free bandwidth', async () => {
  const pay = () => chain.run(bob, 'createtransaction', { to_address: carol.address, amount: 1 });
  await pay();
  const free = await figure(bob, 'freeNetUsed');
  expect(free).toBeGreaterThan(100);
  await delegate(BANDWIDTH, 30_000 * TRX);
  await pay();
  expect(await figure(bob, BANDWIDTH.used)).toBeGreaterThan(100);
  await reclaim(BANDWIDTH, 30_000 * TRX);
  expect(await figure(bob, BANDWIDTH.used)).toBe(0);
  // It recovers by 1/28 800 a block.
  expect(await figure(bob, 'freeNetUsed')).toBeGreaterThan(free - 5);
});

// TRON: UnDelegateResourceActuator. The doubles are java-tron's.
test.each(BOTH)('a reclaim moves the share of the usage that belongs to the stake: %s', async (_, names) => {
  const token = await chain.deploy(pool, TOKEN.bytecode, { abi: JSON.stringify(TOKEN.abi), fee_limit: 1000 * TRX });
  // Half the receiver's stake is its own.
  await chain.run(bob, 'freezebalancev2', { frozen_balance: 500 * TRX, resource: names.resource });
  await delegate(names, 30_000 * TRX);
  await use(names, token);
  const used = await figure(bob, names.used);
  expect(used).toBeGreaterThan(100);
  const own = await figure(pool, names.used);
  const { [names.totalLimit]: total, [names.totalWeight]: weight } = await chain.resources(bob);
  await chain.send(pool, 'undelegateresource', {
    receiver_address: bob.address,
    balance: 12_000 * TRX,
    resource: names.resource,
  });
  // The pending state shows the reclaim at the same head, so that nothing recovers between the two reads.
  const share = Math.trunc(used * ((12_000 * TRX) / (30_500 * TRX)));
  const most = Math.trunc(12_000 * ((total as number) / (weight as number)));
  const moved = Math.min(share, most);
  expect(await figure(bob, names.used)).toBe(used - moved);
  // Reclaiming is itself a transaction, which the pool pays with bandwidth of its own.
  const bytes = names.resource === 'BANDWIDTH' ? 300 : 0;
  expect((await figure(pool, names.used)) - own).toBeGreaterThanOrEqual(moved);
  expect((await figure(pool, names.used)) - own).toBeLessThanOrEqual(moved + bytes);
});

test('pays with staked bandwidth first, then free bandwidth, then TRX for all bytes', async () => {
  const pay = async (): Promise<Answer> =>
    (await chain.run(bob, 'createtransaction', { to_address: carol.address, amount: 1 }))['receipt'] as Answer;
  // 6 TRX yield 287 bytes here: enough for one transfer.
  await delegate(BANDWIDTH, 6 * TRX);
  expect(await figure(bob, 'NetLimit')).toBe(287);
  const free = await figure(bob, 'freeNetUsed');
  const bytes = (await pay())['net_usage'] as number;
  expect([await figure(bob, 'NetUsed'), await figure(bob, 'freeNetUsed')]).toEqual([bytes, free]);
  await pay();
  expect(await figure(bob, 'freeNetUsed')).toBeGreaterThanOrEqual(free + bytes - 1);
  await pay();
  expect(await pay()).toEqual({ net_fee: bytes * 1000 });
});

// TRON: RepositoryImpl.calculateGlobalEnergyLimit keeps the formula of stake 1.0; ReceiptCapsule.payEnergyBill.
test('a contract call uses the energy of whole staked TRX only', async () => {
  const token = await chain.deploy(pool, TOKEN.bytecode, { abi: JSON.stringify(TOKEN.abi), fee_limit: 1000 * TRX });
  await delegate(ENERGY, 30.9 * TRX);
  const { TotalEnergyLimit: total, TotalEnergyWeight: weight } = await chain.resources(bob);
  const limitOf = (sun: number): number =>
    Number((BigInt(sun) * BigInt(total as number)) / (1_000_000n * BigInt(weight as number)));
  expect(await figure(bob, 'EnergyLimit')).toBe(limitOf(30.9 * TRX));
  const { receipt } = await chain.run(bob, 'triggersmartcontract', {
    contract_address: token,
    function_selector: 'heavy(uint256)',
    parameter: word(10),
    fee_limit: 100 * TRX,
  });
  expect(receipt).toMatchObject({ energy_usage: limitOf(30 * TRX) });
});

// TRON: BandwidthProcessor.consume leaves 65 bytes of each signature out of the limit for account creations.
test('an account creation counts its bytes without signatures against the size limit', async () => {
  const made = await chain.build('createaccount', {
    owner_address: bank.address,
    account_address: keyOf('dora').address,
  });
  const size = (made['raw_data_hex'] as string).length / 2;
  // raw_data with its header, and the header of the signature.
  await chain.node.control('parameters', { getMaxCreateAccountTxSize: size + 3 + 2 });
  expect((await chain.broadcast(made, bank)).answer['result']).toBe(true);
  await chain.node.control('parameters', { getMaxCreateAccountTxSize: size + 3 + 1 });
  const again = await chain.build('createaccount', {
    owner_address: bank.address,
    account_address: keyOf('emil').address,
  });
  expect((await chain.broadcast(again, bank)).answer['code']).toBe('TOO_BIG_TRANSACTION_ERROR');
});
