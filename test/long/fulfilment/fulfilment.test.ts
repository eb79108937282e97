// Orders from the first byte to the last reclaim, with a real worker, real Postgres and Redis, and a chain over HTTP.
import 'reflect-metadata';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { until } from '../../../packages/local/src/wait.js';
import { CrashCluster } from '../../programmes/crash/cluster.js';
import { OrderProbe, legsOf, sunOf } from '../../support/worker/order-probe.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, withRedis, type TestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';

const ENERGY_LIMIT = 180_000_000_000;
/** More than any single wallet can delegate. */
const LARGE = 1_200_000;
const START_LIMIT_MS = 180_000;

let store: TestDatabase;
let redis: TestRedis;
let cluster: CrashCluster;
let probe: OrderProbe;
let worker: Awaited<ReturnType<CrashCluster['service']['startWorker']>>;

const receiver = (index: number): string => cluster.service.accounts[index]!.address;

beforeAll(async () => {
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  cluster = await CrashCluster.open({
    databaseUrl: store.url,
    roleUrl: asRole,
    redisUrl: redis.url,
    blockMs: 100,
    solidLag: 8,
    walletsTrx: [100_000, 100_000, 100_000],
    // Two minutes at this pace: a stall of a slow machine must not let a transaction expire.
    env: { TRON_EXPIRATION_SEC: '3600' },
  });
  probe = new OrderProbe(cluster);
  worker = await cluster.service.startWorker();
}, START_LIMIT_MS);

afterAll(async () => {
  await cluster.close();
  await redis.close();
  await store.drop();
}, START_LIMIT_MS);

/** Expects that no order is open, and that records and chain agree. */
async function expectEverythingOver(): Promise<void> {
  await until(
    async () => {
      const rows = await cluster.database.query(
        `SELECT 1 FROM orders o JOIN leg l ON l.order_id = o.id
          WHERE NOT o.settled OR (o.kind = 'rental' AND l.status NOT IN ('released', 'reclaimed')) LIMIT 1`,
      );
      return rows.length === 0 ? true : undefined;
    },
    60_000,
    'everything being over',
  );
  await cluster.check('at the end', true);
  expect(cluster.violations).toEqual([]);
}

/** Undo steps for changes of the chain. They also run when the test fails. */
const onTestEnd: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const undo of onTestEnd.splice(0)) await undo();
});

async function restartWorker(env: NodeJS.ProcessEnv = {}): Promise<void> {
  await cluster.stopAndForget(worker);
  worker = await cluster.service.startWorker(env);
}

/** Restarts the worker for this test: transactions expire after two seconds, because the test waits for their death. */
async function startHastyWorker(): Promise<void> {
  worker = await cluster.service.startWorker({ TRON_EXPIRATION_SEC: '60' });
  onTestEnd.push(() => restartWorker());
}

/** Creates an account without delegations. */
async function newReceiver(): Promise<string> {
  const { wallet, bank } = cluster.service;
  const { address } = newChainAccount();
  const made = { owner_address: bank.address, account_address: address };
  await wallet.receipt(await wallet.send('createaccount', made, bank));
  return address;
}

describe('a rental', () => {
  it('brings at least the sold energy, ends by the chain’s clock and is reclaimed', async () => {
    const before = await probe.cluster.service.wallet.energyOf(receiver(0));
    const key = await probe.rent(receiver(0), 50_000);
    const order = await probe.delivered(key);
    const after = await probe.cluster.service.wallet.energyOf(receiver(0));
    expect(after.limit - before.limit).toBeGreaterThanOrEqual(50_000);
    expect(order.delivered_energy).toBeGreaterThanOrEqual(50_000);
    expect(Date.parse(order.ends_at!) - Date.parse(order.delivered_at!)).toBe(60_000);
    await probe.settled(key);
    const ended = await probe.reclaimed(key);
    expect(Date.parse(ended.reclaimed_at!)).toBeGreaterThanOrEqual(Date.parse(ended.ends_at!));
    expect(await probe.delegatedSun(receiver(0))).toBe(0);
    expect((await probe.transactions(key)).map((tx) => `${tx.purpose}#${tx.attempt.toString()}`)).toEqual([
      'delegate#1',
      'reclaim#1',
    ]);
  });

  it('larger than any wallet comes from several, whole, and returns to each', async () => {
    const key = await probe.rent(receiver(1), LARGE);
    const order = await probe.delivered(key);
    expect(new Set(order.delegations.map((leg) => leg.owner_address)).size).toBeGreaterThan(1);
    expect(order.delivered_energy).toBeGreaterThanOrEqual(LARGE);
    expect(await probe.delegatedSun(receiver(1))).toBe(sunOf(order));
    await probe.reclaimed(key);
    expect(await probe.delegatedSun(receiver(1))).toBe(0);
  });

  it('is left alone while it waits for solid blocks, after its delivery and after its end', async () => {
    await cluster.control('node', { solidLag: 40 });
    onTestEnd.push(() => cluster.control('node', { solidLag: 8 }));
    const key = await probe.rent(receiver(1), 40_000, 600);
    await probe.delivered(key);
    const delivered = await probe.rest(key);
    expect(delivered.sec).toBeGreaterThan(100);
    await probe.settled(key);
    expect((await probe.rest(key)).claims).toBe(delivered.claims);
    await probe.passChainTime(600);
    await probe.reclaimed(key);
    const reclaimed = await probe.rest(key);
    expect(reclaimed.sec).toBeGreaterThan(100);
    await probe.over(key);
    expect((await probe.rest(key)).claims).toBe(reclaimed.claims);
  });

  it('to a receiver of other rentals reclaims its own sun and no other', async () => {
    const long = await probe.rent(receiver(2), 40_000, 3000);
    const short = await probe.rent(receiver(2), 30_000, 60);
    const twin = await probe.rent(receiver(2), 30_000, 3000);
    const orders = await Promise.all([long, short, twin].map((key) => probe.delivered(key)));
    expect(new Set(orders.flatMap((order) => order.delegations.map((leg) => leg.txid))).size).toBe(3);
    const [first, second, third] = orders.map(sunOf) as [number, number, number];
    expect(await probe.delegatedSun(receiver(2))).toBe(first + second + third);
    await probe.reclaimed(short);
    expect(await probe.delegatedSun(receiver(2))).toBe(first + third);
    await probe.passChainTime(3000);
    await Promise.all([probe.reclaimed(long), probe.reclaimed(twin)]);
    expect(await probe.delegatedSun(receiver(2))).toBe(0);
  });

  it('is topped up when the network’s growth yields less than was sold', async () => {
    await cluster.stopAndForget(worker);
    const key = await probe.rent(receiver(0), 50_000);
    await cluster.control('parameters', { getTotalEnergyCurrentLimit: ENERGY_LIMIT * 0.9 });
    worker = await cluster.service.startWorker();
    const order = await probe.delivered(key);
    expect(legsOf(order)).toBe(2);
    expect(order.delivered_energy).toBeGreaterThanOrEqual(50_000);
    await cluster.control('parameters', { getTotalEnergyCurrentLimit: ENERGY_LIMIT });
    await probe.reclaimed(key);
    expect(await probe.delegatedSun(receiver(0))).toBe(0);
  });
});

describe('a block that is reverted', () => {
  it.each([0, 2, 4])(
    'takes the delivery back, and the same bytes bring it again (%i blocks upon it)',
    async (above) => {
      const key = await probe.rent(receiver(0), 35_000);
      const { delegations } = await probe.delivered(key);
      await probe.dropBlock(delegations[0]!.block_number!, above);
      const again = await probe.wait(key, 'settled', (order) => order.settled);
      expect(again.status).toBe('delivered');
      expect(await probe.history(key)).toBe('reserved>placed>delivered>placed>delivered');
      expect((await probe.transactions(key)).filter((tx) => tx.purpose === 'delegate')).toHaveLength(1);
    },
  );

  it('while no worker runs is noticed by the next one', async () => {
    const key = await probe.rent(receiver(1), 35_000);
    const { delegations } = await probe.delivered(key);
    worker.signal('SIGKILL');
    await worker.exited;
    await probe.dropBlock(delegations[0]!.block_number!, 0);
    worker = await cluster.service.startWorker();
    await probe.settled(key);
    expect(await probe.history(key)).toBe('reserved>placed>delivered>placed>delivered');
    expect((await probe.transactions(key)).filter((tx) => tx.purpose === 'delegate')).toHaveLength(1);
  });
});

describe('an order that cannot be delivered completely', () => {
  it('is refunded after proven deaths, and the legs already delivered are reclaimed', async () => {
    await cluster.stopAndForget(worker);
    const balance = await probe.balance();
    const key = await probe.rent(receiver(1), LARGE);
    const legs = await cluster.database.query<{ address: string }>(
      `SELECT w.address FROM leg l JOIN pool_wallet w ON w.id = l.wallet_id JOIN orders o ON o.id = l.order_id WHERE o.key = $1`,
      [key],
    );
    // The owner of one wallet unfreezes its free stake outside the service.
    const wallet = cluster.service.poolWallets.find(({ address }) => address === legs.at(-1)!.address)!;
    const all = await cluster.service.wallet.post('wallet/getcandelegatedmaxsize', {
      owner_address: wallet.address,
      type: 1,
      visible: true,
    });
    const taken = { owner_address: wallet.address, unfreeze_balance: Number(all['max_size']), resource: 'ENERGY' };
    await cluster.service.wallet.receipt(await cluster.service.wallet.send('unfreezebalancev2', taken, wallet));

    await startHastyWorker();
    for (let round = 0; round < 4; round += 1) {
      await until(
        async () => ((await probe.transactions(key)).some((tx) => tx.status === 'sending') ? true : undefined),
        10_000,
        'something sent',
      ).catch(() => undefined);
      await probe.passChainTime(90);
    }
    const order = await probe.refunded(key);
    expect(order).toMatchObject({ settled: true, error_code: 'SUPPLIER_REFUSED', needs_attention: false });
    expect(await probe.balance()).toBe(balance);
    expect(await probe.delegatedSun(receiver(1))).toBe(0);
    const dead = (await probe.transactions(key)).filter((tx) => tx.status === 'dead');
    expect(dead.length).toBeGreaterThanOrEqual(2);
    for (const tx of dead) {
      for (const { solidHead } of tx.evidence!.absences) {
        expect(solidHead.timestampMs).toBeGreaterThanOrEqual(tx.expires_at.getTime());
      }
    }
  });
});

describe('an activation', () => {
  it('creates the account once, and is settled when solid', async () => {
    const { address } = newChainAccount();
    const key = await probe.activate(address);
    await probe.settled(key);
    const account = await cluster.service.wallet.post('wallet/getaccount', { address, visible: true });
    expect(account['address']).toBe(address);
  });

  it('that is final has ended: activated accounts are not read with the open legs', async () => {
    const { database } = cluster;
    const key = await probe.activate(newChainAccount().address);
    await probe.settled(key);
    const leg = `leg WHERE order_id = (SELECT id FROM orders WHERE key = $1)`;
    const ended = () =>
      until(
        async () => (await database.query(`SELECT FROM ${leg} AND status = 'reclaimed'`, [key]))[0],
        45_000,
        'the end of the activation',
      );
    await ended();
    // The state that the version before leaves. Its reconciler must accept both states.
    await database.transaction(async (tx) => {
      await tx.query(`SET LOCAL session_replication_role = replica`);
      await tx.query(
        `UPDATE leg SET status = 'active', closed_at = NULL, closed_reason = NULL
          WHERE order_id = (SELECT id FROM orders WHERE key = $1)`,
        [key],
      );
    });
    await ended();
    const [row] = await database.query(`SELECT closed_at = active_at AS at, closed_reason AS why FROM ${leg}`, [key]);
    expect(row).toEqual({ at: true, why: 'activated: nothing is to be reclaimed' });
  });

  it('that another party makes first is refunded', async () => {
    await cluster.stopAndForget(worker);
    const balance = await probe.balance();
    const { address } = newChainAccount();
    const key = await probe.activate(address);
    const { wallet, bank } = cluster.service;
    const made = { owner_address: bank.address, account_address: address };
    await wallet.receipt(await wallet.send('createaccount', made, bank));
    await startHastyWorker();
    const { error } = await probe.refunded(key);
    expect(error).toBe('The account was activated by someone else first; the charge was returned.');
    expect(await probe.balance()).toBe(balance);
  });

  it('that now costs more than its price is refunded, and nothing of it is sent', async () => {
    await cluster.stopAndForget(worker);
    const balance = await probe.balance();
    const { address } = newChainAccount();
    const key = await probe.activate(address);
    onTestEnd.push(() => cluster.control('parameters', { getCreateNewAccountFeeInSystemContract: 1_000_000 }));
    await cluster.control('parameters', { getCreateNewAccountFeeInSystemContract: 5_000_000 });
    worker = await cluster.service.startWorker();
    const { error } = await probe.refunded(key);
    expect(error).toBe('The chain’s activation fee rose above the charge; the charge was returned.');
    expect(await probe.transactions(key)).toEqual([]);
    expect(await probe.balance()).toBe(balance);
  });

  it('with an unknown cost waits, and is made once a node names it', async () => {
    await cluster.stopAndForget(worker);
    const key = await probe.activate(newChainAccount().address);
    onTestEnd.push(() => cluster.control('parameters', { getCreateAccountFee: 100_000 }));
    await cluster.control('parameters', { getCreateAccountFee: 0 });
    worker = await cluster.service.startWorker();
    await until(async () => ((await probe.rest(key)).claims > 0 ? true : undefined), 45_000, 'a first look at it', 40);
    expect(await probe.transactions(key)).toEqual([]);
    await cluster.control('parameters', { getCreateAccountFee: 100_000 });
    await probe.settled(key);
  });
});

describe('workers', () => {
  it('stop during work, and the next one continues', async () => {
    const keys = await Promise.all([0, 1, 2].map((index) => probe.rent(receiver(index), 32_000)));
    worker.signal('SIGTERM');
    expect(await worker.exited).toBe(0);
    await restartWorker();
    for (const key of keys) await probe.settled(key);
  });

  it('reclaim all ended rentals after one reading of the chain, however few run concurrently', async () => {
    // Different receivers: consecutive reclaims of one wallet and receiver may have to wait for each other's block.
    const others = await Promise.all([0, 1, 2].map(newReceiver));
    const receivers = [receiver(0), receiver(1), receiver(2), ...others];
    const keys = await Promise.all(receivers.map((address) => probe.rent(address, 32_000, 3000)));
    for (const key of keys) {
      await probe.settled(key);
      await probe.onlyDueByChain(key);
    }
    await cluster.stopAndForget(worker);
    // Restores the worker in any case: later tests need one that polls the chain more often.
    onTestEnd.push(() => restartWorker());
    await probe.passChainTime(3000);
    worker = await cluster.service.startWorker({ WORKER_CONCURRENCY: '1', TRON_POLL_MS: '30000' });
    const begun = async (count: number): Promise<true | undefined> => {
      const txs = (await Promise.all(keys.map(async (key) => probe.transactions(key)))).flat();
      return txs.filter((tx) => tx.purpose === 'reclaim').length >= count ? true : undefined;
    };
    await until(() => begun(1), 60_000, 'the first being reclaimed');
    // Before the worker polls the chain again.
    await until(() => begun(keys.length), 28_000, 'all of them being reclaimed');
    for (const restart of onTestEnd.splice(0)) await restart();
    for (const key of keys) await probe.reclaimed(key);
  });

  it('name to Redis the process that each connection belongs to', async () => {
    const list = String(await withRedis(redis.url, (client) => client.client('LIST')));
    for (const user of ['worker', 'jobs']) expect(list).toContain(` name=ter:${user}:${worker.pid.toString()} `);
    expect(list).toMatch(/ name=ter:api:\d+ /);
  });

  it('work without Redis: an emptied queue loses nothing', async () => {
    const keys = [await probe.rent(receiver(0), 32_000)];
    await cluster.flushRedis();
    keys.push(await probe.rent(receiver(1), 32_000));
    await cluster.flushRedis();
    for (const key of keys) await probe.delivered(key);
  });

  it('two together, one of them stopped and resumed as a zombie, send nothing twice', async () => {
    const other = await cluster.service.startWorker({ DATABASE_POOL_MAX: '1' });
    const keys: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      keys.push(await probe.rent(receiver(round % 3), 32_000 + round), await probe.activate(newChainAccount().address));
      worker.signal('SIGSTOP');
      keys.push(await probe.rent(receiver(round % 3), 33_000 + round));
      await probe.delivered(keys.at(-1)!);
      worker.signal('SIGCONT');
    }
    for (const key of keys) {
      await probe.settled(key);
      const sent = (await probe.transactions(key)).filter((tx) => tx.purpose !== 'reclaim' && tx.sends > 0);
      expect(sent.filter((tx) => tx.status === 'solid')).toHaveLength(1);
      expect(sent.filter((tx) => tx.status !== 'solid' && tx.status !== 'dead')).toHaveLength(0);
    }
    await cluster.stopAndForget(other);
  });
});

it('nothing is open in the end, and records and chain agree', async () => {
  await expectEverythingOver();
});
