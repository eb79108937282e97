// Pay of witnesses and rewards of voters, in exact sun. TRON (release 4.8.1): Manager.payReward, MortgageService,
// DelegationStore.accumulateWitnessVi, WithdrawBalanceActuator, UpdateBrokerageActuator, GetRewardServlet.
import { createHash } from 'node:crypto';
import { TronWeb } from 'tronweb';
import { type Answer, type Client, type Key, TRX, keyOf, startChain } from './client.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const bob = keyOf('bob');
const BLOCKS = 20;
const DAY_MS = 86_400_000;
/** Pay for each block, sun: of the producer, and of all witnesses by votes; four fifths go to voters. */
const BLOCK_PAY = 16n * 1_000_000n;
const STANDBY_PAY = 160n * 1_000_000n;
const VOTERS_OF_100 = 80n;
const VI = 10n ** 18n;
let chain: Client;

interface Witness extends Answer {
  readonly address: string;
  readonly totalProduced?: number;
}

beforeEach(async () => {
  const accounts = [bank, pool, bob].map(({ address }) => ({ address, balance: 1_000_000 * TRX }));
  chain = await startChain({ genesis: { accounts, parameters: { getMaintenanceTimeInterval: BLOCKS * 3000 } } });
  for (const key of [pool, bob])
    await chain.send(key, 'freezebalancev2', { frozen_balance: 1000 * TRX, resource: 'ENERGY' });
  await chain.mine();
});
afterEach(() => chain.node.stop());

async function witnesses(): Promise<Witness[]> {
  return (await chain.post('listwitnesses'))['witnesses'] as Witness[];
}

function vote(key: Key, counts: Readonly<Record<string, number>>): Promise<Answer> {
  const votes = Object.entries(counts).map(([vote_address, vote_count]) => ({ vote_address, vote_count }));
  return chain.run(key, 'votewitnessaccount', { votes });
}

async function rewardOf(key: Key): Promise<bigint> {
  return BigInt((await chain.post('getReward', { address: key.address }))['reward'] as number);
}

/** Makes blocks until the one that does maintenance, with that one. */
async function endCycle(): Promise<void> {
  const { num } = await chain.post('getnextmaintenancetime');
  do await chain.mine();
  while ((await chain.post('getnextmaintenancetime'))['num'] === num);
}

/** Ends a cycle; returns what the voters of a witness with `share` of all votes earned in it. */
async function voterPay(witness: string, share: { votes: bigint; all: bigint }): Promise<bigint> {
  const produced = async (): Promise<number> =>
    (await witnesses()).find(({ address }) => address === witness)?.totalProduced ?? 0;
  const before = await produced();
  await endCycle();
  const made = BigInt((await produced()) - before);
  const standby = (STANDBY_PAY * share.votes) / share.all;
  const voters = (pay: bigint): bigint => pay - (pay * (100n - VOTERS_OF_100)) / 100n;
  return made * voters(BLOCK_PAY) + BigInt(BLOCKS) * voters(standby);
}

function shareOf(pay: bigint, votes: bigint, all: bigint): bigint {
  return (((pay * VI) / all) * votes) / VI;
}

test('pays the voters of counted votes at the end of each cycle, in exact shares', async () => {
  const [a] = (await witnesses()).map(({ address }) => address) as [string];
  await vote(pool, { [a]: 700 });
  await vote(bob, { [a]: 200 });
  await endCycle();
  expect([await rewardOf(pool), await rewardOf(bob)]).toEqual([0n, 0n]);
  const pay = await voterPay(a, { votes: 900n, all: 900n });
  expect(await rewardOf(pool)).toBe(shareOf(pay, 700n, 900n));
  expect(await rewardOf(bob)).toBe(shareOf(pay, 200n, 900n));
  // Sums per vote add up over cycles, and are rounded once.
  const second = await voterPay(a, { votes: 900n, all: 900n });
  const perVote = (pay * VI) / 900n + (second * VI) / 900n;
  expect(await rewardOf(pool)).toBe((perVote * 700n) / VI);
  await chain.mine();
  expect(BigInt((await chain.solid('getReward', { address: bob.hex }))['reward'] as number)).toBe(
    (perVote * 200n) / VI,
  );
});

test('shares the pay among witnesses by votes, and a changed vote keeps the running cycle', async () => {
  const [a, b] = (await witnesses()).map(({ address }) => address) as [string, string];
  await vote(pool, { [a]: 700 });
  await vote(bob, { [b]: 300 });
  await endCycle();
  await vote(bob, { [a]: 300 });
  const pay = await voterPay(b, { votes: 300n, all: 1000n });
  // Bob voted for b when the cycle began, whose only voter he was.
  expect(await rewardOf(bob)).toBe(shareOf(pay, 300n, 300n));
  const next = await voterPay(a, { votes: 1000n, all: 1000n });
  expect(await rewardOf(bob)).toBe(shareOf(pay, 300n, 300n) + shareOf(next, 300n, 1000n));
});

test('withdraws a reward at most once in 24 hours', async () => {
  const [a] = (await witnesses()).map(({ address }) => address) as [string];
  await expect(chain.send(pool, 'withdrawbalance', {})).rejects.toThrow('witnessAccount does not have any reward');
  await vote(pool, { [a]: 1000 });
  await endCycle();
  const pay = await voterPay(a, { votes: 1000n, all: 1000n });
  const before = BigInt((await chain.account(pool))['balance'] as number);
  const info = await chain.run(pool, 'withdrawbalance', {});
  const earned = shareOf(pay, 1000n, 1000n);
  expect(BigInt(info['withdraw_amount'] as number)).toBe(earned);
  const account = await chain.account(pool);
  expect(BigInt(account['balance'] as number)).toBe(before + earned - BigInt((info['fee'] as number | undefined) ?? 0));
  const time = account['latest_withdraw_time'] as number;
  expect(time).toBe((info['blockTimeStamp'] as number) - 3000);
  expect([account['allowance'], await rewardOf(pool)]).toEqual([undefined, 0n]);
  const early = `The last withdraw time is ${String(time)}, less than 24 hours`;
  await chain.node.control('mine', { blocks: [{ timestamp: time + DAY_MS - 3000 }] });
  await expect(chain.send(pool, 'withdrawbalance', {})).rejects.toThrow(early);
  await chain.mine();
  await chain.run(pool, 'withdrawbalance', {});
});

test('unfreezing settles the reward of the votes that it takes, which count until the cycle ends', async () => {
  const [a] = (await witnesses()).map(({ address }) => address) as [string];
  await vote(pool, { [a]: 1000 });
  await endCycle();
  const pay = await voterPay(a, { votes: 1000n, all: 1000n });
  await chain.run(pool, 'unfreezebalancev2', { unfreeze_balance: 1000 * TRX, resource: 'ENERGY' });
  const earned = shareOf(pay, 1000n, 1000n);
  expect(await chain.account(pool)).not.toHaveProperty('votes');
  expect(BigInt((await chain.account(pool))['allowance'] as number)).toBe(earned);
  const last = shareOf(await voterPay(a, { votes: 1000n, all: 1000n }), 1000n, 1000n);
  expect(await rewardOf(pool)).toBe(earned + last);
  await endCycle();
  expect(await rewardOf(pool)).toBe(earned + last);
});

test('a brokerage counts from the next cycle, and a genesis witness cannot withdraw', async () => {
  const secret = createHash('sha256').update('devnet witness devnet:0:0').digest('hex');
  const address = TronWeb.address.fromPrivateKey(secret) as string;
  const witness: Key = { secret, address, hex: TronWeb.address.toHex(address).toLowerCase() };
  expect((await witnesses())[0]?.address).toBe(address);
  await chain.run(bank, 'createtransaction', { to_address: address, amount: TRX });
  const brokerage = async (): Promise<unknown> => chain.post('getBrokerage', { address });
  await chain.run(witness, 'updateBrokerage', { brokerage: 55 });
  expect(await brokerage()).toEqual({ brokerage: 20 });
  await endCycle();
  expect(await brokerage()).toEqual({ brokerage: 55 });
  const allowance = async (): Promise<bigint> =>
    BigInt(((await chain.account(witness))['allowance'] as number | undefined) ?? 0);
  const before = await allowance();
  await vote(pool, { [address]: 1000 });
  await endCycle();
  await endCycle();
  expect((await allowance()) - before).toBeGreaterThanOrEqual((BigInt(BLOCKS) * STANDBY_PAY * 55n) / 100n);
  await expect(chain.send(witness, 'withdrawbalance', {})).rejects.toThrow(
    `Account[${witness.hex}] is a guard representative and is not allowed to withdraw Balance`,
  );
  await expect(chain.send(pool, 'updateBrokerage', { brokerage: 1 })).rejects.toThrow(
    `Not existed witness:${pool.hex}`,
  );
  await expect(chain.send(witness, 'updateBrokerage', { brokerage: 101 })).rejects.toThrow('Invalid brokerage');
});

test('getReward and getBrokerage read both forms of an address, and answer zeros', async () => {
  expect(await chain.post('getReward', {})).toEqual({ reward: 0 });
  expect(await chain.post('getBrokerage', {})).toEqual({ brokerage: 0 });
  expect(await chain.post('getReward', { address: pool.hex })).toEqual({ reward: 0 });
  expect(await chain.post('getBrokerage', { address: pool.address })).toEqual({ brokerage: 20 });
  expect(String((await chain.post('getReward', { address: '41zz' }))['Error'])).toContain('INVALID address, ');
  expect(String((await chain.post('getBrokerage', { address: 'T0' }))['Error'])).toContain('INVALID address, ');
});
