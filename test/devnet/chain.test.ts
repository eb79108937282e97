// The chain itself: pending and solid views, forks, repeatability, state files, a second node, load.
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, type Client, type Unsigned, TRX, keyOf, sign, startChain } from './client.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
const bob = keyOf('bob');
const FIXED = { seed: 's', genesis: { timestamp: 1_767_225_600_000, accounts: genesisAccounts() } };

function genesisAccounts(): { address: string; balance: string }[] {
  return [
    { address: bank.address, balance: '90000000000000000' },
    { address: pool.address, balance: '1000000000000' },
  ];
}

function pay(amount: number): object {
  return { owner_address: bank.address, to_address: bob.address, amount };
}

async function headId(chain: Client): Promise<string> {
  return (await chain.post('getnowblock'))['blockID'] as string;
}

function numberOf(block: Answer): number {
  return ((block['block_header'] as Answer)['raw_data'] as { number: number }).number;
}

describe('one chain', () => {
  let chain: Client;
  beforeEach(async () => {
    chain = await startChain({ solidLag: 3 });
  });
  afterEach(() => chain.node.stop());

  test('the full port shows pending transactions, the solid port only blocks that are deep enough', async () => {
    await chain.mine(4);
    const txId = await chain.send(bank, 'createtransaction', pay(5));
    const asked = { address: bob.address };
    expect(await chain.post('getaccount', asked)).toMatchObject({ balance: 5 });
    expect(await chain.post('gettransactionbyid', { value: txId })).toMatchObject({
      ret: [{ contractRet: 'SUCCESS' }],
    });
    expect(await chain.post('gettransactionfrompending', { value: txId })).toMatchObject({ txID: txId });
    expect(await chain.info(txId)).toEqual({});
    await chain.mine();
    expect(await chain.info(txId)).toMatchObject({ id: txId });
    expect(await chain.post('gettransactionfrompending', { value: txId })).toEqual({});
    await chain.mine(2);
    expect(await chain.solid('getaccount', asked)).toEqual({});
    expect(await chain.solid('gettransactioninfobyid', { value: txId })).toEqual({});
    await chain.mine();
    expect(await chain.solid('getaccount', asked)).toMatchObject({ balance: 5 });
    expect(await chain.solid('gettransactioninfobyid', { value: txId })).toMatchObject({ id: txId });
  });

  test('a fork undoes blocks, and their transactions return to the mempool', async () => {
    const before = await headId(chain);
    const txId = await chain.send(bank, 'createtransaction', pay(5));
    await chain.mine(2);
    const orphan = await headId(chain);
    await chain.node.control('fork', { depth: 2 });
    expect(await headId(chain)).toBe(before);
    expect(await chain.info(txId)).toEqual({});
    expect(await chain.post('gettransactionfrompending', { value: txId })).toMatchObject({ txID: txId });
    await chain.mine(2);
    expect(await headId(chain)).not.toBe(orphan);
    expect(await chain.info(txId)).toMatchObject({ id: txId });
  });

  test('a fork undoes blocks, not the time they took', async () => {
    const timeOf = (block: Answer): number =>
      ((block['block_header'] as Answer)['raw_data'] as { timestamp: number }).timestamp;
    await chain.mine(3);
    const before = timeOf(await chain.post('getnowblock'));
    await chain.node.control('fork', { depth: 2 });
    await chain.mine();
    expect(timeOf(await chain.post('getnowblock'))).toBe(before + 3000);
  });

  test('a fork that loses its transactions leaves no trace of them', async () => {
    const account = await chain.account(bank);
    const txId = await chain.send(bank, 'createtransaction', pay(5));
    await chain.mine();
    await chain.node.control('fork', { depth: 1, drop: true });
    await chain.mine(3);
    expect(await chain.post('gettransactionbyid', { value: txId })).toEqual({});
    expect(await chain.account(bob)).toEqual({});
    expect(await chain.account(bank)).toEqual(account);
  });

  test('a transaction that refers to an orphaned block is refused on the winning fork', async () => {
    await chain.mine(4);
    const tx = await chain.build('createtransaction', pay(5));
    await chain.node.control('fork', { depth: 5 });
    await chain.mine(5);
    expect((await chain.broadcast(tx, bank)).answer).toMatchObject({
      code: 'TAPOS_ERROR',
      message: 'Tapos check error.',
    });
  });

  test('no more blocks can be undone than are remembered', async () => {
    await expect(chain.node.control('fork', { depth: 1_000 })).rejects.toThrow('depth must be from 1 to');
    await expect(chain.node.control('fork', { depth: 0 })).rejects.toThrow('depth must be from 1 to');
  });

  test('a pending transaction can be forgotten, and is then unknown', async () => {
    const txId = await chain.send(bank, 'createtransaction', pay(5));
    expect(await chain.node.control('evict', { ids: [txId] })).toEqual({ evicted: 1 });
    expect(await chain.post('gettransactionbyid', { value: txId })).toEqual({});
    expect(await chain.account(bob)).toEqual({});
  });

  test('broadcasthex accepts the bytes that a wallet signed, and refuses invalid bytes', async () => {
    const tx = await chain.build('createtransaction', pay(5));
    const raw = (tx as Unsigned & { raw_data_hex: string }).raw_data_hex;
    const block = (tag: number, hex: string): string => {
      const length = hex.length / 2;
      const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
      return Buffer.from([tag, ...size]).toString('hex') + hex;
    };
    const transaction = block(0x0a, raw) + block(0x12, sign(tx.txID, bank.secret));
    const sent = await chain.post('broadcasthex', { transaction });
    expect(sent).toMatchObject({ result: true, code: 'SUCCESS', txid: tx.txID, message: '' });
    expect(await chain.post('gettransactionfrompending', { value: tx.txID })).toMatchObject({ txID: tx.txID });
    expect(await chain.post('broadcasthex', { transaction: '0aff' })).toHaveProperty('Error');
  });

  test('a transaction with addresses in the wrong form counts as one without a contract', async () => {
    const tx = await chain.build('createtransaction', pay(5));
    const signature = [sign(tx.txID, bank.secret)];
    const text = await chain.text('wallet/broadcasttransaction', { ...tx, visible: false, signature });
    const answer = JSON.parse(text) as Answer;
    expect(answer['code']).toBe('SIGERROR');
    expect(Buffer.from(answer['message'] as string, 'hex').toString()).toBe(
      'Validate signature error: miss sig or contract',
    );
  });

  test('blocks are found by number, by id and as a range, with their transactions', async () => {
    const txId = await chain.send(bank, 'createtransaction', pay(5));
    await chain.mine();
    const head = await chain.post('getnowblock');
    const number = numberOf(head);
    const [tx] = head['transactions'] as Answer[];
    expect(tx).toMatchObject({ txID: txId, ret: [{ contractRet: 'SUCCESS' }] });
    expect(tx).toHaveProperty('raw_data_hex');
    expect(await chain.post('getblockbynum', { num: number })).toEqual(head);
    expect(await chain.post('getblockbyid', { value: head['blockID'] })).toEqual(head);
    const range = await chain.post('getblockbylimitnext', { startNum: number - 1, endNum: number + 1 });
    expect((range['block'] as Answer[]).map(numberOf)).toEqual([number - 1, number]);
    const { transactions: _left, ...bare } = head;
    expect(await chain.post('getblock', { id_or_num: String(number) })).toEqual(bare);
    expect(await chain.post('getblock', { id_or_num: head['blockID'], detail: true })).toEqual(head);
    expect(await chain.post('getblock', { id_or_num: '-1' })).toEqual({ Error: 'num must be non-positive number.' });
    expect(await chain.post('getblock', { id_or_num: 'x' })).toEqual({ Error: 'id must be legal block hash.' });
  });

  test('what the real node has only on one port is on that port alone', async () => {
    const { status } = await fetch(`${chain.node.solidUrl}/walletsolidity/getchainparameters`, { method: 'POST' });
    expect(status).toBe(405);
    expect((await fetch(`${chain.node.fullUrl}/nothing`)).status).toBe(404);
    expect(await chain.text('wallet/getaccount', '{"address')).toContain('com.alibaba.fastjson.JSONException');
  });

  test('a changed parameter applies at once and shows in the prices', async () => {
    await chain.node.control('parameters', { getEnergyFee: 210 });
    const { prices } = await chain.post('getenergyprices');
    expect(prices).toMatch(/^0:100,\d+:210$/);
    await expect(chain.node.control('parameters', { nonsense: 1 })).rejects.toThrow('nonsense is no chain parameter');
  });

  test('2 000 delegations fit in one block, and one more pending than the node accepts is SERVER_BUSY', async () => {
    await chain.send(pool, 'freezebalancev2', { frozen_balance: 500_000 * TRX, resource: 'ENERGY' });
    await chain.send(pool, 'freezebalancev2', { frozen_balance: 400_000 * TRX, resource: 'BANDWIDTH' });
    await chain.mine();
    const lend = { receiver_address: bank.address, resource: 'ENERGY' };
    const sendFrom = async (first: number): Promise<void> => {
      for (let i = first; i < 2_001; i += 25) await chain.send(pool, 'delegateresource', { ...lend, balance: TRX + i });
    };
    await Promise.all(Array.from({ length: 25 }, (_, first) => sendFrom(first)));
    await expect(chain.send(pool, 'delegateresource', { ...lend, balance: 2 * TRX })).rejects.toThrow('Server busy.');
    await chain.mine();
    expect((await chain.post('getnowblock'))['transactions']).toHaveLength(2_001);
    const { delegatedResource } = await chain.post('getdelegatedresourcev2', {
      fromAddress: pool.address,
      toAddress: bank.address,
    });
    expect(delegatedResource).toMatchObject([{ frozen_balance_for_energy: 2_001 * TRX + (2_000 * 2_001) / 2 }]);
  });
});

test('the same genesis, seed and order of inputs give the same block ids', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) {
    const chain = await startChain(FIXED);
    await chain.send(bank, 'createtransaction', pay(5));
    await chain.mine(2);
    await chain.node.control('fork', { depth: 1 });
    await chain.mine(3);
    ids.push(await headId(chain));
    await chain.node.stop();
  }
  const other = await startChain({ ...FIXED, seed: 'another' });
  await other.mine(4);
  ids.push(await headId(other));
  await other.node.stop();
  expect(ids[0]).toBe(ids[1]);
  expect(ids[2]).not.toBe(ids[0]);
});

test('a chain loaded from its file continues as the one that wrote it, forks included', async () => {
  const stateFile = join(tmpdir(), `devnet-chain-${String(process.pid)}.json`);
  const first = await startChain({ ...FIXED, stateFile });
  await first.run(pool, 'freezebalancev2', { frozen_balance: 500 * TRX, resource: 'ENERGY' });
  await first.run(pool, 'delegateresource', { receiver_address: bank.address, balance: 5 * TRX, resource: 'ENERGY' });
  const pending = await first.send(bank, 'createtransaction', pay(9));
  const account = await first.account(pool);
  await first.node.stop();
  const second = await startChain({ ...FIXED, stateFile });
  expect(await second.account(pool)).toEqual(account);
  expect(await second.post('getdelegatedresourceaccountindexv2', { value: pool.address })).toEqual({
    account: pool.address,
    toAccounts: [bank.address],
  });
  expect(await second.post('gettransactionfrompending', { value: pending })).toMatchObject({ txID: pending });
  await second.node.control('fork', { depth: 1, drop: true });
  expect(await second.post('getdelegatedresourceaccountindexv2', { value: pool.address })).toEqual({
    account: pool.address,
  });
  await second.mine();
  expect(await second.info(pending)).toMatchObject({ id: pending });
  await second.node.stop();
  await rm(stateFile);
});

test('a second node has its own head: it learns of a block later, and forwards what is sent to it', async () => {
  const chain = await startChain({ second: { behind: 2, solidLag: 1 } });
  const slow = chain.at(chain.node.second?.fullUrl ?? '');
  await chain.mine(3);
  const txId = await slow.send(bank, 'createtransaction', pay(5));
  await chain.mine(2);
  expect(await chain.info(txId)).toMatchObject({ id: txId });
  expect(await slow.info(txId)).toEqual({});
  expect(await slow.account(bob)).toEqual({});
  await chain.mine();
  expect(await slow.info(txId)).toMatchObject({ id: txId });
  expect(await slow.account(bob)).toMatchObject({ balance: 5 });
  await chain.node.control('node', { index: 1, behind: 4 });
  expect(await slow.account(bob)).toEqual({});
  await expect(chain.node.control('node', { index: 1, behind: 1_000 })).rejects.toThrow('behind and solidLag must be');
  await chain.node.stop();
});
