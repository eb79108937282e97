// The shared reading of a node's solid blocks: each is requested once, and again only when it is in doubt.
import { SolidBlocks } from '../../../src/platform/blocks/solid-blocks.js';
import { NodeError } from '../../../src/platform/chain/errors.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { newChainAccount, Wallet } from '../../../packages/local/src/chain-account.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { openSpyNode, type SpyNode } from '../../support/nodes/spy-node.js';

const INFOS = 'walletsolidity/gettransactioninfobyblocknum';
const BLOCK = 'walletsolidity/getblockbynum';

const [payer, receiver] = [newChainAccount(), newChainAccount()];
let chain: Devnet;
let solid: SpyNode;
let node: TronNode;
let blocks: SolidBlocks;
/** A block with a payment. */
let paid: number;
let asked: string[];

beforeAll(async () => {
  chain = await startDevnet({
    blockMs: 0,
    solidLag: 1,
    genesis: { accounts: [{ address: payer.address, balance: 10_000_000_000 }] },
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
  const native = { owner_address: payer.address, to_address: receiver.address, amount: 12_000_001 };
  await chain.control('mine', { count: 3 });
  await new Wallet(chain.fullUrl).send('createtransaction', native, payer);
  paid = Number((await chain.control('mine', { count: 1 }))['head']);
  await chain.control('mine', { count: 100 });
});

beforeEach(() => {
  blocks = new SolidBlocks();
  watch();
});

afterAll(async () => {
  await solid.close();
  await chain.stop();
});

/** Records the requests and replaces the answer at `path`. */
function watch(path?: string, says?: unknown): void {
  asked = [];
  solid.before = (each, body) => {
    const { num } = JSON.parse(body) as { num?: number };
    if (num !== undefined) asked.push(`${each} ${num.toString()}`);
    return each === path ? { says: JSON.stringify(says) } : undefined;
  };
}

it('asks for a block once, and for its receipts once when they are first needed', async () => {
  const [one, other] = await Promise.all([blocks.block(node, paid), blocks.block(node, paid)]);
  expect(one).toBe(other);
  expect(asked).toEqual([`${BLOCK} ${paid.toString()}`]);
  const [moved, again] = await Promise.all([blocks.executed(node, paid), blocks.executed(node, paid)]);
  expect(again).toBe(moved);
  expect(moved.transactions.map(({ txid }) => txid)).toEqual(one.transactions.map(({ txid }) => txid));
  expect(moved.transactions[0]!.transfers).toMatchObject([{ to: receiver.address, amount: 12_000_001n }]);
  expect(asked).toEqual([`${BLOCK} ${paid.toString()}`, `${INFOS} ${paid.toString()}`]);
  await blocks.block(node, paid);
  await blocks.executed(node, paid);
  expect(asked).toHaveLength(2);
});

it('finds the read block also by its header', async () => {
  const { transactions } = await blocks.block(node, paid);
  const header = (await node.blocks.header('solid', paid))!;
  asked = [];
  expect((await node.blocks.contentOf('solid', header)).transactions).toEqual(transactions);
  expect(asked).toEqual([]);
});

it('asks again for unread parts: the receipts without their block', async () => {
  watch(INFOS, []);
  await expect(blocks.executed(node, paid)).rejects.toBeInstanceOf(NodeError);
  watch();
  await blocks.executed(node, paid);
  expect(asked).toEqual([`${INFOS} ${paid.toString()}`]);
  watch(BLOCK, {});
  await expect(blocks.block(node, paid + 1)).rejects.toBeInstanceOf(NodeError);
  watch();
  await blocks.block(node, paid + 1);
  expect(asked).toHaveLength(1);
});

it('reads doubted blocks again, with all that come after and none before', async () => {
  for (const number of [paid - 1, paid, paid + 1]) await blocks.executed(node, number);
  blocks.forgetFrom(node, paid);
  asked = [];
  for (const number of [paid - 1, paid, paid + 1]) await blocks.block(node, number);
  expect(asked).toEqual([`${BLOCK} ${paid.toString()}`, `${BLOCK} ${(paid + 1).toString()}`]);
});

it('keeps a bounded number: the oldest are evicted', async () => {
  for (let number = paid; number < paid + 70; number += 1) await blocks.block(node, number);
  asked = [];
  await blocks.block(node, paid + 69);
  await blocks.block(node, paid + 20);
  expect(asked).toEqual([]);
  await blocks.block(node, paid);
  expect(asked).toEqual([`${BLOCK} ${paid.toString()}`]);
});
