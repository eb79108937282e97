// The roles of a node's ports: the full port alone delivers and reclaims, the solid port settles.
import 'reflect-metadata';
import { jest } from '@jest/globals';
import { reclaimRestMs } from '../../../src/modules/fulfilment/plan/reclaim-pace.js';
import { aboutNodes } from '../../../src/platform/chain/about-nodes.js';
import { ChainView } from '../../../src/modules/fulfilment/follow/chain-view.js';
import {
  api,
  clearFixture,
  closeFixture,
  full,
  SteppedWorker,
  mine,
  openFixture,
  orderOf,
  PAST_VALIDITY,
  receivers,
  rent,
  sentOrder,
  settledOrder,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(() => openFixture(), START_LIMIT_MS);
afterEach(async () => {
  full.rest();
  solid.rest();
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

/** Two hours of the main network. */
const HOURS_OF_BLOCKS = 2400;

const isSolid = (path: string): boolean => path.startsWith('walletsolidity/');

describe('without the solid port', () => {
  it.each(['before it is asked the first time', 'after it was there'])(
    'an order is delivered and reclaimed, and settled when the port is back: %s',
    async (when) => {
      const worker = await SteppedWorker.open();
      if (when.startsWith('after')) await worker.followChain();
      solid.before = (path) => (isSolid(path) ? 'break' : undefined);
      full.before = (path) => (isSolid(path) ? 'break' : undefined);
      const key = await rent(receivers[0]!);
      await mine();
      await worker.followChain();
      await worker.advance();
      expect(await statusesOf(key)).toEqual(['sending']);
      await mine(SOLID_LAG + 1);
      await worker.followChain();
      expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
      solid.rest();
      full.rest();
      await mine(SOLID_LAG + 1);
      await worker.followChain();
      expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
    },
  );

  it('only the solid port is reported as silent, until it answers', async () => {
    const worker = await SteppedWorker.open();
    const { nodes } = worker.chain().pool;
    const silent = () => aboutNodes(nodes);
    await worker.followChain();
    expect(silent()).toEqual({});
    solid.before = (path) => (isSolid(path) ? 'break' : undefined);
    await mine();
    await worker.followChain();
    const [name = ''] = nodes.map((node) => node.name);
    expect(silent()).toEqual({ nodes: { [name]: { solid: expect.any(String) } } });
    solid.rest();
    await mine();
    await worker.followChain();
    expect(silent()).toEqual({});
  });

  it('a delivery sent after hours of silence is proven dead once the port is back', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    solid.before = (path) => (isSolid(path) ? 'break' : undefined);
    await mine(HOURS_OF_BLOCKS);
    // The node accepts the delivery and forgets it.
    const says = JSON.stringify({ result: true, txid: '0'.repeat(64) });
    full.before = (path) => (isSolid(path) ? 'break' : path === 'wallet/broadcasthex' ? { says } : undefined);
    const key = await sentOrder(worker);
    await mine(PAST_VALIDITY);
    solid.rest();
    await worker.followChain();
    await worker.advance();
    expect((await statusesOf(key))[0]).toBe('dead');
  });

  it('a rental that ended is reclaimed by the answers of the full port', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    solid.before = (path) => (isSolid(path) ? 'break' : undefined);
    full.before = (path) => (isSolid(path) ? 'break' : undefined);
    await mine(21);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
    expect((await txsOf(key, 'reclaim')).map((tx) => tx.status)).toEqual(['sending']);
  });
});

/** A hosted node answers from backends that are up to a block apart. */
describe('behind one name', () => {
  const isAboutBlock = (path: string): boolean => /get(blockbynum|transactioninfo\w+)$/.test(path);

  it('an order is delivered by a block that the next backend did not have yet', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    await mine();
    full.before = (path) => (isAboutBlock(path) ? { says: path.endsWith('infobyblocknum') ? '[]' : '{}' } : undefined);
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'placed' });
    full.rest();
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'delivered' });
  });

  it('an order is delivered by a block below the head that the next backend did not have yet', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    await mine(2);
    full.before = (path, body) =>
      path === 'wallet/getblock' && body.includes('id_or_num') ? { says: '{}' } : undefined;
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'placed' });
    full.rest();
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'delivered' });
  });
});

/** Records nine reclaims that were sent and died just now. */
async function failReclaims(key: string): Promise<void> {
  await api.database.query(
    `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number,
       expires_at, evidence, sends, sent_at)
     SELECT l.order_id, l.id, 'reclaim', n, l.wallet_id, 'dead', sha256(r.raw), r.raw, decode(repeat('00', 65), 'hex'), 1,
       clock_timestamp(), '{}', 1, clock_timestamp()
       FROM leg l JOIN orders o ON o.id = l.order_id CROSS JOIN generate_series(1, 9) n
       CROSS JOIN LATERAL (SELECT convert_to(o.id || ' attempt ' || n, 'UTF8') AS raw) r WHERE o.key = $1`,
    [key],
  );
}

async function isDueWithinMinute(key: string): Promise<boolean | undefined> {
  const [row] = await api.database.query<{ soon: boolean }>(
    `SELECT coalesce(next_run_at <= clock_timestamp() + interval '60 seconds', false) AS soon FROM orders WHERE key = $1`,
    [key],
  );
  return row?.soon;
}

/** Lets this process's monotonic clock advance in one step, as after a pause. */
function shiftMonotonicClock(ms: number) {
  const now = performance.now.bind(performance);
  return jest.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}

describe('a reclaim', () => {
  it('is not withheld for an order of the same receiver that was sent and is in no block', async () => {
    const worker = await SteppedWorker.open();
    const ending = await settledOrder(worker);
    await mine(8);
    // The node accepts the second transaction and forgets it.
    const says = JSON.stringify({ result: true, txid: '0'.repeat(64) });
    full.before = (path) => (path === 'wallet/broadcasthex' ? { says } : undefined);
    await sentOrder(worker);
    full.rest();
    await mine(11);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
    expect(await statusesOf(ending, 'reclaim')).toEqual(['sending']);
  });

  it('that failed before the chain moved again is due immediately, and one that failed since rests', () => {
    const failed = { purpose: 'reclaim', attempts: 9, deaths: 9, recent: 9, lastAgeSec: 100 } as const;
    expect(reclaimRestMs(failed, 60)).toBe(0);
    expect(reclaimRestMs(failed, 200)).toBeGreaterThan(60_000);
  });

  it('that failed often is looked at again within a minute, also during an outage, and is sent once the chain moves again', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker, receivers[1]);
    await mine(21);
    await worker.followChain();
    await failReclaims(key);
    await worker.reclaimEnded();
    expect(await statusesOf(key, 'reclaim')).not.toContain('sending');
    expect(await isDueWithinMinute(key)).toBe(true);
    const shift = shiftMonotonicClock(120_000);
    full.before = () => 'break';
    await expect(worker.followChain()).rejects.toThrow();
    await worker.advance();
    expect(await isDueWithinMinute(key)).toBe(true);
    full.rest();
    await mine();
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key, 'reclaim')).toContain('sending');
    shift.mockRestore();
  });

  it('rests by a chain that has moved since the view was renewed after a gap', async () => {
    const view = new ChainView();
    const at = (number: number) => ({ number, id: number.toString(), timestampMs: number * 3000 });
    const ratio = { totalEnergyLimit: 1n, totalEnergyWeight: 1n, totalNetLimit: 1n, totalNetWeight: 1n };
    const state = { ratio, isDisputed: false };
    let nowMs = 1_000_000;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    view.update({ ...state, head: at(2), solid: at(1), reference: at(1) });
    nowMs += 5000;
    view.update({ ...state, head: at(3), solid: at(2), reference: at(2) });
    expect(view.movingSec).toBe(5);
    nowMs += 120_000;
    view.update({ ...state, head: at(4), solid: at(3), reference: at(3) });
    expect(view.movingSec).toBe(0);
    clock.mockRestore();
    await Promise.resolve();
  });
});
