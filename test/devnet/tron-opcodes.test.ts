// Energy and switches of TRON's own opcodes for stake and votes (0xd8 to 0xdf). TRON: OperationRegistry, EnergyCost
// (release 4.8.1; getVoteWitnessCost3 of 4.8.2).
import { type Answer, type Client, keyOf, startChain } from './client.js';
import { assemble } from './contracts/assembler.js';

const bank = keyOf('bank');
/** A constant creation pays this for each byte that it returns. */
const CODE_COST = 200;
const VOTE = 30_000;
let latest: Client;
let former: Client;

beforeAll(async () => {
  [latest, former] = await Promise.all([startChain(), startChain({ version: '4.8.0' })]);
});
afterAll(() => Promise.all([latest.node.stop(), former.node.stop()]));

/**
 * Runs a program as a constant creation. Returns the top of its stack and its energy without that of the result, or the
 * failure's message.
 */
async function run(chain: Client, source: string): Promise<readonly [bigint, number] | string> {
  // The result is stored in the first byte of memory: 3 for each of four values, 1 and 3 for MSTORE8 and its memory.
  const data = assemble(`${source} 0 MSTORE8 1 0 RETURN`);
  const answer = await chain.post('triggerconstantcontract', { owner_address: bank.address, data, visible: true });
  const output = (answer['constant_result'] as readonly string[] | undefined)?.[0];
  if (output === undefined) return (answer['result'] as Answer)['message'] as string;
  return [BigInt(`0x${output}`), Number(answer['energy_used']) - CODE_COST - 3 * 3 - 1];
}

interface Case {
  readonly name: string;
  readonly code: string;
  readonly program: string;
  readonly output: bigint;
  readonly energy: number;
  readonly parameter: string;
  readonly on: number;
}

/** A first word of memory costs 3; the vote below pays for three. */
const FIRST_WORD = 3;
const STAKE = { energy: 10_000, parameter: 'getUnfreezeDelayDays', on: 14 };
const VOTES = { parameter: 'getAllowTvmVote', on: 1 };

const CASES: readonly Case[] = [
  { name: 'VOTEWITNESS', code: 'd8', program: '0 0 64 0 VOTEWITNESS', output: 1n, energy: VOTE + 12 + 9, ...VOTES },
  { name: 'WITHDRAWREWARD', code: 'd9', program: 'WITHDRAWREWARD', output: 0n, energy: 20_000 + FIRST_WORD, ...VOTES },
  ...(
    [
      ['FREEZEBALANCEV2', 'da', '5 1', 0n],
      ['UNFREEZEBALANCEV2', 'db', '5 1', 0n],
      ['CANCELALLUNFREEZEV2', 'dc', '', 1n],
      ['WITHDRAWEXPIREUNFREEZE', 'dd', '', 0n],
      ['DELEGATERESOURCE', 'de', '7 5 1', 0n],
      ['UNDELEGATERESOURCE', 'df', '7 5 1', 0n],
    ] as const
  ).map(([name, code, values, output]) => {
    const pushes = values.split(' ').filter((value) => value !== '').length;
    return { name, code, program: `${values} ${name}`, output, ...STAKE, energy: 10_000 + 3 * pushes + FIRST_WORD };
  }),
];

test.each(CASES)('$name costs $energy', async ({ program, output, energy }) => {
  expect(await run(latest, program)).toEqual([output, energy]);
});

test.each(CASES)('$name is illegal without $parameter', async ({ program, code, parameter, on }) => {
  await latest.node.control('parameters', { [parameter]: 0 });
  try {
    expect(await run(latest, program)).toBe(
      `class org.tron.core.vm.program.Program$IllegalOperationException : Invalid operation code: opCode[${code}];`,
    );
  } finally {
    await latest.node.control('parameters', { [parameter]: on });
  }
});

test('before the energy adjustment VOTEWITNESS reads the lengths for nothing, and memory grows (getVoteWitnessCost)', async () => {
  expect(await run(former, '0 0 64 0 VOTEWITNESS')).toEqual([1n, VOTE + 12]);
  // Three words are in use: the length at 64 was read.
  expect(await run(former, '0 0 64 0 VOTEWITNESS POP MSIZE')).toEqual([96n, VOTE + 12 + 2 + 2]);
  await former.node.control('parameters', { getAllowEnergyAdjustment: 1 });
  expect(await run(former, '0 0 64 0 VOTEWITNESS')).toEqual([1n, VOTE + 12 + 9]);
  await former.node.control('parameters', { getAllowEnergyAdjustment: 0 });
});

test('a length that overflows 256 bits is out of memory since Osaka, and costs little before (getVoteWitnessCost3)', async () => {
  const overflowing = `0 ${String(2n ** 251n)} 0 0 VOTEWITNESS`;
  expect(await run(latest, overflowing)).toBe(
    "class org.tron.core.vm.program.Program$OutOfMemoryException : Out of Memory when 'VOTEWITNESS' operation executing",
  );
  await latest.node.control('parameters', { getAllowTvmOsaka: 0 });
  try {
    // It costs one word of memory; then the length in memory, 0, is another one.
    expect(await run(latest, overflowing)).toBe(
      'class org.tron.core.vm.program.Program$BytecodeExecutionException : TVM VoteWitness: memory array length do not match length parameter!',
    );
  } finally {
    await latest.node.control('parameters', { getAllowTvmOsaka: 1 });
  }
});

test('VOTEWITNESS pays for memory up to the end of the later array', async () => {
  // Two witnesses at 0 would end at 96, two amounts at 160 at 256: eight words. Both lengths are 2.
  const program = '2 0 MSTORE 2 160 MSTORE 0 2 160 2 VOTEWITNESS';
  const stores = 2 * (3 + 3 + 1) + 3 * 6;
  const expected = stores + 4 * 3 + VOTE + 3 * 2;
  expect(await run(latest, program)).toEqual([0n, expected]);
});
