// The doctor's findings about nodes: release, peers, lag, fork switches and settings, each shown failing once.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { nodeOptionsOf } from '../../../src/platform/chain/configured-nodes.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig, type Config } from '../../../src/platform/config/config.js';
import { checkNodes } from '../../../src/modules/diagnostics/doctor-chain.js';
import type { DoctorFinding } from '../../../src/modules/diagnostics/doctor-finding.js';
import { checkCalls, checkFees } from '../../../src/modules/diagnostics/doctor-market.js';
import { openFaultyNode, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { settings } from '../../support/cli.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';

const PATIENCE_MS = 5000;
const INFO = 'wallet/getnodeinfo';
const PARAMETERS = 'wallet/getchainparameters';
const CALL = 'wallet/triggerconstantcontract';

type Json = Record<string, unknown>;

let chain: Devnet;
let first: FaultyNode;
let second: FaultyNode;

beforeAll(async () => {
  chain = await startDevnet({
    genesis: { accounts: [{ address: newChainAccount().address, balance: 1_000_000 }] },
    second: { behind: 0, solidLag: 1 },
  });
  [first, second] = await Promise.all([openFaultyNode(chain.fullUrl), openFaultyNode(chain.second!.fullUrl)]);
});

afterEach(async () => {
  first.mend();
  second.mend();
  await chain.control('node', { index: 1, behind: 0 });
});

afterAll(async () => {
  await Promise.all([first.close(), second.close()]);
  await chain.stop();
});

function configOf(env: Record<string, string> = {}): Config {
  const urls = {
    TRON_FULL_NODE_URLS: `${first.url},${second.url}`,
    TRON_SOLIDITY_NODE_URLS: `${chain.solidUrl},${chain.second!.solidUrl}`,
  };
  return readConfig(settings('postgres://nobody@127.0.0.1:1/none', { ...urls, ...env }));
}

/** The findings that are not ok, without those of one host and of the chain's own time, which runs fast here. */
async function troubles(config = configOf()): Promise<DoctorFinding[]> {
  const findings = await checkNodes(config, PATIENCE_MS);
  return findings.filter(
    ({ check, state, says }) => state !== 'ok' && check !== 'quorum' && !says.includes("this machine's clock"),
  );
}

/** Lets a node answer `path` with its own answer after a change. */
async function change(node: FaultyNode, path: string, changeOf: (answer: Json) => Json): Promise<void> {
  const answer = await fetch(`${node.url}/${path}`, { method: 'POST', body: '{}' });
  const changed = changeOf((await answer.json()) as Json);
  node.fail({ kind: 'says', body: JSON.stringify(changed) }, path);
}

const withRelease = (codeVersion: string) => (info: Json) => ({
  ...info,
  configNodeInfo: { ...(info['configNodeInfo'] as Json), codeVersion },
});

interface Parameter {
  readonly key: string;
  readonly value?: number;
}
const withParameters = (changeOf: (all: readonly Parameter[]) => readonly Parameter[]) => (answer: Json) => ({
  chainParameter: changeOf(answer['chainParameter'] as readonly Parameter[]),
});
const without = (key: string) => withParameters((all) => all.filter((each) => each.key !== key));

const hostOf = ({ url }: FaultyNode) => new URL(url).host;

test('finds nothing at nodes of the current release that are in sync', async () => {
  expect(await troubles()).toEqual([]);
  const findings = await checkNodes(configOf(), PATIENCE_MS);
  for (const node of [first, second]) {
    expect(findings).toContainEqual({
      check: `release ${hostOf(node)}`,
      state: 'ok',
      says: 'It runs java-tron 4.8.2.',
    });
    expect(findings).toContainEqual(expect.objectContaining({ check: `peers ${hostOf(node)}`, state: 'ok' }));
  }
});

describe('release', () => {
  test('warns of a chain that behaves like java-tron 4.8.0', async () => {
    const old = await startDevnet({
      genesis: { version: '4.8.0', accounts: [{ address: newChainAccount().address, balance: 1_000_000 }] },
    });
    try {
      const urls = { TRON_FULL_NODE_URLS: old.fullUrl, TRON_SOLIDITY_NODE_URLS: old.solidUrl };
      expect(await troubles(configOf(urls))).toEqual([
        {
          check: `release ${new URL(old.fullUrl).host}`,
          state: 'warning',
          says: expect.stringContaining('It runs java-tron 4.8.0, so it is older than 4.8.2.'),
          todo: expect.stringContaining('your-node.md'),
        },
      ]);
    } finally {
      await old.stop();
    }
  });

  test('is a fault below 4.8.0, and two nodes of different releases are a warning', async () => {
    await change(second, INFO, withRelease('4.7.7'));
    expect(await troubles()).toEqual([
      {
        check: `release ${hostOf(second)}`,
        state: 'fault',
        says: 'It runs java-tron 4.7.7. The service needs 4.8.0 or newer.',
        todo: expect.stringContaining('java-tron 4.8.2'),
      },
      {
        check: 'releases',
        state: 'warning',
        says: `The nodes run different releases: 4.8.2 at ${hostOf(first)}, 4.7.7 at ${hostOf(second)}.`,
        todo: expect.stringContaining('java-tron 4.8.2'),
      },
    ]);
  });

  test('is asked for if a hosted node refuses to report it', async () => {
    for (const status of [403, 404]) {
      first.fail({ kind: 'says', status, body: '{"Error":"this API is unavailable due to config"}' }, INFO);
      expect(await troubles()).toContainEqual({
        check: `release ${hostOf(first)}`,
        state: 'warning',
        says: 'It does not report its release (wallet/getnodeinfo).',
        todo: expect.stringContaining('4.8.2'),
      });
    }
  });

  test('follows from the chain parameters if the node does not report it', async () => {
    first.fail({ kind: 'says', status: 404, body: 'Not Found' }, INFO);
    await change(first, PARAMETERS, without('getAllowTvmOsaka'));
    expect(await troubles()).toContainEqual(
      expect.objectContaining({
        check: `release ${hostOf(first)}`,
        state: 'warning',
        says: expect.stringContaining('It lacks the chain parameter getAllowTvmOsaka'),
      }),
    );
  });
});

describe('fork switches', () => {
  test('are compared between the nodes, by value and by presence', async () => {
    await change(first, PARAMETERS, without('getAllowTvmOsaka'));
    await change(
      second,
      PARAMETERS,
      withParameters((all) => all.map((each) => (each.key === 'getAllowTvmPrague' ? { key: each.key } : each))),
    );
    expect(await troubles()).toContainEqual({
      check: 'fork switches',
      state: 'warning',
      says:
        `The nodes follow different rules: getAllowTvmOsaka is absent at ${hostOf(first)}, 1 at ${hostOf(second)}; ` +
        `getAllowTvmPrague is 1 at ${hostOf(first)}, 0 at ${hostOf(second)}.`,
      todo: expect.stringMatching(/\w{4}/),
    });
  });

  test('of one node that lacks a switch of its own release name several nodes behind one URL', async () => {
    await change(first, PARAMETERS, without('getAllowTvmOsaka'));
    expect(await troubles()).toContainEqual(
      expect.objectContaining({ check: `release ${hostOf(first)}`, todo: expect.stringContaining('share its URL') }),
    );
  });
});

describe('peers', () => {
  test('a node without peers gets a warning that names its port', async () => {
    await change(first, INFO, (info) => ({ ...info, currentConnectCount: 0, activeConnectCount: 0 }));
    expect(await troubles()).toEqual([
      {
        check: `peers ${hostOf(first)}`,
        state: 'warning',
        says: expect.stringContaining('no peers'),
        todo: expect.stringContaining('node.listen.port'),
      },
    ]);
  });

  test('a node that fetches blocks from every peer is still syncing', async () => {
    const peers = (...needs: boolean[]) => needs.map((needSyncFromPeer) => ({ host: '/192.0.2.1', needSyncFromPeer }));
    await change(first, INFO, (info) => ({ ...info, peerList: peers(true, true) }));
    await change(second, INFO, (info) => ({ ...info, peerList: peers(true, false) }));
    expect(await troubles()).toEqual([
      expect.objectContaining({
        check: `peers ${hostOf(first)}`,
        says: expect.stringContaining('fetching old blocks'),
      }),
    ]);
  });
});

test('a node far behind the others is a fault, because it gets no requests', async () => {
  await chain.control('node', { index: 1, behind: 40 });
  const faults = (await troubles()).filter(({ state }) => state === 'fault');
  expect(faults).toEqual([
    {
      check: `node ${hostOf(second)}`,
      state: 'fault',
      says: expect.stringMatching(/^The node is [34]\d blocks behind the newest head, so it gets no requests\.$/),
      todo: expect.stringContaining('caught up'),
    },
  ]);
});

test('an API key that travels unencrypted is a warning that names the host', async () => {
  const config = configOf({
    TRON_SOLIDITY_NODE_URLS: `http://node.invalid:8091,${chain.second!.solidUrl}`,
    TRON_API_KEYS: 'key,',
  });
  expect(await checkNodes(config, PATIENCE_MS)).toContainEqual({
    check: 'API key',
    state: 'warning',
    says: 'The key goes to node.invalid:8091 unencrypted.',
    todo: expect.stringContaining('https://'),
  });
});

test('a main net whose head may be of any age is a warning that names the setting', async () => {
  const isOfAge = ({ check }: DoctorFinding): boolean => check === 'head age';
  expect((await troubles()).filter(isOfAge)).toEqual([]);
  const mainNet = await openMainNetLikeness();
  try {
    const env = { TRON_FULL_NODE_URLS: mainNet.url, TRON_SOLIDITY_NODE_URLS: chain.solidUrl };
    expect((await troubles(configOf(env))).filter(isOfAge)).toEqual([
      { check: 'head age', state: 'warning', says: expect.any(String), todo: 'Set TRON_HEAD_AGE_MAX_SEC=60.' },
    ]);
    expect((await troubles(configOf({ ...env, TRON_HEAD_AGE_MAX_SEC: '60' }))).filter(isOfAge)).toEqual([]);
  } finally {
    await mainNet.close();
  }
});

/** The first node, with the genesis block of the main network. */
async function openMainNetLikeness(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const id = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const answer = await fetch(`${chain.fullUrl}${request.url ?? ''}`, { method: 'POST', body });
      const json = (await answer.json()) as Json;
      const isGenesis = /"(?:id_or_num|num)":"?0"?[,}]/.test(body);
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify(isGenesis ? { ...json, blockID: id } : json));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

test('a closed solidity port names the setting of the node', async () => {
  // The full port stands for both: java-tron serves no walletsolidity there.
  const findings = await checkNodes(configOf({ TRON_SOLIDITY_NODE_URLS: `${first.url},${second.url}` }), PATIENCE_MS);
  expect(findings).toContainEqual({
    check: `solidity ${hostOf(first)}`,
    state: 'fault',
    says: expect.stringContaining('no usable answer'),
    todo: expect.stringContaining('node.http.solidityEnable = true'),
  });
});

/** Runs a check with a client of both nodes. */
async function withClient(look: (client: TronClient, config: Config) => Promise<DoctorFinding[]>) {
  const config = configOf();
  const nodes = nodeOptionsOf(config.chain).map((options) => new TronNode(options));
  const pool = new NodePool(nodes, 1000);
  try {
    return await look(new TronClient(pool), config);
  } finally {
    await pool.stop();
  }
}

describe('fees', () => {
  const withEnergyFee = (value: number) =>
    withParameters((all) => all.map((each) => (each.key === 'getEnergyFee' ? { ...each, value } : each)));

  test('outside their bounds are a fault that names the parameter', async () => {
    for (const node of [first, second]) await change(node, PARAMETERS, withEnergyFee(5000));
    expect(await withClient(checkFees)).toEqual([
      {
        check: 'fees',
        state: 'fault',
        says: expect.stringContaining('getEnergyFee (5000, not 10 to 1000)'),
        todo: expect.stringContaining('ENERGY_FEE_BOUNDS_SUN'),
      },
    ]);
  });

  test('that no node reports do not blame their bounds', async () => {
    for (const node of [first, second]) node.fail({ kind: 'down' }, PARAMETERS);
    expect(await withClient(checkFees)).toEqual([
      expect.objectContaining({ check: 'fees', state: 'warning', todo: 'Fix the nodes first.' }),
    ]);
  });
});

describe('constant calls', () => {
  const calls = () => withClient(checkCalls);

  const refusal = (code: string, message: string) => JSON.stringify({ result: { code, message } });

  test('that a node does not support name vm.supportConstant', async () => {
    first.fail({ kind: 'says', body: refusal('CONTRACT_VALIDATE_ERROR', 'this node does not support constant') }, CALL);
    expect(await calls()).toEqual([
      expect.objectContaining({ state: 'fault', todo: expect.stringContaining('vm.supportConstant = true') }),
      expect.objectContaining({ state: 'ok' }),
    ]);
  });

  test('that run out of time name vm.constantCallTimeoutMs, in text and in hex', async () => {
    const reason =
      "class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'SLOAD' operation executing";
    first.fail({ kind: 'says', body: refusal('OTHER_ERROR', reason) }, CALL);
    second.fail({ kind: 'says', body: refusal('OTHER_ERROR', Buffer.from(reason).toString('hex')) }, CALL);
    const named = { state: 'warning', todo: expect.stringContaining('vm.constantCallTimeoutMs') };
    expect(await calls()).toEqual([expect.objectContaining(named), expect.objectContaining(named)]);
  });
});
