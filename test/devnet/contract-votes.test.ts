// Votes and rewards of contracts. TRON: Program.voteWitness, withdrawReward and withdrawRewardAndCancelVote,
// VoteWitnessProcessor, WithdrawRewardProcessor, VoteRewardUtil (release 4.8.1).
import { TronWeb } from 'tronweb';
import { type Answer, type Client, TRX, addressWord, keyOf, startChain, word } from './client.js';
import { DELEGATING_RELAY, STATIC_RELAY, VOTER, destroyCall, voteCall, voterCall } from './contracts/voter.js';

const bank = keyOf('bank');
const heir = keyOf('heir');
const pool = keyOf('pool');
const BLOCKS = 10;
let chain: Client;
let voter: string;
let witnesses: readonly string[];

interface Internal {
  readonly transferTo_address?: string;
  readonly callValueInfo: readonly { readonly callValue?: number }[];
  readonly note: string;
  readonly rejected?: true;
  readonly extra?: string;
}

async function start(version = '4.8.2'): Promise<void> {
  const accounts = [bank, pool].map(({ address }) => ({ address, balance: 1_000_000 * TRX }));
  const parameters = { getMaintenanceTimeInterval: BLOCKS * 3000, getAllowNewResourceModel: 0 };
  chain = await startChain({ version, genesis: { accounts, parameters } });
  voter = await chain.deploy(bank, VOTER, { call_value: 2000 * TRX });
  const list = (await chain.post('listwitnesses'))['witnesses'] as readonly { address: string }[];
  witnesses = list.map(({ address }) => hexOf(address));
}
afterEach(() => chain.node.stop());

const hexOf = (address: string): string => TronWeb.address.toHex(address).toLowerCase();
const base58 = (hex: string): string => TronWeb.address.fromHex(hex);
const witness = (i: number): string => witnesses[i] ?? '';

function run(parameter: string, to = voter): Promise<Answer> {
  return chain.run(bank, 'triggersmartcontract', {
    contract_address: to,
    function_selector: 'run()',
    parameter,
    fee_limit: 1000 * TRX,
  });
}

/** The word that a contract returned. */
function resultOf(info: Answer): bigint {
  return BigInt(`0x${(info['contractResult'] as readonly [string])[0]}`);
}

function internalOf(info: Answer): readonly Internal[] {
  const list = (info['internal_transactions'] ?? []) as readonly Internal[];
  return list.map((each) => ({ ...each, note: Buffer.from(each.note, 'hex').toString('utf8') }));
}

async function accountOf(address: string): Promise<Answer> {
  return chain.post('getaccount', { address });
}

async function votesOf(address = voter): Promise<unknown> {
  return (await accountOf(address))['votes'];
}

const printed = (...votes: readonly (readonly [string, number])[]): object[] =>
  votes.map(([address, vote_count]) => ({ vote_address: base58(address), vote_count }));

/** Makes blocks until the one that does maintenance, with that one. */
async function endCycle(): Promise<void> {
  const { num } = await chain.post('getnextmaintenancetime');
  do await chain.mine();
  while ((await chain.post('getnextmaintenancetime'))['num'] === num);
}

/** Lets the contract freeze 1,000 TRX, vote with them, and earn a reward. */
async function earn(): Promise<bigint> {
  await run(voterCall('freeze', 1000 * TRX));
  await run(voteCall([[witness(0), 1000n]]));
  await endCycle();
  await endCycle();
  return rewardOf();
}

async function rewardOf(address = voter): Promise<bigint> {
  return BigInt((await chain.post('getReward', { address }))['reward'] as number);
}

test('a contract votes with its stake, merges votes for one witness, and the next maintenance counts them', async () => {
  await start();
  await run(voterCall('freeze', 1000 * TRX));
  const given: [string, bigint][] = [
    [witness(0), 100n],
    [witness(1), 0n],
    [witness(2), 300n],
    [witness(0), 7n],
  ];
  const info = await run(voteCall(given));
  expect(resultOf(info)).toBe(1n);
  const votes = (await votesOf()) as object[];
  expect(votes).toHaveLength(2);
  expect(votes).toEqual(expect.arrayContaining(printed([witness(0), 107], [witness(2), 300])));
  const [internal, ...others] = internalOf(info);
  expect(others).toEqual([]);
  // TRON (VoteWitnessParam.toJsonStr): the votes as they were given.
  const extra = { votes: given.map(([address, n]) => ({ vote_address: base58(address), vote_count: Number(n) })) };
  expect(internal).toEqual({
    hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    caller_address: voter,
    callValueInfo: [{}],
    note: 'voteWitness',
    extra: JSON.stringify(extra),
  });
  await endCycle();
  const list = (await chain.post('listwitnesses'))['witnesses'] as readonly { voteCount?: number }[];
  expect(list.slice(0, 3).map(({ voteCount = 0 }) => voteCount)).toEqual([107, 0, 300]);
});

test('the votes of a contract are listed in the order of a Java hash map, and a vote without entries ends them', async () => {
  await start();
  await run(voterCall('freeze', 1000 * TRX));
  await run(voteCall(witnesses.map((address, i) => [address, BigInt(i + 1)])));
  const ordered = ((await votesOf()) as { vote_count: number }[]).map(({ vote_count }) => vote_count);
  // Listed by java.util.HashMap of Java 17, with keys that hash like protobuf's ByteString.
  expect(ordered).toEqual([
    8, 26, 1, 13, 24, 20, 14, 7, 18, 2, 9, 16, 11, 19, 4, 5, 3, 12, 15, 17, 21, 22, 25, 10, 27, 6, 23,
  ]);
  expect(resultOf(await run(voteCall([])))).toBe(1n);
  expect(await votesOf()).toBeUndefined();
});

describe('a contract is refused, and keeps its earlier votes,', () => {
  beforeEach(async () => {
    await start();
    await run(voterCall('freeze', 1000 * TRX));
    await run(voteCall([[witness(3), 5n]]));
  });

  test.each([
    ['more votes than its TRON Power', (): string => voteCall([[witness(0), 1001n]])],
    ['a candidate that is no witness', (): string => voteCall([[bank.hex, 0n]])],
    ['a negative count', (): string => voteCall([[witness(0), -1n]])],
    ['votes whose sum overflows', (): string => voteCall([0, 1].map((i) => [witness(i), 2n ** 62n]))],
    ['31 entries', (): string => voteCall(Array.from({ length: 31 }, () => [witness(0), 1n]))],
  ])('%s', async (_what, parameter) => {
    const info = await run(parameter());
    expect([resultOf(info), (info['receipt'] as Answer)['result']]).toEqual([0n, 'SUCCESS']);
    expect(internalOf(info)).toMatchObject([{ note: 'voteWitness', rejected: true, extra: expect.anything() }]);
    expect(await votesOf()).toEqual(printed([witness(3), 5]));
  });

  test('a count beyond 64 bits, which leaves no list of votes', async () => {
    const info = await run(voteCall([[witness(0), 2n ** 63n]]));
    expect(resultOf(info)).toBe(0n);
    expect(internalOf(info)[0]).toMatchObject({ rejected: true });
    expect(internalOf(info)[0]).not.toHaveProperty('extra');
  });

  test('lists of two lengths, whose internal transaction alone is not rejected', async () => {
    const info = await run(voteCall([[witness(0), 1n]], { amountLength: 0 }));
    expect(resultOf(info)).toBe(0n);
    expect(internalOf(info)[0]).not.toHaveProperty('rejected');
    expect(await votesOf()).toEqual(printed([witness(3), 5]));
  });

  test('a length that differs from the one in memory, which ends the call', async () => {
    const call = voteCall([[witness(0), 1n]]);
    // The second argument is the length of the witnesses.
    const info = await run(call.slice(0, 128) + word(2) + call.slice(192));
    expect((info['receipt'] as Answer)['result']).toBe('UNKNOWN');
    expect(info['resMessage']).toBe('TVM VoteWitness: memory array length do not match length parameter!');
    expect(internalOf(info)[0]).toMatchObject({ note: 'voteWitness', rejected: true });
  });
});

test('a contract reads and takes its reward, again within 24 hours, dated by the block', async () => {
  await start();
  const reward = await earn();
  expect(reward).toBeGreaterThan(0n);
  const before = BigInt((await accountOf(voter))['balance'] as number);
  expect(resultOf(await run(voterCall('reward')))).toBe(reward);
  const info = await run(voterCall('withdraw'));
  expect(resultOf(info)).toBe(reward);
  expect(internalOf(info)).toMatchObject([
    { note: 'withdrawReward', transferTo_address: voter, callValueInfo: [{ callValue: Number(reward) }] },
  ]);
  const account = await accountOf(voter);
  expect(BigInt(account['balance'] as number)).toBe(before + reward);
  // The block's own time, where a withdrawal by transaction has that of the block before.
  expect(account['latest_withdraw_time']).toBe(info['blockTimeStamp']);
  expect(await rewardOf()).toBe(0n);
  const empty = await run(voterCall('withdraw'));
  expect([resultOf(empty), internalOf(empty)[0]?.rejected]).toEqual([0n, undefined]);
  await endCycle();
  const next = await rewardOf();
  expect(next).toBeGreaterThan(0n);
  expect(resultOf(await run(voterCall('withdraw')))).toBe(next);
});

/** Runs one operation of the voter through a relay. Returns what the voter returned, undefined if it failed. */
async function through(relay: string, parameter: string): Promise<bigint | undefined> {
  const info = await run(`${addressWord(hexOf(voter))}00000000${parameter}`, relay);
  const [result] = info['contractResult'] as readonly [string];
  return BigInt(`0x${result.slice(0, 64)}`) === 1n ? BigInt(`0x${result.slice(64)}`) : undefined;
}

test('a reward is that of the caller whom the code sees, in a delegated call the contract itself', async () => {
  await start();
  const borrower = await chain.deploy(bank, DELEGATING_RELAY, { call_value: 2000 * TRX });
  expect(await through(borrower, voterCall('freeze', 1000 * TRX))).toBe(1n);
  expect(await through(borrower, voteCall([[witness(0), 1000n]]))).toBe(1n);
  expect([await votesOf(), await votesOf(borrower)]).toEqual([undefined, printed([witness(0), 1000])]);
  await endCycle();
  await endCycle();
  const reward = await rewardOf(borrower);
  expect(reward).toBeGreaterThan(0n);
  expect(await through(borrower, voterCall('reward'))).toBe(reward);
  expect(resultOf(await run(voterCall('reward')))).toBe(0n);
});

test('unfreezing takes the votes of a contract that the rest no longer covers', async () => {
  await start();
  await run(voterCall('freeze', 1000 * TRX));
  await run(voteCall([[witness(0), 900n]]));
  expect(resultOf(await run(voterCall('unfreeze', 550 * TRX)))).toBe(1n);
  expect(await votesOf()).toEqual(printed([witness(0), 450]));
});

test('a contract that destroys itself gives its reward to its heir, and its votes end', async () => {
  await start();
  const reward = await earn();
  const info = await run(destroyCall(heir.hex));
  // The stake goes to the heir as stake.
  const [internal] = internalOf(info);
  expect(internal).toMatchObject({ note: 'suicide', callValueInfo: [{ callValue: 1000 * TRX + Number(reward) }] });
  expect(await accountOf(heir.address)).toMatchObject({ balance: 1000 * TRX + Number(reward) });
  const left = await accountOf(voter);
  expect(left).toMatchObject({ latest_withdraw_time: info['blockTimeStamp'] });
  expect(left).not.toHaveProperty('votes');
  await endCycle();
  const list = (await chain.post('listwitnesses'))['witnesses'] as readonly Answer[];
  expect(list[0]).not.toHaveProperty('voteCount');
});

test('a contract that is deleted gives its reward too, in an older version', async () => {
  await start('4.8.0');
  const reward = await earn();
  await run(destroyCall(heir.hex));
  expect(await accountOf(heir.address)).toMatchObject({ balance: 1000 * TRX + Number(reward) });
  expect(await accountOf(voter)).toEqual({});
});

test('a self-destruction without votes of contracts keeps the reward where it is', async () => {
  await start();
  const reward = await earn();
  await chain.node.control('parameters', { getAllowTvmVote: 0 });
  await run(destroyCall(heir.hex));
  expect(await accountOf(heir.address)).toMatchObject({ balance: 1000 * TRX });
  expect(await votesOf()).toEqual(printed([witness(0), 1000]));
  expect(await rewardOf()).toBe(reward);
});

test('a static call may read the reward, and neither vote nor withdraw', async () => {
  await start();
  const reward = await earn();
  const reader = await chain.deploy(bank, STATIC_RELAY);
  expect(await through(reader, voterCall('reward'))).toBe(reward);
  expect(await through(reader, voteCall([]))).toBeUndefined();
  expect(await through(reader, voterCall('withdraw'))).toBeUndefined();
  expect([await votesOf(), await rewardOf()]).toEqual([printed([witness(0), 1000]), reward]);
});
