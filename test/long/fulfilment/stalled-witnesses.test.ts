// Two nodes, one of which has a solid head that stalls, lags far behind, or is falsely reported.
import 'reflect-metadata';
import { idOf } from '../../../src/platform/chain/block-header.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { until } from '../../../packages/local/src/wait.js';
import {
  clearFixture,
  closeFixture,
  devnet,
  full,
  mine,
  openFixture,
  orderOf,
  PAST_VALIDITY,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';
import type { Meddling } from '../../support/nodes/spy-node.js';
import {
  eventually,
  INFO,
  MOVE_LIMIT_MS,
  OTHER_WAY_ROUND,
  sent,
  TWO_NODES,
  withTwoNodes,
} from '../../support/nodes/two-nodes.js';

const RENTAL_BLOCKS = 20;

beforeAll(openFixture, START_LIMIT_MS);
afterEach(async () => {
  await devnet.control('faults/clear', {});
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

interface SolidHead {
  readonly block_header: { readonly raw_data: { readonly number: number } };
}

async function askSolid<T>(path: string, body: string): Promise<T> {
  const answer = await fetch(`${devnet.solidUrl}/${path}`, { method: 'POST', body });
  return (await answer.json()) as T;
}

/**
 * Freezes the spied node's answers at its current solid blocks, like a solidity node that lost its full node. Returns
 * the later heights that it is asked about.
 */
async function stall(): Promise<Set<number>> {
  const head = await askSolid<SolidHead>('walletsolidity/getblock', '{"detail":false}');
  const { number } = head.block_header.raw_data;
  const asked = new Set<number>();
  solid.before = async (path, body): Promise<Meddling> => {
    const { num, id_or_num: id } = JSON.parse(body === '' ? '{}' : body) as { num?: number; id_or_num?: string };
    if (path === 'walletsolidity/getblock' && id === undefined) return { says: JSON.stringify(head) };
    const height = Number(id ?? num ?? 0);
    if (height > number) asked.add(height);
    const { blockNumber = height } = path === INFO ? await askSolid<{ blockNumber?: number }>(path, body) : {};
    return blockNumber > number ? { says: '{}' } : undefined;
  };
  return asked;
}

/** Returns a check that makes a block first. */
function beside(isSo: () => Promise<boolean>): () => Promise<boolean> {
  return async () => {
    await mine();
    return isSo();
  };
}

describe('a witness whose solid head stands still while the other’s moves', () => {
  const ORDERS: [string, () => Record<string, string>][] = [
    ['first', TWO_NODES],
    ['second', OTHER_WAY_ROUND],
  ];

  it.each(ORDERS)(
    'which is the %s one, delays settlement and reclaim until the wait for it is over',
    async (_, nodes) => {
      const worker = await withTwoNodes(nodes());
      const key = await sent(worker);
      await stall();
      await mine(SOLID_LAG + 15);
      await worker.followChain();
      expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
      const impatient = await withTwoNodes({ ...nodes(), WITNESS_AWAY_SEC: '1' });
      const settles = async (): Promise<boolean> => (await orderOf(key)).settled;
      await eventually(impatient, beside(settles), 'the settlement by one node’s word');
      await mine(RENTAL_BLOCKS);
      const isReclaimed = async (): Promise<boolean> => {
        await impatient.reclaimEnded();
        return (await statusesOf(key, 'reclaim')).at(-1) === 'solid';
      };
      await eventually(impatient, beside(isReclaimed), 'the solid reclaim');
      const stalled = await impatient
        .part(Metrics)
        .registry.getSingleMetricAsString('chain_node_solid_stalled_seconds');
      expect(stalled).toMatch(new RegExp(`node="${new URL(full.url).host}"} [1-9]`));
      expect(stalled).toMatch(new RegExp(`node="${new URL(devnet.second!.fullUrl).host}"} 0$`, 'm'));
    },
  );

  it('delays a death until the wait for it is over, and the evidence shows it', async () => {
    const worker = await withTwoNodes();
    const key = await sent(worker);
    await devnet.control('evict', {});
    await stall();
    await mine(PAST_VALIDITY);
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key)).toEqual(['sending']);
    const impatient = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    const isDead = async (): Promise<boolean> => (await statusesOf(key))[0] === 'dead';
    await eventually(impatient, beside(isDead), 'the death by one node’s word');
    const [dead] = await txsOf(key);
    const away = [{ node: new URL(full.url).host, keepsHistory: true, awaySec: expect.any(Number) as number }];
    expect(dead?.evidence).toMatchObject({ absences: [{}], scanned: {}, away });
  });

  it('is asked about one block that it does not have, however many orders wait', async () => {
    const worker = await withTwoNodes(OTHER_WAY_ROUND());
    const asked = await stall();
    const keys = [await sent(worker), await sent(worker), await sent(worker)];
    await mine(SOLID_LAG + 15);
    asked.clear();
    await worker.followChain();
    for (const key of keys) expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
    expect([...asked]).toHaveLength(1);
  });

  it('differs from a witness that is far behind and moves: that one is waited for', async () => {
    await mine(60);
    const head = async (): Promise<number> =>
      (await askSolid<SolidHead>('walletsolidity/getblock', '{"detail":false}')).block_header.raw_data.number;
    let asked = 0;
    solid.before = async (path, body): Promise<Meddling> => {
      const { num, id_or_num: id } = JSON.parse(body === '' ? '{}' : body) as { num?: number; id_or_num?: string };
      const last = (await head()) - 60;
      if (path !== 'walletsolidity/getblock' || id !== undefined)
        return Number(id ?? num ?? 0) > last ? { says: '{}' } : undefined;
      asked += 1;
      const block = await askSolid(path, JSON.stringify({ id_or_num: last.toString(), detail: false }));
      return { says: JSON.stringify(block) };
    };
    const worker = await withTwoNodes({ ...OTHER_WAY_ROUND(), WITNESS_AWAY_SEC: '1' });
    const key = await sent(worker);
    const included = await head();
    const begunAt = Date.now();
    const isOver = async (): Promise<true | undefined> => {
      await mine();
      await worker.followChain();
      return asked > 10 && Date.now() - begunAt > 3000 ? true : undefined;
    };
    await until(isOver, MOVE_LIMIT_MS, 'more than a witness is waited for', 50);
    expect((await head()) - included).toBeLessThan(60);
    expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
  });

  it('is waited for only by the blocks that it has itself: one that claims others outvotes nobody', async () => {
    const worker = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    await devnet.control('faults', { kind: 'behind', node: 1, port: 'solid', blocks: 60 });
    const key = await sent(worker);
    await mine(60);
    let claimed = 0;
    // The chain stalls. One node invents a block at the head's height, and claims that the delivery is final.
    solid.before = async (path, body): Promise<Meddling> => {
      if (path !== 'walletsolidity/getblock') return undefined;
      const { id_or_num: id } = JSON.parse(body) as { id_or_num?: string };
      const answer = await fetch(`${devnet.fullUrl}/wallet/getblock`, { method: 'POST', body });
      if (id !== undefined) return { says: await answer.text() };
      const block = (await answer.json()) as { block_header: { raw_data: Record<string, string | number> } };
      claimed += 1;
      const raw = { ...block.block_header.raw_data, timestamp: Number(block.block_header.raw_data['timestamp']) + 1 };
      return { says: JSON.stringify({ ...block, blockID: idOf(raw), block_header: { raw_data: raw } }) };
    };
    const begunAt = Date.now();
    await until(
      async () => {
        await worker.followChain();
        return claimed > 10 && Date.now() - begunAt > 3000 ? true : undefined;
      },
      MOVE_LIMIT_MS,
      'more than a witness is waited for',
      100,
    );
    expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
  });
});
