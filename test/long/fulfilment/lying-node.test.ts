// False blocks from one node: with a wrong time, forged as a whole, or with foreign bytes.
import 'reflect-metadata';
import { idOf } from '../../../src/platform/chain/block-header.js';
import { signWithKey } from '../../../src/platform/chain/keys.js';
import { buildTransaction } from '../../../src/platform/chain/signed-transaction.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { sun } from '../../../src/domain/units.js';
import { checkChain } from '../../../src/modules/verify/chain-checks.js';
import { ChainUnavailableError } from '../../../src/platform/chain/errors.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { until } from '../../../packages/local/src/wait.js';
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
  rent,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
} from '../../support/worker/fulfilment-fixture.js';

const RENTAL_BLOCKS = 20;
const FAR_MS = 600_000;

type Header = Readonly<Record<string, string | number>> & { readonly timestamp: number };
interface Block {
  readonly block_header: { readonly raw_data: Header };
}

beforeAll(openFixture, START_LIMIT_MS);
afterEach(async () => {
  await devnet.control('faults/clear', {});
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function headOf(url: string): Promise<Block> {
  const answer = await fetch(`${url}/wallet/getnowblock`, { method: 'POST', body: '{}' });
  return (await answer.json()) as Block;
}

const headTimeMs = async (): Promise<number> => (await headOf(devnet.second!.fullUrl)).block_header.raw_data.timestamp;

/** Makes the first node answer with a forged head of another time and a matching id. */
async function forgeHead(byMs: number): Promise<void> {
  const { block_header: header } = await headOf(devnet.fullUrl);
  const raw = { ...header.raw_data, timestamp: header.raw_data.timestamp + byMs };
  const replace = { blockID: idOf(raw), block_header: { ...header, raw_data: raw } };
  await devnet.control('faults', { kind: 'wrong', wrong: 'replace', node: 0, path: 'wallet/getblock', replace });
}

async function timesOf(key: string): Promise<{ deliveredAt: Date | null; endsAt: Date | null }> {
  const [row] = await api.database.query<{ deliveredAt: Date | null; endsAt: Date | null }>(
    `SELECT delivered_at AS "deliveredAt", ends_at AS "endsAt" FROM orders WHERE key = $1`,
    [key],
  );
  return row!;
}

async function sent(worker: SteppedWorker): Promise<string> {
  const key = await rent(receivers[0]!);
  await mine();
  await worker.followChain();
  await worker.advance();
  await mine();
  return key;
}

const withTwoNodes = (): Promise<SteppedWorker> =>
  SteppedWorker.open({
    TRON_FULL_NODE_URLS: `${full.url},${devnet.second!.fullUrl}`,
    TRON_SOLIDITY_NODE_URLS: `${solid.url},${devnet.second!.solidUrl}`,
  });

/**
 * Shows in one node's final blocks a delegation by our wallet, signed with this key, that is in no block of the chain.
 */
async function showInBlocks(node: number, privateKey: Uint8Array): Promise<void> {
  const reference = { number: 1, id: 'ab'.repeat(32), timestampMs: 0 };
  const { rawData } = buildTransaction(
    { type: 'delegate', owner: pool.address, receiver: receivers[1]!, amountSun: sun(5_000_000n), resource: 'ENERGY' },
    { permissionId: 2, reference, expiresAtMs: 2, timestampMs: 1 },
  );
  const signature = [signWithKey(rawData, privateKey).toString('hex')];
  const transactions = [{ ret: [{ contractRet: 'SUCCESS' }], signature, raw_data_hex: rawData.toString('hex') }];
  await devnet.control('faults', {
    kind: 'wrong',
    wrong: 'replace',
    node,
    path: 'walletsolidity/getblockbynum',
    replace: { transactions },
  });
}

it('one node alone reporting a later time ends no rental', async () => {
  const worker = await withTwoNodes();
  const key = await sent(worker);
  await mine(SOLID_LAG);
  await worker.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  await mine();
  await forgeHead(FAR_MS);
  await worker.followChain();
  expect(await worker.reclaimEnded()).toBe(0);
  // The validity of a new transaction is unknown, so none is built.
  const other = await rent(receivers[1]!);
  await worker.advance();
  expect(await statusesOf(other)).toEqual([]);
  await devnet.control('faults/clear', {});
  await mine(RENTAL_BLOCKS);
  const ended = async (): Promise<true | undefined> => {
    await worker.followChain();
    return (await worker.reclaimEnded()) > 0 ? true : undefined;
  };
  await until(ended, 5000, 'the end that both nodes show');
  expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  await mine();
  await worker.followChain();
  await worker.advance();
  expect(await statusesOf(other)).toEqual(['sending']);
});

it('one node alone reporting a grown network tops up no rental', async () => {
  const worker = await withTwoNodes();
  await rent(receivers[0]!, 65_000, 600);
  await mine();
  await worker.followChain();
  await worker.advance();
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  const { totalEnergyWeight } = await api.app.get(TronClient).accountResources(receivers[0]!);
  const replace = { TotalEnergyWeight: Number(totalEnergyWeight) * 3 };
  const wrong = { kind: 'wrong', wrong: 'replace', path: 'wallet/getaccountresource', replace };
  await devnet.control('faults', { ...wrong, node: 0 });
  await mine();
  await worker.followChain();
  expect(await worker.topUp()).toBe(0);
  // A report of both nodes is believed.
  await devnet.control('faults', { ...wrong, node: 1 });
  await mine();
  await worker.followChain();
  expect(await worker.topUp()).toBe(1);
});

it('a block whose time does not match its id is refused', async () => {
  const worker = await SteppedWorker.open();
  const key = await sent(worker);
  await devnet.control('faults', { kind: 'wrong', wrong: 'time-behind', node: 0 });
  await expect(worker.followChain()).rejects.toBeInstanceOf(ChainUnavailableError);
  expect(await orderOf(key)).toMatchObject({ status: 'placed' });
  await devnet.control('faults/clear', {});
  await worker.followChain();
  const at = await headTimeMs();
  expect(await timesOf(key)).toEqual({ deliveredAt: new Date(at), endsAt: new Date(at + 60_000) });
});

it('one node alone showing an act of our wallets reports nobody', async () => {
  const worker = await withTwoNodes();
  const key = await sent(worker);
  await mine(SOLID_LAG);
  await worker.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  const search = (with_: SteppedWorker) => with_.search();
  const found = () => api.database.query('SELECT txid FROM orphan_tx');
  await showInBlocks(0, pool.privateKey);
  // A new worker: blocks read before the lie are not read again.
  const other = await withTwoNodes();
  await expect(search(other)).rejects.toBeInstanceOf(ChainUnavailableError);
  expect(await found()).toEqual([]);
  await devnet.control('faults/clear', {});
  await search(worker);
  expect(await found()).toEqual([]);
});

it('one node alone leaving out an act of our wallets hides nothing: the block is searched again', async () => {
  const worker = await withTwoNodes();
  await sent(worker);
  await mine(SOLID_LAG);
  // The second node is not asked first.
  await showInBlocks(1, pool.privateKey);
  const search = () => worker.search();
  await expect(search()).rejects.toBeInstanceOf(ChainUnavailableError);
  await devnet.control('faults/clear', {});
  await search();
  expect(await api.database.query('SELECT txid FROM orphan_tx')).toEqual([]);
});

it('one node alone with blocks that are not made yet moves the search past none of them', async () => {
  await devnet.control('faults', { kind: 'ahead', blocks: 30, node: 0, rate: 1 });
  const worker = await withTwoNodes();
  await worker.search();
  const answer = await fetch(`${devnet.second!.solidUrl}/walletsolidity/getnowblock`, { method: 'POST', body: '{}' });
  const head = (await answer.json()) as { block_header: { raw_data: { number: number } } };
  const [state] = await api.database.query<{ to: bigint }>('SELECT scanned_to AS to FROM reconcile_state');
  expect(Number(state!.to)).toBe(head.block_header.raw_data.number);
});

it('an act that names our wallet, and is signed by a key other than its own, belongs to nobody', async () => {
  const worker = await withTwoNodes();
  await sent(worker);
  await mine(SOLID_LAG);
  for (const node of [0, 1]) await showInBlocks(node, newOwner().privateKey);
  await worker.search();
  expect(await api.database.query('SELECT txid FROM orphan_tx')).toEqual([]);
});

it('a final block in which only one of two nodes shows our transaction settles nothing', async () => {
  const worker = await withTwoNodes();
  const key = await sent(worker);
  await showInBlocks(1, pool.privateKey);
  await mine(SOLID_LAG);
  await worker.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
  await devnet.control('faults/clear', {});
  // A new worker: a contradicted node is believed again only after a while.
  await (await withTwoNodes()).followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
});

it('a final block without our transaction is a finding by the word of two nodes, and not by that of one', async () => {
  const worker = await withTwoNodes();
  const key = await sent(worker);
  await mine(SOLID_LAG);
  await worker.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  // Serves the block only in unreadable forms, and keeps no history.
  const spoil = async (node: number): Promise<void> => {
    const wrong = { kind: 'wrong', node };
    await devnet.control('faults', { ...wrong, wrong: 'tampered', path: 'walletsolidity/getblockbynum' });
    for (const path of ['walletsolidity/gettransactioninfo*', 'walletsolidity/gettransactionbyid']) {
      await devnet.control('faults', { ...wrong, wrong: 'empty', path });
    }
  };
  // Uses a new process, which has not read any block.
  const judged = async () => {
    const { checks, unmade } = await checkChain(api.database, (await withTwoNodes()).chain(), {});
    const found = checks.find(({ check }) => check === 'solid-transactions');
    return { found: found?.findings.length, isMade: !unmade.some(({ check }) => check === 'solid-transactions') };
  };
  await spoil(0);
  expect(await judged()).toEqual({ found: 0, isMade: true });
  await devnet.control('faults', { kind: 'error-before', node: 1 });
  expect(await judged()).toEqual({ found: undefined, isMade: false });
  await devnet.control('faults/clear', {});
  await spoil(0);
  await spoil(1);
  expect((await judged()).found).toBeGreaterThan(0);
});
