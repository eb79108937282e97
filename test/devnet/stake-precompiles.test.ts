// The precompiled contracts 0x1000005 to 0x1000015. Each case names its class in java-tron's PrecompiledContracts
// (release 4.8.1), and its rule where that is elsewhere.
import { TronWeb } from 'tronweb';
import { type Answer, type Client, TOKEN, TRX, addressWord, keyOf, startChain, word } from './client.js';
import { NOTHING, callPrecompiled } from './contracts/precompile-caller.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const bob = keyOf('bob');
const nobody = addressWord(keyOf('nobody').hex);
const [POOL, BOB] = [addressWord(pool.hex), addressWord(bob.hex)];
const [BANDWIDTH, ENERGY, POWER] = [word(0), word(1), word(2)];
const LONG_MAX = 2n ** 63n - 1n;
let chain: Client;
let witnesses: readonly string[];
/** When the two unfreezings end, s. */
let ends: readonly [bigint, bigint];

const hexOf = (address: string): string => TronWeb.address.toHex(address).toLowerCase();
const witness = (i: number): string => addressWord(witnesses[i] ?? '');

async function head(): Promise<number> {
  const block = await chain.post('getnowblock');
  return ((block['block_header'] as Answer)['raw_data'] as Answer)['timestamp'] as number;
}

async function unfreeze(sun: number): Promise<bigint> {
  const now = await head();
  await chain.run(pool, 'unfreezebalancev2', { unfreeze_balance: sun, resource: 'ENERGY' });
  return BigInt(now + 14 * 86_400_000) / 1000n;
}

beforeAll(async () => {
  const accounts = [bank, pool, bob].map(({ address }) => ({ address, balance: 1_000_000 * TRX }));
  chain = await startChain({ genesis: { accounts, parameters: { getMaintenanceTimeInterval: 60_000 } } });
  const list = (await chain.post('listwitnesses'))['witnesses'] as readonly { address: string }[];
  witnesses = list.map(({ address }) => hexOf(address));
  const freeze = (trx: number, resource: string): Promise<Answer> =>
    chain.run(pool, 'freezebalancev2', { frozen_balance: trx * TRX, resource });
  await freeze(5_000, 'BANDWIDTH');
  await freeze(1_000, 'ENERGY');
  const delegation = { receiver_address: bob.address, resource: 'ENERGY' };
  await chain.run(pool, 'delegateresource', { ...delegation, balance: 100 * TRX });
  await chain.run(pool, 'delegateresource', { ...delegation, balance: 50 * TRX, lock: true, lock_period: 1000 });
  await chain.run(pool, 'delegateresource', { ...delegation, balance: 20 * TRX, resource: 'BANDWIDTH' });
  await chain.run(pool, 'votewitnessaccount', {
    votes: [70, 5].map((vote_count, i) => ({ vote_address: list[i]?.address, vote_count })),
  });
  const first = await unfreeze(200 * TRX);
  ends = [first, await unfreeze(30 * TRX)];
  const { num } = await chain.post('getnextmaintenancetime');
  await chain.node.control('mine', { blocks: [{ timestamp: num }] });
});
afterAll(() => chain.node.stop());

interface Case {
  readonly name: string;
  readonly address: number;
  readonly energy: number;
  readonly input: () => string;
  readonly output: () => readonly bigint[];
}

/** Builds one case: words of input, and numbers of output. */
function asking(
  name: string,
  address: number,
  energy: number,
  input: () => string,
  ...output: readonly (bigint | number)[]
): Case {
  return { name, address, energy, input, output: () => output.map(BigInt) };
}

const CASES: readonly Case[] = [
  asking('RewardBalance of a contract without votes', 0x1000005, 500, () => '', 0),
  asking('IsSrCandidate of a witness', 0x1000006, 20, () => witness(3), 1),
  asking('IsSrCandidate of another account', 0x1000006, 20, () => POOL, 0),
  asking('VoteCount for a witness', 0x1000007, 500, () => POOL + witness(1), 5),
  asking('VoteCount for a witness without votes', 0x1000007, 500, () => POOL + witness(2), 0),
  asking('VoteCount of no account', 0x1000007, 500, () => nobody + witness(1), 0),
  asking('UsedVoteCount', 0x1000008, 20, () => POOL, 75),
  asking('UsedVoteCount of no account', 0x1000008, 20, () => nobody, 0),
  asking('ReceivedVoteCount', 0x1000009, 20, () => witness(0), 70),
  asking('ReceivedVoteCount of no witness', 0x1000009, 20, () => POOL, 0),
  asking('TotalVoteCount, delegated stake included (AccountCapsule.getTronPower)', 0x100000a, 20, () => POOL, 5_770),
  asking('TotalVoteCount of no account', 0x100000a, 20, () => nobody, 0),
  asking('GetChainParameter 0, an unknown one (ChainParameterEnum)', 0x100000b, 50, () => word(0), 0),
  asking('GetChainParameter 1, the total bandwidth', 0x100000b, 50, () => word(1), 43_200_000_000n),
  asking('GetChainParameter 2, the TRX staked for bandwidth', 0x100000b, 50, () => word(2), 5_000),
  asking('GetChainParameter 3, the total energy', 0x100000b, 50, () => word(3), 180_000_000_000n),
  asking('GetChainParameter 4, the TRX staked for energy', 0x100000b, 50, () => word(4), 770),
  asking('GetChainParameter 5, the days of unfreezing', 0x100000b, 50, () => word(5), 14),
  asking('GetChainParameter 6, an unknown one', 0x100000b, 50, () => word(6), 0),
  asking('GetChainParameter beyond a long', 0x100000b, 50, () => word(2n ** 64n + 1n), 0),
  asking('AvailableUnfreezeV2Size', 0x100000c, 50, () => POOL, 30),
  asking('AvailableUnfreezeV2Size of no account', 0x100000c, 50, () => nobody, 0),
  asking('UnfreezableBalanceV2 for bandwidth', 0x100000d, 50, () => POOL + BANDWIDTH, 4_980 * TRX),
  asking('UnfreezableBalanceV2 for energy', 0x100000d, 50, () => POOL + ENERGY, 620 * TRX),
  asking('UnfreezableBalanceV2 for TRON Power', 0x100000d, 50, () => POOL + POWER, 0),
  asking('UnfreezableBalanceV2 for an unknown resource', 0x100000d, 50, () => POOL + word(3), 0),
  asking('ExpireUnfreezeBalanceV2 before the end', 0x100000e, 50, () => POOL + word(ends[0] - 1n), 0),
  asking('ExpireUnfreezeBalanceV2 at the first end', 0x100000e, 50, () => POOL + word(ends[0]), 200 * TRX),
  asking('ExpireUnfreezeBalanceV2 at the second end', 0x100000e, 50, () => POOL + word(ends[1]), 230 * TRX),
  asking('ExpireUnfreezeBalanceV2 at any time', 0x100000e, 50, () => POOL + word(LONG_MAX), 230 * TRX),
  asking('DelegatableResource of unused energy', 0x100000f, 50, () => POOL + ENERGY, 620 * TRX),
  asking('DelegatableResource of TRON Power', 0x100000f, 50, () => POOL + POWER, 0),
  asking('ResourceV2, locked and unlocked energy', 0x1000010, 50, () => BOB + POOL + ENERGY, 150 * TRX),
  asking('ResourceV2, bandwidth', 0x1000010, 50, () => BOB + POOL + BANDWIDTH, 20 * TRX),
  asking('ResourceV2 the other way', 0x1000010, 50, () => POOL + BOB + ENERGY, 0),
  asking('ResourceV2 of oneself, the own stake', 0x1000010, 50, () => POOL + POOL + ENERGY, 620 * TRX),
  asking('CheckUnDelegateResource of unused energy', 0x1000011, 50, () => BOB + word(9) + ENERGY, 9, 0, 0),
  asking(
    'CheckUnDelegateResource of more than all',
    0x1000011,
    50,
    () => BOB + word(LONG_MAX) + ENERGY,
    150 * TRX,
    0,
    0,
  ),
  asking('CheckUnDelegateResource of nothing', 0x1000011, 50, () => BOB + word(0) + ENERGY, 0, 0, 0),
  asking('CheckUnDelegateResource of no account', 0x1000011, 50, () => nobody + word(9) + ENERGY, 0, 0, 0),
  asking('CheckUnDelegateResource of TRON Power', 0x1000011, 50, () => BOB + word(9) + POWER, 0, 0, 0),
  asking('ResourceUsage of unused energy', 0x1000012, 50, () => BOB + ENERGY, 0, 0),
  asking('ResourceUsage of no account', 0x1000012, 50, () => nobody + ENERGY, 0, 0),
  asking('TotalResource, own stake (getAllFrozenBalanceForEnergy)', 0x1000013, 50, () => POOL + ENERGY, 620 * TRX),
  asking('TotalResource, received stake', 0x1000013, 50, () => BOB + ENERGY, 150 * TRX),
  asking('TotalResource of TRON Power', 0x1000013, 50, () => POOL + POWER, 0),
  asking('TotalDelegatedResource of energy', 0x1000014, 50, () => POOL + ENERGY, 150 * TRX),
  asking('TotalDelegatedResource of bandwidth', 0x1000014, 50, () => POOL + BANDWIDTH, 20 * TRX),
  asking('TotalAcquiredResource of energy', 0x1000015, 50, () => BOB + ENERGY, 150 * TRX),
  asking('TotalAcquiredResource of bandwidth', 0x1000015, 50, () => BOB + BANDWIDTH, 20 * TRX),
  asking('TotalAcquiredResource of no account', 0x1000015, 50, () => nobody + ENERGY, 0),
];

test.each(CASES)('$name', async ({ address, energy, input, output }) => {
  const expected = output().map(word).join('');
  expect(await callPrecompiled(chain, address, input())).toEqual({ succeeded: true, energy, output: expected });
});

const LONGEST = 0x1000015;
const ADDRESSES = Array.from({ length: LONGEST - 0x1000004 }, (_, i) => 0x1000005 + i);
const RESULTS = new Map([
  [0x1000011, 3],
  [0x1000012, 2],
]);

test.each(ADDRESSES.map((address) => [address.toString(16), address] as const))(
  '0x%s answers zeros to input of another size, and is absent without its rule',
  async (_name, address) => {
    const answer = await callPrecompiled(chain, address, `${POOL + POOL + POOL}00`);
    expect([answer.succeeded, answer.output]).toEqual([true, word(0).repeat(RESULTS.get(address) ?? 1)]);
    const [parameter, value] =
      address <= 0x100000a ? (['getAllowTvmVote', 1] as const) : (['getUnfreezeDelayDays', 14] as const);
    await chain.node.control('parameters', { [parameter]: 0 });
    try {
      expect(await callPrecompiled(chain, address, '')).toEqual(NOTHING);
    } finally {
      await chain.node.control('parameters', { [parameter]: value });
    }
  },
);

test('an address counts without the bits above it, as a word of TRON holds 41 there (DataWord.toTronAddress)', async () => {
  const prefixed = pool.hex.padStart(64, '0');
  expect((await callPrecompiled(chain, 0x1000013, prefixed + ENERGY)).output).toBe(word(620 * TRX));
});

describe('used stake', () => {
  const WINDOW = 28_800n;
  let usage: bigint;
  let weight: bigint;

  beforeAll(async () => {
    const token = await chain.deploy(bank, TOKEN.bytecode);
    await chain.run(bob, 'triggersmartcontract', {
      contract_address: token,
      function_selector: 'heavy(uint256)',
      parameter: word(50),
      fee_limit: 100 * TRX,
    });
    const resources = await chain.resources(bob);
    usage = BigInt(resources['EnergyUsed'] as number);
    weight = BigInt(resources['TotalEnergyWeight'] as number);
  });

  /** TRON (RepositoryImpl.usageToBalance): exact since TIP-833. */
  const stake = (): bigint => (usage * weight * BigInt(TRX)) / 180_000_000_000n;

  test('ResourceUsage tells it, and the seconds until it has recovered (RepositoryImpl)', async () => {
    expect(usage).toBeGreaterThan(0n);
    // The usage is one block old.
    const seconds = (WINDOW - 1n) * 3n;
    const { output } = await callPrecompiled(chain, 0x1000012, BOB + ENERGY);
    expect(output).toBe(word(stake()) + word(seconds));
  });

  test('CheckUnDelegateResource splits an amount by it', async () => {
    const all = 150 * TRX;
    const amount = 60 * TRX;
    const clean = Math.trunc(amount * (Number(BigInt(all) - stake()) / all));
    const { output } = await callPrecompiled(chain, 0x1000011, BOB + word(amount) + ENERGY);
    expect(output.slice(0, 128)).toBe(word(clean) + word(amount - clean));
    expect(clean).toBeLessThan(amount);
  });

  test('DelegatableResource leaves it out, beyond what the account received', async () => {
    // Bob has frozen nothing: the usage occupies received stake only.
    expect((await callPrecompiled(chain, 0x100000f, BOB + ENERGY)).output).toBe(word(0));
    await chain.run(bob, 'freezebalancev2', { frozen_balance: 7 * TRX, resource: 'ENERGY' });
    expect((await callPrecompiled(chain, 0x100000f, BOB + ENERGY)).output).toBe(word(7 * TRX));
    await chain.run(pool, 'freezebalancev2', { frozen_balance: 3 * TRX, resource: 'BANDWIDTH' });
    const { output } = await callPrecompiled(chain, 0x1000012, POOL + BANDWIDTH);
    const inUse = BigInt(`0x${output.slice(0, 64)}`);
    expect(inUse).toBeGreaterThan(0n);
    const delegatable = (await callPrecompiled(chain, 0x100000f, POOL + BANDWIDTH)).output;
    expect(BigInt(`0x${delegatable}`)).toBe(BigInt(4_983 * TRX) - inUse);
  });
});
