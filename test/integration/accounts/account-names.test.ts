// Accounts named by arbitrary bytes. With `visible` such an answer need not be JSON, so the service never asks for it.
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { solidBalancesOf } from '../../../src/platform/chain/solid-balances.js';
import { solidDelegatedSun } from '../../../src/platform/chain/solid-delegations.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { openSpyNode, type SpyNode } from '../../support/nodes/spy-node.js';

const owner = newOwner();
/** java-tron's output with `visible` for a name of the bytes `a`, line feed, `"b`. */
const NAMED = `{"account_name":"a\n\\"b","address":"${owner.address}","balance":5000000}`;

let chain: Devnet;
let spies: readonly [SpyNode, SpyNode];
let node: TronNode;

beforeAll(async () => {
  chain = await startDevnet({ genesis: { accounts: [{ address: owner.address, balance: 5_000_000 }] }, blockMs: 0 });
  spies = [await openSpyNode(chain.fullUrl), await openSpyNode(chain.solidUrl)];
  for (const spy of spies) {
    spy.before = (path, body) =>
      path.endsWith('/getaccount') && body.includes('"visible":true') ? { says: NAMED } : undefined;
  }
  const limits = { readTimeoutMs: 5000, broadcastTimeoutMs: 5000, headStallSec: 60, headAgeMaxSec: 0 };
  node = new TronNode({ fullUrl: spies[0].url, solidUrl: spies[1].url, apiKey: undefined, ...limits });
});

afterAll(async () => {
  await Promise.all(spies.map((spy) => spy.close()));
  await chain.stop();
});

it('reads an account with any name', async () => {
  const pool = new NodePool([node], 50);
  const account = await new TronClient(pool).account(owner.address);
  await pool.stop();
  expect(account).toMatchObject({ address: owner.address, isContract: false, balanceSun: 5_000_000n });
});

it('reads its solid balance and its delegations', async () => {
  expect(await solidDelegatedSun(node, owner.address, 'ENERGY')).toBe(0n);
  // The account is read before the token, so the token's error shows that it was read.
  await expect(solidBalancesOf(node, owner.address, newOwner().address)).rejects.toThrow('no balance of the token');
});
