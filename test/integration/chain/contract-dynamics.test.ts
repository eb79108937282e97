// The state of a contract, by which a size has room for the next step of dynamic energy or has none.
import { readContractDynamics } from '../../../src/platform/chain/dynamic-energy.js';
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { openFaultyNode, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';

const holder = newOwner();
let chain: Devnet;
let node: FaultyNode;

beforeAll(async () => {
  chain = await startDevnet({
    blockMs: 0,
    genesis: { accounts: [{ address: holder.address, balance: 5_000_000 }] },
  });
  await chain.control('mine', { count: 3 });
  node = await openFaultyNode(chain.fullUrl);
});

afterAll(async () => {
  await node.close();
  await chain.stop();
});

it('takes no refusal with HTTP 200 for the state of a quiet contract', async () => {
  const refusal = '{"error":{"code":-32005,"message":"daily request count exceeded"}}';
  node.fail({ kind: 'says', body: refusal }, 'wallet/getcontractinfo');
  const only = new TronNode({
    fullUrl: node.url,
    solidUrl: chain.solidUrl,
    apiKey: undefined,
    readTimeoutMs: 2000,
    broadcastTimeoutMs: 2000,
    headStallSec: 60,
    headAgeMaxSec: 0,
  });
  const dynamics = await readContractDynamics(new TronClient(new NodePool([only], 1000)), holder.address);
  expect(dynamics).toEqual({ dynamicStep: 2000n, dynamicMax: 34_000n, threshold: expect.any(BigInt) });
});
