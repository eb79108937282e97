// Contracts: exact energy, every kind of failure, payment of energy, and interaction of contracts.
import { TronWeb } from 'tronweb';
import { type Answer, type Client, TOKEN, TRX, addressWord, deployerOf, keyOf, startChain, word } from './client.js';
import { MAKER, childOf } from './contracts/maker.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const ghost = keyOf('ghost');
let chain: Client;
let token: string;

beforeAll(async () => {
  chain = await startChain();
  token = await chain.deploy(bank, TOKEN.bytecode, { abi: JSON.stringify(TOKEN.abi), name: 'Token' });
});
afterAll(() => chain.node.stop());

function call(selector: string, parameter = '', options: object = {}): Promise<Answer> {
  return chain.post('triggerconstantcontract', {
    owner_address: bank.address,
    contract_address: token,
    function_selector: selector,
    parameter,
    ...options,
  });
}

function trigger(contract: string, selector: string, parameter = '', options: object = {}): object {
  return {
    contract_address: contract,
    function_selector: selector,
    parameter,
    fee_limit: 100 * TRX,
    ...options,
  };
}

const toGhost = addressWord(ghost.hex) + word(5);

// TRON: measured on the real node with the same bytecode.
test.each([
  ['heavy(uint256)', word(0), 276],
  ['heavy(uint256)', word(1), 5_469],
  ['heavy(uint256)', word(2), 10_662],
  ['heavy(uint256)', word(3), 15_855],
  ['heavy(uint256)', word(10), 52_206],
  ['heavy(uint256)', word(50), 259_926],
  ['failPanic(uint256)', word(5), 421],
  ['failPanic(uint256)', word(0), 368],
  ['view1()', '', 311],
  ['transfer(address,uint256)', toGhost, 27_841],
])('%s(%s) uses the energy the real node uses', async (selector, parameter, energy) => {
  expect((await call(selector, parameter))['energy_used']).toBe(energy);
});

test('a deployment costs the energy the real node takes', async () => {
  const info = await chain.run(bank, 'deploycontract', {
    abi: JSON.stringify(TOKEN.abi),
    bytecode: TOKEN.bytecode,
    name: 'Token',
    fee_limit: 1000 * TRX,
    consume_user_resource_percent: 100,
    origin_energy_limit: 10_000_000,
  });
  expect(info['receipt']).toMatchObject({ energy_usage_total: 255_146, result: 'SUCCESS' });
});

test('a busy contract pays its penalty on every opcode, and the answer shows it', async () => {
  const seen: unknown[] = [];
  for (const energy_factor of [2_000, 4_400, 7_280, 0]) {
    await chain.node.control('contract', { address: token, energy_factor });
    const { energy_used, energy_penalty } = await call('transfer(address,uint256)', toGhost);
    seen.push([energy_used, energy_penalty]);
  }
  expect(seen).toEqual([
    [33_280, 5_439],
    [39_990, 12_149],
    [48_030, 20_189],
    [27_841, undefined],
  ]);
});

test('an estimate is found in steps of 1 TRX, not exactly', async () => {
  const body = { owner_address: bank.address, contract_address: token };
  const good = { ...body, function_selector: 'transfer(address,uint256)', parameter: toGhost };
  expect(await chain.post('estimateenergy', good)).toEqual({ result: { result: true }, energy_required: 34_802 });
  expect(await chain.post('estimateenergy', { ...body, function_selector: 'failEmpty()' })).toEqual({
    result: { code: 'CONTRACT_EXE_ERROR', message: 'REVERT opcode executed' },
  });
});

test('an endless call is stopped by the time limit', async () => {
  const message = `class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'JUMP' operation executing`;
  expect(await call('spin()')).toEqual({ result: { code: 'OTHER_ERROR', message } });
  // An aborted run leaves no state for the next one.
  expect((await call('view1()'))['energy_used']).toBe(311);
});

test('a reverted transaction is in a block, pays its energy and changes nothing else', async () => {
  await chain.run(bank, 'createtransaction', { to_address: pool.address, amount: 1 });
  const info = await chain.run(pool, 'triggersmartcontract', trigger(token, 'transfer(address,uint256)', toGhost));
  expect(info).toMatchObject({ result: 'FAILED', receipt: { energy_usage_total: 603, result: 'REVERT' } });
  expect(info['resMessage']).toBe('REVERT opcode executed');
  expect(info).not.toHaveProperty('log');
  const paid = await chain.post('gettransactionbyid', { value: info['id'] });
  expect(paid['ret']).toEqual([{ contractRet: 'REVERT' }]);
});

test('an invalid opcode uses all the energy that the fee limit allows', async () => {
  const broken = await chain.deploy(bank, deployerOf('fe'));
  const info = await chain.run(pool, 'triggersmartcontract', trigger(broken, 'any()', '', { fee_limit: TRX }));
  expect(info['receipt']).toMatchObject({ energy_usage_total: 10_000, result: 'ILLEGAL_OPERATION' });
});

test('TRX sent along reaches the contract, and comes back with a revert', async () => {
  const before = (await chain.post('getaccount', { address: token }))['balance'] ?? 0;
  await chain.run(bank, 'triggersmartcontract', trigger(token, 'pay()', '', { call_value: 7 }));
  await chain.run(bank, 'triggersmartcontract', trigger(token, 'failEmpty()', '', { call_value: 7 }));
  const after = (await chain.post('getaccount', { address: token }))['balance'];
  expect(after).toBe(Number(before) + 7);
});

test('the deployer pays its share from stake, and only up to its limit', async () => {
  const shared = { consume_user_resource_percent: 30, origin_energy_limit: 10_000 };
  const own = await chain.deploy(bank, TOKEN.bytecode, { ...shared, abi: JSON.stringify(TOKEN.abi) });
  await chain.run(bank, 'freezebalancev2', { frozen_balance: 1_000_000 * TRX, resource: 'ENERGY' });
  await chain.run(
    bank,
    'triggersmartcontract',
    trigger(own, 'transfer(address,uint256)', addressWord(pool.hex) + word(9)),
  );
  const body = trigger(own, 'transfer(address,uint256)', addressWord(bank.hex) + word(1));
  const info = await chain.run(pool, 'triggersmartcontract', body);
  // 70 % of 12 841 is 8 988, below the limit of 10 000. The caller burns TRX for the rest.
  expect(info['receipt']).toMatchObject({
    origin_energy_usage: 8_988,
    energy_usage_total: 12_841,
    energy_fee: (12_841 - 8_988) * 100,
  });
});

test('CREATE2 addresses are computed with 41 where Ethereum has ff', async () => {
  const maker = await chain.deploy(bank, MAKER);
  const info = await chain.run(bank, 'triggersmartcontract', trigger(maker, 'make()'));
  const child = childOf(maker, 0);
  const [made] = info['contractResult'] as string[];
  expect(made).toBe(TronWeb.address.toHex(child).toLowerCase().padStart(64, '0'));
  expect(await chain.post('getaccount', { address: child })).toMatchObject({ type: 'Contract' });
  expect(info['internal_transactions']).toMatchObject([{ note: Buffer.from('create').toString('hex') }]);
  // The same salt again meets the existing contract, which takes all the energy passed on.
  const again = await chain.run(bank, 'triggersmartcontract', trigger(maker, 'make()'));
  expect(again['receipt']).toMatchObject({ result: 'OUT_OF_ENERGY' });
});

test('a plain account becomes the contract that CREATE2 makes there: it keeps its TRX, and nobody can delegate to it', async () => {
  const maker = await chain.deploy(bank, MAKER);
  const child = childOf(maker, 1);
  await chain.run(bank, 'createtransaction', { to_address: child, amount: 7 });
  await chain.run(bank, 'freezebalancev2', { frozen_balance: 100 * TRX, resource: 'ENERGY' });
  const lent = { receiver_address: child, balance: 10 * TRX, resource: 'ENERGY' };
  await chain.run(bank, 'delegateresource', lent);
  expect(await chain.post('getaccountresource', { address: child })).toHaveProperty('EnergyLimit');
  const info = await chain.run(bank, 'triggersmartcontract', trigger(maker, 'make(uint256)', word(1)));
  expect(info['receipt']).toMatchObject({ result: 'SUCCESS' });
  expect(await chain.post('getaccount', { address: child })).toMatchObject({ type: 'Contract', balance: 7 });
  expect(await chain.post('getaccountresource', { address: child })).not.toHaveProperty('EnergyLimit');
  await expect(chain.send(bank, 'delegateresource', lent)).rejects.toThrow(
    'Do not allow delegate resources to contract addresses',
  );
  // Earlier delegations are reclaimed as usual.
  await chain.run(bank, 'undelegateresource', lent);
  const pair = { fromAddress: bank.address, toAddress: child };
  expect(await chain.post('getdelegatedresourcev2', pair)).toEqual({});
});

test('TRX that a contract sends to an unused address makes an account, for 25 000 energy more', async () => {
  // CALL(gas 0, calldata word 0, value 1, nothing in, nothing out)
  const payer = await chain.deploy(bank, deployerOf('600060006000600060016004356000f100'));
  const pay = trigger(payer, 'pay(address)', addressWord(ghost.hex), { call_value: 3 });
  const first = await chain.run(bank, 'triggersmartcontract', pay);
  const second = await chain.run(bank, 'triggersmartcontract', pay);
  const energy = (info: Answer): number => (info['receipt'] as { energy_usage_total: number }).energy_usage_total;
  expect(energy(first) - energy(second)).toBe(25_000);
  expect(await chain.account(ghost)).toMatchObject({ balance: 2 });
});
