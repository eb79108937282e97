// Nodes with wrong receipts: hidden, truncated, stale, of another block, with other logs, without internal
// transactions.
import { TronWeb } from 'tronweb';
import { type Call, STRICT_CALLER, callsOf } from './contracts/payers.js';
import { tokenCode } from './contracts/tokens.js';
import { type Answer, type Client, TRX, addressWord, keyOf, startChain, word } from './client.js';

const bank = keyOf('bank');
const one = keyOf('one');
const LIST = 'wallet/gettransactioninfobyblocknum';
const INFO = 'wallet/gettransactioninfobyid';
let chain: Client;
let token: string;
let caller: string;
/** Number, receipts and transaction ids of a block with a payment, a contract's payment and a token transfer. */
let num: number;
let receipts: readonly Answer[];
let ids: readonly string[];

beforeAll(async () => {
  chain = await startChain({ solidLag: 1 });
  token = await chain.deploy(bank, tokenCode());
  caller = await chain.deploy(bank, STRICT_CALLER);
  await chain.send(bank, 'createtransaction', { to_address: one.address, amount: 5 });
  await call({ to: one.hex, value: 7 });
  await transfer(9);
  await chain.mine(3);
  const head = (await chain.post('getnowblock'))['block_header'] as { raw_data: { number: number } };
  num = head.raw_data.number - 2;
  receipts = await listOf(num);
  ids = receipts.map((receipt) => String(receipt['id']));
});
afterAll(() => chain.node.stop());
afterEach(() => chain.node.control('faults/clear', { counts: true }));

const limit = { fee_limit: 1000 * TRX };
const call = (...calls: readonly Call[]): Promise<string> =>
  chain.send(bank, 'triggersmartcontract', {
    contract_address: caller,
    function_selector: 'run()',
    parameter: callsOf(...calls),
    call_value: calls.reduce((sum, { value = 0 }) => sum + value, 0),
    ...limit,
  });
const transfer = (amount: number): Promise<string> =>
  chain.send(bank, 'triggersmartcontract', {
    contract_address: token,
    function_selector: 'transfer(address,uint256)',
    parameter: addressWord(one.hex) + word(amount),
    ...limit,
  });
const listOf = async (block: number): Promise<readonly Answer[]> =>
  (await chain.post('gettransactioninfobyblocknum', { num: block })) as unknown as readonly Answer[];
const fault = (body: object): Promise<Answer> => chain.node.control('faults', body);
const fired = async (): Promise<unknown> => (await chain.node.control('faults'))['fired'];

test('a block has one receipt for each transaction, in the block’s order', async () => {
  const block = await chain.post('getblockbynum', { num });
  expect((block['transactions'] as Answer[]).map((tx) => tx['txID'])).toEqual(ids);
  expect(receipts.map((receipt) => 'internal_transactions' in receipt)).toEqual([false, true, false]);
  expect(receipts.map((receipt) => 'log' in receipt)).toEqual([false, false, true]);
  // The contract's address is whole when visible, its 20 bytes otherwise.
  expect(receipts[2]?.['log']).toMatchObject([{ address: token }]);
  const plain = JSON.parse(await chain.text(INFO, { value: ids[2] })) as { log: readonly Answer[] };
  expect(`41${String(plain.log[0]?.['address'])}`).toBe(TronWeb.address.toHex(token).toLowerCase());
});

test('the list of block 0 is not a list, and that of a future block is empty', async () => {
  expect(await listOf(0)).toEqual({});
  expect(await listOf(num + 100)).toEqual([]);
});

test('internal transactions are hidden, of all receipts or of one', async () => {
  const bare = receipts.map((receipt) => ({ ...receipt, internal_transactions: undefined }));
  await fault({ kind: 'wrong', wrong: 'no-internal', path: LIST, times: 1 });
  expect(await listOf(num)).toEqual(bare);
  await fault({ kind: 'wrong', wrong: 'no-internal', txId: ids[0] });
  expect(await listOf(num)).toEqual(receipts);
  await fault({ kind: 'wrong', wrong: 'no-internal', txId: ids[1] });
  expect(await chain.info(ids[1] ?? '')).toEqual(bare[1]);
  expect(await fired()).toEqual({ wrong: 2 });
});

test('a list of receipts is empty, or lacks its last or a given one', async () => {
  await fault({ kind: 'wrong', wrong: 'empty', path: LIST, times: 1 });
  expect(await listOf(num)).toEqual([]);
  await fault({ kind: 'wrong', wrong: 'short', path: LIST, times: 1 });
  expect(await listOf(num)).toEqual(receipts.slice(0, 2));
  await fault({ kind: 'wrong', wrong: 'short', path: LIST, txId: ids[0] });
  expect(await listOf(num)).toEqual(receipts.slice(1));
  // An empty list cannot be truncated.
  expect(await listOf(num + 1)).toEqual([]);
  expect(await fired()).toEqual({ wrong: 3 });
});

test('one receipt alone is missing, failed, of another block or of any content', async () => {
  const [first, second, third] = receipts;
  await fault({ kind: 'wrong', wrong: 'empty', path: INFO, txId: ids[1] });
  expect(await chain.info(ids[1] ?? '')).toEqual({});
  expect(await chain.info(ids[0] ?? '')).toEqual(first);
  const wrongs: [string, object, object][] = [
    ['failed', {}, { result: 'FAILED', receipt: { result: 'OUT_OF_ENERGY' } }],
    ['other-block', {}, { blockNumber: num - 1 }],
    ['replace', { replace: { contractResult: ['01'] } }, { contractResult: ['01'] }],
  ];
  for (const [wrong, extra, expected] of wrongs) {
    await fault({ kind: 'wrong', wrong, path: LIST, txId: ids[1], times: 1, ...extra });
    const [a, b, c] = await listOf(num);
    expect([a, c]).toEqual([first, third]);
    expect(b).toMatchObject(expected);
    expect(b?.['id']).toBe(second?.['id']);
  }
});

test('a receipt has a log that never existed, or its own logs are changed', async () => {
  const log = { address: one.address, topics: ['00'], data: '01' };
  await fault({ kind: 'wrong', wrong: 'extra-log', replace: log, txId: ids[2], times: 1 });
  const right = receipts[2]?.['log'] as Answer[];
  expect((await chain.info(ids[2] ?? ''))['log']).toEqual([...right, log]);
  await fault({ kind: 'wrong', wrong: 'extra-log', replace: log, txId: ids[0], times: 1 });
  expect((await listOf(num))[0]).toEqual({ ...receipts[0], log: [log] });
  await fault({ kind: 'wrong', wrong: 'other-log', replace: { data: word(9_000_000) } });
  const [, , changed] = await listOf(num);
  expect(changed?.['log']).toEqual([{ ...right[0], data: word(9_000_000) }]);
});

test('a transaction is hidden with its receipt wherever it would show', async () => {
  const block = await chain.post('getblockbynum', { num });
  const [, hidden = ''] = ids;
  await fault({ kind: 'hide', txId: hidden });
  const left = (block['transactions'] as Answer[]).filter((tx) => tx['txID'] !== hidden);
  expect(await chain.post('getblockbynum', { num })).toEqual({ ...block, transactions: left });
  expect(await listOf(num)).toEqual([receipts[0], receipts[2]]);
  expect(await chain.info(hidden)).toEqual({});
  expect(await chain.post('gettransactionbyid', { value: hidden })).toEqual({});
  expect(await chain.info(ids[0] ?? '')).toEqual(receipts[0]);
  expect(await chain.solid('gettransactioninfobyid', { value: hidden })).toEqual({});
  await chain.node.control('faults/clear');
  await fault({ kind: 'hide' });
  expect((await chain.post('getblockbynum', { num }))['transactions']).toHaveLength(2);
  expect(await listOf(num)).toEqual(receipts.slice(0, 2));
});

test('a stale node gives a block’s receipts as at the first request, before there were any', async () => {
  const next = num + 3;
  await fault({ kind: 'stale', path: LIST });
  expect(await listOf(next)).toEqual([]);
  expect(await fired()).toEqual({});
  await chain.send(bank, 'createtransaction', { to_address: one.address, amount: 6 });
  await chain.mine();
  expect(await listOf(next)).toEqual([]);
  expect(await listOf(num)).toEqual(receipts);
  expect(await fired()).toEqual({ stale: 1 });
  await chain.node.control('faults/clear');
  expect(await listOf(next)).toHaveLength(1);
});

test('a node answers with another block’s receipts', async () => {
  await fault({ kind: 'other-receipts', blocks: 2 });
  expect(await listOf(num + 2)).toEqual(receipts);
  expect(await chain.solid('gettransactioninfobyblocknum', { num: num + 2 })).toEqual(receipts);
  expect(await chain.info(ids[0] ?? '')).toEqual(receipts[0]);
  expect(await fired()).toEqual({ 'other-receipts': 2 });
});

test('a transaction is identified by its id alone', async () => {
  await expect(fault({ kind: 'hide', txId: 'last' })).rejects.toThrow('txId must be 64 hex characters');
});
