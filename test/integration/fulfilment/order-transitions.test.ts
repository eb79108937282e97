// Moves of an order that depend on several of its legs and their blocks.
import {
  closeActivationsOf,
  keepLegAge,
  markTopUps,
  startWaitsAfterActivation,
} from '../../../src/modules/order-records/leg-transitions.js';
import { wakeShortOrders } from '../../../src/modules/order-records/order-schedule.js';
import {
  deliverOrders,
  finishOrders,
  recordClosedOrders,
  recordReclaimedOrders,
  recountStake,
} from '../../../src/modules/order-records/order-transitions.js';
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { undoneBare } from '../../support/database/undone.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const ORDER = 1n;
const FIRST_AT = new Date('2026-03-01T12:00:00Z');
const LAST_AT = new Date('2026-03-01T12:00:06Z');
const DURATION_SEC = 3600;

let store: TestDatabase;
let database: Database;

beforeAll(async () => {
  store = await createTestDatabase();
  database = await openAsOwner(store.url);
});

afterAll(async () => {
  await database.source.destroy();
  await store.drop();
});

type Columns = Readonly<Record<string, unknown>>;

interface Given {
  readonly order?: Columns;
  readonly legs: readonly Columns[];
  readonly txs?: readonly Columns[];
}

async function addOrder(tx: Transaction, { order = {}, legs, txs = [] }: Given): Promise<void> {
  const now = new Date().toISOString();
  await tx.query(
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun,
        credits, trx_usd_e8, created_at)
     OVERRIDING SYSTEM VALUE
     VALUES ($1, gen_random_uuid(), 'key', sha256('a'), 'rental', 'placed', 'T', 100, $2, 9, 9, 9, $3)`,
    [ORDER, DURATION_SEC, now],
  );
  await change(tx, 'orders', ORDER, order);
  for (const [index, leg] of legs.entries()) {
    const id = index + 1;
    await tx.query(
      `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
       OVERRIDING SYSTEM VALUE VALUES ($1::integer, $2, $1::integer, 'rental', $1::integer, 'T', 1000000, 'active')`,
      [id, ORDER],
    );
    await change(tx, 'leg', BigInt(id), leg);
  }
  for (const [index, given] of txs.entries()) {
    const id = index + 1;
    await tx.query(
      `INSERT INTO chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, ref_block_number, expires_at)
       OVERRIDING SYSTEM VALUE
       SELECT $1::integer, $2, $1::integer, 'reclaim', 1, 1, 'included', sha256(raw), raw, 7, now()
         FROM (SELECT convert_to('raw ' || $1::integer, 'UTF8') AS raw) bytes`,
      [id, ORDER],
    );
    await change(tx, 'chain_tx', BigInt(id), given);
  }
}

async function change(tx: Transaction, table: string, id: bigint, columns: Columns): Promise<void> {
  for (const [column, value] of Object.entries(columns)) {
    await tx.query(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [id, value]);
  }
}

/** Returns the order after `work`. */
const orderAfter = (given: Given, work: (tx: Transaction) => Promise<unknown>): Promise<Columns> =>
  undoneBare(database, async (tx) => {
    await addOrder(tx, given);
    await work(tx);
    const [row] = await tx.query<Record<string, unknown>>('SELECT * FROM orders WHERE id = $1', [ORDER]);
    return row!;
  });

const legsAfter = (given: Given, work: (tx: Transaction) => Promise<unknown>): Promise<Columns[]> =>
  undoneBare(database, async (tx) => {
    await addOrder(tx, given);
    await work(tx);
    return tx.query<Record<string, unknown>>(
      'SELECT *, extract(epoch FROM clock_timestamp() - changed_at)::float8 AS age_sec FROM leg WHERE order_id = $1 ORDER BY leg_no',
      [ORDER],
    );
  });

const RUNNING = { status: 'delivered', settled: true, delivered_at: FIRST_AT, ends_at: FIRST_AT };
const OLD = new Date('2026-03-01T11:00:00Z');

describe('an order of two legs', () => {
  const parts = [
    { active_at: LAST_AT, energy: 60 },
    { active_at: FIRST_AT, energy: 40 },
  ];

  it('is delivered with its last leg, from which its time counts, and needs no attention any more', async () => {
    const order = { status: 'unresolved', needs_attention: true, error_code: 'SUPPLIER_UNKNOWN', error: 'unknown' };
    expect(await orderAfter({ order, legs: parts }, (tx) => deliverOrders(tx, [ORDER]))).toMatchObject({
      ...{ status: 'delivered', delivered_at: LAST_AT, delivered_energy: 100n },
      ends_at: new Date(LAST_AT.getTime() + DURATION_SEC * 1000),
      ...{ needs_attention: false, error_code: null, error: null },
    });
  });

  it('is over with its last undelegation', async () => {
    const txs = [{ block_at: LAST_AT }, { block_at: FIRST_AT }];
    const given = { order: RUNNING, legs: [{ status: 'reclaiming' }, { status: 'reclaiming' }], txs };
    expect(await orderAfter(given, (tx) => recordReclaimedOrders(tx, [ORDER]))).toMatchObject({
      reclaimed_at: LAST_AT,
    });
  });

  it.each([
    ['a foreign act after our undelegation', LAST_AT, FIRST_AT],
    ['our undelegation after a foreign act', FIRST_AT, LAST_AT],
  ])('is over with %s', async (_what, closedAt, blockAt) => {
    const given = {
      order: RUNNING,
      legs: [{ status: 'reclaimed' }, { status: 'reclaimed', closed_at: closedAt, closed_reason: 'gone' }],
      txs: [{ block_at: blockAt, status: 'solid' }],
    };
    expect(await orderAfter(given, (tx) => recordClosedOrders(tx, [ORDER]))).toMatchObject({
      ...{ reclaimed_at: LAST_AT, next_run_at: null },
    });
  });

  it('counts no reclaimed leg as delegated', async () => {
    const given = { order: RUNNING, legs: [{}, { status: 'reclaimed' }, { status: 'released' }] };
    expect(await orderAfter(given, (tx) => recountStake(tx, ORDER, 30, ['rental']))).toMatchObject({
      sun_per_energy_e6: 10_000_000_000n,
    });
  });
});

describe('an order without open legs', () => {
  const legs = [{ status: 'reclaimed' }, { status: 'released' }];
  const order = { ...RUNNING, needs_attention: true, next_run_at: OLD };

  it('is off the schedule, and needs no attention any more', async () => {
    expect(await orderAfter({ order, legs }, (tx) => finishOrders(tx, [ORDER]))).toMatchObject({
      ...{ next_run_at: null, needs_attention: false },
    });
  });

  it('is due, and keeps its flag, while it is being undone', async () => {
    const undoing = { ...order, settled: false, undoing: true };
    const after = await orderAfter({ order: undoing, legs }, (tx) => finishOrders(tx, [ORDER]));
    expect(after).toMatchObject({ needs_attention: true });
    expect((after['next_run_at'] as Date).getTime()).toBeGreaterThan(OLD.getTime());
  });
});

describe('an order whose activation is in a block', () => {
  const activation = { kind: 'activation', active_at: FIRST_AT };
  const waiting = { status: 'reserved', changed_at: OLD };

  it.each([
    ['is due if nothing else was sent', waiting, true],
    ['is not made due once its delegation was sent', { status: 'placed' }, false],
  ])('%s', async (_what, other, isDue) => {
    const after = await orderAfter({ legs: [activation, other] }, (tx) => wakeShortOrders(tx, [ORDER]));
    expect(after['next_run_at'] !== null).toBe(isDue);
  });

  it('counts the wait of its other legs from then', async () => {
    const [, after] = await legsAfter({ legs: [activation, waiting] }, (tx) => startWaitsAfterActivation(tx, [1n]));
    expect(after!['age_sec']).toBeLessThan(3000);
  });

  it('keeps the activation when it is refunded', async () => {
    const legs = [activation, { status: 'released' }];
    const [after] = await legsAfter({ legs }, (tx) => closeActivationsOf(tx, [ORDER]));
    expect(after).toMatchObject({ status: 'reclaimed', closed_at: FIRST_AT });
  });
});

it('a moved leg is as old as the leg that it replaces', async () => {
  const legs = [{ status: 'released' }, { status: 'reserved' }];
  const [, after] = await legsAfter({ legs }, (tx) => keepLegAge(tx, ORDER, 500));
  expect(after!['age_sec']).toBeGreaterThanOrEqual(500);
});

it('marks further legs as top-ups of their own kind', async () => {
  const legs = [{}, { status: 'reserved' }, { status: 'reserved', kind: 'bandwidth' }];
  const after = await legsAfter({ order: RUNNING, legs }, (tx) =>
    markTopUps(tx, ORDER, { afterLegNo: 1, kind: 'rental', cause: 'stake' }),
  );
  expect(after.map((leg) => [leg['top_up'], leg['top_up_cause']])).toEqual([
    [false, null],
    [true, 'stake'],
    [false, null],
  ]);
});
