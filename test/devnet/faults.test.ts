// Faults that the local chain simulates on request: the client's view, and their effect on the chain.
import { TronNode } from '../../src/platform/chain/node.js';
import { headerOf } from '../../src/platform/chain/tron.client.js';
import { type Answer, type Client, keyOf, sign, startChain, type Unsigned } from './client.js';

const bank = keyOf('bank');
const bob = keyOf('bob');
const PAY = { owner_address: bank.address, to_address: bob.address };
const BROADCAST = 'wallet/broadcasttransaction';

let chain: Client;
/** Number of the head when a test begins. */
let top: number;
beforeAll(async () => {
  chain = await startChain({ solidLag: 3, second: { behind: 0, solidLag: 3 } });
});
beforeEach(async () => {
  await chain.node.control('faults/clear', { counts: true });
  await chain.mine(8);
  top = blockNumber(await chain.post('getnowblock'));
});
afterAll(() => chain.node.stop());

const fault = (body: object): Promise<Answer> => chain.node.control('faults', body);

interface Counted {
  readonly faults: readonly { readonly kind: string; readonly seen: number; readonly fired: number }[];
  readonly fired: Readonly<Record<string, number>>;
}
async function counted(): Promise<Counted> {
  return (await chain.node.control('faults')) as unknown as Counted;
}

let amount = 0;
async function payment(): Promise<Unsigned> {
  amount += 1;
  return chain.build('createtransaction', { ...PAY, amount });
}

/** Returns true when the chain has the transaction, after clearing every fault. */
async function isTaken(txId: string): Promise<boolean> {
  await chain.node.control('faults/clear');
  return Object.keys(await chain.post('gettransactionbyid', { value: txId })).length > 0;
}

async function status(path: string): Promise<number> {
  const response = await fetch(`${chain.node.fullUrl}/${path}`, { method: 'POST', body: '{}' });
  await response.text();
  return response.status;
}

const AS_READ = {
  apiKey: undefined,
  readTimeoutMs: 5000,
  broadcastTimeoutMs: 5000,
  headStallSec: 60,
  headAgeMaxSec: 0,
};
const second = (): Client => chain.at(chain.node.second?.fullUrl ?? '');
const blockNumber = (block: Answer): number =>
  ((block['block_header'] as Answer)['raw_data'] as { number: number }).number;

describe('a call without a good answer', () => {
  test.each([
    ['drop-before', false],
    ['cut-after', true],
    ['timeout-before', false],
    ['timeout-after', true],
  ])('%s breaks the connection; the transaction is accepted: %s', async (kind, isProcessed) => {
    const tx = await payment();
    await fault({ kind, path: BROADCAST, ms: 50 });
    await expect(chain.broadcast(tx, bank)).rejects.toThrow();
    expect((await counted()).fired).toEqual({ [kind]: 1 });
    expect(await isTaken(tx.txID)).toBe(isProcessed);
  });

  test.each([
    ['error-before', false],
    ['error-after', true],
  ])('%s answers the configured status; the transaction is accepted: %s', async (kind, isProcessed) => {
    const tx = await payment();
    await fault({ kind, path: BROADCAST, status: 503 });
    const response = await fetch(`${chain.node.fullUrl}/${BROADCAST}`, {
      method: 'POST',
      body: JSON.stringify({ ...tx, visible: true, signature: [sign(tx.txID, bank.secret)] }),
    });
    expect(response.status).toBe(503);
    await response.text();
    expect(await isTaken(tx.txID)).toBe(isProcessed);
  });

  test('garbage is not an answer that the call could have', async () => {
    const right = await chain.text('wallet/getnowblock', {});
    await fault({ kind: 'garbage', path: 'wallet/getnowblock' });
    for (let n = 0; n < 8; n += 1) expect(await chain.text('wallet/getnowblock', {})).not.toBe(right);
  });

  test('a slow answer is the right one', async () => {
    const right = await chain.post('getnowblock');
    await fault({ kind: 'slow', ms: 60 });
    expect(await chain.post('getnowblock')).toEqual(right);
  });
});

describe('a broadcast', () => {
  const CODES = [
    'SERVER_BUSY',
    'DUP_TRANSACTION_ERROR',
    'TAPOS_ERROR',
    'TRANSACTION_EXPIRATION_ERROR',
    'BANDWITH_ERROR',
  ];

  test.each(CODES)('refused as %s is really refused, or accepted despite the answer', async (code) => {
    const [refused, accepted] = [await payment(), await payment()];
    await fault({ kind: 'refuse', code, times: 1 });
    expect((await chain.broadcast(refused, bank)).answer).toMatchObject({ code, txid: refused.txID });
    await fault({ kind: 'lie-refused', code, times: 1 });
    const { answer } = await chain.broadcast(accepted, bank);
    expect(answer).toMatchObject({ code, txid: accepted.txID });
    expect(answer).not.toHaveProperty('result');
    expect(await isTaken(refused.txID)).toBe(false);
    expect(await isTaken(accepted.txID)).toBe(true);
  });

  test('of hex is refused in the form of its own answer', async () => {
    await fault({ kind: 'refuse', code: 'SERVER_BUSY', path: 'wallet/broadcast*' });
    const answer = await chain.post('broadcasthex', { transaction: '0a020102' });
    // The node itself refuses bytes that are no transaction.
    expect(answer).not.toHaveProperty('code', 'SERVER_BUSY');
    expect((await counted()).fired).toEqual({});
  });

  test('answered with success may never have been accepted', async () => {
    const tx = await payment();
    await fault({ kind: 'lie-accepted' });
    expect((await chain.broadcast(tx, bank)).answer).toEqual({ result: true, txid: tx.txID });
    expect(await isTaken(tx.txID)).toBe(false);
  });

  test('may be accepted and dropped before a block', async () => {
    const tx = await payment();
    await fault({ kind: 'accept-then-drop' });
    expect((await chain.broadcast(tx, bank)).answer).toMatchObject({ result: true });
    expect((await counted()).fired).toEqual({ 'accept-then-drop': 1 });
    expect(await isTaken(tx.txID)).toBe(false);
  });

  test('may be followed by a fork', async () => {
    const head = await chain.post('getnowblock');
    await fault({ kind: 'fork', blocks: 2, path: BROADCAST });
    await chain.broadcast(await payment(), bank);
    expect(blockNumber(await chain.post('getnowblock'))).toBe(blockNumber(head) - 2);
    expect((await counted()).fired).toEqual({ fork: 1 });
  });

  test('a fork never undoes a final block', async () => {
    const final = await chain.solid('getnowblock');
    await fault({ kind: 'fork', blocks: 60, path: BROADCAST });
    for (let n = 0; n < 3; n += 1) await chain.broadcast(await payment(), bank);
    expect(await chain.post('getnowblock')).toMatchObject({ blockID: final['blockID'] });
  });
});

describe('a node that differs from the others', () => {
  test('lags so many blocks on both ports, while the other does not', async () => {
    const [head, solid] = [await chain.post('getnowblock'), await chain.solid('getnowblock')];
    await fault({ kind: 'behind', blocks: 2, node: 0 });
    expect(blockNumber(await chain.post('getnowblock'))).toBe(blockNumber(head) - 2);
    expect(blockNumber(await chain.solid('getnowblock'))).toBe(blockNumber(solid) - 2);
    expect(blockNumber(await second().post('getnowblock'))).toBe(blockNumber(head));
  });

  test('has a solid head that stands still while its head moves', async () => {
    const solid = await chain.solid('getnowblock');
    await fault({ kind: 'solid-stuck' });
    await chain.mine(5);
    expect(await chain.solid('getnowblock')).toEqual(solid);
    expect(blockNumber(await chain.post('getnowblock'))).toBe(top + 5);
    await chain.node.control('faults/clear');
    expect(blockNumber(await chain.solid('getnowblock'))).toBe(top + 2);
  });

  test('has a head that stands still', async () => {
    await fault({ kind: 'head-stuck', node: 0 });
    await chain.mine(4);
    expect(blockNumber(await chain.post('getnowblock'))).toBe(top);
    expect(blockNumber(await second().post('getnowblock'))).toBe(top + 4);
  });

  test('follows another fork: its newest blocks differ, are linked, and have no transactions', async () => {
    const txId = await chain.send(bank, 'createtransaction', { ...PAY, amount: 7 });
    await chain.mine(2);
    await fault({ kind: 'own-fork', blocks: 2, node: 1 });
    const [ours, theirs] = [await chain.post('getnowblock'), await second().post('getnowblock')];
    expect(theirs['blockID']).not.toBe(ours['blockID']);
    const parent = await second().post('getblockbynum', { num: blockNumber(theirs) - 1 });
    expect(((theirs['block_header'] as Answer)['raw_data'] as Answer)['parentHash']).toBe(parent['blockID']);
    expect(parent).not.toHaveProperty('transactions');
    expect(await chain.info(txId)).toMatchObject({ id: txId });
    expect(await second().info(txId)).toEqual({});
    // A node's own fork is valid: a strict reader finds no error in it.
    const node = new TronNode({
      ...AS_READ,
      fullUrl: chain.node.second!.fullUrl,
      solidUrl: chain.node.second!.solidUrl,
    });
    expect(await headerOf(node, blockNumber(theirs) - 1)).toMatchObject({ id: parent['blockID'] });
    const base = await second().post('getblockbynum', { num: blockNumber(theirs) - 2 });
    expect(((parent['block_header'] as Answer)['raw_data'] as Answer)['parentHash']).toBe(base['blockID']);
  });
});

describe('an answer with wrong content', () => {
  let txId: string;
  beforeEach(async () => {
    txId = await chain.send(bank, 'createtransaction', { ...PAY, amount: 9 });
    await chain.mine();
  });
  const wrongInfo = async (wrong: string, extra: object = {}): Promise<Answer> => {
    await fault({ kind: 'wrong', wrong, path: 'wallet/gettransactioninfobyid', ...extra });
    return chain.info(txId);
  };

  test('a receipt is missing, that of another one, of another block, failed, or of any content', async () => {
    expect(await wrongInfo('empty', { times: 1 })).toEqual({});
    const other = await wrongInfo('other-id', { times: 1 });
    expect(other['id']).toMatch(/^[0-9a-f]{64}$/);
    expect(other['id']).not.toBe(txId);
    expect(await wrongInfo('other-block', { times: 1 })).toMatchObject({ id: txId, blockNumber: top });
    expect(await wrongInfo('failed', { times: 1 })).toMatchObject({ receipt: { result: 'OUT_OF_ENERGY' } });
    expect(await wrongInfo('replace', { replace: { fee: 12, blockNumber: 5 } })).toMatchObject({
      fee: 12,
      blockNumber: 5,
    });
  });

  test('a block loses its transactions, or a bit of one', async () => {
    const right = await chain.post('getblockbynum', { num: top + 1 });
    const path = 'wallet/getblockbynum';
    await fault({ kind: 'wrong', wrong: 'stripped', path, times: 1 });
    expect(await chain.post('getblockbynum', { num: top + 1 })).toEqual({ ...right, transactions: undefined });
    await fault({ kind: 'wrong', wrong: 'tampered', path, times: 1 });
    const [tx] = (await chain.post('getblockbynum', { num: top + 1 }))['transactions'] as Answer[];
    const [whole] = right['transactions'] as Answer[];
    expect(tx).toEqual({ ...whole, raw_data_hex: expect.any(String) as string });
    expect(tx?.['raw_data_hex']).not.toBe(whole?.['raw_data_hex']);
  });

  test('a block and a receipt have another time, later or earlier', async () => {
    const path = 'wallet/getblockbynum';
    const timeOf = async (): Promise<number> => {
      const block = await chain.post('getblockbynum', { num: top + 1 });
      return ((block['block_header'] as Answer)['raw_data'] as Answer)['timestamp'] as number;
    };
    const right = await timeOf();
    await fault({ kind: 'wrong', wrong: 'time-ahead', path, times: 1 });
    expect(await timeOf()).toBe(right + 600_000);
    await fault({ kind: 'wrong', wrong: 'time-behind', path, times: 1, ms: 3000 });
    expect(await timeOf()).toBe(right - 3000);
    expect(await wrongInfo('time-ahead', { times: 1, ms: 1 })).toMatchObject({ blockTimeStamp: right + 1 });
  });

  test('a node’s parameters lack one', async () => {
    const key = 'getCreateAccountFee';
    const keys = async (): Promise<unknown[]> =>
      ((await chain.post('getchainparameters'))['chainParameter'] as Answer[]).map((parameter) => parameter['key']);
    const right = await keys();
    expect(right).toContain(key);
    await fault({ kind: 'wrong', wrong: 'without-parameter', replace: { key }, times: 1 });
    expect(await keys()).toEqual(right.filter((name) => name !== key));
    expect(await keys()).toEqual(right);
  });

  test('an answer in which nothing could be wrong is correct and not counted', async () => {
    await fault({ kind: 'wrong', wrong: 'stripped', path: 'wallet/getblockbynum' });
    expect(await chain.post('getblockbynum', { num: 3 })).toHaveProperty('blockID');
    expect(await counted()).toMatchObject({ faults: [{ seen: 1, fired: 0 }], fired: {} });
  });
});

describe('blocks', () => {
  const header = (block: Answer): Answer => (block['block_header'] as Answer)['raw_data'] as Answer;

  test('of a node ahead of the chain are linked to its head, have later times, and are gone afterwards', async () => {
    const right = await chain.post('getnowblock');
    await fault({ kind: 'ahead', blocks: 20, node: 0 });
    const ahead = await chain.post('getnowblock');
    expect(blockNumber(ahead)).toBe(top + 20);
    expect(header(ahead)['timestamp']).toBe(Number(header(right)['timestamp']) + 20 * 3000);
    const [last, first] = await Promise.all([top + 19, top + 1].map((num) => chain.post('getblockbynum', { num })));
    expect(header(ahead)['parentHash']).toBe(last?.['blockID']);
    expect(header(first ?? {})['parentHash']).toBe(right['blockID']);
    expect(await chain.post('getblockbynum', { num: top })).toEqual(right);
    expect(blockNumber(await chain.solid('getnowblock'))).toBe(top - 3 + 20);
    expect(blockNumber(await second().post('getnowblock'))).toBe(top);
    await chain.node.control('faults/clear');
    expect(await chain.post('getblockbynum', { num: top + 1 })).toEqual({});
  });

  test('over a slow link have the configured size and take their time; their content is correct', async () => {
    const tx = await payment();
    await chain.broadcast(tx, bank);
    await chain.mine(1);
    const right = await chain.post('getblockbynum', { num: top + 1 });
    await fault({ kind: 'slow-link', bytesPerSec: 400_000, blockBytes: 40_000 });
    const startedAt = performance.now();
    const text = await chain.text('wallet/getblockbynum', { num: top + 1, visible: true });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95);
    expect(text.length).toBeGreaterThanOrEqual(40_000);
    expect(text.length).toBeLessThan(42_000);
    const { transactions, ...rest } = JSON.parse(text) as Answer & { readonly transactions: readonly Answer[] };
    expect(rest).toEqual({ ...right, transactions: undefined });
    expect(transactions.at(-1)?.['txID']).toBe(tx.txID);
    expect(new Set(transactions.map((each) => each['txID'])).size).toBe(transactions.length);
  });
});

describe('the rules', () => {
  test('a fault fires so many times, after so many calls without a fault', async () => {
    await fault({ kind: 'error-before', path: 'wallet/getnowblock', skip: 1, times: 2 });
    const seen = [];
    for (let n = 0; n < 5; n += 1) seen.push(await status('wallet/getnowblock'));
    expect(seen).toEqual([200, 502, 502, 200, 200]);
    expect(await counted()).toMatchObject({ faults: [{ kind: 'error-before', seen: 5, fired: 2 }] });
  });

  test('the same seed chooses the same calls', async () => {
    const run = async (seed: string): Promise<string> => {
      const other = await startChain();
      await other.node.control('faults', { kind: 'error-before', rate: 0.3, seed });
      const statuses = [];
      for (let n = 0; n < 40; n += 1) {
        const response = await fetch(`${other.node.fullUrl}/wallet/getnowblock`, { method: 'POST', body: '{}' });
        await response.text();
        statuses.push(response.status === 200 ? '.' : 'x');
      }
      await other.node.stop();
      return statuses.join('');
    };
    const [one, again, another] = await Promise.all([run('a'), run('a'), run('b')]);
    expect(one).toMatch(/x/);
    expect(one).toMatch(/\./);
    expect(again).toBe(one);
    expect(another).not.toBe(one);
  });

  test('only the given node, port and path are affected', async () => {
    await fault({ kind: 'drop-before', node: 1, port: 'solid' });
    await chain.post('getnowblock');
    await chain.solid('getnowblock');
    await second().post('getnowblock');
    expect((await counted()).faults[0]).toMatchObject({ seen: 0 });
  });

  test('clearing ends the faults and keeps the totals; one rule can be cleared alone', async () => {
    const { id } = await fault({ kind: 'error-before', path: 'wallet/getnowblock' });
    await fault({ kind: 'error-before', path: 'wallet/getburntrx' });
    await status('wallet/getnowblock');
    await chain.node.control('faults/clear', { id });
    expect([await status('wallet/getnowblock'), await status('wallet/getburntrx')]).toEqual([200, 502]);
    await chain.node.control('faults/clear');
    expect(await status('wallet/getburntrx')).toBe(200);
    expect(await counted()).toEqual({ faults: [], fired: { 'error-before': 2 } });
  });

  test('several are added at once, and the first that fires wins', async () => {
    await fault({ faults: [{ kind: 'error-before', status: 500, times: 1 }, { kind: 'error-before' }] });
    expect([await status('wallet/getnowblock'), await status('wallet/getnowblock')]).toEqual([500, 502]);
  });

  test.each([
    [{ kind: 'nothing' }, 'kind must be one of'],
    [{ kind: 'slow', rate: 2 }, 'rate must be'],
    [{ kind: 'slow', node: 2 }, 'node must be from 0 to 1'],
    [{ kind: 'slow', ms: -1 }, 'ms must be'],
    [{ kind: 'refuse', code: 'NO' }, 'code must be one of'],
    [{ kind: 'slow', often: 1 }, 'often is no part of a fault'],
  ])('%j is refused with the reason', async (body, reason) => {
    await expect(fault(body)).rejects.toThrow(reason);
    expect((await counted()).faults).toEqual([]);
  });
});
