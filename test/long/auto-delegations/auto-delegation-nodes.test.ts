// Nodes that answer late, wrongly, from another fork or not at all about an auto-delegated address. No need is bought
// twice, and a use that no worker saw at the head is still noticed.
import { jest } from '@jest/globals';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { Refills } from '../../../src/modules/auto-delegations/refills.js';
import { EnergyReadings } from '../../../src/modules/auto-delegations/energy-readings.js';
import { autoRow, nextBlock, ordersOf, refill, setAuto, usableOf } from '../../support/worker/refill-fixture.js';
import { HmacCustomer } from '../../support/api/client.js';
import { actAs } from '../../support/chain/order-chain.js';
import { withKey } from '../../support/api/order-fixture.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  full,
  SteppedWorker,
  mine,
  openFixtureWithCalls,
  pool,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  useEnergy,
} from '../../support/worker/fulfilment-fixture.js';
import { keepSelling } from '../../support/api/factory.js';
import { openSpyNode, type SpyNode } from '../../support/nodes/spy-node.js';

jest.setTimeout(30_000);

const RESOURCES = 'wallet/getaccountresource';

let next = 0;
let caller = callers[0]!;
let address = '';
let worker: SteppedWorker;

beforeAll(() => openFixtureWithCalls({ DATABASE_POOL_MAX: '12' }), START_LIMIT_MS);
beforeEach(async () => {
  caller = callers[next++]!;
  ({ address } = caller);
  worker = await SteppedWorker.open();
  await worker.followChain();
});
afterEach(async () => {
  full.rest();
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function supplied(): Promise<bigint> {
  const id = await setAuto(address);
  await nextBlock(worker);
  await nextBlock(worker);
  await nextBlock(worker, SOLID_LAG + 1);
  expect(await ordersOf(id)).toMatchObject([{ status: 'delivered', settled: true }]);
  return id;
}

/** Replaces the node's answer about the address. Answers about other addresses stay true. */
function claim(node: SpyNode, of: () => object | undefined): void {
  node.before = (path, body) => {
    if (path !== RESOURCES || !body.includes(address)) return undefined;
    const says = of();
    return says && { says: JSON.stringify(says) };
  };
}

async function resourcesNow(): Promise<Record<string, number>> {
  const body = JSON.stringify({ address, visible: true });
  const response = await fetch(`${devnet.fullUrl}/${RESOURCES}`, { method: 'POST', body });
  return (await response.json()) as Record<string, number>;
}

it('a node that reports less than our own delegations give is not believed', async () => {
  const id = await supplied();
  const true_ = await resourcesNow();
  claim(full, () => ({ ...true_, EnergyLimit: 0, EnergyUsed: 0 }));
  await refill(worker);
  await nextBlock(worker);
  expect(await ordersOf(id)).toHaveLength(1);
  expect((await autoRow(id)).pause_reason).toBeNull();
  full.rest();
  await nextBlock(worker);
  expect(await ordersOf(id)).toHaveLength(1);
});

it('a node that does not know the newest delegation yet causes no second purchase', async () => {
  const id = await setAuto(address);
  const before = await resourcesNow();
  await nextBlock(worker);
  claim(full, () => before);
  await nextBlock(worker);
  expect(await ordersOf(id)).toMatchObject([{ status: 'delivered' }]);
  await nextBlock(worker);
  await nextBlock(worker);
  expect(await ordersOf(id)).toHaveLength(1);
});

it('a node that does not know it yet causes none where others delegate to the address too, so that its answer is credible', async () => {
  const id = await supplied();
  const others = { receiver_address: address, balance: 400_000_000, resource: 'ENERGY' };
  await actAs(devnet.fullUrl, pool, 'delegateresource', { ...others, lock: false });
  await nextBlock(worker);
  await useEnergy(caller, 22);
  await mine();
  await worker.followChain();
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(2);
  // A node shows a transaction in its mempool as done.
  const before = await resourcesNow();
  await worker.advance();
  await mine();
  await worker.followChain();
  claim(full, () => before);
  await refill(worker);
  full.rest();
  expect(await ordersOf(id)).toMatchObject([{}, { status: 'delivered' }]);
  await nextBlock(worker);
  await nextBlock(worker);
  expect(await ordersOf(id)).toHaveLength(2);
  expect(await usableOf(address)).toBeGreaterThanOrEqual(130_000);
  await actAs(devnet.fullUrl, pool, 'undelegateresource', others);
});

it('a node that still shows what was reclaimed a block ago is asked again with the next block', async () => {
  const id = await setAuto(address, { duration_sec: 300 });
  await nextBlock(worker);
  await nextBlock(worker);
  await nextBlock(worker, SOLID_LAG + 1);
  const [first] = await ordersOf(id);
  // As after an outage: the rental's end is long past.
  await devnet.control('mine', { blocks: [{ timestamp: first!.ends_at!.getTime() + 200_000 }] });
  await worker.followChain();
  const before = await resourcesNow();
  await worker.reclaimEnded();
  await mine();
  await worker.followChain();
  claim(full, () => before);
  await refill(worker);
  full.rest();
  expect(await ordersOf(id)).toHaveLength(1);
  expect((await autoRow(id)).due_at).not.toBeNull();
  await refill(worker);
  expect(await ordersOf(id)).toMatchObject([{}, { energy: 130_000n, status: 'reserved' }]);
});

it.each([1, 2])(
  'a node that does not know the newest use after %d blocks is asked again with the next',
  async (blocks) => {
    const id = await supplied();
    const before = await resourcesNow();
    await useEnergy(caller, 10);
    await mine(blocks);
    claim(full, () => before);
    await worker.followChain();
    await refill(worker);
    expect(await ordersOf(id)).toHaveLength(1);
    expect((await autoRow(id)).due_at).not.toBeNull();
    full.rest();
    await refill(worker);
    expect(await ordersOf(id)).toHaveLength(2);
  },
);

describe('during a check', () => {
  /** Runs `happens` once before the node answers. */
  function meanwhile(happens: () => Promise<void>): () => boolean {
    let happened = false;
    full.before = async (path, body) => {
      if (happened || path !== RESOURCES || !body.includes(address)) return undefined;
      happened = true;
      await happens();
      return undefined;
    };
    return () => happened;
  }

  async function check(by: SteppedWorker): Promise<void> {
    await keepSelling(api.database);
    await api.database.query(`UPDATE auto_delegation SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()`);
    await by.chain().pool.nodes[0]!.readHead();
    await by.part(Refills).checkDue();
  }

  it('the shortfall is bought though the address is used again, and the address is checked again', async () => {
    const id = await supplied();
    await useEnergy(caller, 10);
    await mine();
    await worker.followChain();
    const happened = meanwhile(async () => {
      await useEnergy(caller, 1);
      await mine();
      await worker.followChain();
    });
    await check(worker);
    expect(happened()).toBe(true);
    expect(await ordersOf(id)).toHaveLength(2);
    const due = `SELECT due_at <= clock_timestamp() AS is_due, asleep FROM auto_delegation WHERE id = $1`;
    expect(await api.database.query(due, [id])).toEqual([{ is_due: true, asleep: false }]);
    await check(worker);
    expect(await ordersOf(id)).toHaveLength(2);
    expect((await autoRow(id)).due_at).toBeNull();
  });

  it('a rental that its merchant extends is not extended a second time', async () => {
    const id = await setAuto(address, { duration_sec: 300 });
    await nextBlock(worker);
    await nextBlock(worker);
    await nextBlock(worker, SOLID_LAG + 1);
    const [before] = await ordersOf(id);
    const merchant = new HmacCustomer(api.baseUrl, customer.merchant, customer.apiKey);
    const endsAtMs = before!.ends_at!.getTime();
    await devnet.control('mine', { blocks: [{ timestamp: endsAtMs - 50_000 }] });
    await worker.followChain();
    const happened = meanwhile(async () => {
      const extension = merchant.post(
        `/v1/orders/${before!.key}/extensions`,
        { duration_sec: 300 },
        withKey('by-hand'),
      );
      expect((await extension).status).toBe(200);
    });
    await refill(worker);
    expect(happened()).toBe(true);
    const [after] = await ordersOf(id);
    expect(after).toMatchObject({ extensions: 1, ends_at: new Date(endsAtMs + 300_000) });
    expect(await autoRow(id)).toMatchObject({ pause_reason: null, purchases: 1n });
  });

  it('an auto-delegation that was about to fall asleep stays awake when its address is used', async () => {
    const id = await supplied();
    await api.database.query(`UPDATE auto_delegation SET used_at = used_at - interval '2 days' WHERE id = $1`, [id]);
    await check(worker);
    const happened = meanwhile(async () => {
      await useEnergy(caller, 1);
      await mine();
      await worker.followChain();
    });
    await api.database.query('UPDATE auto_delegation SET due_at = clock_timestamp() WHERE id = $1', [id]);
    await check(worker);
    expect([happened(), (await autoRow(id)).asleep]).toEqual([true, false]);
  });

  it('a worker that stood still while another one bought buys nothing when it resumes', async () => {
    const id = await setAuto(address);
    const other = await SteppedWorker.open();
    await other.followChain();
    const happened = meanwhile(() => check(other));
    await check(worker);
    expect(happened()).toBe(true);
    expect(await ordersOf(id)).toHaveLength(1);
    expect(await autoRow(id)).toMatchObject({ purchases: 1n, pause_reason: null });
  });
});

it('without any answer nothing is bought and nothing is paused', async () => {
  const id = await supplied();
  await useEnergy(caller, 10);
  await mine();
  await worker.followChain();
  full.before = (path, body) => (path === RESOURCES && body.includes(address) ? 'break' : undefined);
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
  expect(await autoRow(id)).toMatchObject({ pause_reason: null, failures: 0 });
  full.rest();
  await nextBlock(worker);
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(2);
});

describe('with two nodes', () => {
  let other: SpyNode;
  let both: SteppedWorker;

  beforeEach(async () => {
    other = await openSpyNode(devnet.second!.fullUrl);
    both = await SteppedWorker.open({
      TRON_FULL_NODE_URLS: `${full.url},${other.url}`,
      TRON_SOLIDITY_NODE_URLS: `${devnet.solidUrl},${devnet.second!.solidUrl}`,
    });
    for (const node of both.chain().pool.nodes) await node.readHead();
  });
  afterEach(() => other.close());

  it.each([0, 1])('node %s reporting too little is overruled by the other', async (liar) => {
    const spied = [full, other];
    const true_ = await resourcesNow();
    claim(spied[liar]!, () => ({ ...true_, EnergyLimit: 10, EnergyUsed: 0 }));
    claim(spied[1 - liar]!, () => ({ ...true_, EnergyLimit: 500_000, EnergyUsed: 1000 }));
    const reading = await both.part(EnergyReadings).read(address, 0);
    expect(reading).toMatchObject({ limit: 500_000n, used: 1000n });
  });

  it('two names of one node count as one', async () => {
    const [names, ports] = [`${full.url},${other.url}`, `${solid.url},${solid.url}`];
    const twice = await SteppedWorker.open({ TRON_FULL_NODE_URLS: names, TRON_SOLIDITY_NODE_URLS: ports });
    for (const node of twice.chain().pool.nodes) await node.readHead();
    let asked = 0;
    for (const node of [full, other]) node.before = (path) => void (asked += path === RESOURCES ? 1 : 0);
    await twice.part(EnergyReadings).read(address, 0);
    expect(asked).toBe(1);
  });

  it('while one node is away, the answer of the other counts', async () => {
    other.before = () => 'break';
    const true_ = await resourcesNow();
    claim(full, () => ({ ...true_, EnergyLimit: 77, EnergyUsed: 7 }));
    expect(await both.part(EnergyReadings).read(address, 0)).toMatchObject({ limit: 77n, used: 7n });
  });

  it('a node that does not have the block yet is not asked', async () => {
    const asked: string[] = [];
    other.before = (path) => void asked.push(path);
    const { number } = both.chain().pool.nodes[0]!.head!;
    await expect(both.part(EnergyReadings).read(address, number + 5)).rejects.toThrow('resources at block');
    expect(asked.filter((path) => path === RESOURCES)).toEqual([]);
  });
});

it('nothing is bought while no node has the block of the newest use', async () => {
  const id = await setAuto(address);
  const { number } = await worker.chain().head();
  const usedIn = (block: number) =>
    api.database.query('UPDATE auto_delegation SET used_block = $2 WHERE id = $1', [id, block]);
  await usedIn(number + 1);
  await refill(worker);
  expect([await ordersOf(id), (await autoRow(id)).pause_reason]).toEqual([[], null]);
  await usedIn(number);
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
});

describe('with three nodes', () => {
  let spied: readonly SpyNode[];
  let three: SteppedWorker;

  beforeEach(async () => {
    spied = [full, await openSpyNode(devnet.second!.fullUrl), await openSpyNode(devnet.fullUrl)];
    three = await SteppedWorker.open({
      TRON_FULL_NODE_URLS: spied.map(({ url }) => url).join(','),
      TRON_SOLIDITY_NODE_URLS: [devnet.solidUrl, devnet.second!.solidUrl, solid.url].join(','),
    });
    for (const node of three.chain().pool.nodes) await node.readHead();
  });
  afterEach(async () => {
    for (const node of spied.slice(1)) await node.close();
  });

  it.each([0, 1, 2])('two that agree outvote node %s, whether it reports too little or too much', async (liar) => {
    const true_ = await resourcesNow();
    let lie = 0;
    for (const [index, node] of spied.entries()) {
      claim(node, () => ({
        ...true_,
        EnergyLimit: index === liar ? lie : 500_000,
        EnergyUsed: index === liar ? 0 : 7,
      }));
    }
    const read = () => three.part(EnergyReadings).read(address, 0);
    // The last is little more than one in a hundred apart.
    for (lie of [10, 9_000_000, 505_100]) expect(await read()).toMatchObject({ limit: 500_000n, used: 7n });
  });
});

it('a use that a fork undoes causes no second purchase, and the use on the other fork is seen', async () => {
  const id = await supplied();
  await useEnergy(caller, 10);
  await nextBlock(worker);
  expect(await ordersOf(id)).toHaveLength(2);
  await devnet.control('fork', { depth: 1, drop: true });
  await nextBlock(worker);
  await nextBlock(worker);
  await nextBlock(worker);
  await nextBlock(worker);
  expect((await ordersOf(id)).length).toBeLessThanOrEqual(2);
  const before = (await ordersOf(id)).length;
  expect(await usableOf(address)).toBeGreaterThanOrEqual(130_000);
  await useEnergy(caller, 20);
  await nextBlock(worker);
  await nextBlock(worker);
  expect((await ordersOf(id)).length).toBeLessThanOrEqual(before + 1);
  expect(await usableOf(address)).toBeGreaterThanOrEqual(104_000);
});

it('a use that no worker saw at the head is seen in the solid block', async () => {
  const id = await supplied();
  await worker.part(BlockFollower).runPass();
  await useEnergy(caller, 10);
  await mine(SOLID_LAG + 2);
  for (let more = true; more;) more = await worker.part(BlockFollower).runPass();
  expect((await autoRow(id)).used_block).not.toBeNull();
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(2);
});
