// Opcodes of java-tron 4.8.2 and the chain parameters that switch them. Each case names its source.
import { TronWeb } from 'tronweb';
import { type Answer, type Client, TRX, keyOf, startChain, word } from './client.js';
import { assemble, deployable } from './contracts/assembler.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const nobody = keyOf('nobody');
let latest: Client;
let former: Client;

beforeAll(async () => {
  [latest, former] = await Promise.all([startChain(), startChain({ version: '4.8.0' })]);
});
afterAll(() => Promise.all([latest.node.stop(), former.node.stop()]));

/** Returns the top of the stack. Costs 13 with the first word of memory. */
const RETURN_TOP = '0 MSTORE 32 0 RETURN';
/** A constant call that creates pays for keeping its output as code. */
const CODE_COST = 200;

/** Runs a program as a constant creation. Returns its output and its energy without the price of keeping code. */
async function run(chain: Client, source: string): Promise<readonly [string, number] | string> {
  const answer = await chain.post('triggerconstantcontract', {
    owner_address: bank.address,
    data: assemble(source),
    visible: true,
  });
  const output = (answer['constant_result'] as readonly string[] | undefined)?.[0];
  if (output === undefined) return (answer['result'] as Answer)['message'] as string;
  return [output, Number(answer['energy_used']) - (CODE_COST * output.length) / 2];
}

interface Case {
  readonly name: string;
  readonly source: string;
  readonly code: string;
  readonly program: string;
  readonly output: bigint;
  readonly energy: number;
  readonly parameter: string;
}

const CASES: readonly Case[] = [
  {
    name: 'CLZ of 1',
    source: 'TIP-7939; OperationRegistry.appendOsakaOperations',
    code: '1e',
    program: '1 CLZ',
    output: 255n,
    energy: 3 + 5,
    parameter: 'getAllowTvmOsaka',
  },
  {
    name: 'CLZ of 0',
    source: 'TIP-7939: 256 for zero',
    code: '1e',
    program: '0 CLZ',
    output: 256n,
    energy: 3 + 5,
    parameter: 'getAllowTvmOsaka',
  },
  {
    name: 'TLOAD after TSTORE',
    source: 'TIP-650; EnergyCost.TLOAD, TSTORE',
    code: '5d',
    program: '7 5 TSTORE 5 TLOAD',
    output: 7n,
    energy: 3 + 3 + 100 + 3 + 100,
    parameter: 'getAllowTvmCancun',
  },
  {
    name: 'TLOAD of an empty slot',
    source: 'TIP-650',
    code: '5c',
    program: '5 TLOAD',
    output: 0n,
    energy: 3 + 100,
    parameter: 'getAllowTvmCancun',
  },
  {
    name: 'MCOPY of a word into new memory',
    source: 'TIP-651; EnergyCost.getMCopyCost',
    code: '5e',
    program: '0xabcd 0 MSTORE 32 0 32 MCOPY 32 MLOAD',
    output: 0xabcdn,
    // The first word of memory costs 3 here instead of at the end.
    energy: 3 + 3 + 4 + 9 + (3 + 3 + 3) + 3 + 1 - 3,
    parameter: 'getAllowTvmCancun',
  },
  {
    name: 'BLOBHASH',
    source: 'TIP-745: always 0',
    code: '49',
    program: '0 BLOBHASH',
    output: 0n,
    energy: 3 + 3,
    parameter: 'getAllowTvmBlob',
  },
  {
    name: 'BLOBBASEFEE',
    source: 'TIP-745: always 0',
    code: '4a',
    program: 'BLOBBASEFEE',
    output: 0n,
    energy: 2,
    parameter: 'getAllowTvmBlob',
  },
  {
    name: 'PUSH0',
    source: 'TIP-543; OperationRegistry.appendShangHaiOperations',
    code: '5f',
    program: 'PUSH0',
    output: 0n,
    energy: 2,
    parameter: 'getAllowTvmShangHai',
  },
  {
    name: 'BASEFEE',
    source: 'TIP-318: the price of energy',
    code: '48',
    program: 'BASEFEE',
    output: 100n,
    energy: 2,
    parameter: 'getAllowTvmLondon',
  },
  {
    name: 'SELFBALANCE',
    source: 'TIP-175; OperationRegistry.appendIstanbulOperations',
    code: '47',
    program: 'SELFBALANCE',
    output: 0n,
    energy: 5,
    parameter: 'getAllowTvmIstanbul',
  },
  {
    name: 'SHL',
    source: 'TIP-29; OperationRegistry.appendConstantinopleOperations',
    code: '1b',
    program: '1 4 SHL',
    output: 16n,
    energy: 3 + 3 + 3,
    parameter: 'getAllowTvmConstantinople',
  },
  {
    name: 'ISCONTRACT of no contract',
    source: 'TIP-44; OperationRegistry.appendSolidity059Operations',
    code: 'd4',
    program: '1 ISCONTRACT',
    output: 0n,
    energy: 3 + 20,
    parameter: 'getAllowTvmSolidity059',
  },
  {
    name: 'CALLTOKENID',
    source: 'OperationRegistry.appendTransferTrc10Operations',
    code: 'd3',
    program: 'CALLTOKENID',
    output: 0n,
    energy: 2,
    parameter: 'getAllowTvmTransferTrc10',
  },
];

/** Returns a base58 address as a number of the assembler. */
function wordOf(address: string): string {
  return `0x${TronWeb.address.toHex(address).toLowerCase().slice(2)}`;
}

const FULL = 13;
const illegal = (code: string): string =>
  `class org.tron.core.vm.program.Program$IllegalOperationException : Invalid operation code: opCode[${code}];`;

test.each(CASES)('$name costs $energy ($source)', async ({ program, output, energy }) => {
  expect(await run(latest, `${program} ${RETURN_TOP}`)).toEqual([word(output), energy + FULL]);
});

test.each(CASES)('$name is illegal without $parameter', async ({ program, code, parameter }) => {
  await latest.node.control('parameters', { [parameter]: 0 });
  try {
    expect(await run(latest, `${program} ${RETURN_TOP}`)).toBe(illegal(code));
  } finally {
    await latest.node.control('parameters', { [parameter]: 1 });
  }
});

test.each(CASES.filter(({ parameter }) => /Osaka|Cancun|Blob/.test(parameter)))(
  '$name is illegal at 4.8.0',
  async ({ program, code }) => {
    expect(await run(former, `${program} ${RETURN_TOP}`)).toBe(illegal(code));
  },
);

test('transient storage is empty again in the next transaction, and a reverted call leaves none (TIP-650)', async () => {
  // Called with data it stores and reverts; without data it calls itself so, then returns what it finds.
  const runtime = assemble(
    'CALLDATASIZE @store JUMPI 0 0 1 0 0 ADDRESS 100000 CALL POP 5 TLOAD 1 5 TSTORE 0 MSTORE 32 0 RETURN ' +
      'store: 9 5 TSTORE 0 0 REVERT',
  );
  const address = await latest.deploy(bank, deployable(runtime));
  const trigger = { contract_address: address, data: '', function_selector: '', fee_limit: 100 * TRX };
  for (let i = 0; i < 2; i++) {
    const info = await latest.run(bank, 'triggersmartcontract', trigger);
    expect([info['contractResult'], (info['receipt'] as Answer)['result']]).toEqual([[word(0)], 'SUCCESS']);
  }
});

test('TSTORE is refused in a static call (TIP-650)', async () => {
  const address = await latest.deploy(bank, deployable(assemble('1 1 TSTORE 1 0 MSTORE 32 0 RETURN')));
  const failed = await run(latest, `0 0 0 0 ${wordOf(address)} 50000 STATICCALL ${RETURN_TOP}`);
  expect(failed[0]).toBe(word(0));
});

test('CREATE, CREATE2 and COINBASE give words with 41 above the address (Program.createContractImpl, getCoinbase)', async () => {
  for (const chain of [latest, former])
    for (const program of ['0 0 0 CREATE', '0 0 0 0 CREATE2', 'COINBASE']) {
      const [output] = (await run(chain, `${program} ${RETURN_TOP}`)) as readonly [string, number];
      expect(output).toMatch(/^0{22}41[0-9a-f]{40}$/);
    }
});

test('MLOAD, MSTORE and MSTORE8 cost 1 more once the limit of CPU time is raised (EnergyCost.getMloadCost2)', async () => {
  const program = '1 0 MSTORE8 0 MLOAD 0 MSTORE 32 0 RETURN';
  const on = (await run(latest, program)) as readonly [string, number];
  await latest.node.control('parameters', { getAllowHigherLimitForMaxCpuTimeOfOneTx: 0 });
  const off = (await run(latest, program)) as readonly [string, number];
  await latest.node.control('parameters', { getAllowHigherLimitForMaxCpuTimeOfOneTx: 1 });
  expect([on[1], off[1]]).toEqual([24, 21]);
});

test('BLOCKHASH gives the ids of the last 256 blocks (Program.getBlockHash)', async () => {
  await latest.mine(2);
  const head = (await latest.post('getnowblock')) as { readonly blockID: string; block_header: { raw_data: Answer } };
  const { number, parentHash } = head.block_header.raw_data;
  const at = (n: number): Promise<unknown> => run(latest, `${String(n)} BLOCKHASH ${RETURN_TOP}`);
  const energy = 3 + 20 + FULL;
  expect(await at(Number(number) - 1)).toEqual([parentHash, energy]);
  expect(await at(Number(number))).toEqual([word(0), energy]);
  expect(await at(Number(number) + 1)).toEqual([word(0), energy]);
});

test('the contract of TIP-2935 keeps block hashes once Prague is on, and is absent at 4.8.0', async () => {
  await latest.mine(2);
  const head = (await latest.post('getnowblock')) as { block_header: { raw_data: Answer } };
  const { number, parentHash } = head.block_header.raw_data;
  const contract_address = '410000f90827f1c53a10cb7a02335b175320002935';
  const get = (chain: Client, n: number): Promise<Answer> =>
    chain.post('triggerconstantcontract', {
      visible: false,
      owner_address: bank.hex,
      contract_address,
      data: word(n),
    });
  expect((await get(latest, Number(number) - 1))['constant_result']).toEqual([parentHash]);
  const beyond = (await get(latest, Number(number) + 5))['transaction'] as Answer;
  expect(beyond['ret']).toEqual([{ ret: 'FAILED' }]);
  expect(JSON.stringify(await get(former, 1))).toContain('CONTRACT_VALIDATE_ERROR');
});

interface Destroyed {
  readonly energy: number;
  readonly hasCode: boolean;
  readonly balance: number;
  readonly heirGot: number;
}

/** Deploys a contract with 5 TRX that names `heir` (a word, or ADDRESS), destroys it and returns the effects. */
async function destroy(chain: Client, heir: string, heirAddress: string): Promise<Destroyed> {
  const address = await chain.deploy(bank, deployable(assemble(`${heir} SELFDESTRUCT`)), { call_value: 5 * TRX });
  const balanceOf = async (of: string): Promise<number> =>
    Number((await chain.post('getaccount', { address: of }))['balance'] ?? 0);
  const before = await balanceOf(heirAddress);
  const info = await chain.run(bank, 'triggersmartcontract', {
    contract_address: address,
    data: '00',
    fee_limit: 100 * TRX,
  });
  return {
    energy: Number((info['receipt'] as Answer)['energy_usage_total'] ?? 0),
    hasCode: 'contract_address' in (await chain.post('getcontract', { value: address })),
    balance: await balanceOf(address),
    heirGot: (await balanceOf(heirAddress)) - before,
  };
}

test('SELFDESTRUCT of an older contract moves its assets and keeps it (TIP-6780; Program.suicide2)', async () => {
  const kept = await destroy(latest, wordOf(pool.address), pool.address);
  expect(kept).toEqual({ energy: 5_003, hasCode: true, balance: 0, heirGot: 5 * TRX });
});

test('SELFDESTRUCT pays 25 000 for an heir without account (EnergyCost.getSuicideCost3)', async () => {
  const heir = keyOf('heir of 4.8.2');
  const kept = await destroy(latest, wordOf(heir.address), heir.address);
  expect(kept).toEqual({ energy: 30_003, hasCode: true, balance: 0, heirGot: 5 * TRX });
});

test('SELFDESTRUCT with itself as heir changes nothing (Program.suicide2)', async () => {
  const kept = await destroy(latest, 'ADDRESS', nobody.address);
  expect(kept).toEqual({ energy: 5_002, hasCode: true, balance: 5 * TRX, heirGot: 0 });
});

test('SELFDESTRUCT in the transaction of its creation deletes the contract (Repository.isNewContract)', async () => {
  // The child's init code destroys it at once: CALLER SELFDESTRUCT.
  const maker = assemble('0x33ff 0 MSTORE 2 30 3 CREATE 0 MSTORE 32 0 RETURN');
  const address = await latest.deploy(bank, deployable(maker), { call_value: 5 });
  const info = await latest.run(bank, 'triggersmartcontract', {
    contract_address: address,
    data: '00',
    fee_limit: 100 * TRX,
  });
  const child = `41${((info['contractResult'] as readonly string[])[0] ?? '').slice(-40)}`;
  expect((info['receipt'] as Answer)['result']).toBe('SUCCESS');
  expect(await latest.text('wallet/getaccount', { address: child })).toBe('{}');
  expect((await latest.post('getaccount', { address }))['balance']).toBe(5);
});

test('SELFDESTRUCT at 4.8.0 is free and deletes the contract; the energy adjustment adds 25 000 (TIP-653)', async () => {
  const heir = keyOf('heir of 4.8.0');
  const gone = await destroy(former, wordOf(heir.address), heir.address);
  expect(gone).toEqual({ energy: 3, hasCode: false, balance: 0, heirGot: 5 * TRX });
  await former.node.control('parameters', { getAllowEnergyAdjustment: 1 });
  const other = keyOf('other heir of 4.8.0');
  const adjusted = await destroy(former, wordOf(other.address), other.address);
  await former.node.control('parameters', { getAllowEnergyAdjustment: 0 });
  expect(adjusted).toEqual({ energy: 25_003, hasCode: false, balance: 0, heirGot: 5 * TRX });
});

test('a call with value to an address without account costs 25 000 more, a precompiled one too (isDeadAccount)', async () => {
  const priceOf = async (to: string): Promise<number> => {
    const result = (await run(latest, `0 0 0 0 1 ${to} 0 CALL ${RETURN_TOP}`)) as readonly [string, number];
    return result[1];
  };
  const existing = await priceOf(wordOf(pool.address));
  expect((await priceOf('4')) - existing).toBe(25_000);
  expect((await priceOf('0x123456')) - existing).toBe(25_000);
});

test('a call with value to a precompiled contract without account fails as "transfer failure" (MUtil.transfer)', async () => {
  const caller = deployable(assemble(`0 0 0 0 1 4 1000 CALL ${RETURN_TOP}`));
  const address = await latest.deploy(bank, caller, { call_value: 10 });
  const info = await latest.run(bank, 'triggersmartcontract', {
    contract_address: address,
    data: '00',
    fee_limit: 10 * TRX,
  });
  const receipt = info['receipt'] as Answer;
  expect([receipt['result'], receipt['energy_usage_total']]).toEqual(['UNKNOWN', 100_000]);
  expect(Buffer.from(info['resMessage'] as string, 'utf8').toString()).toContain('transfer failure');
});

test('the compatible-EVM rules bring version 1, GASPRICE, a kept 64th and a refused transfer (TIP-272)', async () => {
  const gasPrice = `GASPRICE ${RETURN_TOP}`;
  expect((await run(latest, gasPrice))[0]).toBe(word(0));
  await latest.node.control('parameters', { getAllowTvmCompatibleEvm: 1 });
  try {
    expect((await run(latest, gasPrice))[0]).toBe(word(100));
    const callee = await latest.deploy(bank, deployable(assemble(`GAS ${RETURN_TOP}`)));
    const caller = `32 0 0 0 ${wordOf(callee)} 0xffffffff STATICCALL POP GAS 32 MSTORE 64 0 RETURN`;
    const [output] = (await run(latest, caller)) as readonly [string, number];
    const [given, kept] = [BigInt(`0x${output.slice(0, 64)}`), BigInt(`0x${output.slice(64)}`)];
    expect(Number(given) / Number(kept)).toBeCloseTo(63 / 64, 4);
    expect(await latest.post('getcontract', { value: callee })).toMatchObject({ version: 1 });
    await latest.node.control('parameters', { getForbidTransferToContract: 0 });
    const refused = await latest.post('createtransaction', {
      owner_address: bank.address,
      to_address: callee,
      amount: 1,
    });
    expect(refused['Error']).toContain('Cannot transfer TRX to a smartContract which version is one.');
  } finally {
    await latest.node.control('parameters', { getAllowTvmCompatibleEvm: 0, getForbidTransferToContract: 1 });
  }
});

test('a chain lists the parameters of its version, and its node names it', async () => {
  const names = async (chain: Client): Promise<string[]> => {
    const list = (await chain.post('getchainparameters'))['chainParameter'] as readonly { readonly key: string }[];
    return list.map(({ key }) => key);
  };
  const [now, before] = [await names(latest), await names(former)];
  // TRON: Wallet.getChainParameters at GreatVoyage-v4.8.2 and -v4.8.0.
  expect(now.slice(before.length)).toEqual([
    'getAllowTvmSelfdestructRestriction',
    'getProposalExpireTime',
    'getAllowTvmOsaka',
    'getAllowTvmPrague',
    'getAllowHardenResourceCalculation',
    'getAllowHardenExchangeCalculation',
  ]);
  expect(now.slice(0, before.length)).toEqual(before);
  expect(before.slice(-8)).toEqual([
    'getMaxDelegateLockPeriod',
    'getAllowOldRewardOpt',
    'getAllowEnergyAdjustment',
    'getMaxCreateAccountTxSize',
    'getAllowStrictMath',
    'getConsensusLogicOptimization',
    'getAllowTvmCancun',
    'getAllowTvmBlob',
  ]);
  // TRON: Version.getVersion, as NodeInfoService reports it.
  const versions = [latest, former].map(async (chain) => {
    const info = await chain.post('getnodeinfo');
    return (info['configNodeInfo'] as Answer)['codeVersion'];
  });
  expect(await Promise.all(versions)).toEqual(['4.8.2', '4.8.0']);
});
