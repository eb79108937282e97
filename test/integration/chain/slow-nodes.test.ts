// A node that answers its head in time and is too slow for another question.
import { jest } from '@jest/globals';
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { ACCOUNT_PATH, TronClient } from '../../../src/platform/chain/tron.client.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { openFaultyNode, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';

const holder = newOwner();
/** Fewer than a node's connections. */
const CALLERS = 5;
let chain: Devnet;
let first: FaultyNode;
let second: FaultyNode;

beforeAll(async () => {
  chain = await startDevnet({
    genesis: { accounts: [{ address: holder.address, balance: 5_000_000 }] },
    blockMs: 0,
    second: { behind: 0, solidLag: 1 },
  });
  await chain.control('mine', { count: 3 });
  [first, second] = await Promise.all([openFaultyNode(chain.fullUrl), openFaultyNode(chain.second!.fullUrl)]);
});

afterEach(() => {
  jest.restoreAllMocks();
  first.mend();
});

afterAll(async () => {
  await Promise.all([first.close(), second.close()]);
  await chain.stop();
});

/** Moves this process's monotonic clock forward, beside the time that passes. */
function moveClock(): (ms: number) => void {
  const now = performance.now.bind(performance);
  let movedMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + movedMs);
  return (ms) => {
    movedMs += ms;
  };
}

it('is tried again by one caller alone, ever more seldom, while another node answers all others', async () => {
  const move = moveClock();
  const nodes = [first, second].map(
    (face) =>
      new TronNode({
        fullUrl: face.url,
        solidUrl: face === first ? chain.solidUrl : chain.second!.solidUrl,
        apiKey: undefined,
        readTimeoutMs: 500,
        broadcastTimeoutMs: 500,
        headStallSec: 300,
        headAgeMaxSec: 0,
      }),
  );
  await Promise.all(nodes.map((node) => node.readHead()));
  const client = new TronClient(new NodePool(nodes, 60_000));
  const askedOf = (): number => first.asked.get(ACCOUNT_PATH) ?? 0;
  const burst = async (): Promise<number> => {
    const before = askedOf();
    const answers = await Promise.all(Array.from({ length: CALLERS }, () => client.account(holder.address)));
    expect(answers.map((account) => account?.balanceSun)).toEqual(Array(CALLERS).fill(5_000_000n));
    return askedOf() - before;
  };
  first.fail({ kind: 'slow', ms: 60_000 }, ACCOUNT_PATH);
  expect(await burst()).toBe(CALLERS);
  move(5_000);
  expect(await burst()).toBe(1);
  move(5_000);
  expect(await burst()).toBe(0);
  move(5_000);
  expect(await burst()).toBe(1);
  first.mend();
  move(60_000);
  expect(await burst()).toBe(1);
  expect(await burst()).toBe(CALLERS);
});
