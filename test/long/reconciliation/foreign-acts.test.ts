// Acts of other parties on our delegations, with the wallet's own key. A reclaim never takes energy of another order.
import 'reflect-metadata';
import { jest } from '@jest/globals';
import { Signer } from '../../../src/platform/chain/keys.js';
import { until } from '../../../packages/local/src/wait.js';
import { attemptsOf } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { actAs, delegatedSunOf } from '../../support/chain/order-chain.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  dueAgain,
  full,
  SteppedWorker,
  mine,
  openFixture,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  SOLID_LAG,
  solid,
  START_LIMIT_MS,
  statusesOf,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(async () => {
  full.rest();
  solid.rest();
  // Restores the undelegated stake, so that the rentals can end.
  for (const sun of taken.splice(0)) await actAs(devnet.fullUrl, pool, 'delegateresource', operationOf(sun));
  await mine();
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const receiver = receivers[0]!;
let bought = 0;

async function rentFor(durationSec: number): Promise<string> {
  bought += 1;
  const key = `f-${bought.toString()}`;
  const body = { receive_address: receiver, energy: 50_000, duration_sec: durationSec };
  const answer = await customer.post('/v1/orders', body, { 'Idempotency-Key': key });
  expect(answer.status).toBe(202);
  return key;
}

/** Makes two settled rentals of one wallet and receiver: one ends in a minute, one runs for a day. */
async function twoRentals(worker: SteppedWorker): Promise<{ short: string; long: string; sun: bigint }> {
  const [short, long] = [await rentFor(60), await rentFor(86_400)];
  await mine();
  await worker.followChain();
  await worker.advance();
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  expect(await orderOf(short)).toMatchObject({ settled: true });
  expect(await orderOf(long)).toMatchObject({ settled: true });
  const [leg] = await api.database.query<{ sun: bigint }>(
    `SELECT l.amount_sun AS sun FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1`,
    [short],
  );
  return { short, long, sun: leg!.sun };
}

const taken: bigint[] = [];
const operationOf = (sun: bigint) => ({ receiver_address: receiver, balance: Number(sun), resource: 'ENERGY' });

async function reclaimAsOwner(sun: bigint): Promise<string> {
  taken.push(sun);
  return actAs(devnet.fullUrl, pool, 'undelegateresource', operationOf(sun));
}

const standing = (): Promise<bigint> => delegatedSunOf(devnet.fullUrl, pool.address, receiver);

describe('stake that another party reclaimed', () => {
  it.each([
    ['long before the end', 10],
    ['just before the end, in a block that is not solid yet', 0],
  ])('%s is not taken from another order of the same receiver', async (_when, blocksBetween) => {
    const worker = await SteppedWorker.open();
    const { short, sun } = await twoRentals(worker);
    const other = (await standing()) - sun;
    await mine(20 - blocksBetween);
    await worker.followChain();
    await reclaimAsOwner(sun);
    await mine(1);
    await worker.followChain();
    if (blocksBetween > 0) await mine(blocksBetween);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
    await mine(2);
    await worker.followChain();
    await worker.advance();
    await mine(2);
    expect(await statusesOf(short, 'reclaim')).toEqual([]);
    expect(await standing()).toBe(other);
  });

  it('is not taken from another order by a new worker that has read no blocks yet', async () => {
    const { short, sun } = await twoRentals(await SteppedWorker.open());
    const other = (await standing()) - sun;
    await reclaimAsOwner(sun);
    await mine(22);
    const fresh = await SteppedWorker.open();
    await fresh.followChain();
    expect(await fresh.reclaimEnded()).toBe(1);
    await mine(2);
    expect(await statusesOf(short, 'reclaim')).toEqual([]);
    expect(await standing()).toBe(other);
    await actAs(devnet.fullUrl, pool, 'delegateresource', operationOf(taken.pop()!));
    await mine(1);
    await fresh.followChain();
    await fresh.advance();
    expect(await statusesOf(short, 'reclaim')).toEqual(['sending']);
  });

  it('after the reclaim was signed, but before it was sent, stops the sending', async () => {
    const worker = await SteppedWorker.open();
    const { short, sun } = await twoRentals(worker);
    const other = (await standing()) - sun;
    await mine(21);
    await worker.followChain();
    const sending = jest.spyOn(worker.transactionLog(), 'recordSending').mockRejectedValueOnce(new Error('died'));
    await expect(worker.reclaimEnded()).rejects.toThrow('died');
    sending.mockRestore();
    expect(await statusesOf(short, 'reclaim')).toEqual(['signed']);
    await reclaimAsOwner(sun);
    await mine(1);
    await worker.followChain();
    await worker.advance();
    await mine(2);
    expect(await standing()).toBe(other);
  });

  it('while the reclaim is pending stops further sends of it', async () => {
    const worker = await SteppedWorker.open();
    const { short, sun } = await twoRentals(worker);
    const other = (await standing()) - sun;
    await mine(21);
    await worker.followChain();
    full.before = (path) => (path === 'wallet/broadcasthex' ? 'break' : undefined);
    await worker.reclaimEnded();
    full.rest();
    expect(await statusesOf(short, 'reclaim')).toEqual(['sending']);
    await reclaimAsOwner(sun);
    await mine(1);
    // After a broken connection the worker pauses requests to the node for a moment.
    await until(
      () =>
        worker.followChain().then(
          () => true as const,
          () => undefined,
        ),
      10_000,
      'the second question to the node',
    );
    await worker.advance();
    await mine(2);
    expect(await standing()).toBe(other);
  });
});

describe('a reclaim', () => {
  it('does not wait for pending orders of the same receiver, in or out', async () => {
    const worker = await SteppedWorker.open();
    const { short } = await twoRentals(worker);
    await mine(21);
    await worker.followChain();
    const late = await rentFor(60);
    await worker.advance();
    expect(await statusesOf(late)).toEqual(['sending']);
    expect(await worker.reclaimEnded()).toBe(1);
    expect(await statusesOf(short, 'reclaim')).toEqual(['sending']);
  });

  it('asks the chain once for a receiver, however many of its rentals end together', async () => {
    const worker = await SteppedWorker.open();
    const keys = [];
    for (let index = 0; index < 5; index += 1) keys.push(await rentFor(60));
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine(25);
    await worker.followChain();
    let asked = 0;
    const count = (path: string): undefined => void (asked += path.endsWith('getdelegatedresourcev2') ? 1 : 0);
    full.before = count;
    solid.before = count;
    expect(await worker.reclaimEnded()).toBe(5);
    full.rest();
    solid.rest();
    for (const key of keys) expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
    expect(asked).toBe(1);
  });

  it('is loaded with its live transactions only, however many attempts there were', async () => {
    const worker = await SteppedWorker.open();
    const { short } = await twoRentals(worker);
    const { id } = await orderOf(short);
    await api.database.query(
      `INSERT INTO chain_tx (order_id, leg_id, wallet_id, purpose, attempt, status, txid, raw_data, ref_block_number, expires_at)
       SELECT t.order_id, t.leg_id, t.wallet_id, 'reclaim', n, 'dropped', sha256(int8send(n)), int8send(n), 1, t.expires_at
         FROM chain_tx t CROSS JOIN generate_series(1::bigint, 500) n WHERE t.order_id = $1 AND t.purpose = 'delegate'`,
      [id],
    );
    await mine(21);
    await worker.followChain();
    const { legs } = await dueAgain(worker, id);
    expect(legs[0]!.txs.map((tx) => tx.purpose)).toEqual(['delegate']);
    expect(attemptsOf(legs[0]!, 'reclaim')).toBe(500);
  });

  // These two run last: a wallet whose key fails sells nothing until it signs again.
  it('that cannot be signed is retried ever more rarely, and shown to people', async () => {
    const worker = await SteppedWorker.open();
    const { short } = await twoRentals(worker);
    await mine(21);
    await worker.followChain();
    const signing = jest.spyOn(worker.part(Signer), 'sign').mockRejectedValue(new Error('the key is lost'));
    await worker.reclaimEnded();
    // 48 minutes of chain time, 72 s per round.
    for (let minute = 0; minute < 40; minute += 1) {
      await mine(PAST_VALIDITY);
      await worker.followChain();
      await worker.advance();
    }
    signing.mockRestore();
    expect((await orderOf(short)).needs_attention).toBe(true);
    expect((await statusesOf(short, 'reclaim')).length).toBeLessThan(8);
  });

  it('that could not be signed is made as soon as its wallet signs again', async () => {
    const worker = await SteppedWorker.open();
    const { short } = await twoRentals(worker);
    const { id } = await orderOf(short);
    const dueInSec = async (): Promise<number> => {
      const [row] = await api.database.query<{ sec: number }>(
        `SELECT extract(epoch FROM next_run_at - clock_timestamp())::float8 AS sec FROM orders WHERE id = $1`,
        [id],
      );
      return row!.sec;
    };
    await mine(21);
    await worker.followChain();
    const signing = jest.spyOn(worker.part(Signer), 'sign').mockRejectedValue(new Error('the signer is away'));
    await worker.reclaimEnded();
    // A backed-off order is due again after 30 s, an active one after about a second.
    let restSec = await dueInSec();
    for (let minute = 0; minute < 20 && restSec < 15; minute += 1) {
      await mine(PAST_VALIDITY);
      await worker.followChain();
      await worker.advance();
      restSec = await dueInSec();
    }
    const { length: attempts } = await statusesOf(short, 'reclaim');
    await worker.advance();
    expect(await statusesOf(short, 'reclaim')).toHaveLength(attempts);
    signing.mockRestore();
    expect(restSec).toBeGreaterThan(15);
    expect(new Set(await statusesOf(short, 'reclaim'))).toEqual(new Set(['dropped']));
    await worker.followChain();
    await worker.health().resumeWallets();
    expect(await dueInSec()).toBeLessThanOrEqual(0);
    await worker.advancer().advance(await worker.orderClaims().claimDue(64));
    expect((await statusesOf(short, 'reclaim')).at(-1)).toBe('sending');
  });
});
