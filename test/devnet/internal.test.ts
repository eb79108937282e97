// Internal transactions: payments, self-destruction, freezing and delegation by contracts, in the receipts of both
// ports.
import { TronWeb, utils } from 'tronweb';
import { assemble, deployable } from './contracts/assembler.js';
import {
  BORROWER,
  BURNER,
  CATCHING_CALLER,
  type Call,
  REFUSER,
  SELF_DESTRUCTOR,
  STAKER,
  STRICT_CALLER,
  callsOf,
  stakeCall,
} from './contracts/payers.js';
import { type Answer, type Client, TRX, addressWord, keyOf, startChain, word } from './client.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const [one, two] = [keyOf('one'), keyOf('two')];
const NOBODY = `41${'5'.repeat(40)}`;
let chain: Client;
let strict: string;
let catching: string;
let refuser: string;

interface Internal {
  readonly hash: string;
  readonly caller_address: string;
  readonly transferTo_address: string;
  readonly callValueInfo: readonly { readonly callValue?: number; readonly tokenId?: string }[];
  readonly note: string;
  readonly rejected?: true;
}

beforeAll(async () => {
  chain = await startChain({ second: { behind: 0, solidLag: 1, saveInternal: 'transfers' } });
  [strict, catching, refuser] = [
    await chain.deploy(bank, STRICT_CALLER),
    await chain.deploy(bank, CATCHING_CALLER),
    await chain.deploy(bank, REFUSER),
  ];
});
afterAll(() => chain.node.stop());

const hexOf = (address: string): string => TronWeb.address.toHex(address).toLowerCase();
const noteOf = (internal: Internal): string => Buffer.from(internal.note, 'hex').toString('utf8');

/** Runs a contract with TRX and returns its receipt. */
function run(contract: string, parameter: string, options: object = {}): Promise<Answer> {
  return chain.run(bank, 'triggersmartcontract', {
    contract_address: contract,
    function_selector: 'run()',
    parameter,
    fee_limit: 1000 * TRX,
    ...options,
  });
}

function internalOf(info: Answer): readonly Internal[] {
  return (info['internal_transactions'] ?? []) as readonly Internal[];
}

/** Each as `note value -> to`, with `!` before a rejected one. */
function summaryOf(info: Answer): string[] {
  return internalOf(info).map((each) => {
    const [trx, ...tokens] = each.callValueInfo;
    expect(tokens).toEqual([]);
    const text = `${noteOf(each)} ${String(trx?.callValue ?? '-')} -> ${each.transferTo_address}`;
    return each.rejected === true ? `!${text}` : text;
  });
}

async function balanceOf(address: string): Promise<number> {
  return Number((await chain.post('getaccount', { address }))['balance'] ?? 0);
}

// TRON (InternalTransaction.getHash): keccak256 of parent's hash, receiver, data, value and nonce, implemented again
// here.
function hashOf(parent: string, receiver: string, data: string, value: number, nonce: number): string {
  const int64 = (n: number): string => BigInt(n).toString(16).padStart(16, '0');
  return utils.ethersUtils.keccak256(`0x${parent}${receiver}${data}${int64(value)}${int64(nonce)}`).slice(2);
}

test.each([
  // A payment and a delegation by contracts on the main network.
  [
    'a630ff6999c4762637d5cecf109c55e225064bd11afcbb1ae301fbaa21cf3a78',
    hashOf(
      '98d0f4149bf8023a9df4d2b754f6c728a5b6d021c4497c6cd5452b97f01b0548',
      '413a5bfb715d2086ec513b64e98531e2f58154c44c',
      '',
      700_000,
      2,
    ),
  ],
  [
    '58382a79c3af68c472383580309a81a9322e7520a48b6463917ba9219ca32a7d',
    hashOf(
      '342daa21f8865786295c45bb80e2f257740091e4e1a3a546b90daa51bcbcbd18',
      hexOf('TUznHJfHe6gdYY7gvWmf6bNZHuPHDZtowf'),
      '',
      500_000_000,
      1,
    ),
  ],
])('the hash rule used below gives %s as the main network does', (hash, given) => {
  expect(given).toBe(hash);
});

test('a contract that pays two addresses shows both payments, in order, on both ports and in the list of its block', async () => {
  const calls = callsOf({ to: one.hex, value: 3 * TRX }, { to: two.hex, value: 1 }, { to: one.hex, value: 2 });
  const info = await run(strict, calls, { call_value: 4 * TRX });
  expect(summaryOf(info)).toEqual([
    `call ${String(3 * TRX)} -> ${one.address}`,
    `call 1 -> ${two.address}`,
    `call 2 -> ${one.address}`,
  ]);
  expect(await balanceOf(one.address)).toBe(3 * TRX + 2);
  const [first, second] = internalOf(info);
  expect(first).toEqual({
    hash: hashOf(String(info['id']), one.hex, '', 3 * TRX, 1),
    caller_address: strict,
    transferTo_address: one.address,
    callValueInfo: [{ callValue: 3 * TRX }],
    note: '63616c6c',
  });
  expect(second?.hash).toBe(hashOf(String(info['id']), two.hex, '', 1, 2));
  await chain.mine(2);
  expect(await chain.solid('gettransactioninfobyid', { value: info['id'] })).toEqual(info);
  const num = info['blockNumber'];
  expect(await chain.post('gettransactioninfobyblocknum', { num })).toEqual([info]);
  expect(await chain.solid('gettransactioninfobyblocknum', { num })).toEqual([info]);
  const hidden = JSON.parse(await chain.text('wallet/gettransactioninfobyid', { value: info['id'] })) as Answer;
  expect(internalOf(hidden)[0]).toMatchObject({ caller_address: hexOf(strict), transferTo_address: one.hex });
});

test('a call without value shows an empty callValueInfo, and the calls within it carry its hash', async () => {
  const inner = callsOf({ to: one.hex, value: 5 });
  const data = `00000000${inner}`;
  await run(catching, callsOf({ to: hexOf(strict), value: 5 }), { call_value: 5 });
  const info = await run(catching, callsOf({ to: hexOf(strict), data }));
  expect(summaryOf(info)).toEqual([`call - -> ${strict}`, `call 5 -> ${one.address}`]);
  const [outer, nested] = internalOf(info);
  expect(outer?.callValueInfo).toEqual([{}]);
  expect(outer?.hash).toBe(hashOf(String(info['id']), hexOf(strict), data, 0, 1));
  expect(nested?.hash).toBe(hashOf(outer?.hash ?? '', one.hex, '', 5, 2));
});

describe('a payment that fails', () => {
  test('is rejected when the contract catches it, in a transaction that succeeds', async () => {
    const calls = callsOf({ to: hexOf(refuser), value: 7 }, { to: one.hex, value: 8 });
    const before = await balanceOf(one.address);
    const info = await run(catching, calls, { call_value: 20 });
    expect(info['receipt']).toMatchObject({ result: 'SUCCESS' });
    expect(summaryOf(info)).toEqual([`!call 7 -> ${refuser}`, `call 8 -> ${one.address}`]);
    expect(await balanceOf(one.address)).toBe(before + 8);
    expect(await balanceOf(refuser)).toBe(0);
  });

  test('rejects the good payments before it in the same frame, and what came after does not exist', async () => {
    const before = await balanceOf(one.address);
    const nested = callsOf({ to: one.hex, value: 1 }, { to: hexOf(refuser), value: 2 }, { to: two.hex, value: 3 });
    const info = await run(catching, callsOf({ to: hexOf(strict), value: 6, data: `00000000${nested}` }), {
      call_value: 6,
    });
    expect(info['receipt']).toMatchObject({ result: 'SUCCESS' });
    expect(summaryOf(info)).toEqual([`!call 6 -> ${strict}`, `!call 1 -> ${one.address}`, `!call 2 -> ${refuser}`]);
    expect(await balanceOf(one.address)).toBe(before);
  });

  test('rejects all when the whole transaction reverts', async () => {
    const calls: readonly Call[] = [
      { to: one.hex, value: 1 },
      { to: hexOf(refuser), value: 2 },
    ];
    const info = await run(strict, callsOf(...calls), { call_value: 3 });
    expect(info).toMatchObject({ result: 'FAILED', receipt: { result: 'REVERT' } });
    expect(summaryOf(info)).toEqual([`!call 1 -> ${one.address}`, `!call 2 -> ${refuser}`]);
  });

  test('takes the energy of a callee that halts, and the contract goes on with nothing left', async () => {
    const burner = await chain.deploy(bank, BURNER);
    const calls = callsOf({ to: one.hex, value: 1 }, { to: hexOf(burner) });
    const info = await run(catching, calls, { call_value: 1, fee_limit: 20 * TRX });
    expect(info['receipt']).toMatchObject({ result: 'OUT_OF_ENERGY', energy_usage_total: 200_000 });
    expect(summaryOf(info)).toEqual([`!call 1 -> ${one.address}`, `!call - -> ${burner}`]);
  });

  test('for lack of balance is not an internal transaction', async () => {
    const poor = await chain.deploy(bank, CATCHING_CALLER);
    const info = await run(poor, callsOf({ to: one.hex, value: 1 }));
    expect(info['receipt']).toMatchObject({ result: 'SUCCESS' });
    expect(info).not.toHaveProperty('internal_transactions');
  });

  test('to the contract itself ends the transaction, and costs only the energy used so far', async () => {
    const info = await run(strict, callsOf({ to: hexOf(strict), value: 1 }), { call_value: 1 });
    expect(info).toMatchObject({ result: 'FAILED', receipt: { result: 'TRANSFER_FAILED' } });
    expect(info['resMessage']).toBe('transfer trx failed: Cannot transfer TRX to yourself.');
    expect((info['receipt'] as Answer)['energy_usage_total']).toBeLessThan(10_000);
    expect(info).not.toHaveProperty('internal_transactions');
  });
});

test('a call of a precompiled contract is not an internal transaction', async () => {
  const sha256 = `41${'2'.padStart(40, '0')}`;
  const info = await run(strict, callsOf({ to: sha256, data: '00' }, { to: one.hex, value: 1 }), { call_value: 1 });
  expect(summaryOf(info)).toEqual([`call 1 -> ${one.address}`]);
});

test('a delegatecall is an internal call of the contract to itself', async () => {
  const borrower = await chain.deploy(bank, BORROWER);
  const data = `00000000${callsOf({ to: one.hex, value: 4 })}`;
  const info = await run(borrower, addressWord(hexOf(strict)) + data, { call_value: 4 });
  expect(summaryOf(info)).toEqual([`call - -> ${borrower}`, `call 4 -> ${one.address}`]);
  expect(internalOf(info)[1]?.caller_address).toBe(borrower);
  expect(internalOf(info)[0]?.hash).toBe(hashOf(String(info['id']), hexOf(borrower), data, 0, 1));
});

test('the address of a contract made by a contract comes from the transaction and the number of calls before it', async () => {
  const child = '600160005360016000f3';
  const maker = await chain.deploy(
    bank,
    deployable(assemble(`0x${child} 0 MSTORE 10 22 0 CREATE 0 MSTORE 32 0 RETURN`)),
  );
  const addressAfter = (id: unknown, begun: number): string =>
    utils.ethersUtils.keccak256(`0x${String(id)}${begun.toString(16).padStart(16, '0')}`).slice(26);
  const alone = await run(maker, '');
  expect((alone['contractResult'] as string[])[0]).toBe(`41${addressAfter(alone['id'], 0)}`.padStart(64, '0'));
  expect(summaryOf(alone)).toEqual([`create - -> ${TronWeb.address.fromHex(`41${addressAfter(alone['id'], 0)}`)}`]);
  expect(internalOf(alone)[0]?.hash).toBe(hashOf(String(alone['id']), '', child, 0, 1));
  const later = await run(strict, callsOf({ to: hexOf(maker) }));
  expect(summaryOf(later)[1]).toBe(`create - -> ${TronWeb.address.fromHex(`41${addressAfter(later['id'], 1)}`)}`);
});

describe('a contract that destroys itself', () => {
  test('pays what it holds to any address, also one without an account, under the note suicide', async () => {
    const doomed = await chain.deploy(bank, SELF_DESTRUCTOR);
    const heir = keyOf('heir');
    const info = await run(doomed, addressWord(heir.hex), { call_value: 9 });
    expect(summaryOf(info)).toEqual([`suicide 9 -> ${heir.address}`]);
    expect(internalOf(info)[0]?.hash).toBe(hashOf(String(info['id']), heir.hex, '', 9, 1));
    expect(await chain.account(heir)).toMatchObject({ balance: 9 });
    // TIP-6780: the account stays, with nothing left in it.
    expect(await chain.post('getaccount', { address: doomed })).not.toHaveProperty('balance');
  });

  test('is still there when the caller reverts, its payment rejected', async () => {
    const doomed = await chain.deploy(bank, SELF_DESTRUCTOR);
    const calls = callsOf(
      { to: hexOf(doomed), value: 9, data: `00000000${addressWord(one.hex)}` },
      { to: hexOf(refuser) },
    );
    const info = await run(strict, calls, { call_value: 9 });
    expect(summaryOf(info)).toEqual([`!call 9 -> ${doomed}`, `!suicide 9 -> ${one.address}`, `!call - -> ${refuser}`]);
    expect(await chain.post('getcontract', { value: doomed })).toMatchObject({ name: 'Test' });
  });

  test('with nothing still makes an account for its heir', async () => {
    const doomed = await chain.deploy(bank, SELF_DESTRUCTOR);
    const heir = keyOf('heir of nothing');
    expect(summaryOf(await run(doomed, addressWord(heir.hex)))).toEqual([`suicide - -> ${heir.address}`]);
    expect(await chain.account(heir)).toMatchObject({ address: heir.address });
  });
});

describe('a contract with stake', () => {
  let staker: string;
  beforeAll(async () => {
    staker = await chain.deploy(bank, STAKER);
    await run(staker, stakeCall('freeze', 1000 * TRX), { call_value: 2000 * TRX });
  });
  const answerOf = (info: Answer): number => Number.parseInt((info['contractResult'] as string[])[0] ?? '', 16);

  test('freezes what it holds, which counts in the stake of the chain', async () => {
    const weight = async (): Promise<number> => Number((await chain.resources(bank))['TotalEnergyWeight'] ?? 0);
    const before = await weight();
    const info = await run(staker, stakeCall('freeze', 500 * TRX));
    expect(answerOf(info)).toBe(1);
    expect(summaryOf(info)).toEqual([`freezeBalanceV2ForEnergy ${String(500 * TRX)} -> ${staker}`]);
    expect(await weight()).toBe(before + 500);
    expect(await chain.post('getaccount', { address: staker })).toMatchObject({
      balance: 500 * TRX,
      frozenV2: [{}, { type: 'ENERGY', amount: 1500 * TRX }, { type: 'TRON_POWER' }],
    });
  });

  test('delegates energy: its internal transaction carries the stake as callValue, and moves no TRX', async () => {
    const before = await balanceOf(pool.address);
    const info = await run(staker, stakeCall('delegate', 300 * TRX, pool.hex));
    expect(answerOf(info)).toBe(1);
    expect(summaryOf(info)).toEqual([`delegateResourceOfEnergy ${String(300 * TRX)} -> ${pool.address}`]);
    expect(internalOf(info)[0]?.hash).toBe(hashOf(String(info['id']), pool.hex, '', 300 * TRX, 1));
    expect(await balanceOf(pool.address)).toBe(before);
    const between = { fromAddress: staker, toAddress: pool.address };
    expect(await chain.post('getdelegatedresourcev2', between)).toEqual({
      delegatedResource: [{ from: staker, to: pool.address, frozen_balance_for_energy: 300 * TRX }],
    });
    expect(await chain.account(pool)).toMatchObject({
      account_resource: { acquired_delegated_frozenV2_balance_for_energy: 300 * TRX },
    });
    const back = await run(staker, stakeCall('undelegate', 300 * TRX, pool.hex));
    expect(summaryOf(back)).toEqual([`unDelegateResourceOfEnergy ${String(300 * TRX)} -> ${pool.address}`]);
    expect(await chain.post('getdelegatedresourcev2', between)).toEqual({});
  });

  test.each([
    ['more than it froze', stakeCall('delegate', 5_000 * TRX, pool.hex), 5_000 * TRX, pool.hex, 'Energy'],
    ['to nobody', stakeCall('delegate', 10 * TRX, NOBODY), 10 * TRX, NOBODY, 'Energy'],
    ['of an unknown resource', stakeCall('delegate', 10 * TRX, pool.hex, 7), 10 * TRX, pool.hex, 'UnknownType'],
  ])('is refused a delegation %s, in a transaction that succeeds', async (_what, parameter, value, to, name) => {
    const info = await run(staker, parameter);
    expect(info['receipt']).toMatchObject({ result: 'SUCCESS' });
    expect(answerOf(info)).toBe(0);
    const receiver = TronWeb.address.fromHex(to);
    expect(summaryOf(info)).toEqual([`!delegateResourceOf${name} ${String(value)} -> ${receiver}`]);
    expect(await chain.post('getdelegatedresourcev2', { fromAddress: staker, toAddress: receiver })).toEqual({});
  });

  test('unfreezes, withdraws what is due, and shows both', async () => {
    const info = await run(staker, stakeCall('unfreeze', TRX));
    expect(summaryOf(info)).toEqual([`unfreezeBalanceV2ForEnergy ${String(TRX)} -> ${staker}`]);
    expect(summaryOf(await run(staker, stakeCall('withdraw', 0)))).toEqual([`withdrawExpireUnfreeze - -> ${staker}`]);
  });

  test('may not destroy itself while it delegates, and leaves its stake to its heir otherwise', async () => {
    const holder = await chain.deploy(bank, BORROWER);
    const destructor = await chain.deploy(bank, SELF_DESTRUCTOR);
    const stakeOf = (parameter: string): string => `${addressWord(hexOf(staker))}00000000${parameter}`;
    const destroy = `${addressWord(hexOf(destructor))}00000000${addressWord(two.hex)}`;
    await run(holder, stakeOf(stakeCall('freeze', 5 * TRX)), { call_value: 6 * TRX });
    await run(holder, stakeOf(stakeCall('delegate', 2 * TRX, pool.hex)));
    const kept = await run(holder, destroy);
    expect(summaryOf(kept)).toEqual([`!call - -> ${holder}`]);
    expect(await balanceOf(holder)).toBe(TRX);
    await run(holder, stakeOf(stakeCall('undelegate', 2 * TRX, pool.hex)));
    const gone = await run(holder, destroy);
    expect(summaryOf(gone)).toEqual([`call - -> ${holder}`, `suicide ${String(TRX)} -> ${two.address}`]);
    const { frozenV2 } = (await chain.account(two)) as { frozenV2?: readonly Answer[] };
    expect(frozenV2?.[1]).toEqual({ type: 'ENERGY', amount: 5 * TRX });
  });

  test('pays 10 000 energy for each operation', async () => {
    const frozen = await chain.post('triggerconstantcontract', {
      owner_address: bank.address,
      contract_address: staker,
      function_selector: 'run()',
      parameter: stakeCall('freeze', 1 * TRX),
    });
    const refused = await chain.post('triggerconstantcontract', {
      owner_address: bank.address,
      contract_address: staker,
      function_selector: 'run()',
      parameter: word(0),
    });
    expect(Number(frozen['energy_used'])).toBeGreaterThan(10_000);
    expect(Number(refused['energy_used'])).toBeLessThan(1_000);
    expect(internalOf(frozen)).toMatchObject([{ callValueInfo: [{ callValue: TRX }] }]);
  });
});

describe('a node', () => {
  test('keeps none, only transfers, or all internal transactions, as configured; the rest of its answers is the same', async () => {
    const staker = await chain.deploy(bank, STAKER);
    const data = `00000000${stakeCall('freeze', 2 * TRX)}`;
    const info = await run(strict, callsOf({ to: hexOf(staker), value: 2 * TRX, data }), { call_value: 2 * TRX });
    expect(internalOf(info).map(noteOf)).toEqual(['call', 'freezeBalanceV2ForEnergy']);
    const second = chain.at(chain.node.second?.fullUrl ?? '');
    expect(internalOf(await second.info(String(info['id']))).map(noteOf)).toEqual(['call']);
    const kept = async (saveInternal: string): Promise<Answer> => {
      await chain.node.control('node', { index: 1, saveInternal });
      return second.info(String(info['id']));
    };
    const none = await kept('none');
    expect(none).toEqual({ ...info, internal_transactions: undefined });
    expect(await second.post('gettransactioninfobyblocknum', { num: info['blockNumber'] })).toEqual([none]);
    expect(internalOf(await kept('transfers')).map(noteOf)).toEqual(['call']);
    expect(await kept('all')).toEqual(info);
    expect(await chain.info(String(info['id']))).toEqual(info);
    await expect(chain.node.control('node', { index: 1, saveInternal: 'some' })).rejects.toThrow('must be one of');
  });
});
