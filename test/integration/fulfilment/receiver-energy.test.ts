// A receiver's usable energy before any transaction of its order is sent and after its block: read in parallel, true or
// absent.
import 'reflect-metadata';
import { jest } from '@jest/globals';
import { until } from '../../../packages/local/src/wait.js';
import { TransactionLog } from '../../../src/modules/fulfilment/send/transaction-log.js';
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
  receivers,
  rent,
  START_LIMIT_MS,
  statusesOf,
} from '../../support/worker/fulfilment-fixture.js';

const READ_LIMIT_MS = 30_000;
const RESOURCES = 'wallet/getaccountresource';
const BROADCAST = 'wallet/broadcasthex';

interface Row {
  readonly before_energy: bigint | null;
  readonly before_block: bigint | null;
  readonly after_energy: bigint | null;
  readonly after_block: bigint | null;
}

beforeAll(openFixture, START_LIMIT_MS);
afterEach(async () => {
  jest.restoreAllMocks();
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function readingsOf(key: string): Promise<Row | undefined> {
  const [row] = await api.database.query<Row>(
    `SELECT before_energy, before_block, after_energy, after_block
       FROM receiver_energy e JOIN orders o ON o.id = e.order_id WHERE o.key = $1`,
    [key],
  );
  return row;
}

const readAs = (key: string, isSo: (row: Row) => boolean): Promise<Row> =>
  until(
    async () => {
      const row = await readingsOf(key);
      return row !== undefined && isSo(row) ? row : undefined;
    },
    READ_LIMIT_MS,
    'the reading being written',
  );

async function blockOf(key: string): Promise<bigint> {
  const [row] = await api.database.query<{ block: bigint }>(
    `SELECT t.block_number AS block FROM chain_tx t JOIN orders o ON o.id = t.order_id
      WHERE o.key = $1 AND t.purpose = 'delegate' AND t.block_number IS NOT NULL`,
    [key],
  );
  return row!.block;
}

async function usable(address: string): Promise<bigint> {
  const answer = await fetch(`${devnet.fullUrl}/${RESOURCES}`, {
    method: 'POST',
    body: JSON.stringify({ address, visible: true }),
  });
  const { EnergyLimit: limit = 0, EnergyUsed: used = 0 } = (await answer.json()) as Record<string, number>;
  return BigInt(limit - used);
}

/** Delays the recording of a send until the node has answered about the receiver's energy. */
function signAfterAnswer(worker: SteppedWorker, receiver: string): void {
  let answered: () => void = () => undefined;
  const answer = new Promise<void>((resolve) => (answered = resolve));
  let isAsked = false;
  full.before = (path, body) => {
    isAsked ||= path === RESOURCES && body.includes(receiver);
    return undefined;
  };
  full.after = (path) => {
    // The worker processes the answer a few turns of its event loop later.
    if (path === RESOURCES && isAsked) setTimeout(answered, 100);
  };
  const log = worker.part(TransactionLog);
  const recordSending = log.recordSending.bind(log);
  jest.spyOn(log, 'recordSending').mockImplementation(async (refs) => {
    await answer;
    return recordSending(refs);
  });
}

it('is read before the first send and once the delivery’s block exists, each with the newest known block', async () => {
  const [worker, receiver] = [await SteppedWorker.open(), receivers[0]!];
  const first = await usable(receiver);
  const key = await rent(receiver);
  await mine();
  await worker.followChain();
  signAfterAnswer(worker, receiver);
  await worker.advance();
  await mine();
  await worker.followChain();
  expect((await orderOf(key)).status).toBe('delivered');
  const row = await readAs(key, (each) => each.before_block !== null && each.after_block !== null);
  const block = await blockOf(key);
  expect(row.before_energy).toBe(first);
  expect(row.before_block! < block).toBe(true);
  expect(row.after_energy).toBe(await usable(receiver));
  expect(row.after_energy! - first).toBeGreaterThanOrEqual(50_000n);
  expect(row.after_block! >= block).toBe(true);
});

it('is absent if the node answered after our bytes were sent, because it might already include them', async () => {
  const [worker, receiver] = [await SteppedWorker.open(), receivers[1]!];
  const key = await rent(receiver);
  await mine();
  await worker.followChain();
  let release: () => void = () => undefined;
  const sent = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  full.before = async (path, body) => {
    if (path === BROADCAST) setTimeout(release, 100);
    if (path !== RESOURCES || !body.includes(receiver) || isHeld) return undefined;
    isHeld = true;
    await sent;
    return undefined;
  };
  await worker.advance();
  expect([isHeld, await statusesOf(key)]).toEqual([true, ['sending']]);
  await mine();
  await worker.followChain();
  const row = await readAs(key, (each) => each.after_block !== null);
  expect([row.before_energy, row.before_block]).toEqual([null, null]);
});

it('delays no delivery while the node answers nothing about the receiver, and blocks no other request to it', async () => {
  const [worker, receiver] = [await SteppedWorker.open(), receivers[2]!];
  const key = await rent(receiver);
  await mine();
  await worker.followChain();
  let refused = 0;
  full.before = (path, body) => {
    if (path !== RESOURCES || !body.includes(receiver)) return undefined;
    refused += 1;
    return 'break';
  };
  await worker.advance();
  await mine();
  await worker.followChain();
  expect((await orderOf(key)).status).toBe('delivered');
  await until(() => (refused >= 3 ? true : undefined), READ_LIMIT_MS, 'the receiver being asked for again');
  expect(worker.chain().pool.nodes.map((node) => node.isBackedOff)).toEqual([false]);
  expect(await readingsOf(key)).toBeUndefined();
  full.rest();
  await readAs(key, (each) => each.after_block !== null && each.before_block === null);
});

it('is deleted when its block is reverted, and read again at the next block that delivers it', async () => {
  const [worker, receiver] = [await SteppedWorker.open(), receivers[3]!];
  const key = await rent(receiver);
  await mine();
  await worker.followChain();
  await worker.advance();
  await mine();
  await worker.followChain();
  await readAs(key, (each) => each.after_block !== null);
  await devnet.control('fork', { depth: 1, drop: true });
  await mine(2);
  await worker.followChain();
  expect((await orderOf(key)).status).toBe('placed');
  expect((await readingsOf(key))?.after_block).toBeNull();
  await worker.advance();
  await mine();
  await worker.followChain();
  expect((await orderOf(key)).status).toBe('delivered');
  const row = await readAs(key, (each) => each.after_block !== null);
  expect(row.after_block! >= (await blockOf(key))).toBe(true);
});
