// Votes and TRON Power by java-tron's rules (release 4.8.1). TRON: VoteWitnessActuator,
// AccountCapsule.getAllTronPower, UnfreezeBalanceV2Actuator.updateVote, MaintenanceManager.
import { type Answer, type Client, TRX, keyOf, startChain } from './client.js';

const pool = keyOf('pool');
const bank = keyOf('bank');
const bob = keyOf('bob');
const INTERVAL_MS = 60_000;
let chain: Client;

interface Witness extends Answer {
  readonly address: string;
  readonly voteCount?: number;
}

async function start(version?: string): Promise<void> {
  const accounts = [
    { address: bank.address, balance: '90000000000000000' },
    { address: pool.address, balance: 1_000_000 * TRX },
    { address: bob.address, balance: 1000 * TRX },
  ];
  const genesis = { accounts, parameters: { getMaintenanceTimeInterval: INTERVAL_MS } };
  chain = await startChain({ genesis, ...(version === undefined ? {} : { version }) });
}
afterEach(() => chain.node.stop());

async function witnesses(): Promise<Witness[]> {
  return (await chain.post('listwitnesses'))['witnesses'] as Witness[];
}

function votesFor(counts: Readonly<Record<string, number>>): object {
  return { votes: Object.entries(counts).map(([vote_address, vote_count]) => ({ vote_address, vote_count })) };
}

function freeze(trx: number, resource: string): Promise<Answer> {
  return chain.run(pool, 'freezebalancev2', { frozen_balance: trx * TRX, resource });
}

function unfreeze(sun: number, resource: string): Promise<Answer> {
  return chain.run(pool, 'unfreezebalancev2', { unfreeze_balance: sun, resource });
}

async function nextMaintenance(): Promise<number> {
  return (await chain.post('getnextmaintenancetime'))['num'] as number;
}

/** Makes one block at the time of the next maintenance. */
async function maintain(): Promise<void> {
  await chain.node.control('mine', { blocks: [{ timestamp: await nextMaintenance() }] });
}

test('TRON Power is all stake of the account, what it delegates included', async () => {
  await start();
  await freeze(100, 'BANDWIDTH');
  await freeze(1000, 'ENERGY');
  await chain.run(pool, 'delegateresource', { receiver_address: bob.address, balance: 300 * TRX, resource: 'ENERGY' });
  expect(await chain.resources(pool)).toMatchObject({ tronPowerLimit: 1100 });
  expect(await chain.resources(pool)).not.toHaveProperty('tronPowerUsed');
  expect(await chain.resources(bob)).not.toHaveProperty('tronPowerLimit');
  expect(await chain.account(pool)).not.toHaveProperty('old_tron_power');
  // Main net does not have the newer voting model, so this resource does not exist there.
  await expect(freeze(1, 'TRON_POWER')).rejects.toThrow('ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]');
  await expect(unfreeze(1, 'TRON_POWER')).rejects.toThrow('ResourceCode error.valid ResourceCode[BANDWIDTH、Energy]');
});

test('under the newer voting model of the recorded net only stake for TRON_POWER gives votes', async () => {
  await start('4.8.0');
  const [first] = await witnesses();
  await freeze(1000, 'ENERGY');
  await freeze(50, 'TRON_POWER');
  expect(await chain.resources(pool)).toMatchObject({ tronPowerLimit: 50, TotalTronPowerWeight: 50 });
  const vote = (count: number): Promise<Answer> =>
    chain.run(pool, 'votewitnessaccount', votesFor({ [first!.address]: count }));
  await expect(vote(51)).rejects.toThrow(
    `The total number of votes[${51 * TRX}] is greater than the tronPower[${50 * TRX}]`,
  );
  await vote(50);
  await unfreeze(1000 * TRX, 'ENERGY');
  expect(await chain.account(pool)).toMatchObject({ votes: [{ vote_count: 50 }], old_tron_power: -1 });
  await unfreeze(20 * TRX, 'TRON_POWER');
  expect(await chain.account(pool)).toMatchObject({ votes: [{ vote_count: 30 }] });
});

test('a vote is refused in the order and with the words of java-tron', async () => {
  await start();
  await freeze(1000, 'ENERGY');
  const [first] = await witnesses();
  const { address } = first!;
  const refusal = async (body: object): Promise<string> =>
    String((await chain.post('votewitnessaccount', { owner_address: pool.address, ...body }))['Error']);
  const hex = bob.hex;
  const missing = keyOf('missing');
  const many = { votes: Array.from({ length: 31 }, () => ({ vote_address: address, vote_count: 1 })) };
  expect(await refusal({ owner_address: undefined, ...votesFor({ [address]: 1 }) })).toContain('Invalid address');
  expect(await refusal({})).toContain('VoteNumber must more than 0');
  expect(await refusal(many)).toContain('VoteNumber more than maxVoteNumber 30');
  expect(await refusal({ votes: [{ vote_count: 1 }] })).toContain('Invalid vote address!');
  expect(await refusal(votesFor({ [address]: 0 }))).toContain('vote count must be greater than 0');
  expect(await refusal(votesFor({ [missing.address]: 1 }))).toContain(`Account[${missing.hex}] not exists`);
  expect(await refusal(votesFor({ [bob.address]: 1 }))).toContain(`Witness[${hex}] not exists`);
  expect(await refusal({ owner_address: missing.address, ...votesFor({ [address]: 1 }) })).toContain(
    `Account[${missing.hex}] not exists`,
  );
  expect(await refusal(votesFor({ [address]: 1001 }))).toContain(
    `The total number of votes[${1001 * TRX}] is greater than the tronPower[${1000 * TRX}]`,
  );
  const overflow = JSON.stringify({
    owner_address: pool.address,
    visible: true,
    ...votesFor({ [address]: 7 }),
  }).replace('"vote_count":7', '"vote_count":9223372036854775807');
  expect(await chain.text('wallet/votewitnessaccount', overflow)).toContain(
    'overflow: checkedMultiply(9223372036854775807, 1000000)',
  );
});

test('counts votes at maintenance only, and a new vote replaces all earlier ones', async () => {
  await start();
  await freeze(1000, 'ENERGY');
  const [a, b] = (await witnesses()).map(({ address }) => address) as [string, string];
  const counted = async (): Promise<unknown[]> => (await witnesses()).slice(0, 2).map(({ voteCount = 0 }) => voteCount);
  await chain.run(pool, 'votewitnessaccount', votesFor({ [a]: 700, [b]: 100 }));
  expect(await chain.account(pool)).toMatchObject({
    votes: [
      { vote_address: a, vote_count: 700 },
      { vote_address: b, vote_count: 100 },
    ],
  });
  expect(await chain.resources(pool)).toMatchObject({ tronPowerUsed: 800, tronPowerLimit: 1000 });
  await chain.run(pool, 'votewitnessaccount', votesFor({ [b]: 1000 }));
  expect(await counted()).toEqual([0, 0]);
  await maintain();
  expect(await counted()).toEqual([0, 1000]);
  await chain.run(pool, 'votewitnessaccount', votesFor({ [a]: 400 }));
  expect(await counted()).toEqual([0, 1000]);
  await maintain();
  expect(await counted()).toEqual([400, 0]);
  expect((await chain.solid('listwitnesses'))['witnesses']).toHaveLength(27);
});

// TRON: DynamicPropertiesStore.updateNextMaintenanceTime.
test('the next maintenance stays on its grid, after a late block too', async () => {
  await start();
  await chain.mine();
  const first = await nextMaintenance();
  const head = async (): Promise<number> => {
    const block = await chain.post('getnowblock');
    return ((block['block_header'] as Answer)['raw_data'] as Answer)['timestamp'] as number;
  };
  while ((await head()) < first - 3000) await chain.mine();
  expect(await nextMaintenance()).toBe(first);
  await chain.mine();
  expect([await head(), await nextMaintenance()]).toEqual([first, first + INTERVAL_MS]);
  await chain.node.control('mine', { blocks: [{ timestamp: first + 3 * INTERVAL_MS + 9_000 }] });
  expect(await nextMaintenance()).toBe(first + 4 * INTERVAL_MS);
});

test('unfreezing takes the votes that the rest no longer covers, in proportion and rounded down', async () => {
  await start();
  await freeze(400, 'BANDWIDTH');
  await freeze(600, 'ENERGY');
  const [a, b, c] = (await witnesses()).map(({ address }) => address) as [string, string, string];
  await chain.run(pool, 'votewitnessaccount', votesFor({ [a]: 700, [b]: 199, [c]: 1 }));
  await unfreeze(100 * TRX, 'ENERGY');
  // 900 TRX still cover 900 votes.
  expect(await chain.resources(pool)).toMatchObject({ tronPowerUsed: 900, tronPowerLimit: 900 });
  await unfreeze(400.5 * TRX, 'ENERGY');
  // 499.5 TRX are left: 700 / 900, 199 / 900 and 1 / 900 of them; less than one vote is none.
  expect((await chain.account(pool))['votes']).toEqual([
    { vote_address: a, vote_count: 388 },
    { vote_address: b, vote_count: 110 },
  ]);
  expect(await chain.resources(pool)).toMatchObject({ tronPowerUsed: 498, tronPowerLimit: 499 });
  await maintain();
  expect((await witnesses()).slice(0, 3).map(({ voteCount }) => voteCount)).toEqual([388, 110, undefined]);
  await unfreeze(99.5 * TRX, 'ENERGY');
  await unfreeze(400 * TRX, 'BANDWIDTH');
  expect(await chain.account(pool)).not.toHaveProperty('votes');
});

test('a fork takes back counted votes and the cycle', async () => {
  await start();
  await freeze(1000, 'ENERGY');
  const [a] = (await witnesses()).map(({ address }) => address) as [string];
  await chain.run(pool, 'votewitnessaccount', votesFor({ [a]: 1000 }));
  const before = await nextMaintenance();
  await maintain();
  expect((await witnesses())[0]).toMatchObject({ voteCount: 1000 });
  await chain.node.control('fork', { depth: 2, drop: true });
  expect((await witnesses())[0]).not.toHaveProperty('voteCount');
  expect(await nextMaintenance()).toBe(before);
  expect(await chain.account(pool)).not.toHaveProperty('votes');
});
