// Several names of one node, such as two keys of one provider, and a provider that forbids one path.
import { randomBytes } from 'node:crypto';
import { idOf } from '../../../src/platform/chain/block-header.js';
import { nodeOptionsOf } from '../../../src/platform/chain/configured-nodes.js';
import { History } from '../../../src/platform/chain/history.js';
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig, type Config } from '../../../src/platform/config/config.js';
import type { ClaimedTx } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { Proofs } from '../../../src/modules/fulfilment/send/proof.js';
import { until } from '../../../packages/local/src/wait.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { openFaultyNode, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';

const LIMIT_MS = 10_000;
const LIMITS = { readTimeoutMs: 1000, broadcastTimeoutMs: 1000, headStallSec: 30, headAgeMaxSec: 0 };
const config = { chain: { expirationSec: 60 } } as Config;

let chain: Devnet;
let full: FaultyNode;
let solid: FaultyNode;
const pools: NodePool[] = [];

beforeAll(async () => {
  chain = await startDevnet({
    genesis: { accounts: [{ address: newOwner().address, balance: 5_000_000 }] },
    blockMs: 0,
    solidLag: 1,
    second: { behind: 0, solidLag: 1 },
  });
  await chain.control('mine', { count: 30 });
  [full, solid] = await Promise.all([openFaultyNode(chain.fullUrl), openFaultyNode(chain.solidUrl)]);
});

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()));
  full.mend();
  solid.mend();
});

afterAll(async () => {
  await Promise.all([full.close(), solid.close()]);
  await chain.stop();
});

function settings(more: Record<string, string> = {}): Config {
  return readConfig({
    DATABASE_URL: 'postgres://x/y',
    REDIS_URL: 'redis://x',
    TOKEN_CONTRACT: newOwner().address,
    MASTER_KEY: randomBytes(32).toString('base64'),
    TRON_FULL_NODE_URLS: full.url,
    TRON_SOLIDITY_NODE_URLS: solid.url,
    ...more,
  });
}

/** Returns one node of the provider for each key. */
async function nodesWith(...keys: readonly string[]): Promise<readonly TronNode[]> {
  const nodes = keys.map(
    (apiKey) =>
      new TronNode({
        fullUrl: full.url,
        solidUrl: solid.url,
        apiKey,
        ...LIMITS,
      }),
  );
  await Promise.all(nodes.map((node) => node.readHead()));
  return nodes;
}

function poolOf(nodes: readonly TronNode[], awayMaxMs?: number): NodePool {
  const pool = new NodePool(nodes, 50, awayMaxMs);
  pools.push(pool);
  return pool;
}

/** Refuses all requests with this key as a provider does whose quota for it is used up. */
function exhaust(key: string): void {
  for (const port of [full, solid]) port.fail({ kind: 'says', status: 429, body: '', key });
}

/** Returns an honest node of another provider. */
async function honestNode(solidUrl = chain.solidUrl): Promise<TronNode> {
  const node = new TronNode({ fullUrl: chain.fullUrl, solidUrl, apiKey: undefined, ...LIMITS });
  await node.readHead();
  return node;
}

/** Makes the provider answer with a forged head, some blocks higher and some time later than its own. */
async function forgeHead(blocks: number, ms: number): Promise<void> {
  const answer = await fetch(`${chain.fullUrl}/wallet/getblock`, { method: 'POST', body: '{"detail":false}' });
  const block = (await answer.json()) as { block_header: { raw_data: { number: number; timestamp: number } } };
  const { raw_data: raw } = block.block_header;
  const forged = { ...raw, number: raw.number + blocks, timestamp: raw.timestamp + ms };
  const body = { ...block, blockID: idOf(forged), block_header: { ...block.block_header, raw_data: forged } };
  full.fail({ kind: 'says', body: JSON.stringify(body) }, 'wallet/getblock');
}

/** Returns a transaction that no block holds and that expires at the head, after which further blocks come. */
async function deadTx(node: TronNode): Promise<ClaimedTx> {
  const head = await node.readHead();
  await chain.control('mine', { count: 4 });
  const txid = randomBytes(32).toString('hex');
  return { txid, refBlockNumber: head.number - 2, expiresAtMs: head.timestampMs } as ClaimedTx;
}

describe('two keys of the only provider', () => {
  it('prove a death by the second one while the first one is exhausted', async () => {
    const [one, other] = await nodesWith('exhausted', 'good');
    const tx = await deadTx(other!);
    exhaust('exhausted');
    await expect(one!.readHead()).rejects.toThrow('throttled');
    const proofs = new Proofs(
      new TronClient(poolOf([one!, other!])),
      new History(() => Promise.resolve(undefined)),
      config,
    );
    expect(await proofs.judge(tx)).toMatchObject({ kind: 'dead', evidence: { absences: [{}] } });
  });

  it('let the time of the chain move on by the second one once the first one is away', async () => {
    const [one, other] = await nodesWith('exhausted', 'good');
    exhaust('exhausted');
    const { agreement } = poolOf([one!, other!], 1);
    const clockAtHead = async (): Promise<true | undefined> => {
      await one!.readHead().catch(() => undefined);
      await chain.control('mine', { count: 1 });
      const head = await other!.readHead();
      return agreement.clockMs === head.timestampMs || undefined;
    };
    await until(clockAtHead, LIMIT_MS, 'the time of the head', 50);
  });

  it('do not outvote another provider, and the second one is asked when the first one fails', async () => {
    const keyed = await nodesWith('one', 'other');
    const honest = await honestNode();
    const client = new TronClient(poolOf([...keyed, honest]));
    const { parameterBounds } = settings().market;
    expect(await client.chainParameters(parameterBounds)).toMatchObject({ energyFeeSun: 100n });
    const parameters = 'wallet/getchainparameters';
    const text = JSON.stringify(await honest.postFull(parameters, {}));
    full.fail({ kind: 'says', body: text.replace(/("key":"getEnergyFee","value":)\d+/, '$150') }, parameters);
    await expect(client.chainParameters(parameterBounds)).rejects.toThrow('the chain parameters alike');
    full.fail({ kind: 'says', status: 500, body: '', key: 'one' }, parameters);
    expect(await client.chainParameters(parameterBounds)).toMatchObject({ energyFeeSun: 100n });
  });

  it('put two other providers behind no head that they alone report', async () => {
    const others = [await honestNode(), await honestNode(chain.second!.solidUrl)];
    await forgeHead(1000, 3_000_000);
    const keyed = await nodesWith('one', 'other');
    const { agreement } = poolOf([...keyed, ...others]);
    expect(keyed.map(({ head }) => head!.number - others[0]!.head!.number)).toEqual([1000, 1000]);
    expect(agreement.height).toBe(others[0]!.head!.number);
  });

  it('contradict another provider about the time of the chain without outvoting it', async () => {
    const honest = await honestNode();
    await forgeHead(0, 600_000);
    const keyed = await nodesWith('one', 'other');
    const { agreement } = poolOf([...keyed, honest]);
    expect(agreement.dispute).toMatchObject({ what: 'the time of the chain' });
    expect([...agreement.suspects]).toEqual([]);
    const { agreement: ofMore } = poolOf([...keyed, honest, await honestNode(chain.second!.solidUrl)]);
    expect(ofMore.dispute).toBeUndefined();
    expect([...ofMore.suspects]).toEqual(keyed);
  });

  it('are both disbelieved once two other providers contradict one of them', async () => {
    const others = [await honestNode(), await honestNode(chain.second!.solidUrl)];
    const keyed = await nodesWith('one', 'other');
    const { agreement } = poolOf([...keyed, ...others]);
    const honest = others.map((node) => ({ node, says: 'a block' }));
    agreement.compare('a final block', [{ node: keyed[0]!, says: 'another block' }, ...honest]);
    expect([...agreement.suspects]).toEqual(keyed);
  });

  it('are one witness, even if the second one takes the place of the first one during a proof', async () => {
    const [one, other] = await nodesWith('exhausted', 'good');
    const tx = await deadTx(other!);
    const pool = poolOf([one!, other!]);
    const failing = new History(async () => {
      exhaust('exhausted');
      await expect(one!.readHead()).rejects.toThrow('throttled');
      // The blocks of the proof are still read with the first key.
      full.mend();
      solid.mend();
      await until(() => (one!.isSilenced ? undefined : true), LIMIT_MS, 'the end of its silence');
      return undefined;
    });
    const verdict = await new Proofs(new TronClient(pool), failing, config).judge(tx);
    expect(pool.agreement.witnesses).toEqual([other]);
    expect(verdict).toMatchObject({ kind: 'dead', evidence: { absences: [{}] } });
  });
});

it('each node of one host has a name of its own, so that no metric hides another', () => {
  const urls = 'https://api.example.com,http://10.0.0.1:8090,https://api.example.com';
  const named = { TRON_FULL_NODE_URLS: urls, TRON_SOLIDITY_NODE_URLS: urls, TRON_API_KEYS: 'one,,other' };
  const names = nodeOptionsOf(settings(named).chain).map((options) => new TronNode(options).name);
  expect(names).toEqual(['api.example.com', '10.0.0.1:8090', 'api.example.com (2)']);
});

describe('a provider that forbids one path', () => {
  it('is asked for everything else without a pause', async () => {
    const [node] = await nodesWith('key');
    const path = 'wallet/getcontractinfo';
    full.fail({ kind: 'says', status: 403, body: 'Forbidden' }, path);
    await expect(node!.postFull(path, {})).rejects.toThrow('throttled');
    await until(async () => node!.readHead().catch(() => undefined), LIMIT_MS, 'its being asked again', 50);
    await expect(node!.postFull(path, {})).rejects.toThrow('answered HTTP 403');
    expect(await node!.readHead()).toBeDefined();
  });
});
