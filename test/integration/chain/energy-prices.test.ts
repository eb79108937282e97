// The price of energy around a change by the committee, also when the slot of the maintenance was missed.
import { TronNode } from '../../../src/platform/chain/node.js';
import { ENERGY_PRICES_PATH, energyPriceIn } from '../../../src/platform/chain/transaction-report.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { openFaultyNode, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';

const SLOT_MS = 3000;
let chain: Devnet;
let full: FaultyNode;
let node: TronNode;

beforeAll(async () => {
  chain = await startDevnet({
    genesis: { accounts: [{ address: newOwner().address, balance: 5_000_000 }] },
    blockMs: 0,
    solidLag: 1,
  });
  full = await openFaultyNode(chain.fullUrl);
  node = new TronNode({
    fullUrl: full.url,
    solidUrl: chain.solidUrl,
    apiKey: undefined,
    readTimeoutMs: 5000,
    broadcastTimeoutMs: 5000,
    headStallSec: 30,
    headAgeMaxSec: 0,
  });
  await chain.control('mine', { count: 3 });
});

afterEach(() => {
  full.mend();
});

afterAll(async () => {
  await full.close();
  await chain.stop();
});

const pricesFrom = (...numbers: readonly number[]): Promise<unknown[]> =>
  Promise.all(numbers.map((number) => energyPriceIn(node, number)));

it('changes in the block after the first one of a maintenance, whose slot may have been missed', async () => {
  const before = await node.readHead();
  const maintenanceMs = before.timestampMs + SLOT_MS;
  await chain.control('mine', { blocks: [{ timestamp: maintenanceMs + 2 * SLOT_MS }] });
  await chain.control('mine', { count: 1 });
  full.fail(
    { kind: 'says', body: JSON.stringify({ prices: `0:100,${maintenanceMs.toString()}:210` }) },
    ENERGY_PRICES_PATH,
  );
  const { number } = before;
  expect(await pricesFrom(number, number + 1, number + 2)).toEqual([100n, 100n, 210n]);
});

it('changes with the next block after a change of the local chain', async () => {
  const { number } = await node.readHead();
  await chain.control('parameters', { getEnergyFee: 70 });
  await chain.control('mine', { count: 1 });
  expect(await pricesFrom(number, number + 1)).toEqual([100n, 70n]);
});
