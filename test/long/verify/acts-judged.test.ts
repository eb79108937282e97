// Final judgements of foreign acts. Orders in progress, a lagging node and invalid answers must not cause one.
import 'reflect-metadata';
import { ChainUnavailableError } from '../../../src/platform/chain/errors.js';
import { canDelegateMaxOf, delegatedSunAt } from '../../../src/platform/chain/tron.client.js';
import { solidDelegationSun, solidReceivers } from '../../../src/platform/chain/solid-delegations.js';
import { LegEnds } from '../../../src/modules/pool/leg-ends.js';
import { ForeignUndelegations } from '../../../src/modules/reconciliation/foreign-undelegations.js';
import { DELEGATE_TYPE, UNDELEGATE_TYPE } from '../../../src/platform/chain/transaction-owner.js';
import { DelegationCheck } from '../../../src/modules/verify/delegation-check.js';
import { actAs, delegatedSunOf } from '../../support/chain/order-chain.js';
import {
  api,
  clearFixture,
  closeFixture,
  devnet,
  full,
  SteppedWorker,
  mine,
  openFixture,
  orderOf,
  pool,
  receivers,
  sentOrder,
  settledOrder,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
} from '../../support/worker/fulfilment-fixture.js';
import { untilWaiting } from '../../setup/waiting.js';
import { OTHER_WAY_ROUND, TWO_NODES } from '../../support/nodes/two-nodes.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const NO_GRACE = { POOL_ORPHAN_GRACE_SEC: '0' };
const SUM = 'walletsolidity/getdelegatedresourcev2';

const standing = (receiver: string): Promise<bigint> => delegatedSunOf(devnet.fullUrl, pool.address, receiver);

async function act(operation: 'delegateresource' | 'undelegateresource', sun: bigint, receiver: string) {
  return actAs(devnet.fullUrl, pool, operation, {
    receiver_address: receiver,
    balance: Number(sun),
    resource: 'ENERGY',
  });
}

/** Returns the sun of an order's only leg. */
async function soldSun(key: string): Promise<bigint> {
  const [row] = await api.database.query<{ sun: bigint }>(
    `SELECT l.amount_sun AS sun FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1`,
    [key],
  );
  return row!.sun;
}

describe('a delegation without a record', () => {
  const recovered = async (txid: string): Promise<boolean> => {
    const rows = await api.database.query(`SELECT FROM orders WHERE key = 'orphan:' || $1`, [txid]);
    return rows.length > 0;
  };
  /** Delegates `sun` as the wallet's owner and lets the search find it. */
  async function orphan(worker: SteppedWorker, sun: bigint, receiver: string): Promise<string> {
    const txid = await act('delegateresource', sun, receiver);
    await mine(SOLID_LAG + 1);
    await worker.search();
    return txid;
  }

  it('is reclaimed although an order of the same amount to the receiver was pending at the check', async () => {
    const worker = await SteppedWorker.open(NO_GRACE);
    const sun = await soldSun(await settledOrder(worker, receivers[0]));
    const txid = await orphan(worker, sun, receivers[0]!);
    await sentOrder(worker, receivers[0]);
    await worker.reclaims().reclaim();
    expect(await recovered(txid)).toBe(false);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await worker.reclaims().reclaim();
    expect(await recovered(txid)).toBe(true);
  });

  it('is reclaimed although a return of the same amount was final, but not recorded as final, at the check', async () => {
    const worker = await SteppedWorker.open(NO_GRACE);
    const key = await settledOrder(worker, receivers[1]);
    const txid = await orphan(worker, await soldSun(key), receivers[1]!);
    await mine(20);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
    await mine();
    await worker.followChain();
    expect(await statusesOf(key, 'reclaim')).toEqual(['included']);
    await mine(SOLID_LAG + 1);
    await worker.reclaims().reclaim();
    expect(await recovered(txid)).toBe(false);
    await worker.followChain();
    expect(await statusesOf(key, 'reclaim')).toEqual(['solid']);
    await worker.reclaims().reclaim();
    expect(await recovered(txid)).toBe(true);
  });

  it.each([
    ['first', TWO_NODES],
    ['second', OTHER_WAY_ROUND],
  ] as const)('does not count as gone by the answer of the %s node alone', async (_which, nodes) => {
    const worker = await SteppedWorker.open({ ...NO_GRACE, ...nodes() });
    const txid = await orphan(worker, 500_000_000n, receivers[2]!);
    solid.before = (path) => (path === SUM ? { says: '{}' } : undefined);
    await worker.reclaims().reclaim();
    solid.rest();
    await worker.reclaims().reclaim();
    expect(await recovered(txid)).toBe(true);
  });

  it('that its owner ended is no longer searched for once every node confirms it', async () => {
    const worker = await SteppedWorker.open(NO_GRACE);
    const txid = await orphan(worker, 500_000_000n, receivers[3]!);
    await act('undelegateresource', 500_000_000n, receivers[3]!);
    await mine(SOLID_LAG + 1);
    await worker.reclaims().reclaim();
    expect(await standing(receivers[3]!)).toBe(0n);
    await act('delegateresource', 500_000_000n, receivers[3]!);
    await mine(SOLID_LAG + 1);
    await worker.reclaims().reclaim();
    expect(await recovered(txid)).toBe(false);
    await act('undelegateresource', 500_000_000n, receivers[3]!);
    await mine(SOLID_LAG + 1);
  });
});

describe('an undelegation by the wallet’s owner', () => {
  const endedBy = async (key: string): Promise<string | null> => {
    const [row] = await api.database.query<{ txid: string | null }>(
      `SELECT encode(l.closed_by_txid, 'hex') AS txid FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1`,
      [key],
    );
    return row!.txid;
  };

  it.each([
    ['by the word of the node that has come to its block', TWO_NODES, true],
    ['once the only node has come to its block', () => ({}), false],
  ] as const)('ends the rental that it took %s', async (_when, nodes, isEndedAtOnce) => {
    const worker = await SteppedWorker.open(nodes());
    const key = await settledOrder(worker, receivers[0]);
    // A lagging node then still has every block that the records call final.
    await mine(SOLID_LAG);
    const txid = await act('undelegateresource', await soldSun(key), receivers[0]!);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await worker.search();
    const acts = worker.part(ForeignUndelegations);
    await devnet.control('faults', { kind: 'behind', node: 0, port: 'solid', blocks: 2 });
    try {
      if (isEndedAtOnce) await acts.closeLegs();
      else await expect(acts.closeLegs()).rejects.toThrow(ChainUnavailableError);
      expect(await endedBy(key)).toBe(isEndedAtOnce ? txid : null);
    } finally {
      await devnet.control('faults/clear', {});
    }
    await acts.closeLegs();
    expect(await endedBy(key)).toBe(txid);
  });
});

it('an undelegation by the wallet’s owner ends a rental although a stale backend still shows its delegation', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledOrder(worker, receivers[0]);
  const delegated = { frozen_balance_for_energy: Number(await soldSun(key)) };
  const txid = await act('undelegateresource', await soldSun(key), receivers[0]!);
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  await worker.search();
  let stale = 1;
  solid.before = (path) => {
    if (path !== SUM || stale === 0) return undefined;
    stale -= 1;
    return { says: JSON.stringify({ delegatedResource: [delegated] }) };
  };
  await worker.part(ForeignUndelegations).closeLegs();
  solid.rest();
  await worker.part(ForeignUndelegations).closeLegs();
  const [leg] = await api.database.query<{ txid: string | null }>(
    `SELECT encode(l.closed_by_txid, 'hex') AS txid FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1`,
    [key],
  );
  expect(leg?.txid).toBe(txid);
});

describe('two rentals of the same amount to one receiver', () => {
  const open = async (): Promise<readonly string[]> => {
    const rows = await api.database.query<{ key: string }>(
      `SELECT o.key FROM leg l JOIN orders o ON o.id = l.order_id WHERE l.status = 'active'`,
    );
    return rows.map(({ key }) => key);
  };

  it('one act ends one of them, although the operator ends the other at the same moment', async () => {
    const worker = await SteppedWorker.open();
    const [first, second] = [await settledOrder(worker, receivers[1]), await settledOrder(worker, receivers[1])];
    const { id } = await orderOf(second);
    await act('undelegateresource', await soldSun(first), receivers[1]!);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await worker.search();
    const author = { actor: 'the operator', reason: 'a reason' };
    const ends = await api.database.transaction(async (tx) => {
      await tx.query(`SELECT FROM orders WHERE id = $1 FOR UPDATE`, [id]);
      const byHand = new LegEnds(api.database, worker.chain()).close(id, undefined, undefined, author);
      await untilWaiting(api.database, 1);
      const byAct = worker.part(ForeignUndelegations).closeLegs();
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      byAct.then(end, end);
      await untilWaiting(api.database, 2, () => isOver);
      return [byHand, byAct];
    });
    await Promise.allSettled(ends);
    expect(await open()).toHaveLength(1);
    await worker.part(ForeignUndelegations).closeLegs();
    expect(await open()).toHaveLength(1);
  });
});

describe('the delegations of open legs', () => {
  /**
   * Returns the number of findings about a receiver while a node hides its delegation `times` times, as a stale backend
   * does.
   */
  async function found(worker: SteppedWorker, receiver: string, times: number): Promise<number> {
    const wallets = await api.database.query<{ id: number; address: string }>(
      `SELECT id, address FROM pool_wallet WHERE address = $1`,
      [pool.address],
    );
    let shown = 0;
    solid.before = (path, body) => {
      if (path !== SUM || !body.includes(receiver) || shown >= times) return undefined;
      shown += 1;
      return { says: '{}' };
    };
    const { findings } = await new DelegationCheck(api.database, worker.chain(), 'every', 100, 100).run(wallets);
    solid.rest();
    return findings.filter(({ subject }) => subject.includes(receiver)).length;
  }

  it('are a finding only if the chain keeps contradicting them', async () => {
    const worker = await SteppedWorker.open();
    await settledOrder(worker, receivers[3]);
    expect(await found(worker, receivers[3]!, 4)).toBe(0);
    expect(await found(worker, receivers[3]!, Number.POSITIVE_INFINITY)).toBe(1);
  });
});

describe('an invalid answer', () => {
  const readings = async () => {
    const chain = (await SteppedWorker.open()).chain();
    const to = receivers[0]!;
    return {
      'a sum': () => chain.pool.ask('a sum', (node) => delegatedSunAt(node, pool.address, to, 'ENERGY')),
      'a solid sum': () =>
        chain.pool.ask('a solid sum', (node) => solidDelegationSun(node, pool.address, to, 'ENERGY')),
      'the receivers': () => chain.pool.ask('receivers', (node) => solidReceivers(node, pool.address)),
      'what can be delegated': () =>
        chain.pool.ask('the most', (node) => canDelegateMaxOf(node, pool.address, 'ENERGY')),
    };
  };
  const WHAT = ['a sum', 'a solid sum', 'the receivers', 'what can be delegated'] as const;

  it.each(WHAT)('with HTTP 200 does not count as nothing: %s', async (what) => {
    const read = (await readings())[what];
    for (const says of [
      '{"message":"API rate limit exceeded"}',
      '{"result":{"result":false}}',
      '{"delegatedResource":"none","toAccounts":7,"max_size":"many"}',
      '{"delegatedResource":[null],"account":"of another","max_size":null}',
    ]) {
      const answer = (path: string) => (/getdelegated|getcandelegated/.test(path) ? { says } : undefined);
      [full.before, solid.before] = [answer, answer];
      await expect(read()).rejects.toThrow();
    }
  });

  it.each(WHAT)('does not count as empty, which would mean that there is nothing: %s', async (what) => {
    const read = (await readings())[what];
    const answer = (path: string) => (/getdelegated|getcandelegated/.test(path) ? { says: '{}' } : undefined);
    [full.before, solid.before] = [answer, answer];
    expect(await read()).toEqual(what === 'the receivers' ? new Set() : 0n);
  });

  it('is not that of a wallet without delegations', async () => {
    const chain = (await SteppedWorker.open()).chain();
    const none = await chain.pool.ask('receivers', (node) => solidReceivers(node, receivers[3]!));
    expect(none).toEqual(new Set());
    expect(await chain.pool.ask('the most', (node) => canDelegateMaxOf(node, receivers[3]!, 'ENERGY'))).toBe(0n);
  });
});

describe('acts that stay open', () => {
  /** More than one page of acts of the wallet, each of more stake than the receiver has from it. */
  async function tooLarge(type: number, receiver: string): Promise<void> {
    await api.database.query(
      `INSERT INTO orphan_tx (txid, wallet_id, type, by_own_key, receive_address, amount_sun, raw_data, block_number, block_id, block_at)
       SELECT sha256(n::text::bytea), (SELECT id FROM pool_wallet WHERE address = $2), $1, false, $3, 1000000000000000,
         n::text::bytea, 1, '\\x00', now() FROM generate_series($1 * 1000, $1 * 1000 + 249) AS n`,
      [type, pool.address, receiver],
    );
  }

  it('keep no later delegation from being reclaimed', async () => {
    const worker = await SteppedWorker.open(NO_GRACE);
    await act('delegateresource', 500_000_000n, receivers[0]!);
    await tooLarge(DELEGATE_TYPE, receivers[0]!);
    const txid = await act('delegateresource', 600_000_000n, receivers[1]!);
    await mine(SOLID_LAG + 1);
    await worker.search();
    await worker.reclaims().reclaim();
    await worker.reclaims().reclaim();
    expect(await api.database.query(`SELECT FROM orders WHERE key = 'orphan:' || $1`, [txid])).toHaveLength(1);
  });

  it('keep no later undelegation from ending its rental', async () => {
    const worker = await SteppedWorker.open();
    const [other, key] = [await settledOrder(worker, receivers[0]), await settledOrder(worker, receivers[1])];
    await act('undelegateresource', 1_000_000n, receivers[0]!);
    await tooLarge(UNDELEGATE_TYPE, receivers[0]!);
    await act('undelegateresource', await soldSun(key), receivers[1]!);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await worker.search();
    const acts = worker.part(ForeignUndelegations);
    await acts.closeLegs();
    await acts.closeLegs();
    const open = await api.database.query<{ key: string }>(
      `SELECT o.key FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = ANY ($1) AND l.status = 'active'`,
      [[other, key]],
    );
    expect(open).toEqual([{ key: other }]);
  });
});
