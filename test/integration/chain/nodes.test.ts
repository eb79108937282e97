// Several nodes: selection, trust, and the request budget.
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { ChainUnavailableError } from '../../../src/platform/chain/errors.js';
import { accountAt, keysInClear, nodeOptionsOf } from '../../../src/platform/chain/configured-nodes.js';
import { History } from '../../../src/platform/chain/history.js';
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode, type NodeOptions } from '../../../src/platform/chain/node.js';
import { RequestBudget } from '../../../src/platform/chain/request-budget.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { monotonicMs } from '../../../src/platform/support/clock.js';
import { readConfig, type Config } from '../../../src/platform/config/config.js';
import { Proofs } from '../../../src/modules/fulfilment/send/proof.js';
import type { ClaimedTx } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { until } from '../../../packages/local/src/wait.js';
import { openFaultyNode, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

let chain: Devnet;
let first: FaultyNode;
let second: FaultyNode;
const holder = newOwner();
const pools: NodePool[] = [];

beforeAll(async () => {
  chain = await startDevnet({
    genesis: { accounts: [{ address: holder.address, balance: 5_000_000 }] },
    blockMs: 0,
    second: { behind: 0, solidLag: 1 },
  });
  await chain.control('mine', { count: 150 });
  first = await openFaultyNode(chain.fullUrl);
  second = await openFaultyNode(chain.second!.fullUrl);
});

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()));
  first.mend();
  second.mend();
  await chain.control('node', { index: 1, behind: 0 });
});

afterAll(async () => {
  await first.close();
  await second.close();
  await chain.stop();
});

function optionsOf(node: FaultyNode, solidUrl: string, more: Partial<NodeOptions> = {}): NodeOptions {
  return {
    fullUrl: node.url,
    solidUrl,
    apiKey: undefined,
    readTimeoutMs: 1000,
    broadcastTimeoutMs: 1000,
    headStallSec: 30,
    headAgeMaxSec: 0,
    ...more,
  };
}

function clientOf(more: Partial<NodeOptions> = {}): TronClient {
  const nodes = [
    new TronNode(optionsOf(first, chain.solidUrl, more)),
    new TronNode(optionsOf(second, chain.second!.solidUrl, more)),
  ];
  const pool = new NodePool(nodes, 50);
  pools.push(pool);
  pool.start();
  return new TronClient(pool);
}

const namesAsked = async (client: TronClient): Promise<string> => {
  await client.account(holder.address);
  return client.pool.ask('its name', (node) => Promise.resolve(node.name));
};
const nameOf = (node: FaultyNode): string => new URL(node.url).host;
const healthyNames = (client: TronClient): string =>
  client.pool
    .healthy()
    .map((node) => node.name)
    .join();

it('skips a node a hundred blocks behind, even if it is named first, until it has caught up', async () => {
  await second.freeze('wallet/getblock');
  await chain.control('mine', { count: 100 });
  const nodes = [
    new TronNode(optionsOf(second, chain.second!.solidUrl)),
    new TronNode(optionsOf(first, chain.solidUrl)),
  ];
  const pool = new NodePool(nodes, 50);
  pools.push(pool);
  expect(await namesAsked(new TronClient(pool))).toBe(nameOf(first));
  expect(pool.healthy().map((node) => node.name)).toEqual([nameOf(first)]);
  second.mend();
  pool.start();
  await until(() => (pool.healthy().length === 2 ? true : undefined), 5000, 'the node catching up');
});

it('skips a node far behind even while the only good one has a short failure', async () => {
  const client = clientOf();
  // Both must be known first: one healthy node could also mean that the other was not probed yet.
  await until(() => (client.pool.healthy().length === 2 ? true : undefined), 5000, 'both nodes being known');
  await second.freeze('wallet/getblock');
  await chain.control('mine', { count: 100 });
  // Waits until only the first is healthy. For a moment the second may be, while the first makes a hundred blocks.
  await until(() => healthyNames(client) === nameOf(first) || undefined, 5000, 'the lag being seen');
  first.fail({ kind: 'down' });
  await expect(client.account(holder.address)).rejects.toBeInstanceOf(ChainUnavailableError);
});

it('does not probe a node whose head is read anyway, and probes it again once no one reads it', async () => {
  const node = new TronNode(optionsOf(first, chain.solidUrl));
  const other = new TronNode(optionsOf(second, chain.second!.solidUrl));
  const pool = new NodePool([node, other], 300);
  pools.push(pool);
  const askedOf = (of: FaultyNode): number => of.asked.get('wallet/getblock') ?? 0;
  await node.readHead();
  const [before, otherBefore] = [askedOf(first), askedOf(second)];
  pool.start();
  let ours = 0;
  await until(
    async () => {
      await node.readHead();
      ours += 1;
      return askedOf(second) >= otherBefore + 5 || undefined;
    },
    10_000,
    'five probes of the other',
    10,
  );
  // One or two more probes are allowed when this machine stalls for an interval.
  expect(askedOf(first) - before - ours).toBeLessThanOrEqual(2);
  const quietFrom = askedOf(first);
  await until(() => askedOf(first) >= quietFrom + 3 || undefined, 10_000, 'probes once nobody else asks');
});

it.each(['{}', '{"Error":"java.lang.NullPointerException"}', '<html>'])(
  'disbelieves a node that answers %s when asked for its head until it answers a block again',
  async (body) => {
    const client = clientOf();
    await until(() => (client.pool.healthy().length === 2 ? true : undefined), 5000, 'both nodes being known');
    first.fail({ kind: 'says', body });
    // Long before its head counts as stalled.
    await until(() => healthyNames(client) === nameOf(second) || undefined, 5000, 'the babble being noticed');
    expect(await client.account(holder.address)).toBeDefined();
    first.mend();
    await until(() => (client.pool.healthy().length === 2 ? true : undefined), 5000, 'the node being believed again');
  },
);

it('does not ask a node whose head stands still, and no one answers in its place', async () => {
  const client = clientOf({ headStallSec: 1 });
  await client.head();
  await until(() => (client.pool.healthy().length === 0 ? true : undefined), 5000, 'both heads standing still');
  await expect(client.account(holder.address)).rejects.toBeInstanceOf(ChainUnavailableError);
  await chain.control('mine', { count: 1 });
  await until(async () => client.account(holder.address).catch(() => undefined), 5000, 'the heads moving again');
});

it('backends behind one name that stand still by turns are no moving head', async () => {
  const client = clientOf({ headStallSec: 1 });
  await client.head();
  const flapping = setInterval(() => {
    const behind = Math.random() < 0.5 ? 0 : 1;
    void chain.control('node', { index: 1, behind });
  }, 60);
  try {
    await until(() => (client.pool.healthy().length === 0 ? true : undefined), 5000, 'both heads standing still');
  } finally {
    clearInterval(flapping);
  }
});

it.each([
  ['429', { kind: 'says', status: 429, body: '' }],
  ['403', { kind: 'says', status: 403, body: '' }],
  ['503', { kind: 'says', status: 503, body: '' }],
  [
    'a suspended key',
    {
      kind: 'says',
      body: '{"Error":"The key exceeds the frequency limit(15), and the query server is suspended for 30s"}',
    },
  ],
] as const)('leaves a node that throttles with %s alone, and asks the other one', async (_name, fault) => {
  const client = clientOf();
  await client.head();
  first.fail(fault);
  expect(await namesAsked(client)).toBe(nameOf(second));
  const before = [...first.asked.values()].reduce((sum, count) => sum + count, 0);
  for (let asked = 0; asked < 20; asked += 1) await client.account(holder.address);
  expect([...first.asked.values()].reduce((sum, count) => sum + count, 0)).toBe(before);
});

it('asks a throttling node nothing for a while, except broadcasts', async () => {
  const node = new TronNode(optionsOf(first, first.url));
  first.fail({ kind: 'says', status: 429, body: '' });
  await expect(node.postFull('wallet/getaccount', {})).rejects.toThrow('throttled');
  const asked = (): number => [...first.asked.values()].reduce((sum, count) => sum + count, 0);
  const before = asked();
  await expect(node.postSolid('walletsolidity/getaccount', {})).rejects.toThrow('throttled');
  await expect(node.readHead()).rejects.toThrow('throttled');
  expect(asked()).toBe(before);
  await expect(node.broadcastHex('00')).rejects.toThrow('throttled');
  expect(asked()).toBe(before + 1);
});

it('judges a node by its remaining backends, once the highest one has been silent for long', async () => {
  const node = new TronNode(optionsOf(second, chain.second!.solidUrl, { headStallSec: 1 }));
  await node.readHead();
  await chain.control('node', { index: 1, behind: 60 });
  const stops = async (): Promise<true | undefined> => {
    await node.readHead();
    return node.isMoving ? undefined : true;
  };
  await until(stops, 5000, 'its standing still');
  const moves = async (): Promise<true | undefined> => {
    await chain.control('mine', { count: 1 });
    await node.readHead();
    return node.isMoving ? true : undefined;
  };
  await until(moves, 5000, 'its moving', 100);
});

describe('keys and limits', () => {
  const settings = {
    DATABASE_URL: 'postgres://x/y',
    REDIS_URL: 'redis://x',
    TOKEN_CONTRACT: holder.address,
    MASTER_KEY: randomBytes(32).toString('base64'),
  };

  it.each([
    ['a single one belongs to the first node', 'first-key', ['first-key', undefined]],
    ['an empty entry means none', ',second-key', [undefined, 'second-key']],
    ['each goes to its own node', 'first-key,second-key', ['first-key', 'second-key']],
  ])('%s', async (_, keys, expected) => {
    const { chain: named } = readConfig({
      ...settings,
      TRON_FULL_NODE_URLS: `${first.url},${second.url}`,
      TRON_SOLIDITY_NODE_URLS: `${first.url},${second.url}`,
      TRON_API_KEYS: keys,
    });
    for (const options of nodeOptionsOf(named)) await new TronNode(options).readHead();
    expect([first.keys.at(-1), second.keys.at(-1)]).toEqual(expected);
  });

  it('of a provider restrict no other node', () => {
    const urls = 'http://10.0.0.5:8090,https://api.trongrid.io';
    const named = { ...settings, TRON_FULL_NODE_URLS: urls, TRON_SOLIDITY_NODE_URLS: urls };
    const { chain: one } = readConfig({ ...named, TRON_REQUESTS_PER_SEC: ',15', TRON_API_KEYS: ',key' });
    expect(one.requestsPerSec).toEqual([0, 15]);
    expect(keysInClear(one)).toEqual([]);
    const { chain: other } = readConfig({ ...named, TRON_REQUESTS_PER_SEC: '15', TRON_API_KEYS: 'key' });
    expect(other.requestsPerSec).toEqual([15, 0]);
    expect(keysInClear(other)).toEqual(['10.0.0.5:8090']);
    expect(new Set(nodeOptionsOf(other).map(accountAt)).size).toBe(2);
    expect(() => readConfig({ ...named, TRON_API_KEYS: 'a,b,c' })).toThrow(/TRON_API_KEYS must be one value/);
    expect(() => readConfig({ ...named, TRON_REQUESTS_PER_SEC: '1,many' })).toThrow(/TRON_REQUESTS_PER_SEC/);
    expect(() => readConfig({ ...named, TRON_API_KEY: 'key' })).toThrow(/TRON_API_KEYS/);
  });
});

describe('a proof of death', () => {
  const history = new History(() => Promise.resolve(undefined));
  const config = { chain: { expirationSec: 60 } } as Config;
  const proofsOf = (client: TronClient): Proofs => new Proofs(client, history, config);

  async function deadTx(): Promise<ClaimedTx> {
    const head = await clientOf().head();
    const tx = {
      txid: randomBytes(32).toString('hex'),
      refBlockNumber: head.number - 2,
      expiresAtMs: head.timestampMs,
    };
    await chain.control('mine', { count: 4 });
    return tx as ClaimedTx;
  }

  it('requires the word of two nodes, each solid past the expiration', async () => {
    const tx = await deadTx();
    const verdict = await proofsOf(clientOf()).judge(tx);
    expect(verdict).toMatchObject({ kind: 'dead', evidence: { expiresAtMs: tx.expiresAtMs } });
    if (verdict.kind !== 'dead') throw new Error('no proof');
    const { absences, scanned, away } = verdict.evidence;
    expect(new Set(absences.map(({ node }) => node)).size).toBe(2);
    expect(scanned).toMatchObject({ node: absences[0]!.node, from: tx.refBlockNumber });
    expect(away).toBeUndefined();
  });

  it('fails while one of two nodes is behind the expiration', async () => {
    const tx = await deadTx();
    await chain.control('node', { index: 1, behind: 50 });
    expect(await proofsOf(clientOf()).judge(tx)).toMatchObject({ kind: 'unknown' });
  });

  it('does not count two names of one node as two witnesses, and also reads the blocks', async () => {
    const tx = await deadTx();
    const nodes = [first, second].map((face) => new TronNode(optionsOf(face, chain.solidUrl)));
    const pool = new NodePool(nodes, 50);
    pools.push(pool);
    const verdict = await proofsOf(new TronClient(pool)).judge(tx);
    const scanned = { from: tx.refBlockNumber };
    expect(verdict).toMatchObject({ kind: 'dead', evidence: { absences: [{}], scanned } });
  });

  it('fails by one word while the full port of a witness without solid blocks has the transaction', async () => {
    const tx = await deadTx();
    const options = [optionsOf(first, chain.solidUrl), optionsOf(second, 'http://127.0.0.1:1')];
    const pool = new NodePool(
      options.map((each) => new TronNode(each)),
      50,
      1,
    );
    pools.push(pool);
    const proofs = proofsOf(new TronClient(pool));
    const verdict = async () => {
      const judged = await proofs.judge(tx);
      return judged.kind === 'unknown' ? undefined : judged;
    };
    const place = JSON.stringify({ id: tx.txid, blockNumber: 3, blockTimeStamp: 1 });
    second.fail({ kind: 'says', body: place }, 'wallet/gettransactioninfobyid');
    expect(await until(verdict, 10_000, 'a verdict', 50)).toEqual({ kind: 'found', blockNumber: 3 });
    second.mend();
    expect(await verdict()).toMatchObject({ kind: 'dead', evidence: { absences: [{}], away: [{}] } });
  });

  it('fails if one node lies about absence and the other one has the transaction', async () => {
    const liar = await openFaultyNode(chain.solidUrl);
    const honest = await openFaultyNode(chain.second!.solidUrl);
    try {
      const tx = await deadTx();
      const place = JSON.stringify({ id: tx.txid, blockNumber: 3, blockTimeStamp: 1 });
      liar.fail({ kind: 'says', body: '{}' }, 'walletsolidity/gettransactioninfobyid');
      honest.fail({ kind: 'says', body: place }, 'walletsolidity/gettransactioninfobyid');
      const pool = new NodePool(
        [new TronNode(optionsOf(first, liar.url)), new TronNode(optionsOf(second, honest.url))],
        50,
      );
      pools.push(pool);
      expect(await proofsOf(new TronClient(pool)).judge(tx)).toEqual({ kind: 'found', blockNumber: 3 });
    } finally {
      await liar.close();
      await honest.close();
    }
  });
});

describe('the request budget', () => {
  let store: TestRedis;

  beforeAll(async () => {
    store = await createTestRedis();
  });

  afterAll(() => store.close());

  const budgetOn = (redis: Redis, waitMaxMs: number, requestsPerSec = 10) =>
    new RequestBudget({ redis, prefix: `t${randomBytes(4).toString('hex')}`, account: 'k', requestsPerSec, waitMaxMs });

  it('is one for all processes with the same key, and reserves places for broadcasts', async () => {
    const redis = new Redis(store.url, { enableOfflineQueue: false, lazyConnect: true });
    await redis.connect();
    try {
      const prefix = `t${randomBytes(4).toString('hex')}`;
      const common = { redis, prefix, account: 'k', requestsPerSec: 10, waitMaxMs: 5 };
      const [one, other] = [new RequestBudget(common), new RequestBudget(common)];
      const admitted: boolean[] = [];
      const startedMs = monotonicMs();
      for (let index = 0; index < 30; index += 1) admitted.push(await (index % 2 === 0 ? one : other).admit(false));
      const seconds = Math.ceil((monotonicMs() - startedMs) / 1000);
      expect(admitted.filter(Boolean).length).toBeLessThanOrEqual(7 * seconds);
      expect(admitted.filter(Boolean).length).toBeGreaterThanOrEqual(7);
      expect(await one.admit(true)).toBe(true);
    } finally {
      redis.disconnect();
    }
  });

  it('gives optional requests a place only while half of them are free, and none without Redis', async () => {
    const redis = new Redis(store.url, { enableOfflineQueue: false, lazyConnect: true });
    await redis.connect();
    const busy = budgetOn(redis, 5, 1000);
    expect(await busy.admitSpare()).toBe(true);
    let isRefused = false;
    // Another second, with all of its places free, may have begun meanwhile.
    for (let second = 0; second < 5 && !isRefused; second += 1) {
      await Promise.all(Array.from({ length: 700 }, () => busy.admit(true)));
      isRefused = !(await busy.admitSpare());
    }
    expect(isRefused).toBe(true);
    redis.disconnect();
    expect(await budgetOn(redis, 5, 1000).admitSpare()).toBe(false);
  });

  it('gives callers of the API at most half of its places, and a separate queue', async () => {
    const redis = new Redis(store.url, { enableOfflineQueue: false });
    try {
      const budget = budgetOn(redis, 4000);
      // Enough to block a shared line.
      const asked = Array.from({ length: 100 }, () => budget.admitCaller());
      for (let index = 0; index < 5; index += 1) expect(await budget.admit(false)).toBe(true);
      expect((await Promise.all(asked)).filter(Boolean).length).toBeGreaterThanOrEqual(5);
      // Shorter than a window, so that all places are of one.
      const hasty = budgetOn(redis, 500, 100);
      const admitted = await Promise.all(Array.from({ length: 100 }, () => hasty.admitCaller()));
      expect(admitted.filter(Boolean).length).toBeLessThanOrEqual(50);
    } finally {
      redis.disconnect();
    }
  });

  it('limits each process to a part of it while Redis is away', async () => {
    const redis = new Redis('redis://127.0.0.1:1', {
      enableOfflineQueue: false,
      lazyConnect: true,
      retryStrategy: () => null,
    });
    redis.on('error', () => undefined);
    const budget = budgetOn(redis, 20, 40);
    const startedMs = monotonicMs();
    let admitted = 0;
    for (let index = 0; index < 40; index += 1) if (await budget.admit(false)) admitted += 1;
    const seconds = Math.ceil((monotonicMs() - startedMs) / 1000) + 1;
    expect(admitted).toBeLessThanOrEqual(10 * seconds);
    expect(admitted).toBeGreaterThanOrEqual(10);
    redis.disconnect();
  });
});

it('asks another node if one does not run constant calls', async () => {
  const message = 'this node does not support constant';
  const body = JSON.stringify({ result: { code: 'CONTRACT_VALIDATE_ERROR', message } });
  const call = { ownerAddress: holder.address, contractAddress: holder.address, data: '70a08231' };
  const outcome = await clientOf().simulate(call);
  first.fail({ kind: 'says', body }, 'wallet/triggerconstantcontract');
  expect(await clientOf().simulate(call)).toEqual(outcome);
  second.fail({ kind: 'says', body }, 'wallet/triggerconstantcontract');
  await expect(clientOf().simulate(call)).rejects.toThrow(ChainUnavailableError);
});
