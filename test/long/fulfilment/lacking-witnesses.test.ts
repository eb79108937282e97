// Two nodes, one of which has headers and heads but not the contents of its blocks: pruned, cut short, or not
// answering.
import 'reflect-metadata';
import { until } from '../../../packages/local/src/wait.js';
import {
  api,
  clearFixture,
  closeFixture,
  devnet,
  full,
  mine,
  openFixture,
  orderOf,
  pool,
  receivers,
  settledOrder,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';
import { actAs } from '../../support/chain/order-chain.js';
import type { Meddling, SpyNode } from '../../support/nodes/spy-node.js';
import {
  eventually,
  MOVE_LIMIT_MS,
  OTHER_WAY_ROUND,
  sent,
  TWO_NODES,
  withTwoNodes,
} from '../../support/nodes/two-nodes.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

/**
 * TRON: a lite fullnode refuses these paths unless `openHistoryQueryWhenLiteFN` is set, with HTTP 200 and this text.
 */
const CLOSED =
  /get(blockbynum|blockbyid|transactionbyid|transactioninfobyid|transactioninfobyblocknum|blockbylatestnum)$/;
const CLOSED_TEXT = 'this API is closed because this node is a lite fullnode';
const CONTENTS = /get(blockbynum|transactioninfobyblocknum)$/;

const onBoth = (before: SpyNode['before']): void => {
  for (const spy of [full, solid]) spy.before = before;
};
const beLite = (): void => {
  onBoth((path): Meddling => (CLOSED.test(path) ? { says: CLOSED_TEXT } : undefined));
};
const isWhole = (path: string, body: string): boolean =>
  CONTENTS.test(path) || (path.endsWith('/getblock') && !body.includes('"detail":false'));
const NO_JSON: Meddling = { says: '<html></html>' };
/** A node without transaction history. */
const lacksHistory: SpyNode['before'] = (path) =>
  /gettransaction(info)?byid$/.test(path) ? { says: '{}' } : undefined;
const showsNothing: SpyNode['before'] = (path, body) => (isWhole(path, body) ? NO_JSON : lacksHistory(path, body));

/** Makes a block at each check. */
const beside = (isSo: () => Promise<boolean>) => async (): Promise<boolean> => {
  await mine();
  return isSo();
};

describe.each([
  ['first', TWO_NODES],
  ['second', OTHER_WAY_ROUND],
])('a lite node listed %s', (_, nodes) => {
  it('is a witness of what is in blocks, and orders are settled by its answer too', async () => {
    beLite();
    const worker = await withTwoNodes(nodes());
    const key = await sent(worker);
    await mine(SOLID_LAG + 1);
    await eventually(
      worker,
      beside(async () => (await orderOf(key)).settled),
      'the settlement',
    );
  });

  it('delays a death until the wait for a second witness is over', async () => {
    beLite();
    const worker = await withTwoNodes({ ...nodes(), WITNESS_AWAY_SEC: '1' });
    const key = await sent(worker);
    await devnet.control('evict', {});
    const isDead = async (): Promise<boolean> => (await statusesOf(key))[0] === 'dead';
    await mine(45);
    await eventually(worker, beside(isDead), 'the death by one node’s word');
    const [dead] = await txsOf(key);
    expect(dead?.evidence).toMatchObject({ absences: [{}], away: [{ node: new URL(full.url).host }] });
  });
});

it('a node that keeps no transactions delays a death until the wait for a second witness is over', async () => {
  onBoth(lacksHistory);
  const worker = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
  const key = await sent(worker);
  await devnet.control('evict', {});
  await mine(45);
  const isDead = async (): Promise<boolean> => (await statusesOf(key))[0] === 'dead';
  await eventually(worker, beside(isDead), 'the death by one node’s word');
  const [dead] = await txsOf(key);
  const away = [{ node: new URL(full.url).host, keepsHistory: false }];
  expect(dead?.evidence).toMatchObject({ absences: [{}], away });
});

it.each([
  ['breaks the connection', (path, body) => (isWhole(path, body) ? 'break' : undefined)],
  ['answers no JSON', (path, body) => (isWhole(path, body) ? NO_JSON : undefined)],
  ['shows neither blocks nor transactions', showsNothing],
] as [string, SpyNode['before']][])(
  'a node that %s when asked for blocks delays a settlement until the wait for a second witness is over',
  async (_, before) => {
    const worker = await withTwoNodes();
    // A final transaction shows that a node keeps history.
    await settledOrder(worker);
    const key = await sent(worker);
    await mine();
    await worker.followChain();
    onBoth(before);
    await mine(SOLID_LAG);
    const settles = async (): Promise<boolean> => (await orderOf(key)).settled;
    const impatient = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
    await eventually(impatient, beside(settles), 'the settlement by the other one’s word');
  },
);

it('an act without a record is recorded with a node without history, which has its block', async () => {
  const delegation = { receiver_address: receivers[3]!, balance: 5_000_000, resource: 'ENERGY' };
  const txid = await actAs(devnet.fullUrl, pool, 'delegateresource', delegation);
  await mine(SOLID_LAG + 1);
  onBoth((path) => (/gettransaction(info)?byid$/.test(path) ? { says: '{}' } : undefined));
  const worker = await withTwoNodes();
  await worker.search();
  const kept = await api.database.query(`SELECT FROM orphan_tx WHERE txid = decode($1, 'hex')`, [txid]);
  expect(kept).toHaveLength(1);
});

it('an act without a record is recorded once the wait for a node that shows neither blocks nor transactions is over', async () => {
  await settledOrder(await withTwoNodes());
  const delegation = { receiver_address: receivers[3]!, balance: 5_000_000, resource: 'ENERGY' };
  const txid = await actAs(devnet.fullUrl, pool, 'delegateresource', delegation);
  await mine(SOLID_LAG + 1);
  onBoth(showsNothing);
  // A worker that has not read any of its blocks.
  const worker = await withTwoNodes({ WITNESS_AWAY_SEC: '1' });
  const isRecorded = async (): Promise<true | undefined> => {
    await worker.search().catch(() => undefined);
    const kept = await api.database.query(`SELECT FROM orphan_tx WHERE txid = decode($1, 'hex')`, [txid]);
    return kept.length === 1 ? true : undefined;
  };
  await until(isRecorded, MOVE_LIMIT_MS, 'the record', 100);
});

it('a lone node that truncates a block delivers by its other answers', async () => {
  const worker = await withTwoNodes({ TRON_FULL_NODE_URLS: full.url, TRON_SOLIDITY_NODE_URLS: solid.url });
  const key = await sent(worker);
  await mine();
  onBoth((path, body) => (isWhole(path, body) ? 'break' : undefined));
  const delivered = async (): Promise<true | undefined> => {
    await worker.followChain().catch(() => undefined);
    return (await orderOf(key)).status === 'delivered' ? true : undefined;
  };
  await until(delivered, MOVE_LIMIT_MS, 'the delivery', 100);
  await mine(SOLID_LAG);
  await eventually(
    worker,
    beside(async () => (await orderOf(key)).settled),
    'the settlement',
  );
});
