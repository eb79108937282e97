// Reading heads without their transactions, and each block once: requests to a node and interpretation of its answers.
import { jest } from '@jest/globals';
import { TronNode } from '../../../src/platform/chain/node.js';
import { blockOf, solidBlockOf, solidHeadOf } from '../../../src/platform/chain/tron.client.js';
import { openFaultyNode, type Fault, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { newOwner, stake } from '../../support/chain/order-chain.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';

const owner = newOwner();
let chain: Devnet;
let full: FaultyNode;
let solid: FaultyNode;
/** The block that holds a transaction. */
let filled: number;

beforeAll(async () => {
  chain = await startDevnet({
    blockMs: 0,
    solidLag: 1,
    genesis: { accounts: [{ address: owner.address, balance: 10_000_000_000 }] },
  });
  [full, solid] = await Promise.all([openFaultyNode(chain.fullUrl), openFaultyNode(chain.solidUrl)]);
  await chain.control('mine', { count: 3 });
  const staked = stake(chain.fullUrl, owner, 1_000_000_000n);
  for (let pending = 0; pending === 0;) ({ pending } = (await chain.control('status')) as { pending: number });
  await chain.control('mine', { count: 1 });
  await staked;
  filled = Number((await chain.control('mine', { count: 2 }))['head']) - 2;
});

afterEach(() => {
  full.mend();
  solid.mend();
});

afterAll(async () => {
  await Promise.all([full.close(), solid.close()]);
  await chain.stop();
});

const open = (): TronNode =>
  new TronNode({
    fullUrl: full.url,
    solidUrl: solid.url,
    apiKey: undefined,
    readTimeoutMs: 2000,
    broadcastTimeoutMs: 2000,
    headStallSec: 60,
    headAgeMaxSec: 0,
  });

const asked = (node: FaultyNode, path: string): number => node.asked.get(path) ?? 0;

it('requests heads without their transactions', async () => {
  const node = open();
  const before = asked(full, 'wallet/getnowblock');
  expect((await node.readHead()).number).toBe(filled + 2);
  expect((await solidHeadOf(node)).number).toBe(filled + 1);
  expect(asked(full, 'wallet/getnowblock')).toBe(before);
});

it.each<[string, Fault]>([
  ['403', { kind: 'says', status: 403, body: '{"Error":"this API is not offered"}' }],
  ['404', { kind: 'says', status: 404, body: 'Not Found' }],
  ['405', { kind: 'says', status: 405, body: '<html>' }],
  ['an error of its own', { kind: 'says', body: '{"Error":"this API is unavailable due to config"}' }],
  ['an empty object', { kind: 'says', body: '{}' }],
])('asks a provider that answers getblock by %s for whole heads, and counts it as healthy', async (_what, fault) => {
  const node = open();
  full.fail(fault, 'wallet/getblock');
  solid.fail(fault, 'walletsolidity/getblock');
  expect((await node.readHead()).number).toBe(filled + 2);
  expect((await solidHeadOf(node)).number).toBe(filled + 1);
  expect(node.isHealthy).toBe(true);
  expect(node.isBackedOff).toBe(false);
});

it.each([403, 429, 503])('does not ask a provider that throttles by %d again in another way', async (status) => {
  const node = open();
  const body = '{"Error":"The key exceeds the frequency limit(15), and the query server is suspended for 30s"}';
  full.fail({ kind: 'says', status, body }, 'wallet/getblock');
  const before = asked(full, 'wallet/getnowblock');
  await expect(node.readHead()).rejects.toMatchObject({ kind: 'throttled' });
  expect(asked(full, 'wallet/getnowblock')).toBe(before);
  expect(node.isBackedOff).toBe(true);
});

it('reads a block once, for all users and both ports', async () => {
  const node = open();
  const before = asked(full, 'wallet/getblockbynum') + asked(solid, 'walletsolidity/getblockbynum');
  const blocks = await Promise.all([1, 2, 3].map(() => blockOf(node, filled)));
  const final = await solidBlockOf(node, filled);
  for (const block of [...blocks, final]) {
    expect(block).toMatchObject({ number: filled, isWhole: true });
    expect(block?.transactions).toHaveLength(1);
  }
  expect(asked(full, 'wallet/getblockbynum') + asked(solid, 'walletsolidity/getblockbynum')).toBe(before + 1);
  expect(await blockOf(node, filled + 100)).toBeUndefined();
});

/** Requests for a block with its transactions. */
const WHOLE = ['wallet/getblockbynum', 'wallet/getblock whole'];

/** Returns an answer with `"transactions": …` in place of the real ones. */
async function withTransactions(transactions: string): Promise<Fault> {
  const answer = await fetch(`${chain.fullUrl}/wallet/getblock`, {
    method: 'POST',
    body: JSON.stringify({ id_or_num: filled.toString() }),
  });
  return { kind: 'says', body: (await answer.text()).replace(/}$/, `,"transactions":${transactions}}`) };
}

it.each<[string, () => Promise<Fault>]>([
  ['that is not JSON', () => withTransactions('[{"name": "}')],
  ['whose transactions are invalid', () => withTransactions('[{"raw_data_hex":"zz"}]')],
  ['whose transactions are not a list', () => withTransactions('{"0":{}}')],
  ['without its transactions', () => withTransactions('[]')],
  [
    'that the node itself cannot print',
    () => Promise.resolve({ kind: 'says', body: '{"Error":"class com.x : suspended"}' }),
  ],
  ['longer than any real one', () => withTransactions(`["${'x'.repeat(65 * 1024 * 1024)}"]`)],
  ['whose answer breaks off', () => Promise.resolve({ kind: 'down' })],
])('knows a block %s by the list of its transactions', async (_what, fault) => {
  const node = open();
  const [real] = (await blockOf(node, filled))!.transactions;
  const other = open();
  await other.readHead();
  full.fail(await fault(), ...WHOLE);
  const block = await blockOf(other, filled);
  expect(block).toMatchObject({ number: filled, isWhole: false });
  expect(block?.transactions).toEqual([{ txid: real?.txid, succeeded: true, signed: undefined }]);
  expect(other.isHealthy).toBe(true);
});

it('names a block that cannot be listed either, and accuses no wallet', async () => {
  const node = open();
  await node.readHead();
  full.fail({ kind: 'says', body: 'x' }, ...WHOLE, 'wallet/gettransactioninfobyblocknum');
  await expect(blockOf(node, filled)).rejects.toMatchObject({ kind: 'unreadable' });
  full.fail({ kind: 'says', body: '[]' }, 'wallet/gettransactioninfobyblocknum');
  await expect(blockOf(node, filled)).rejects.toMatchObject({ kind: 'unreadable' });
  expect(node.isHealthy).toBe(true);
});

it('waits a few seconds for a block that the answering backend does not have yet', async () => {
  const node = open();
  await node.readHead();
  full.fail({ kind: 'says', body: '{}' }, ...WHOLE);
  full.fail({ kind: 'says', body: '[]' }, 'wallet/gettransactioninfobyblocknum');
  await expect(blockOf(node, filled)).rejects.toMatchObject({ kind: 'unhealthy' });
  const now = performance.now.bind(performance);
  const later = jest.spyOn(performance, 'now').mockImplementation(() => now() + 6000);
  await expect(blockOf(node, filled)).rejects.toMatchObject({ kind: 'unreadable' });
  full.mend();
  expect(await blockOf(node, filled)).toMatchObject({ number: filled, isWhole: true });
  full.fail({ kind: 'says', body: '{}' }, ...WHOLE);
  await expect(node.blocks.block('full', filled - 1)).rejects.toMatchObject({ kind: 'unhealthy' });
  later.mockRestore();
});
