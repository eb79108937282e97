// Several nodes and their credibility: required agreement before an order ends, and the behaviour without it.
import 'reflect-metadata';
import { idOf } from '../../../src/platform/chain/block-header.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { ChainUnavailableError } from '../../../src/platform/chain/errors.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { NodeGauges } from '../../../src/modules/reconciliation/node-gauges.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { until } from '../../../packages/local/src/wait.js';
import { checkHistory } from '../../../src/modules/diagnostics/doctor-chain.js';
import { historyFromRecords } from '../../../src/modules/verify/final-transactions.js';
import { openApi } from '../../support/api/factory.js';
import { actAs } from '../../support/chain/order-chain.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  env,
  full,
  SteppedWorker,
  mine,
  openFixture,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  rent,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';
import type { Meddling } from '../../support/nodes/spy-node.js';
import { eventually, INFO, MOVE_LIMIT_MS, sent, TWO_NODES, withTwoNodes } from '../../support/nodes/two-nodes.js';

const RECEIPTS = 'walletsolidity/gettransactioninfobyblocknum';
const RENTAL_BLOCKS = 20;

beforeAll(openFixture, START_LIMIT_MS);
/** Closed also when the test that opened it fails. */
const onTestEnd: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of onTestEnd.splice(0)) await close();
  await devnet.control('faults/clear', {});
  await devnet.control('node', { index: 1, behind: 0 });
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function settled(worker: SteppedWorker): Promise<string> {
  const key = await sent(worker);
  await mine(SOLID_LAG + 1);
  await eventually(worker, async () => (await orderOf(key)).settled, 'the order being settled');
  return key;
}

/** A final block forged by the node, with a matching id. */
async function forged(path: string, body: string): Promise<Meddling> {
  if (path !== 'walletsolidity/getblock') return undefined;
  const answer = await fetch(`${devnet.solidUrl}/${path}`, { method: 'POST', body });
  const block = (await answer.json()) as { block_header?: { raw_data: Record<string, string | number> } };
  if (block.block_header === undefined) return undefined;
  const raw = { ...block.block_header.raw_data, parentHash: 'ab'.repeat(32) };
  return { says: JSON.stringify({ ...block, blockID: idOf(raw), block_header: { raw_data: raw } }) };
}

const noHistory = (node?: number) =>
  devnet.control('faults', { kind: 'wrong', wrong: 'empty', path: INFO, ...(node === undefined ? {} : { node }) });

describe('a death', () => {
  it('is not proven by nodes that keep no transaction history, although a block holds the transaction', async () => {
    const worker = await withTwoNodes();
    await settled(worker);
    const key = await sent(worker);
    await noHistory();
    await devnet.control('faults', { kind: 'wrong', wrong: 'empty', path: 'wallet/gettransactioninfobyid' });
    // No worker followed the block that includes it.
    await mine(PAST_VALIDITY + 70);
    const [tx] = await txsOf(key);
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key)).toEqual(['sending']);
    await devnet.control('faults/clear', {});
    await eventually(worker, async () => (await orderOf(key)).status === 'delivered', 'the order being delivered');
    expect((await txsOf(key)).map(({ txid }) => txid)).toEqual([tx!.txid]);
  });

  it('that a node without history reports waits as for a node that is away', async () => {
    const worker = await withTwoNodes();
    await settled(worker);
    const key = await sent(worker);
    await devnet.control('evict', {});
    await noHistory(0);
    await mine(PAST_VALIDITY);
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key)).toEqual(['sending']);
    const impatient = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    await eventually(impatient, async () => (await statusesOf(key))[0] === 'dead', 'the death by one node’s word');
    const [dead] = await txsOf(key);
    expect(dead?.evidence).toMatchObject({ absences: [{}], scanned: {}, away: [{ keepsHistory: false }] });
  });

  it('waits for a limited time for a silent witness, then is decided by the other one, and the evidence shows it', async () => {
    const worker = await withTwoNodes();
    const key = await sent(worker);
    await devnet.control('evict', {});
    await mine(PAST_VALIDITY);
    solid.before = () => 'break';
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key)).toEqual(['sending']);
    const impatient = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    await eventually(impatient, async () => (await statusesOf(key))[0] === 'dead', 'the death by one node’s word');
    const [dead] = await txsOf(key);
    const node = new URL(full.url).host;
    expect(dead?.evidence).toMatchObject({ absences: [{}], scanned: {}, away: [{ node, keepsHistory: true }] });
  });

  it('is not recorded, nor anything new made, while one node finds the transaction and the other does not', async () => {
    const worker = await withTwoNodes();
    const key = await sent(worker);
    const [tx] = await txsOf(key);
    await devnet.control('evict', {});
    await mine(PAST_VALIDITY);
    solid.before = (path, body) =>
      path === INFO && body.includes(tx!.txid)
        ? { says: JSON.stringify({ id: tx!.txid, blockNumber: 3, blockTimeStamp: 1 }) }
        : undefined;
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key)).toEqual(['sending']);
    await worker.poolSync().syncWallet(pool.address);
    const other = await rent(receivers[1]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(other)).toEqual([]);
    expect(worker.chain().pool.agreement.dispute?.nodes).toHaveLength(2);
  });
});

describe('the end of a rental', () => {
  it('is not brought forward by a node that is far ahead of the other one', async () => {
    // A chain long enough that the lagging node has a block too.
    await mine(60);
    const worker = await withTwoNodes();
    await settled(worker);
    const early = async (): Promise<number> => {
      await worker.followChain();
      return worker.reclaimEnded();
    };
    await devnet.control('node', { index: 1, behind: 50 });
    await mine(RENTAL_BLOCKS + 11);
    // The lag must be known before it is relied on.
    const lagging = worker.chain().pool.nodes[1]!;
    await until(() => (worker.chain().pool.healthy().includes(lagging) ? undefined : true), MOVE_LIMIT_MS, 'the lag');
    expect(await early()).toBe(0);
    await mine(50);
    await until(async () => ((await early()) > 0 ? true : undefined), MOVE_LIMIT_MS, 'the end that both show', 100);
  });

  it('waits for a limited time for a silent node', async () => {
    const worker = await withTwoNodes();
    const key = await settled(worker);
    full.before = () => 'break';
    await mine(RENTAL_BLOCKS + 1);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(0);
    const impatient = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    const ended = async (): Promise<true | undefined> => {
      await impatient.followChain();
      return (await impatient.reclaimEnded()) > 0 ? true : undefined;
    };
    await until(ended, MOVE_LIMIT_MS, 'the end by one node’s word', 100);
    expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  });
});

describe('the end of a rental with only one node', () => {
  it.each([
    [
      'receipts of blocks, and still counts as a witness',
      RECEIPTS,
      (worker: SteppedWorker) => worker.part(BlockFollower).runPass(),
      false,
    ],
    ['single transactions', INFO, (worker: SteppedWorker) => worker.part(NodeGauges).checkHistory(), true],
  ])('also comes where the node refuses %s', async (_, refused, ask, isAway) => {
    const worker = await SteppedWorker.open({ WITNESS_AWAY_SEC: '1', TRON_POLL_MS: '50' });
    // The reader of blocks starts at the current solid head.
    await worker.part(BlockFollower).runPass();
    const key = await settled(worker);
    await mine(RENTAL_BLOCKS + 1);
    const refusals: number[] = [];
    solid.before = (path) => {
      if (path !== refused) return undefined;
      refusals.push(Date.now());
      return { says: '', status: 404 };
    };
    const isOld = async (): Promise<true | undefined> => {
      await Promise.resolve(ask(worker)).catch(() => undefined);
      return Date.now() - refusals[0]! > 1500 ? true : undefined;
    };
    await until(isOld, MOVE_LIMIT_MS, 'refusals for longer than a witness is waited for', 100);
    const { agreement, nodes } = worker.chain().pool;
    expect(agreement.isAway(nodes[0]!)).toBe(isAway);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
    expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  });
});

describe('a settlement', () => {
  it('takes two nodes where two are configured, or one after the wait is over', async () => {
    const worker = await withTwoNodes();
    const key = await sent(worker);
    solid.before = () => 'break';
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
    const impatient = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    await until(
      async () => {
        await mine();
        await impatient.followChain();
        return (await orderOf(key)).settled ? true : undefined;
      },
      MOVE_LIMIT_MS,
      'the settlement by one node’s word',
      100,
    );
  });
});

describe('a settlement over which nodes disagree', () => {
  it('is made once the node that gave other transactions of its block gives the right ones', async () => {
    const worker = await withTwoNodes();
    const key = await sent(worker);
    await mine();
    await worker.followChain();
    expect(await statusesOf(key)).toEqual(['included']);
    await mine(SOLID_LAG);
    // Another worker, which has not read any block.
    const other = await withTwoNodes();
    await devnet.control('faults', { kind: 'wrong', wrong: 'tampered', node: 0 });
    await other.followChain().catch(() => undefined);
    expect(await orderOf(key)).toMatchObject({ settled: false });
    expect(other.chain().pool.agreement.dispute?.what).toContain('the transactions of block');
    await devnet.control('faults/clear', {});
    const settles = async (): Promise<true | undefined> => {
      await other.followChain();
      return (await orderOf(key)).settled ? true : undefined;
    };
    await until(settles, 3 * MOVE_LIMIT_MS, 'the settlement that both show', 100);
  });
});

describe('an act without a record', () => {
  it('is recorded by one node’s word once the wait for the other one is over, and the search goes on', async () => {
    const delegation = { receiver_address: receivers[3]!, balance: 5_000_000, resource: 'ENERGY' };
    const txid = await actAs(devnet.fullUrl, pool, 'delegateresource', delegation);
    await mine(SOLID_LAG + 1);
    solid.before = () => 'break';
    const worker = await withTwoNodes();
    await expect(worker.search()).rejects.toBeInstanceOf(ChainUnavailableError);
    const impatient = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    const searched = async (): Promise<true | undefined> => {
      await impatient.search().catch(() => undefined);
      return (await isKept(txid)) ? true : undefined;
    };
    await until(searched, MOVE_LIMIT_MS, 'the act being recorded', 100);
    await impatient.search();
  });
});

async function isKept(txid: string): Promise<boolean> {
  return (await api.database.query(`SELECT FROM orphan_tx WHERE txid = decode($1, 'hex')`, [txid])).length > 0;
}

describe('nodes of two chains', () => {
  it('have nothing made, ended or sold until they agree again', async () => {
    const worker = await withTwoNodes();
    const key = await settled(worker);
    const twoNodes = await openApi({ ...env, ...TWO_NODES() });
    const ordering = () =>
      customer
        .at(twoNodes.baseUrl)
        .post('/v1/orders', { receive_address: receivers[2]!, energy: 50_000, duration_sec: 60 });
    onTestEnd.push(() => twoNodes.close());
    solid.before = forged;
    await mine(RENTAL_BLOCKS + 1);
    const seller = twoNodes.app.get(TronClient, { strict: false });
    for (const { pool } of [worker.chain(), seller]) {
      await until(() => pool.agreement.dispute, MOVE_LIMIT_MS, 'the contradiction');
    }
    const disputed = () => worker.part(Metrics).registry.getSingleMetricAsString('chain_nodes_disputed');
    expect(await disputed()).toMatch(/^chain_nodes_disputed 1$/m);
    await worker.followChain().catch(() => undefined);
    expect(await worker.reclaimEnded()).toBe(0);
    expect(await statusesOf(key, 'reclaim')).toEqual([]);
    expect((await ordering()).body).toMatchObject({ error: 'CHAIN_UNAVAILABLE' });
    solid.rest();
    await until(() => (worker.chain().pool.agreement.dispute ? undefined : true), MOVE_LIMIT_MS, 'agreement');
    expect(await disputed()).toMatch(/^chain_nodes_disputed 0$/m);
    await mine();
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
  });
});

it('a worker that starts reads the blocks in which something sent before may stand, though no index names it', async () => {
  const key = await sent(await withTwoNodes());
  await mine(3);
  for (const path of [INFO, 'wallet/gettransactioninfobyid']) {
    await devnet.control('faults', { kind: 'wrong', wrong: 'empty', path });
  }
  const next = await withTwoNodes();
  await next.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered' });
});

it('a node without transaction history is shown, by a gauge and by the doctor, until it has one', async () => {
  const worker = await withTwoNodes();
  await settled(worker);
  const [one, other] = [new URL(full.url).host, new URL(devnet.second!.fullUrl).host];
  const lacking = async () => {
    const text = await worker.part(Metrics).registry.getSingleMetricAsString('chain_node_without_history');
    return [one, other].map((node) => new RegExp(`node="${node}"} (\\d)`).exec(text)?.[1]);
  };
  await noHistory(0);
  await worker.part(NodeGauges).checkHistory();
  expect(await lacking()).toEqual(['1', '0']);
  const findings = await checkHistory(worker.chain(), historyFromRecords(api.database));
  expect(findings.map(({ state }) => state)).toEqual(['fault', 'ok']);
  await devnet.control('faults/clear', {});
  const next = await withTwoNodes();
  await next.followChain();
  await next.part(NodeGauges).checkHistory();
  const text = await next.part(Metrics).registry.getSingleMetricAsString('chain_node_without_history');
  expect(text).not.toMatch(/} 1$/m);
});
