// The fulfilment protocol step by step: recording before sending, claims, proofs of death, ends of orders.
import 'reflect-metadata';
import { jest } from '@jest/globals';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
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
  receivers,
  rent,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';
import type { Meddling } from '../../support/nodes/spy-node.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

describe('a claim', () => {
  it('that was taken over lets its first holder write nothing more', async () => {
    const [first, second] = [await SteppedWorker.open(), await SteppedWorker.open()];
    const key = await rent(receivers[0]!);
    const mineToDo = await first.orderClaims().claimDue(64);
    await loseLeases();
    const theirs = await second.orderClaims().claimDue(64);
    expect(theirs.map((order) => order.id)).toEqual(mineToDo.map((order) => order.id));
    await mine();
    await first.followChain();
    await first.advancer().advance(mineToDo);
    expect(await txsOf(key)).toEqual([]);
    const [lease] = await api.database.query<{ held: boolean }>(
      'SELECT lease_until > clock_timestamp() AS held FROM orders WHERE key = $1',
      [key],
    );
    expect(lease).toEqual({ held: true });
    await second.followChain();
    await second.advancer().advance(theirs);
    expect(await statusesOf(key)).toEqual(['sending']);
  });

  it('that was taken over sends nothing that its first holder signed', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    // The worker dies between signing and sending.
    const log = worker.transactionLog();
    const sending = jest.spyOn(log, 'recordSending').mockRejectedValueOnce(new Error('died'));
    await expect(worker.advance()).rejects.toThrow('died');
    sending.mockRestore();
    const [tx] = await txsOf(key);
    expect(tx?.status).toBe('signed');
    const { id: orderId } = await orderOf(key);
    const [claimed] = await worker.orderClaims().claimNamed([orderId]);
    const stale = claimed ?? (await dueAgain(worker, orderId));
    await loseLeases();
    await worker.orderClaims().claimDue(64);
    expect((await log.recordSending([{ id: tx!.id, orderId, fence: stale.fence }])).marked).toEqual(new Set());
    expect(await statusesOf(key)).toEqual(['signed']);
  });

  it('obeys a wake-up that arrived while it was held', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    const due = async () => {
      const [row] = await api.database.query<{ due: boolean }>(
        'SELECT next_run_at <= clock_timestamp() AS due FROM orders WHERE key = $1',
        [key],
      );
      return row!.due;
    };
    const release = async (isWoken: boolean) => {
      const orders = await worker.orderClaims().claimDue(64);
      if (isWoken) await api.database.query('UPDATE orders SET next_run_at = clock_timestamp() WHERE key = $1', [key]);
      await worker.orderClaims().release(orders.map((order) => ({ order, delayMs: 60_000, isEnding: false })));
    };
    await release(true);
    expect(await due()).toBe(true);
    await release(false);
    expect(await due()).toBe(false);
  });

  it('is renewed while it is held, and never after its release', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    const held = async () => {
      const [row] = await api.database.query<{ left: number | null }>(
        'SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 AS left FROM orders WHERE key = $1',
        [key],
      );
      return row!.left;
    };
    const orders = await worker.orderClaims().claimDue(64);
    await api.database.query(
      `UPDATE orders SET lease_until = lease_until - interval '10 s', next_run_at = next_run_at - interval '10 s' WHERE key = $1`,
      [key],
    );
    await worker.orderClaims().renew(orders);
    expect(await held()).toBeGreaterThan(10);
    await worker.orderClaims().release(orders.map((order) => ({ order, delayMs: 0, isEnding: false })));
    await worker.orderClaims().renew(orders);
    expect(await held()).toBeNull();
  });
});

describe('sending', () => {
  it('comes after everything about it is on disk', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    const seen: unknown[] = [];
    full.before = async (path, body) => {
      if (path !== 'wallet/broadcasthex') return undefined;
      const rows = await api.database.query<{ status: string; raw: string; signature: string }>(
        `SELECT t.status, o.status AS order_status, encode(t.raw_data, 'hex') AS raw, encode(t.signature, 'hex') AS signature
           FROM chain_tx t JOIN orders o ON o.id = t.order_id WHERE o.key = $1`,
        [key],
      );
      for (const { raw, signature, ...states } of rows) {
        seen.push({ ...states, isWhole: body.includes(raw) && body.includes(signature) });
      }
      return undefined;
    };
    await mine();
    await worker.followChain();
    await worker.advance();
    expect(seen).toEqual([{ status: 'sending', order_status: 'placed', isWhole: true }]);
  });

  const answers: readonly [string, Meddling][] = [
    ['refuses it', { says: '{"code":"CONTRACT_VALIDATE_ERROR","message":"6e6f"}' }],
    ['says that it expired', { says: '{"code":"TRANSACTION_EXPIRATION_ERROR","message":"6e6f"}' }],
    ['says that it knows it, and does not', { says: '{"code":"DUP_TRANSACTION_ERROR"}' }],
    ['takes it without taking it', { says: '{"result":true,"code":"SUCCESS"}' }],
    ['answers an error page', { says: '<html>502</html>', status: 502 }],
    ['answers nonsense', { says: 'null' }],
    ['takes it and breaks the line', 'break-after'],
  ];
  it.each(answers)('to a node that %s decides nothing, and the same bytes deliver it', async (_, meddling) => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[1]!);
    full.before = (path) => (path === 'wallet/broadcasthex' ? meddling : undefined);
    await mine();
    await worker.followChain();
    await worker.advance();
    const [sent] = await txsOf(key);
    expect(sent?.status).toBe('sending');
    expect((await orderOf(key)).status).toBe('placed');
    full.rest();
    // A new process, as after a crash.
    const next = await SteppedWorker.open();
    await next.followChain();
    await next.advance();
    await mine();
    await next.followChain();
    expect((await orderOf(key)).status).toBe('delivered');
    expect((await txsOf(key)).map((tx) => tx.txid)).toEqual([sent!.txid]);
  });

  it('that a stopped worker repeats after another one delivered changes nothing', async () => {
    const [stopped, next] = [
      await SteppedWorker.open(),
      await SteppedWorker.open({ TRON_FULL_NODE_URLS: devnet.fullUrl }),
    ];
    const key = await rent(receivers[1]!);
    let proceed: () => void = () => undefined;
    const stop = new Promise<void>((resolve) => (proceed = resolve));
    let isHeld: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (isHeld = resolve));
    full.before = async (path) => {
      if (path === 'wallet/broadcasthex') {
        isHeld();
        await stop;
      }
      return undefined;
    };
    await mine();
    await stopped.followChain();
    const late = stopped.advance();
    await held;
    await loseLeases();
    await next.followChain();
    await next.advance();
    await mine();
    await next.followChain();
    expect((await orderOf(key)).status).toBe('delivered');
    proceed();
    await late;
    await mine();
    await next.followChain();
    expect((await orderOf(key)).status).toBe('delivered');
    expect((await txsOf(key)).map((tx) => tx.status)).toEqual(['included']);
  });

  it('of equal orders in one block makes two transactions', async () => {
    const worker = await SteppedWorker.open();
    const keys = [await rent(receivers[2]!), await rent(receivers[2]!)];
    await mine();
    await worker.followChain();
    await worker.advance();
    const ids = (await Promise.all(keys.map((key) => txsOf(key)))).flat().map((tx) => tx.txid);
    expect(new Set(ids).size).toBe(2);
    await mine();
    await worker.followChain();
    for (const key of keys) expect((await orderOf(key)).status).toBe('delivered');
  });
});

describe('a death', () => {
  /** Returns an order with one sent transaction, as its worker claimed it. */
  async function sentOrder(worker: SteppedWorker) {
    const key = await rent(receivers[3]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    const order = await dueAgain(worker, (await orderOf(key)).id);
    return { key, order, tx: order.legs[0]!.txs[0]! };
  }

  it('is not proven by an absence that was seen before the head', async () => {
    const worker = await SteppedWorker.open();
    const { tx } = await sentOrder(worker);
    // Between the two requests the chain moves on: the transaction is in a solid block and past its expiration.
    let asked = 0;
    solid.after = async () => {
      asked += 1;
      if (asked === 1) await mine(PAST_VALIDITY);
    };
    const verdict = await worker.proofs().judge(tx);
    expect(verdict).toMatchObject({ kind: 'unknown', why: expect.stringContaining('not solid past the expiration') });
  });

  it('is not proven before its expiration, although no node knows it', async () => {
    const worker = await SteppedWorker.open();
    const { tx } = await sentOrder(worker);
    await devnet.control('evict', {});
    await mine(SOLID_LAG + 2);
    expect((await worker.proofs().judge(tx)).kind).toBe('unknown');
  });

  it('by one node’s word requires every block that could hold it', async () => {
    const worker = await SteppedWorker.open();
    const { tx } = await sentOrder(worker);
    await devnet.control('evict', {});
    await mine(PAST_VALIDITY);
    const asked: string[] = [];
    solid.before = (path) => void asked.push(path.replace('walletsolidity/', ''));
    const verdict = await worker.proofs().judge(tx);
    expect(verdict).toMatchObject({ kind: 'dead', evidence: { absences: [{}], scanned: {} } });
    expect(asked.slice(0, 2)).toEqual(['getblock', 'gettransactioninfobyid']);
    // A node whose index denies a transaction that its own blocks contain.
    const again = await sentOrder(worker);
    await mine(PAST_VALIDITY);
    solid.before = (path) => (path.endsWith('gettransactioninfobyid') ? { says: '{}' } : undefined);
    expect((await worker.proofs().judge(again.tx)).kind).toBe('found');
  });

  it('requires two nodes if two are configured, and with one away the order waits', async () => {
    const two = {
      TRON_FULL_NODE_URLS: `${devnet.second!.fullUrl},${full.url}`,
      TRON_SOLIDITY_NODE_URLS: `${devnet.second!.solidUrl},${solid.url}`,
    };
    const worker = await SteppedWorker.open(two);
    const { key } = await sentOrder(worker);
    await devnet.control('evict', {});
    await mine(PAST_VALIDITY);
    solid.before = () => 'break';
    await loseLeases();
    await worker.followChain();
    await worker.advance();
    expect(await statusesOf(key)).toEqual(['sending']);
    solid.rest();
    await worker.advance();
    const [dead] = await txsOf(key);
    expect(dead?.status).toBe('dead');
    expect(dead?.evidence?.absences).toHaveLength(2);
  });

  it('that is proven leads to one further attempt with different bytes', async () => {
    const worker = await SteppedWorker.open();
    const { key, tx } = await sentOrder(worker);
    await devnet.control('evict', {});
    await mine(PAST_VALIDITY);
    await loseLeases();
    await worker.followChain();
    await worker.advance();
    await worker.advance();
    const txs = await txsOf(key);
    expect(txs.map((each) => each.status)).toEqual(['dead', 'sending']);
    expect(txs[1]!.txid).not.toBe(tx.txid);
  });
});

describe('waiting', () => {
  const IMPATIENT = { UNRESOLVED_AFTER_SEC: '1' };
  const aMoment = () => new Promise((resolve) => setTimeout(resolve, 1100));

  it('too long for a block shows people the order and refunds nothing, and a block resolves it', async () => {
    const worker = await SteppedWorker.open(IMPATIENT);
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    await aMoment();
    await worker.advance();
    expect(await orderOf(key)).toMatchObject({ status: 'unresolved', needs_attention: true });
    await mine();
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'delivered', needs_attention: false });
  });

  it('too long, and then proven dead, ends in a refund without a second attempt', async () => {
    const worker = await SteppedWorker.open(IMPATIENT);
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    await aMoment();
    await worker.advance();
    await devnet.control('evict', {});
    await mine(PAST_VALIDITY);
    await worker.followChain();
    for (let round = 0; round < 4; round += 1) await worker.advance();
    expect(await orderOf(key)).toMatchObject({ status: 'refunded', settled: true, needs_attention: false });
    expect(await statusesOf(key)).toEqual(['dead']);
  });

  it('for unreachable nodes ends in a refund of the unsent order', async () => {
    const worker = await SteppedWorker.open(IMPATIENT);
    const free = await freeSun();
    const key = await rent(receivers[0]!);
    await worker.advance();
    expect((await orderOf(key)).status).toBe('reserved');
    await aMoment();
    for (let round = 0; round < 3; round += 1) await worker.advance();
    expect((await orderOf(key)).status).toBe('refunded');
    expect(await txsOf(key)).toEqual([]);
    expect(await freeSun()).toBe(free);
  });
});

describe('an end', () => {
  it('comes by the chain’s clock, however late it is here', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
    expect(await worker.reclaimEnded()).toBe(0);
    await mine(20);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
    expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  });

  it('that a dead worker had begun to record is continued', async () => {
    const worker = await SteppedWorker.open();
    const key = await rent(receivers[0]!);
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine(25);
    await worker.followChain();
    const signed = jest.spyOn(worker.transactionLog(), 'recordSigned').mockRejectedValueOnce(new Error('died'));
    await expect(worker.reclaimEnded()).rejects.toThrow('died');
    signed.mockRestore();
    expect(await statusesOf(key, 'reclaim')).toEqual(['built']);
    await worker.advance();
    expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
  });

  it('returns a leg’s capacity once, whoever repeats it', async () => {
    const worker = await SteppedWorker.open();
    const free = await freeSun();
    const key = await rent(receivers[0]!);
    const order = await dueAgain(worker, (await orderOf(key)).id);
    expect(await freeSun()).toBeLessThan(free);
    await worker.orderTermination().undo(order);
    await worker.orderTermination().releaseLegs(order, order.legs);
    await worker.orderTermination().releaseLegs(order, order.legs);
    expect(await freeSun()).toBe(free);
    const balance = async () => (await customer.get('/v1/balance')).body.credits_balance as number;
    const before = await balance();
    await worker.orderTermination().refund(order, 'It could not be delivered.');
    const after = await balance();
    await worker.orderTermination().refund(order, 'It could not be delivered.');
    expect(after).toBeGreaterThan(before);
    expect(await balance()).toBe(after);
  });
});
