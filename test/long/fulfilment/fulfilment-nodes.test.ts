// The worker's use of nodes: recipients of a broadcast, trusted answers, missing and lost answers. Also blocks with
// rows that another session locks.
import 'reflect-metadata';
import pg from 'pg';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  devnet,
  freeSun,
  full,
  SteppedWorker,
  mine,
  openFixtureWithCalls,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  rent,
  settledOrder,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  fixtureDatabaseUrl,
  statusesOf,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';
import type { SpyNode } from '../../support/nodes/spy-node.js';

beforeAll(() => openFixtureWithCalls(), START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const answersTo = async (key: string): Promise<string[]> => {
  const rows = await api.database.query<{ answer: string }>(
    `SELECT b.answer FROM broadcast b JOIN chain_tx t ON t.id = b.chain_tx_id JOIN orders o ON o.id = t.order_id
      WHERE o.key = $1 ORDER BY b.id`,
    [key],
  );
  return rows.map(({ answer }) => answer);
};

describe('the pool', () => {
  it('does not sell the newest leg again by a node that is one block behind', async () => {
    const worker = await SteppedWorker.open();
    await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine();
    await worker.followChain();
    await worker.poolSync().syncWallet(pool.address);
    const left = await freeSun();
    await devnet.control('node', { index: 1, behind: 1 });
    try {
      const behind = await SteppedWorker.open({
        TRON_FULL_NODE_URLS: devnet.second!.fullUrl,
        TRON_SOLIDITY_NODE_URLS: devnet.second!.solidUrl,
      });
      await behind.poolSync().syncWallet(pool.address);
      expect(await freeSun()).toBe(left);
    } finally {
      await devnet.control('node', { index: 1, behind: 0 });
    }
    // But no longer than that.
    await mine();
    await worker.poolSync().syncWallet(pool.address);
    expect(await freeSun()).toBe(left);
  });

  it('does not sell legs again by a lagging backend behind a current node’s name', async () => {
    const worker = await SteppedWorker.open();
    const MAX = 'wallet/getcandelegatedmaxsize';
    const asked = { owner_address: pool.address, type: 1, visible: true };
    const answer = await fetch(`${devnet.fullUrl}/${MAX}`, { method: 'POST', body: JSON.stringify(asked) });
    const says = await answer.text();
    const [keys, returned] = [[receivers[0]!, receivers[1]!], receivers[2]!];
    for (const receiver of keys) await settledOrder(worker, receiver);
    await worker.poolSync().syncWallet(pool.address);
    const left = await freeSun();
    full.before = (path) => (path === MAX ? { says } : undefined);
    await worker.poolSync().syncWallet(pool.address);
    expect(await freeSun()).toBe(left);
    await api.database.query(`UPDATE leg SET changed_at = changed_at - interval '1 day' WHERE status = 'active'`);
    await worker.poolSync().syncWallet(pool.address);
    expect(await freeSun()).toBe(left);
    full.rest();
    // Returned stake is sold again once the reclaim is in a block. Stake that was sold meanwhile is not.
    await settledOrder(worker, returned);
    await mine(20);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(3);
    await mine();
    await worker.followChain();
    await worker.poolSync().syncWallet(pool.address);
    expect(await freeSun()).toBeGreaterThan(left);
  });
});

describe('a broadcast', () => {
  it('that reaches no node is recorded, counts as none, and uses up no attempt', async () => {
    const key = await rent(receivers[0]!);
    full.before = (path) => (path === 'wallet/broadcasthex' ? { says: '', status: 429 } : undefined);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      // A new process each time, because a throttled one avoids the node for a while.
      const worker = await SteppedWorker.open();
      await mine();
      await worker.followChain();
      await worker.advance();
      expect((await txsOf(key)).map(({ sends }) => sends)).toEqual(Array.from({ length: attempt }, () => 0));
      await mine(PAST_VALIDITY);
      const next = await SteppedWorker.open();
      await next.followChain();
      await next.advance();
      expect((await txsOf(key)).map(({ status }) => status)).toEqual(Array.from({ length: attempt }, () => 'dead'));
    }
    expect(await answersTo(key)).toEqual(['NOT_SENT:throttled', 'NOT_SENT:throttled', 'NOT_SENT:throttled']);
    expect(await orderOf(key)).toMatchObject({ status: 'placed' });
    full.rest();
    const worker = await SteppedWorker.open();
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine();
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'delivered' });
  });

  it('goes to a single node whose connection just broke', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[1]!);
    await mine();
    await worker.followChain();
    full.before = (path) => (path === 'wallet/getaccount' ? 'break' : undefined);
    await expect(worker.chain().account(receivers[1]!)).rejects.toThrow();
    await worker.advance();
    expect(await answersTo(key)).toEqual(['SUCCESS']);
    expect((await txsOf(key)).map(({ sends }) => sends)).toEqual([1]);
  });

  it('goes to every node, even to those that just failed', async () => {
    const worker = await SteppedWorker.open({
      TRON_FULL_NODE_URLS: `${full.url},${devnet.second!.fullUrl}`,
      TRON_SOLIDITY_NODE_URLS: `${devnet.solidUrl},${devnet.second!.solidUrl}`,
    });
    const key = await rent(receivers[2]!);
    await mine();
    await worker.followChain();
    let tries = 0;
    full.before = (path) => {
      if (path !== 'wallet/broadcasthex') return undefined;
      tries += 1;
      return 'break';
    };
    await devnet.control('faults', { kind: 'drop-before', node: 1, path: 'wallet/broadcasthex', times: 1 });
    await worker.advance();
    expect((await answersTo(key)).every((answer) => answer.startsWith('NO_ANSWER'))).toBe(true);
    await worker.advance();
    expect(tries).toBe(2);
    expect(await answersTo(key)).toContain('SUCCESS');
  });
});

describe('a single node', () => {
  /** A minute of chain time. */
  const BLOCKS_MAX = 20;

  /** Drops each fifth answer. */
  function loseAnswers(node: SpyNode): void {
    let asked = 0;
    node.before = () => {
      asked += 1;
      return asked % 5 === 0 ? 'break-after' : undefined;
    };
  }

  async function standing(): Promise<number> {
    const rows = await api.database.query(`SELECT FROM orders WHERE status = 'delivered' AND reclaimed_at IS NULL`);
    return rows.length;
  }

  it('that loses every fifth answer prevents no reclaim of many rentals that end together', async () => {
    const worker = await SteppedWorker.open();
    for (const { address } of callers) await rent(address);
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await mine(20);
    await worker.followChain();
    expect(await standing()).toBe(callers.length);
    loseAnswers(full);
    loseAnswers(solid);
    for (let block = 0; block < BLOCKS_MAX && (await standing()) > 0; block += 1) {
      await worker.reclaimEnded();
      await worker.advance();
      await mine();
      await worker.followChain().catch(() => undefined);
    }
    expect(await standing()).toBe(0);
  });

  it('without an answer about a delegation is soon asked again, however long ago the rental ended', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    await mine(1200);
    await worker.followChain();
    solid.before = (path) => (path.endsWith('getdelegatedresourcev2') ? 'break' : undefined);
    expect(await worker.reclaimEnded()).toBe(1);
    const [order] = await api.database.query<{ soon: boolean }>(
      `SELECT next_run_at < clock_timestamp() + interval '30 seconds' AS soon FROM orders WHERE key = $1`,
      [key],
    );
    expect(order).toEqual({ soon: true });
  });
});

/** Returns true if any session waits for `session`'s locks while `work` runs. */
async function isHeldUp(work: Promise<void>, session: pg.Client): Promise<boolean> {
  const { rows } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const waiting = async () =>
    api.database.query(`SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`, [rows[0]?.pid]);
  const state = { isDone: false, isHeldUp: false };
  const done = work.finally(() => (state.isDone = true));
  while (!state.isDone) {
    const { length } = await waiting();
    state.isHeldUp ||= length > 0;
  }
  await done;
  return state.isHeldUp;
}

it('skips a transaction whose rows another session holds for the others of its block, and counts it once they are free', async () => {
  const worker = await SteppedWorker.open();
  const [held, other] = [await rent(receivers[0]!), await rent(receivers[1]!)];
  await mine();
  await worker.followChain();
  await worker.advance();
  expect([await statusesOf(held), await statusesOf(other)]).toEqual([['sending'], ['sending']]);
  const session = new pg.Client({ connectionString: fixtureDatabaseUrl() });
  await session.connect();
  try {
    await session.query('BEGIN');
    await session.query(`SELECT FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1 FOR UPDATE OF l`, [
      held,
    ]);
    await mine();
    // Not even for the time of a lock timeout.
    expect(await isHeldUp(worker.followChain(), session)).toBe(false);
    expect((await orderOf(other)).status).toBe('delivered');
    expect((await orderOf(held)).status).toBe('placed');
  } finally {
    await session.end();
  }
  // Neither a new block nor a request to a node is needed.
  await worker.followChain();
  expect((await orderOf(held)).status).toBe('delivered');
});
