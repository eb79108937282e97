// Every write under a claim depends on the fence of that claim: the holder of a lost claim changes nothing.
import { createHash } from 'node:crypto';
import { FulfilmentEvents } from '../../../src/modules/fulfilment/fulfilment-events.js';
import type { ClaimedOrder } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { OrderTermination } from '../../../src/modules/fulfilment/plan/order-termination.js';
import { releaseOrders, renewLeases } from '../../../src/modules/order-records/order-leases.js';
import { postponeTopUps } from '../../../src/modules/order-records/order-schedule.js';
import {
  flagForAttention,
  lockClaimedOrder,
  lockRunningRental,
  markRefunded,
  markUndoing,
  markUnresolved,
} from '../../../src/modules/order-records/order-transitions.js';
import { moveTestOrder } from '../../../src/modules/order-records/test-order-transitions.js';
import {
  dropUnsent,
  insertBuilt,
  markDead,
  markSending,
  markSigned,
} from '../../../src/modules/order-records/transaction-transitions.js';
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { openAsOwner } from '../../support/api/factory.js';
import { ledgerOn } from '../../support/api/services.js';
import { openLog } from '../../support/log.js';
import { undone } from '../../support/database/undone.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const PROJECT = '11111111-2222-4333-8444-555555555555';
const RECEIVER = 'TReceiver';
const FENCE = 5;
/** A placed order with transactions, a running rental, an order whose leg is released, and a test order. */
const [PLACED, RUNNING, ENDED, TEST] = [1n, 2n, 3n, 4n];
/** Transactions of the placed order, each of the leg with the same number, and of the running rental's reclaim. */
const [BUILT, SIGNED, SENDING, RECLAIM] = [101n, 102n, 103n, 104n];
const FREE_LEG = 105n;
const TABLES = ['open_orders', 'open_leg', 'open_chain_tx', 'reclaim_usage'];

let store: TestDatabase;
let database: Database;

beforeAll(async () => {
  store = await createTestDatabase();
  database = await openAsOwner(store.url);
  await database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await addRecords(tx);
  });
});

afterAll(async () => {
  await database.source.destroy();
  await store.drop();
});

async function addRecords(tx: Transaction): Promise<void> {
  const addOrder = (id: bigint, columns: string, values: string) =>
    tx.query(
      `INSERT INTO orders (id, project_id, key, request_hash, kind, receive_address, energy, duration_sec, price_sun, credits,
          trx_usd_e8, created_at, fence, lease_until, ${columns})
       OVERRIDING SYSTEM VALUE VALUES ($1::bigint, $2, 'key ' || $1::bigint, sha256('a'), 'rental', $3, 100, 3600, 9, 9, 9, clock_timestamp(), $4,
          clock_timestamp() + interval '1 minute', ${values})`,
      [id, PROJECT, RECEIVER, FENCE],
    );
  const due = `clock_timestamp() - interval '1 second'`;
  const running = `'delivered', true, ${due}, 100, clock_timestamp() + interval '1 hour'`;
  await addOrder(PLACED, 'status, placed_at, next_run_at', `'placed', ${due}, ${due}`);
  await addOrder(RUNNING, 'status, settled, delivered_at, delivered_energy, ends_at', running);
  await addOrder(ENDED, 'status, undoing, next_run_at', `'placed', true, ${due}`);
  await addOrder(TEST, 'status, test, play_at', `'reserved', true, ${due}`);
  const addLeg = (id: bigint, orderId: bigint, status: string) =>
    tx.query(
      `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
       OVERRIDING SYSTEM VALUE VALUES ($1::bigint, $2, $1::bigint, 'rental', 1, $3, 1000000, $4)`,
      [id, orderId, RECEIVER, status],
    );
  for (const id of [BUILT, SIGNED]) await addLeg(id, PLACED, 'reserved');
  await addLeg(SENDING, PLACED, 'placed');
  await addLeg(RECLAIM, RUNNING, 'active');
  await addLeg(FREE_LEG, PLACED, 'reserved');
  await addLeg(106n, ENDED, 'released');
  const addTx = (id: bigint, orderId: bigint, purpose: string, status: string) =>
    tx.query(
      `INSERT INTO chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature,
          ref_block_number, expires_at)
       OVERRIDING SYSTEM VALUE SELECT $1::bigint, $2, $1::bigint, $3, 1, 1, $4, sha256(raw), raw, $5, 7, clock_timestamp()
         FROM (SELECT convert_to('raw ' || $1::bigint, 'UTF8') AS raw) bytes`,
      [id, orderId, purpose, status, status === 'built' ? null : Buffer.alloc(65)],
    );
  await addTx(BUILT, PLACED, 'delegate', 'built');
  await addTx(SIGNED, PLACED, 'delegate', 'signed');
  await addTx(SENDING, PLACED, 'delegate', 'sending');
  await addTx(RECLAIM, RUNNING, 'reclaim', 'built');
  await tx.query(
    `INSERT INTO reclaim_usage (tx_id, order_id, receive_address, used_energy, limit_energy, pool_energy, sold_energy,
        taken_energy, read_block) VALUES ($1, $2, $3, 1, 1, 1, 1, 1, 7)`,
    [RECLAIM, RUNNING, RECEIVER],
  );
}

async function recordsIn(tx: Transaction): Promise<string[]> {
  const records: string[] = [];
  for (const table of TABLES) {
    const rows = await tx.query<{ row: string }>(`SELECT row_to_json(r)::text AS row FROM ${table} r ORDER BY 1`);
    records.push(...rows.map(({ row }) => row));
  }
  return records;
}

const isChangedBy = async (write: (tx: Transaction) => Promise<unknown>): Promise<boolean> =>
  undone(database, async (tx) => {
    const before = await recordsIn(tx);
    await write(tx);
    return JSON.stringify(await recordsIn(tx)) !== JSON.stringify(before);
  });

function newTransaction(fence: number) {
  const rawData = Buffer.from('new');
  const txid = createHash('sha256').update(rawData).digest('hex');
  const leg = { orderId: PLACED, legId: FREE_LEG, walletId: 1, purpose: 'delegate', attempt: 1 } as const;
  return { ...leg, fence, txid, rawData, refBlockNumber: 7, expiresAtMs: Date.now() };
}

/** Writes that the reclaim of the running rental needs no top-up. */
async function recordHarmlessLeftover(tx: Transaction, fence: number): Promise<void> {
  const events = new FulfilmentEvents(new Metrics(), openLog('silent'));
  const orderTermination = new OrderTermination(tx as unknown as Database, ledgerOn(database), events);
  const order = { id: RUNNING, fence, usage: { reclaims: [{ txId: RECLAIM }] } };
  await orderTermination.recordHarmlessLeftover(order as unknown as ClaimedOrder, 0n);
}

const release = { dueAt: null, delayMs: 1000, isEnding: false };

type Write = (tx: Transaction, fence: number) => Promise<unknown>;
const WRITES: readonly (readonly [string, Write])[] = [
  ['record bytes', (tx, fence) => insertBuilt(tx, [newTransaction(fence)])],
  ['record a signature', (tx, fence) => markSigned(tx, [{ id: BUILT, fence, signature: Buffer.alloc(65) }])],
  ['mark a transaction as sent', (tx, fence) => markSending(tx, [{ id: SIGNED, fence }])],
  ['drop a transaction', (tx, fence) => dropUnsent(tx, [{ id: SIGNED, fence }])],
  ['record a death', (tx, fence) => markDead(tx, [{ id: SENDING, fence, evidence: {} }])],
  ['undo an order', (tx, fence) => markUndoing(tx, { id: PLACED, fence })],
  ['mark an order unresolved', (tx, fence) => markUnresolved(tx, { id: PLACED, fence }, 'unknown')],
  ['call attention', (tx, fence) => flagForAttention(tx, { id: PLACED, fence })],
  ['refund an order', (tx, fence) => markRefunded(tx, { id: ENDED, fence }, 'returned')],
  ['postpone top-ups of energy', (tx, fence) => postponeTopUps(tx, { id: RUNNING, fence }, 'ENERGY', 30)],
  ['postpone top-ups of bandwidth', (tx, fence) => postponeTopUps(tx, { id: RUNNING, fence }, 'BANDWIDTH', 30)],
  ['weigh a reclaim', recordHarmlessLeftover],
  ['renew a lease', (tx, fence) => renewLeases(tx, [{ id: PLACED, fence }], 60)],
  ['release an order', (tx, fence) => releaseOrders(tx, [{ id: PLACED, fence, ...release }])],
  ['move a test order', (tx, fence) => moveTestOrder(tx, { id: TEST, fence }, 'place', 1)],
];

it.each(WRITES)('a lost claim cannot %s', async (_what, write) => {
  expect(await isChangedBy((tx) => write(tx, FENCE))).toBe(true);
  expect(await isChangedBy((tx) => write(tx, FENCE - 1))).toBe(false);
});

it('a lost claim locks no order', async () => {
  const held = (fence: number) =>
    undone(database, async (tx) => [
      await lockClaimedOrder(tx, { id: PLACED, fence }),
      await lockRunningRental(tx, { id: RUNNING, fence }),
    ]);
  expect(await held(FENCE)).toEqual([true, Number(RECLAIM)]);
  expect(await held(FENCE - 1)).toEqual([false, undefined]);
});
