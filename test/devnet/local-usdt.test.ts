// The local chain's own USDT: exact energy, answers, and the acts of its owner.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { LOCAL_USDT_SOURCES } from '../../packages/local/src/local-usdt-code.js';
import { localUsdtContracts, localUsdtOwner, localUsdtSuccessor } from '../../packages/local/src/local-usdt.js';
import { namedChainAccount } from '../../packages/local/src/chain-account.js';
import { type Answer, type Client, TRX, addressWord, keyOf, startChain, word } from './client.js';
import { TronWeb } from 'tronweb';

const bank = keyOf('bank');
const pool = keyOf('pool');
const [holder, empty] = [keyOf('holder'), keyOf('empty')];
const token = namedChainAccount('token').address;
const ownerHex = TronWeb.address.toHex(localUsdtOwner.address).toLowerCase();
const FACTOR = 34_000;
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
let chain: Client;

beforeEach(async () => {
  const accounts = [bank.address, pool.address, holder.address, localUsdtOwner.address];
  chain = await startChain({
    genesis: {
      accounts: accounts.map((address) => ({ address, balance: '90000000000000' })),
      contracts: localUsdtContracts({ address: token, holder: bank.address }),
    },
  });
});
afterEach(() => chain.node.stop());

const call = (key: { address: string }, selector: string, ...words: readonly string[]): Promise<Answer> =>
  chain.post('triggerconstantcontract', trigger(selector, words, { owner_address: key.address }));

function trigger(selector: string, words: readonly string[], more: object = {}): object {
  return {
    contract_address: token,
    function_selector: selector,
    parameter: words.join(''),
    fee_limit: 1_000 * TRX,
    ...more,
  };
}

const run = (key: typeof bank, selector: string, ...words: readonly string[]): Promise<Answer> =>
  chain.run(key, 'triggersmartcontract', trigger(selector, words));
const transfer = (key: typeof bank, to: string, amount: number): Promise<Answer> =>
  run(key, 'transfer(address,uint256)', addressWord(to), word(amount));
const numberOf = async (selector: string, ...words: readonly string[]): Promise<number> =>
  Number(`0x${((await call(bank, selector, ...words))['constant_result'] as readonly string[])[0] ?? ''}`);
const balanceOf = (hex: string): Promise<number> => numberOf('balanceOf(address)', addressWord(hex));

interface Logged {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data?: string;
}
/** Returns the Transfer logs of a receipt: contract, sender, receiver and amount. */
function transfersOf(receipt: Answer): readonly unknown[] {
  const logs = (receipt['log'] ?? []) as readonly Logged[];
  return logs
    .filter(({ topics }) => topics[0] === TRANSFER)
    .map(({ address, topics, data = '' }) => [
      address,
      `41${(topics[1] ?? '').slice(24)}`,
      `41${(topics[2] ?? '').slice(24)}`,
      Number(`0x${data}`),
    ]);
}
const energyOf = (receipt: Answer): unknown => (receipt['receipt'] as Answer)['energy_usage_total'];
const outcomeOf = (receipt: Answer): unknown => (receipt['receipt'] as Answer)['result'];
const outputOf = (receipt: Answer): unknown => (receipt['contractResult'] as readonly string[])[0];

test('uses the energy of USDT on the main net, with and without the dynamic factor', async () => {
  const measure = async (): Promise<Readonly<Record<string, unknown>>> => {
    // Each round uses new addresses without tokens, and a spender without approval.
    const fresh = keyOf(`fresh ${String(Math.random())}`);
    await transfer(bank, holder.hex, 50_000_000);
    const approved = await run(holder, 'approve(address,uint256)', addressWord(fresh.hex), word(10_000_000));
    await run(holder, 'approve(address,uint256)', addressWord(pool.hex), word(10_000_000));
    const from = (to: string): Promise<Answer> =>
      run(pool, 'transferFrom(address,address,uint256)', addressWord(holder.hex), addressWord(to), word(2));
    return {
      toHolder: energyOf(await transfer(bank, holder.hex, 5)),
      toNew: energyOf(await transfer(bank, fresh.hex, 5)),
      approve: energyOf(approved),
      fromToHolder: energyOf(await from(bank.hex)),
      fromToNew: energyOf(await from(keyOf(`other ${String(Math.random())}`).hex)),
      toZero: energyOf(await transfer(bank, `41${'00'.repeat(20)}`, 5)),
    };
  };
  expect(await measure()).toEqual({
    toHolder: 64_285,
    toNew: 130_285,
    approve: 99_764,
    fromToHolder: 89_325,
    fromToNew: 155_325,
    toZero: 7_896,
  });
  await chain.node.control('token/factor', { energy_factor: 0 });
  expect(await measure()).toMatchObject({ toHolder: 14_650, toNew: 29_650 });

  // A fee adds a second movement, to the owner, who already holds tokens.
  await chain.node.control('token/factor', { energy_factor: FACTOR });
  await transfer(bank, ownerHex, 1);
  await chain.node.control('token/fees', { basis_points: 10, max_fee: 1 });
  expect(energyOf(await transfer(bank, holder.hex, 100_000))).toBe(120_790);
  expect(energyOf(await transfer(bank, empty.hex, 100_000))).toBe(186_790);
});

test('the factor is held whatever the use, until it is released, and getcontractinfo shows it', async () => {
  const state = async (): Promise<unknown> => (await chain.post('getcontractinfo', { value: token }))['contract_state'];
  await transfer(bank, holder.hex, 5);
  expect(await state()).toMatchObject({ energy_factor: FACTOR, update_cycle: 1, energy_usage: 29_650 });
  // Lets maintenance cycles of 6 hours pass.
  const later = async (hours: number): Promise<void> => {
    const { timestamp } = ((await chain.post('getnowblock'))['block_header'] as { raw_data: { timestamp: number } })
      .raw_data;
    await chain.node.control('mine', { blocks: [{ timestamp: timestamp + hours * 3_600_000 }] });
  };
  await later(48);
  expect(energyOf(await transfer(bank, holder.hex, 5))).toBe(64_285);
  expect(await state()).toMatchObject({ energy_factor: FACTOR, update_cycle: 9 });
  await chain.node.control('contract', { address: token, hold: false });
  await later(12);
  const { energy_factor } = (await state()) as { energy_factor: number };
  expect(energy_factor).toBeLessThan(FACTOR);
  expect((await chain.post('getchainparameters'))['chainParameter']).toEqual(
    expect.arrayContaining([
      { key: 'getAllowDynamicEnergy', value: 1 },
      { key: 'getDynamicEnergyThreshold', value: 5_000_000_000 },
      { key: 'getDynamicEnergyIncreaseFactor', value: 2_000 },
      { key: 'getDynamicEnergyMaxFactor', value: 34_000 },
    ]),
  );
});

test('transfer succeeds and answers 0, transferFrom and approve answer 1, and no refusal has a reason', async () => {
  const sent = await transfer(bank, holder.hex, 7);
  expect([outcomeOf(sent), outputOf(sent)]).toEqual(['SUCCESS', word(0)]);
  expect(transfersOf(sent)).toEqual([[token, bank.hex, holder.hex, 7]]);
  const approved = await run(holder, 'approve(address,uint256)', addressWord(pool.hex), word(4));
  expect(outputOf(approved)).toBe(word(1));
  // A new amount needs no reset to zero first.
  await run(holder, 'approve(address,uint256)', addressWord(pool.hex), word(5));
  const taken = await run(
    pool,
    'transferFrom(address,address,uint256)',
    addressWord(holder.hex),
    addressWord(empty.hex),
    word(2),
  );
  expect(outputOf(taken)).toBe(word(1));
  expect(await numberOf('allowance(address,address)', addressWord(holder.hex), addressWord(pool.hex))).toBe(3);
  expect([await balanceOf(holder.hex), await balanceOf(empty.hex)]).toEqual([5, 2]);

  for (const [to, amount] of [
    [empty.hex, 6],
    [`41${'00'.repeat(20)}`, 1],
  ] as const) {
    const refused = await call(holder, 'transfer(address,uint256)', addressWord(to), word(amount));
    expect(refused['constant_result']).toEqual(['']);
    expect((refused['transaction'] as { ret: unknown }).ret).toEqual([{ ret: 'FAILED' }]);
  }
  expect([await numberOf('decimals()'), await numberOf('totalSupply()')]).toEqual([6, 1e16]);
});

test('the owner pauses, blacklists, destroys, issues and redeems in transactions of their own', async () => {
  const control = (path: string, body?: object): Promise<Answer> => chain.node.control(path, body);
  await transfer(bank, holder.hex, 10);

  const paused = await control('token/pause');
  expect(await chain.info(String(paused['txID']))).toMatchObject({ blockNumber: paused['blockNumber'] });
  expect(outcomeOf(await transfer(holder, empty.hex, 1))).toBe('REVERT');
  await expect(control('token/pause')).rejects.toThrow('pause: the token refuses it; likely it is paused already');
  await control('token/unpause');
  await expect(control('token/unpause')).rejects.toThrow('it is not paused');

  await expect(control('token/destroy', { holder: holder.address })).rejects.toThrow('not blacklisted');
  await control('token/blacklist', { holder: holder.address });
  expect(await numberOf('isBlackListed(address)', addressWord(holder.hex))).toBe(1);
  expect(await numberOf('getBlackListStatus(address)', addressWord(holder.hex))).toBe(1);
  expect(outcomeOf(await transfer(holder, empty.hex, 1))).toBe('REVERT');
  expect(outcomeOf(await transfer(bank, holder.hex, 5))).toBe('SUCCESS');
  const destroyed = await chain.info(String((await control('token/destroy', { holder: holder.address }))['txID']));
  expect([transfersOf(destroyed), await balanceOf(holder.hex)]).toEqual([[], 0]);
  expect((destroyed['log'] as readonly Logged[]).map(({ data }) => data)).toEqual([word(15)]);
  await control('token/unblacklist', { holder: holder.address });
  await transfer(bank, holder.hex, 3);
  expect(outcomeOf(await transfer(holder, empty.hex, 1))).toBe('SUCCESS');

  const issued = await chain.info(String((await control('token/issue', { amount: 100 }))['txID']));
  expect(transfersOf(issued)).toEqual([[token, `41${'00'.repeat(20)}`, ownerHex, 100]]);
  await control('token/redeem', { amount: 40 });
  await expect(control('token/redeem', { amount: 61 })).rejects.toThrow('redeem: the token refuses it');
  expect([await balanceOf(ownerHex), await numberOf('totalSupply()')]).toEqual([60, 1e16 - 15 + 60]);
});

test('a token fee goes to the owner in a log of its own, up to its maximum', async () => {
  await chain.node.control('token/fees', { basis_points: 10, max_fee: 2 });
  const small = await transfer(bank, holder.hex, 1_000_000);
  expect(transfersOf(small)).toEqual([
    [token, bank.hex, holder.hex, 999_000],
    [token, bank.hex, ownerHex, 1_000],
  ]);
  const large = await transfer(bank, holder.hex, 5_000_000_000);
  expect(transfersOf(large)).toEqual([
    [token, bank.hex, holder.hex, 4_998_000_000],
    [token, bank.hex, ownerHex, 2_000_000],
  ]);
  // Too little to pay a fee.
  expect(transfersOf(await transfer(bank, holder.hex, 999))).toHaveLength(1);
  expect(await chain.node.control('token')).toMatchObject({ basis_points: 10, maximum_fee: 2_000_000 });
});

test('a deprecated token forwards to its successor, whose address the logs come from', async () => {
  await transfer(bank, holder.hex, 10);
  await chain.node.control('token/deprecate', { successor: localUsdtSuccessor });
  expect(await chain.node.control('token')).toMatchObject({ deprecated: true, successor: localUsdtSuccessor });
  expect(await numberOf('deprecated()')).toBe(1);
  const sent = await transfer(holder, empty.hex, 4);
  expect(transfersOf(sent)).toEqual([[localUsdtSuccessor, holder.hex, empty.hex, 4]]);
  expect([await balanceOf(holder.hex), await balanceOf(empty.hex), await numberOf('totalSupply()')]).toEqual([
    6, 4, 1e16,
  ]);
  await run(holder, 'approve(address,uint256)', addressWord(pool.hex), word(3));
  await run(pool, 'transferFrom(address,address,uint256)', addressWord(holder.hex), addressWord(empty.hex), word(2));
  expect(await numberOf('allowance(address,address)', addressWord(holder.hex), addressWord(pool.hex))).toBe(1);
  expect(await balanceOf(empty.hex)).toBe(6);
});

test('bad input is refused with the member to change, and changes nothing', async () => {
  const before = await chain.node.control('token');
  for (const [path, body, message] of [
    ['token/blacklist', {}, 'holder: a TRON address is needed'],
    ['token/destroy', { holder: 'T123' }, 'holder: a TRON address is needed'],
    ['token/fees', { basis_points: 20, max_fee: 1 }, 'basis_points: a whole number from 0 to 19 is needed'],
    ['token/fees', { basis_points: 1, max_fee: 50 }, 'max_fee: a whole number from 0 to 49 is needed'],
    ['token/issue', {}, 'amount: a whole number from 1'],
    ['token/redeem', { amount: 0 }, 'amount: a whole number from 1'],
    ['token/factor', { energy_factor: -1 }, 'energy_factor: a whole number from 0 to 1000000 is needed'],
    ['token/pause', { contract: keyOf('other').address }, 'genesis gives an owner_key to none but'],
  ] as const)
    await expect(chain.node.control(path, body)).rejects.toThrow(message);
  expect(await chain.node.control('token')).toEqual(before);
});

test('the compiled code is that of the sources', async () => {
  for (const [name, hash] of Object.entries(LOCAL_USDT_SOURCES)) {
    const source = await readFile(`packages/local/contracts/${name}`);
    expect([name, createHash('sha256').update(source).digest('hex')]).toEqual([name, hash]);
  }
});

const runFile = promisify(execFile);
const command = (...args: readonly string[]): Promise<{ stdout: string }> =>
  runFile(process.execPath, [
    'packages/devnet/dist/main.devnet.js',
    'token',
    ...args,
    '--control',
    chain.node.controlUrl,
  ]);

test('the command carries out the acts, and reports what is wrong with others', async () => {
  const { txID } = JSON.parse((await command('fees', '10', '2')).stdout) as { txID: string };
  expect(outcomeOf(await chain.info(txID))).toBe('SUCCESS');
  expect(JSON.parse((await command('show')).stdout)).toMatchObject({ basis_points: 10, maximum_fee: 2_000_000 });
  await expect(command('fees', '10')).rejects.toThrow('token fees takes basis_points and max_fee');
  await expect(command('fees', '20', '2')).rejects.toThrow('basis_points: a whole number from 0 to 19 is needed');
  await expect(command('unpause')).rejects.toThrow('unpause: the token refuses it; likely it is not paused');
  await expect(command('melt')).rejects.toThrow('one of pause, unpause, blacklist');
});
