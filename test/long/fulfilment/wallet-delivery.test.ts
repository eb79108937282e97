// Wallets that cannot deliver: failing keys, signatures that nodes refuse, transactions that die. Other wallets take
// over.
import 'reflect-metadata';
import { jest } from '@jest/globals';
import { addressToHex } from '../../../src/platform/chain/address.js';
import { ReceiverCheck } from '../../../src/modules/orders/receiver.js';
import { AUTHOR } from '../../support/api/factory.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  full,
  SteppedWorker,
  makeChild,
  mine,
  openChild,
  openMaker,
  openFixtureWithTwoWallets,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  rent,
  second,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
} from '../../support/worker/fulfilment-fixture.js';
import { walletsOn } from '../../support/api/services.js';

/** A node adds its own text. This one ends with a zero byte, which no Postgres text can hold. */
const SIGERROR = { says: '{"code":"SIGERROR","message":"56616c6964617465207369676e6174757265206572726f7200"}' };
/** As after a permission change on chain that the service has not read yet. */
const refuseSecond: typeof full.before = (path, body) =>
  path === 'wallet/broadcasthex' && body.includes(addressToHex(second.address)) ? SIGERROR : undefined;
const SWALLOWED = { says: '{"result":true,"code":"SUCCESS"}' };

let keys: { readonly address: string; readonly key_sealed: Buffer }[];

beforeAll(async () => {
  await openFixtureWithTwoWallets({}, true);
  keys = await api.database.query(`SELECT address, key_sealed FROM pool_wallet WHERE role = 'pool'`);
}, START_LIMIT_MS);
afterEach(async () => {
  full.rest();
  for (const { address } of keys) {
    await giveKey(address);
    await wallets().setStatus(address, 'active', AUTHOR);
  }
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const wallets = () => walletsOn(api.database, api.app);

/** Removes the wallet's key, as when no master key opens it or a signer lacks it. */
const takeKey = (address: string) =>
  api.database.query(`UPDATE pool_wallet SET key_sealed = NULL WHERE address = $1`, [address]);

const giveKey = (address: string) =>
  api.database.query(`UPDATE pool_wallet SET key_sealed = $2 WHERE address = $1`, [
    address,
    keys.find((key) => key.address === address)!.key_sealed,
  ]);

async function walletOf(address: string) {
  const [row] = await api.database.query<{ status: string; pause_reason: string | null }>(
    `SELECT status, pause_reason FROM pool_wallet WHERE address = $1`,
    [address],
  );
  return row!;
}

/** Returns the wallets that signed the order's deliveries, oldest first, with each transaction's status. */
async function deliveriesOf(key: string): Promise<string[]> {
  const rows = await api.database.query<{ address: string; status: string }>(
    `SELECT w.address, t.status FROM chain_tx t JOIN orders o ON o.id = t.order_id JOIN pool_wallet w ON w.id = t.wallet_id
      WHERE o.key = $1 AND t.purpose = 'delegate' ORDER BY t.id`,
    [key],
  );
  return rows.map(({ address, status }) => `${address === pool.address ? 'first' : 'second'} ${status}`);
}

async function rentMany(count: number): Promise<string[]> {
  const made: string[] = [];
  for (let order = 0; order < count; order += 1) made.push(await rent(receivers[order % receivers.length]!));
  return made;
}

const statusOf = async (key: string) => (await orderOf(key)).status;

/** Runs several rounds, as within some seconds: every order is claimed as often as it is due. */
async function rounds(worker: SteppedWorker, count: number): Promise<void> {
  await worker.followChain();
  for (let round = 0; round < count; round += 1) await worker.advance();
}

describe('a wallet whose key fails', () => {
  it('is paused with its reason, and the other wallet delivers every open order', async () => {
    const worker = await SteppedWorker.open();
    await takeKey(second.address);
    const orders = await rentMany(10);
    await mine();
    await rounds(worker, 4);
    await mine();
    await worker.followChain();
    for (const key of orders) expect(await statusOf(key)).toBe('delivered');
    expect(await walletOf(second.address)).toEqual({
      status: 'paused',
      pause_reason: 'auto: its key does not sign: no key is stored for this wallet',
    });
    // The next order uses the other wallet from the start.
    const next = await rent(receivers[0]!);
    await rounds(worker, 1);
    expect(await deliveriesOf(next)).toEqual(['first sending']);
  });

  it('sells again as soon as its key signs again, without an act of the operator', async () => {
    const worker = await SteppedWorker.open();
    await takeKey(second.address);
    await rentMany(3);
    await mine();
    await rounds(worker, 2);
    await worker.health().resumeWallets();
    expect((await walletOf(second.address)).status).toBe('paused');
    await giveKey(second.address);
    await worker.health().resumeWallets();
    expect(await walletOf(second.address)).toEqual({ status: 'active', pause_reason: null });
    const next = await rent(receivers[0]!);
    await rounds(worker, 1);
    expect(await deliveriesOf(next)).toEqual(['second sending']);
  });

  it('stays paused by the operator who paused it, whatever its key does', async () => {
    const worker = await SteppedWorker.open();
    await takeKey(second.address);
    await rentMany(3);
    await wallets().setStatus(second.address, 'paused', { ...AUTHOR, reason: 'moving its stake' });
    await mine();
    await rounds(worker, 2);
    await giveKey(second.address);
    await worker.health().resumeWallets();
    expect(await walletOf(second.address)).toEqual({ status: 'paused', pause_reason: 'moving its stake' });
  });

  it('is not paused by two failures followed by a success', async () => {
    const worker = await SteppedWorker.open();
    for (const failures of [2, 2]) {
      await takeKey(second.address);
      const orders = await rentMany(failures);
      await mine();
      await worker.followChain();
      await worker.advance();
      await giveKey(second.address);
      await worker.advance();
      for (const key of orders) expect(await deliveriesOf(key)).toEqual(['second sending']);
    }
    expect((await walletOf(second.address)).status).toBe('active');
  });
});

describe('without another wallet', () => {
  beforeEach(() => wallets().setStatus(pool.address, 'paused', { ...AUTHOR, reason: 'only one' }));

  it('orders wait, nothing new is sold, and everything is delivered when the key comes back', async () => {
    const worker = await SteppedWorker.open();
    await takeKey(second.address);
    const orders = await rentMany(4);
    await mine();
    await rounds(worker, 5);
    for (const key of orders) expect(await statusOf(key)).toBe('reserved');
    const refused = await customer.post('/v1/orders', {
      receive_address: receivers[0]!,
      energy: 50_000,
      duration_sec: 60,
    });
    expect(refused).toMatchObject({ status: 503, body: { error: 'CAPACITY_UNAVAILABLE' } });
    await giveKey(second.address);
    await worker.health().resumeWallets();
    await rounds(worker, 1);
    await mine();
    await worker.followChain();
    for (const key of orders) expect(await statusOf(key)).toBe('delivered');
  });

  it('an order is refunded only at the usual limit, which a move to another wallet does not restart', async () => {
    const worker = await SteppedWorker.open();
    await takeKey(second.address);
    const orders = await rentMany(3);
    await mine();
    await rounds(worker, 2);
    const age = (key: string) =>
      api.database.query(
        `UPDATE leg SET changed_at = changed_at - interval '590 s' WHERE order_id = (SELECT id FROM orders WHERE key = $1)`,
        [key],
      );
    for (const key of orders) await age(key);
    await rounds(worker, 2);
    for (const key of orders) expect(await statusOf(key)).toBe('reserved');
    // One order moves to a wallet that cannot sign either, and keeps its elapsed time.
    await takeKey(pool.address);
    await wallets().setStatus(pool.address, 'active', AUTHOR);
    await rounds(worker, 2);
    await api.database.query(`UPDATE leg SET changed_at = changed_at - interval '11 s' WHERE status = 'reserved'`);
    await rounds(worker, 3);
    for (const key of orders) expect(await statusOf(key)).toBe('refunded');
  });
});

describe('a signature that a node refuses', () => {
  it('pauses the wallet at once; the transaction keeps its proof, and another wallet makes the next attempt', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    full.before = refuseSecond;
    await mine();
    await rounds(worker, 1);
    expect(await walletOf(second.address)).toEqual({
      status: 'paused',
      pause_reason: 'auto: a node refused its signature: Validate signature error',
    });
    expect(await deliveriesOf(key)).toEqual(['second sending']);
    // The refusal proves nothing: the order waits for a proof, and later orders use the other wallet.
    const next = await rent(receivers[1]!);
    await rounds(worker, 2);
    expect(await deliveriesOf(key)).toEqual(['second sending']);
    expect(await deliveriesOf(next)).toEqual(['first sending']);
    await mine(PAST_VALIDITY);
    await rounds(worker, 3);
    expect(await deliveriesOf(key)).toEqual(['second dead', 'first sending']);
    await mine();
    await worker.followChain();
    expect(await statusOf(key)).toBe('delivered');
  });

  it('and that another node accepts pauses nothing', async () => {
    const worker = await SteppedWorker.open({
      TRON_FULL_NODE_URLS: `${full.url},${devnet.fullUrl}`,
      TRON_SOLIDITY_NODE_URLS: `${devnet.solidUrl},${devnet.solidUrl}`,
    });
    const key = await rent(receivers[0]!);
    full.before = refuseSecond;
    await mine();
    await rounds(worker, 3);
    const answers = await api.database.query<{ answer: string }>(
      `SELECT DISTINCT b.answer FROM broadcast b JOIN chain_tx t ON t.id = b.chain_tx_id JOIN orders o ON o.id = t.order_id
        WHERE o.key = $1 ORDER BY 1`,
      [key],
    );
    expect(answers.map(({ answer }) => answer)).toContain('SIGERROR');
    expect((await walletOf(second.address)).status).toBe('active');
  });

  it('is forgiven once the chain allows the key again', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    full.before = refuseSecond;
    await mine();
    await rounds(worker, 1);
    full.rest();
    const setFault = (fault: string | null) =>
      api.database.query(`UPDATE pool_wallet SET wallet_fault = $2 WHERE address = $1`, [second.address, fault]);
    await setFault('the wallet does not let the key delegate');
    expect((await walletOf(second.address)).pause_reason).toBe('auto: the wallet does not let the key delegate');
    // The pool sync's reading of the chain finds no fault.
    await worker.poolSync().syncWallet(second.address);
    expect(await walletOf(second.address)).toEqual({ status: 'active', pause_reason: null });
    expect(await statusesOf(key)).toEqual(['sending']);
  });
});

describe('three transactions of a wallet that die in a row', () => {
  it('pause it, for longer each time, until one of its transactions comes into a block', async () => {
    const worker = await SteppedWorker.open();
    full.before = (path) => (path === 'wallet/broadcasthex' ? SWALLOWED : undefined);
    const orders = await rentMany(3);
    await mine();
    await rounds(worker, 1);
    await mine(PAST_VALIDITY);
    await rounds(worker, 1);
    for (const key of orders) expect(await deliveriesOf(key)).toEqual(['second dead']);
    expect((await walletOf(second.address)).pause_reason).toBe(
      'auto: 3 of its transactions in a row were never included',
    );
    full.rest();
    await rounds(worker, 2);
    await mine();
    await worker.followChain();
    for (const key of orders) expect(await statusOf(key)).toBe('delivered');
    for (const key of orders) expect((await deliveriesOf(key)).at(-1)).toBe('first included');
    const hold = async (): Promise<number> => {
      const [row] = await api.database.query<{ sec: number | null }>(
        `SELECT extract(epoch FROM delivery_held_until - delivery_failed_at)::float8 AS sec FROM pool_wallet WHERE address = $1`,
        [second.address],
      );
      return Math.round(row!.sec ?? 0);
    };
    expect(await hold()).toBe(300);
    await api.database.query(
      `UPDATE pool_wallet SET delivery_held_until = clock_timestamp() WHERE delivery_held_until IS NOT NULL`,
    );
    await worker.health().resumeWallets();
    expect((await walletOf(second.address)).status).toBe('active');
    // One more death is enough now.
    full.before = (path) => (path === 'wallet/broadcasthex' ? SWALLOWED : undefined);
    await rent(receivers[0]!);
    await rounds(worker, 1);
    await mine(PAST_VALIDITY);
    await rounds(worker, 1);
    expect((await walletOf(second.address)).status).toBe('paused');
    expect(await hold()).toBe(600);
  });
});

describe('transactions that die while the chain makes no blocks', () => {
  it('prove nothing about their wallets: none is paused, and all is delivered by them once there are blocks again', async () => {
    const worker = await SteppedWorker.open();
    full.before = (path) => (path === 'wallet/broadcasthex' ? SWALLOWED : undefined);
    const orders = await rentMany(4);
    await mine();
    await rounds(worker, 1);
    for (const key of orders) expect(await deliveriesOf(key)).toEqual(['second sending']);
    full.rest();
    const { blocks } = (await devnet.control('mine', { blocks: [{}] })) as { blocks: { timestamp: number }[] };
    await devnet.control('mine', { blocks: [{ timestamp: blocks[0]!.timestamp + 600_000 }] });
    await mine(SOLID_LAG + 1);
    await rounds(worker, 1);
    for (const key of orders) expect((await deliveriesOf(key))[0]).toBe('second dead');
    expect(await walletOf(second.address)).toEqual({ status: 'active', pause_reason: null });
    await rounds(worker, 2);
    await mine();
    await worker.followChain();
    for (const key of orders) expect(await deliveriesOf(key)).toEqual(['second dead', 'second included']);
  });
});

describe('receivers that become contracts after their orders were taken', () => {
  const [caller] = callers;
  const SALTS = [1, 2, 3];

  /** Lets the only attempt of every order die. */
  async function runToDeath(worker: SteppedWorker): Promise<void> {
    await rounds(worker, 1);
    await mine(PAST_VALIDITY);
    await rounds(worker, 4);
  }

  it('pause no wallet: each order is refunded after its first attempt', async () => {
    const worker = await SteppedWorker.open();
    const maker = await openMaker(caller!);
    const children: string[] = [];
    for (const salt of SALTS) children.push(await openChild(caller!, maker, salt));
    const [child] = children;
    const orders: string[] = [];
    for (const address of children) orders.push(await rent(address));
    for (const salt of SALTS) await makeChild(caller!, maker, salt);
    await runToDeath(worker);
    for (const key of orders) expect(await deliveriesOf(key)).toEqual(['second dead']);
    for (const key of orders) expect(await orderOf(key)).toMatchObject({ status: 'refunded', settled: true });
    for (const { address } of [pool, second]) expect((await walletOf(address)).status).toBe('active');
    const deaths = await api.database.query<{ sum: number }>('SELECT sum(deaths)::int AS sum FROM pool_wallet');
    expect(deaths).toEqual([{ sum: 0 }]);
    // The API caches its reading of an account for a minute.
    const nowMs = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs + 61_000);
    const refusal = await api.app.get(ReceiverCheck, { strict: false }).refusalOf(child!, false);
    clock.mockRestore();
    expect(refusal?.code).toBe('RECEIVER_NOT_SUPPORTED');
    // Sales to other receivers continue.
    const next = await rent(receivers[0]!);
    await rounds(worker, 1);
    expect(await deliveriesOf(next)).toEqual(['second sending']);
  });
});
