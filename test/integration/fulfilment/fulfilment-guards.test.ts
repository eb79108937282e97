// One test per guard in the worker's statements: a write after a lost claim, a replaced block, bytes that waited too
// long. Each test fails without its guard.
import 'reflect-metadata';
import { jest } from '@jest/globals';
import { readBlock } from '../../../src/platform/chain/block.js';
import { signWithKey } from '../../../src/platform/chain/keys.js';
import { buildTransaction, signedTransactionHex } from '../../../src/platform/chain/signed-transaction.js';
import { Inclusion } from '../../../src/modules/fulfilment/follow/inclusion.js';
import { sun } from '../../../src/domain/units.js';
import { asAdmin } from '../../setup/admin.js';
import {
  api,
  clearFixture,
  closeFixture,
  devnet,
  dueAgain,
  freeSun,
  full,
  SteppedWorker,
  loseLeases,
  mine,
  openFixture,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  rent,
  sentOrder,
  settledOrder,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
  fixtureDatabaseUrl,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(async () => {
  await devnet.control('faults/clear', {});
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

/** Returns an order whose reclaim was sent and is in no block yet. */
async function returningOrder(worker: SteppedWorker): Promise<string> {
  const key = await settledOrder(worker);
  await mine(20);
  await worker.followChain();
  expect(await worker.reclaimEnded()).toBe(1);
  expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  return key;
}

async function reclaimedAt(key: string): Promise<Date | null> {
  const [row] = await api.database.query<{ at: Date | null }>('SELECT reclaimed_at AS at FROM orders WHERE key = $1', [
    key,
  ]);
  return row!.at;
}

/** Runs a statement with triggers off, as a manual change of the database would. */
async function byHand(statement: string, values: unknown[]): Promise<void> {
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(statement, values);
  });
}

async function soldSun(key: string): Promise<bigint> {
  const [row] = await api.database.query<{ sun: bigint }>(
    'SELECT sum(l.amount_sun)::bigint AS sun FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1',
    [key],
  );
  return row!.sun;
}

describe('a lost claim', () => {
  it('records no signature', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    const signed = jest.spyOn(worker.transactionLog(), 'recordSigned').mockRejectedValueOnce(new Error('died'));
    await expect(worker.advance()).rejects.toThrow('died');
    signed.mockRestore();
    const { id: orderId } = await orderOf(key);
    const stale = await dueAgain(worker, orderId);
    await loseLeases();
    await worker.orderClaims().claimDue(64);
    const [tx] = await txsOf(key);
    const signature = Buffer.alloc(65, 1);
    expect(
      await worker.transactionLog().recordSigned([{ id: tx!.id, orderId, fence: stale.fence, signature }]),
    ).toEqual(new Set());
    expect(await statusesOf(key)).toEqual(['built']);
  });

  it('records no death', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    const { id: orderId } = await orderOf(key);
    const stale = await dueAgain(worker, orderId);
    await loseLeases();
    await worker.orderClaims().claimDue(64);
    const [tx] = await txsOf(key);
    expect(
      await worker.transactionLog().recordDead([{ id: tx!.id, orderId, fence: stale.fence, evidence: {} }]),
    ).toEqual(new Set());
    expect(await statusesOf(key)).toEqual(['sending']);
  });

  it('is not taken from a living holder by a wake-up that names the order', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    const { id } = await orderOf(key);
    const [held] = await worker.orderClaims().claimDue(64);
    expect(held?.id).toBe(id);
    // Woken: due immediately, but still held.
    await api.database.query('UPDATE orders SET next_run_at = clock_timestamp() WHERE id = $1', [id]);
    expect(await worker.orderClaims().claimNamed([id])).toEqual([]);
  });
});

describe('a reverted block', () => {
  it('with a reclaim in it leaves the rental unreclaimed', async () => {
    const worker = await SteppedWorker.open();
    const key = await returningOrder(worker);
    await mine();
    await worker.followChain();
    expect(await reclaimedAt(key)).not.toBeNull();
    await devnet.control('fork', { depth: 1, drop: true });
    await mine();
    await worker.followChain();
    expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
    expect(await reclaimedAt(key)).toBeNull();
  });

  it('reverts nothing that is in another block by now', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    await mine();
    await worker.followChain();
    const [tx] = await txsOf(key);
    expect(tx?.status).toBe('included');
    await worker
      .part(Inclusion)
      .revertTransactions([{ id: tx!.id, orderId: (await orderOf(key)).id, blockId: '11'.repeat(32) }]);
    expect(await statusesOf(key)).toEqual(['included']);
    expect((await orderOf(key)).status).toBe('delivered');
  });

  it('reported by one node alone reverts nothing that another node still has', async () => {
    const worker = await SteppedWorker.open({
      TRON_FULL_NODE_URLS: `${full.url},${devnet.second!.fullUrl}`,
      TRON_SOLIDITY_NODE_URLS: `${solid.url},${devnet.second!.solidUrl}`,
    });
    const key = await sentOrder(worker);
    await mine();
    await worker.followChain();
    expect(await statusesOf(key)).toEqual(['included']);
    await devnet.control('faults', { kind: 'own-fork', node: 0, blocks: 2, port: 'full' });
    await mine();
    await worker.followChain().catch(() => undefined);
    expect(await statusesOf(key)).toEqual(['included']);
    expect((await orderOf(key)).status).toBe('delivered');
  });
});

describe('settling', () => {
  it('requires the block’s own time in the records', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    await mine();
    await worker.followChain();
    const blockAt = async (): Promise<number> => {
      const [row] = await api.database.query<{ at: Date }>(
        'SELECT t.block_at AS at FROM chain_tx t JOIN orders o ON o.id = t.order_id WHERE o.key = $1',
        [key],
      );
      return row!.at.getTime();
    };
    const real = await blockAt();
    await byHand(
      `UPDATE chain_tx SET block_at = block_at + interval '1 hour' WHERE order_id = (SELECT id FROM orders WHERE key = $1)`,
      [key],
    );
    for (let round = 0; round < 3; round += 1) {
      await mine(SOLID_LAG + 1);
      await worker.followChain();
      await worker.advance();
    }
    expect((await orderOf(key)).settled).toBe(true);
    expect(await blockAt()).toBe(real);
  });

  it('requires the block’s own id in the records', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    await mine();
    await worker.followChain();
    await byHand(
      `UPDATE chain_tx SET block_id = sha256(block_id) WHERE order_id = (SELECT id FROM orders WHERE key = $1)`,
      [key],
    );
    for (let round = 0; round < 3; round += 1) {
      await mine(SOLID_LAG + 1);
      await worker.followChain();
      await worker.advance();
    }
    expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
    expect(await statusesOf(key)).toEqual(['solid']);
  });
});

describe('a proof of death', () => {
  it('fails with blocks that do not link', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    const order = await dueAgain(worker, (await orderOf(key)).id);
    const tx = order.legs[0]!.txs[0]!;
    await mine();
    const included = Number((await devnet.control('status', {}))['head']);
    await mine(PAST_VALIDITY);
    // The node's index denies the transaction, and its first answer about the including block comes from another fork.
    solid.before = (path, body) =>
      path.endsWith('gettransactioninfobyid') && body.includes(tx.txid) ? { says: '{}' } : undefined;
    const { head: top } = await devnet.control('status', {});
    let fork: Promise<number> | undefined;
    const makeFork = async (): Promise<number> => {
      const blocks = Number(top) - included + 1;
      const rule = { kind: 'own-fork', node: 0, blocks, path: 'walletsolidity/getblock*' };
      const { added } = await devnet.control('faults', { faults: [rule] });
      return (added as readonly { id: number }[])[0]!.id;
    };
    const before = solid.before;
    solid.before = async (path, body) => {
      if (!path.includes('/getblock')) return before(path, body);
      const { id_or_num: asked, num = asked } = JSON.parse(body) as { id_or_num?: string; num?: number | string };
      if (Number(num) === included) await (fork ??= makeFork());
      // Later answers come from the real chain.
      else if (fork !== undefined) await devnet.control('faults/clear', { id: await fork });
      return before(path, body);
    };
    expect((await worker.proofs().judge(tx)).kind).not.toBe('dead');
    expect(fork).toBeDefined();
    expect((await statusesOf(key))[0]).toBe('sending');
  });
});

describe('unsent bytes', () => {
  it('with little validity left are rebuilt instead of sent', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    const sending = jest.spyOn(worker.transactionLog(), 'recordSending').mockRejectedValueOnce(new Error('died'));
    await expect(worker.advance()).rejects.toThrow('died');
    sending.mockRestore();
    expect(await statusesOf(key)).toEqual(['signed']);
    const [stale] = await txsOf(key);
    // Twelve of sixty seconds are left.
    await mine(16);
    await worker.followChain();
    await loseLeases();
    await worker.advance();
    // A restored record may have been sent before. It is dropped only after its expiration, when no node has it.
    expect(await statusesOf(key)).toEqual(['signed']);
    await mine(5);
    await worker.followChain();
    await loseLeases();
    for (let round = 0; round < 2; round += 1) await worker.advance();
    expect(await statusesOf(key)).toEqual(['dropped', 'sending']);
    expect((await txsOf(key))[1]!.txid).not.toBe(stale!.txid);
  });
});

describe('capacity', () => {
  const MAX = 'wallet/getcandelegatedmaxsize';

  it('is not sold twice when a delegation lands between a wallet’s reading and its writing', async () => {
    const worker = await SteppedWorker.open();
    await worker.poolSync().syncWallet(pool.address);
    const before = await freeSun();
    const key = await rent(receivers[0]!);
    const sold = await soldSun(key);
    await mine();
    await worker.followChain();
    let isDone = false;
    full.before = async (path, body) => {
      if (path !== MAX || isDone) return undefined;
      isDone = true;
      // The node's answer predates the delegation, which is in a block before the answer arrives.
      const answer = await fetch(`${devnet.fullUrl}/${MAX}`, { method: 'POST', body });
      const says = await answer.text();
      await worker.advance();
      await mine();
      await worker.followChain();
      return { says };
    };
    await worker.poolSync().syncWallet(pool.address);
    expect(isDone).toBe(true);
    expect((await orderOf(key)).status).toBe('delivered');
    expect(await freeSun()).toBeLessThanOrEqual(before - sold);
  });

  it('of a return that is in no block yet is not sold', async () => {
    const worker = await SteppedWorker.open();
    await worker.poolSync().syncWallet(pool.address);
    const before = await freeSun();
    const key = await returningOrder(worker);
    await worker.poolSync().syncWallet(pool.address);
    expect(await freeSun()).toBeLessThanOrEqual(before - (await soldSun(key)));
  });
});

describe('the database', () => {
  it('refuses a refund while a leg may still be delivered', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    await expect(
      api.database.query(`UPDATE orders SET status = 'refunded', settled = true WHERE key = $1`, [key]),
    ).rejects.toThrow(/refunded while a leg may still be delivered/);
    expect((await orderOf(key)).status).toBe('placed');
  });
});

describe('a foreign act', () => {
  const NO_GRACE = { POOL_ORPHAN_GRACE_SEC: '0' };
  /** Signs with the service's own key and format, so that only the records distinguish it from our transactions. */
  const act = async (type: 'delegate' | 'undelegate', amountSun: bigint, receiver: string): Promise<string> => {
    const ask = async (path: string, body: object): Promise<Record<string, unknown>> => {
      const answer = await fetch(`${devnet.fullUrl}/wallet/${path}`, { method: 'POST', body: JSON.stringify(body) });
      return (await answer.json()) as Record<string, unknown>;
    };
    const { id, number, timestampMs } = readBlock('the node', await ask('getnowblock', {}));
    const parties = { owner: pool.address, receiver };
    const { rawData, txid } = buildTransaction(
      { type, ...parties, amountSun: sun(amountSun), resource: 'ENERGY' },
      {
        permissionId: 0,
        reference: { id, number, timestampMs },
        expiresAtMs: timestampMs + 60_000,
        timestampMs,
      },
    );
    const transaction = signedTransactionHex(rawData, signWithKey(rawData, pool.privateKey));
    expect(await ask('broadcasthex', { transaction })).toMatchObject({ result: true });
    return txid;
  };
  const search = (worker: SteppedWorker) => worker.search();
  const seen = async (txid: string): Promise<{ unrecorded: boolean; recorded: boolean; recovered: boolean }> => {
    const [row] = await api.database.query<{ unrecorded: boolean; recorded: boolean; recovered: boolean }>(
      `SELECT EXISTS (SELECT FROM orphan_tx WHERE txid = decode($1, 'hex')) AS unrecorded,
          EXISTS (SELECT FROM chain_tx WHERE txid = decode($1, 'hex')) AS recorded,
          EXISTS (SELECT FROM orders WHERE key = 'orphan:' || $1) AS recovered`,
      [txid],
    );
    return row!;
  };

  it('that takes back a running rental is not recorded as its reclaim', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker, receivers[2]);
    // The chain's clock is years behind ours here, so an order of today would be too new to be acted for.
    await byHand(`UPDATE orders SET created_at = '2019-12-31' WHERE key = $1`, [key]);
    const sold = await soldSun(key);
    const txid = await act('undelegate', sold, receivers[2]!);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await search(worker);
    expect(await seen(txid)).toMatchObject({ unrecorded: true, recorded: false });
    expect(await statusesOf(key, 'reclaim')).toEqual([]);
    // So that the rental can end.
    await act('delegate', sold, receivers[2]!);
    await mine(SOLID_LAG + 1);
  });

  it('is reclaimed only while all of it exists: less would be taken from a rental of the same receiver', async () => {
    const worker = await SteppedWorker.open(NO_GRACE);
    await settledOrder(worker, receivers[1]);
    const txid = await act('delegate', 500_000_000n, receivers[1]!);
    await mine();
    await act('undelegate', 200_000_000n, receivers[1]!);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await search(worker);
    await worker.reclaims().reclaim();
    expect(await seen(txid)).toEqual({ unrecorded: true, recorded: false, recovered: false });
    // Whole again, it is reclaimed.
    await act('delegate', 200_000_000n, receivers[1]!);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await worker.reclaims().reclaim();
    expect(await seen(txid)).toEqual({ unrecorded: true, recorded: true, recovered: true });
  });
});
