// A solid block and its receipts from one node: read completely and matched one to one, or rejected.
import { NodeError } from '../../../src/platform/chain/errors.js';
import { executedBlockOf } from '../../../src/platform/chain/executed-block.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { newChainAccount, Wallet } from '../../../packages/local/src/chain-account.js';
import { localUsdtContracts } from '../../../packages/local/src/local-usdt.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { openSpyNode, type SpyNode } from '../../support/nodes/spy-node.js';

const INFOS = 'walletsolidity/gettransactioninfobyblocknum';
const BLOCK = 'walletsolidity/getblockbynum';
const FEE_LIMIT = 100_000_000;

const [payer, receiver, token] = [newChainAccount(), newChainAccount(), newChainAccount().address];
let chain: Devnet;
let solid: SpyNode;
let node: TronNode;
/** The block with both payments; an empty one follows. */
let paid: number;
let txids: readonly string[];

type Json = Record<string, unknown>;

async function answerOf(path: string, number: number): Promise<unknown> {
  const response = await fetch(`${chain.solidUrl}/${path}`, { method: 'POST', body: JSON.stringify({ num: number }) });
  return response.json();
}

beforeAll(async () => {
  chain = await startDevnet({
    blockMs: 0,
    solidLag: 1,
    genesis: {
      accounts: [{ address: payer.address, balance: 10_000_000_000 }],
      contracts: localUsdtContracts({ address: token, holder: payer.address }),
    },
  });
  solid = await openSpyNode(chain.solidUrl);
  node = new TronNode({
    fullUrl: chain.fullUrl,
    solidUrl: solid.url,
    apiKey: undefined,
    readTimeoutMs: 5000,
    broadcastTimeoutMs: 5000,
    headStallSec: 60,
    headAgeMaxSec: 0,
  });
  await chain.control('mine', { count: 3 });
  const wallet = new Wallet(chain.fullUrl);
  const native = { owner_address: payer.address, to_address: receiver.address, amount: 12_000_001 };
  txids = [await wallet.send('createtransaction', native, payer)];
  const sent = wallet.transferToken(token, payer, receiver.address, 5_000_003n, FEE_LIMIT);
  for (let pending = 0; pending < 2;) ({ pending } = (await chain.control('status')) as { pending: number });
  paid = Number((await chain.control('mine', { count: 1 }))['head']);
  txids = [...txids, (await sent)['id'] as string];
  await chain.control('mine', { count: 3 });
});

afterEach(() => {
  solid.rest();
});

afterAll(async () => {
  await solid.close();
  await chain.stop();
});

/** Changes the node's answers at `path`. */
function meddle(path: string, change: (answer: unknown) => unknown): void {
  solid.before = async (asked, body) =>
    asked === path
      ? { says: JSON.stringify(change(await answerOf(path, (JSON.parse(body) as { num: number }).num))) }
      : undefined;
}

it('reads payments in TRX and in a token from the block and its receipts', async () => {
  const block = await executedBlockOf(node, paid);
  expect(block.number).toBe(paid);
  const moved = block.transactions.flatMap(({ txid, transfers }) =>
    transfers.map((transfer) => ({ txid, ...transfer })),
  );
  expect(moved).toEqual([
    {
      txid: txids[0],
      kind: 'native',
      position: 0,
      contract: undefined,
      from: payer.address,
      to: receiver.address,
      amount: 12_000_001n,
    },
    {
      txid: txids[1],
      kind: 'log',
      position: 0,
      contract: token,
      from: payer.address,
      to: receiver.address,
      amount: 5_000_003n,
    },
  ]);
});

it('a block is empty if its header says so, and its receipts are not requested', async () => {
  solid.before = (path) => (path === INFOS ? 'break' : undefined);
  const block = await executedBlockOf(node, paid + 1);
  expect(block.transactions).toEqual([]);
  expect(block.parentId).toBe((await executedBlockOfOther(paid)).id);
});

/** Reads past the spy. */
async function executedBlockOfOther(number: number): Promise<{ readonly id: string }> {
  const { blockID } = (await answerOf(BLOCK, number)) as { blockID: string };
  return { id: blockID };
}

const list = (answer: unknown): Json[] => answer as Json[];

it.each<readonly [string, string, (answer: unknown) => unknown]>([
  ['no block', BLOCK, () => ({})],
  ['a block that is not an object', BLOCK, () => []],
  ['a block without its transactions', BLOCK, (block) => ({ ...(block as Json), transactions: undefined })],
  ['a block with no transactions', BLOCK, (block) => ({ ...(block as Json), transactions: [] })],
  [
    'a transaction without its bytes',
    BLOCK,
    (block) => ({ ...(block as Json), transactions: [{ txID: 'ab'.repeat(32) }, {}] }),
  ],
  [
    'a block that lacks a transaction',
    BLOCK,
    (block) => ({ ...(block as Json), transactions: list((block as Json)['transactions']).slice(1) }),
  ],
  ['no receipts', INFOS, () => []],
  ['no list of receipts', INFOS, () => ({})],
  ['one receipt too few', INFOS, (infos) => list(infos).slice(1)],
  ['a receipt twice', INFOS, (infos) => [list(infos)[0], list(infos)[0]]],
  ['a receipt twice beside all others', INFOS, (infos) => [...list(infos), list(infos)[0]]],
  ['a receipt of another transaction', INFOS, (infos) => [list(infos)[0], { ...list(infos)[1], id: 'ab'.repeat(32) }]],
  [
    'receipts of another block',
    INFOS,
    (infos) => list(infos).map((info) => ({ ...info, blockNumber: Number(info['blockNumber']) - 1 })),
  ],
  ['receipts that are null', INFOS, (infos) => list(infos).map(() => null)],
])('%s is an error of the node and never an empty block', async (_what, path, change) => {
  meddle(path, change);
  await expect(executedBlockOf(node, paid)).rejects.toBeInstanceOf(NodeError);
  solid.rest();
  expect((await executedBlockOf(node, paid)).transactions).toHaveLength(2);
});

it('a block of another height is an error of the node', async () => {
  const other = await answerOf(BLOCK, paid - 1);
  meddle(BLOCK, () => other);
  await expect(executedBlockOf(node, paid)).rejects.toThrow('another block than was asked for');
});

it('a height that the solid chain has not reached is an error of the node', async () => {
  await expect(executedBlockOf(node, paid + 100)).rejects.toBeInstanceOf(NodeError);
});

it('reads an amount beyond 2^53 in an internal transaction again, to the last digit', async () => {
  const internal = (value: string): string =>
    `{"caller_address":"${'41'.repeat(21)}","transferTo_address":"${'41'.repeat(21)}","note":"63616c6c","callValueInfo":[{"callValue":${value}}]}`;
  const withInternal = (info: unknown, value: string): string =>
    `${JSON.stringify(info).slice(0, -1)},"internal_transactions":[${internal(value)}]}`;
  const infos = list(await answerOf(INFOS, paid));
  const exact = '9007199254740993';
  solid.before = (path) => {
    if (path === INFOS) return { says: `[${JSON.stringify(infos[0])},${withInternal(infos[1], exact)}]` };
    return path === 'walletsolidity/gettransactioninfobyid' ? { says: withInternal(infos[1], exact) } : undefined;
  };
  const { transactions } = await executedBlockOf(node, paid);
  expect(transactions[1]!.transfers).toMatchObject([{ kind: 'log' }, { kind: 'internal', amount: BigInt(exact) }]);
});
