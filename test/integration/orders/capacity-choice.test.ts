// The wallets and slots that an order takes its stake from: few legs, large stakes kept whole, and all of the stake for
// sale.
import pg from 'pg';
import { until } from '../../../packages/local/src/wait.js';
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { undone } from '../../support/database/undone.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const TRX = 1_000_000n;
const ORDER = 7;
const LEGS_MAX = 20;
const WAIT_LIMIT_MS = 30_000;

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

/** The free stake of each slot of a wallet for energy, in TRX. */
type Slots = readonly number[];

/** Adds wallets, numbered from 1, that sell. */
async function addWallets(on: Pick<Transaction, 'query'>, wallets: readonly Slots[]): Promise<void> {
  for (const [index, slots] of wallets.entries()) {
    const id = index + 1;
    const sun = slots.map((trx) => BigInt(trx) * TRX);
    await on.query(
      `INSERT INTO pool_wallet (id, address, role, permission_id, key_address, free_sun_seen, sells_until)
       OVERRIDING SYSTEM VALUE VALUES ($1, $2, 'pool', 2, 'TKey', $3, clock_timestamp() + interval '1 hour')`,
      [id, `TWallet${id.toString()}`, sun.reduce((sum, each) => sum + each, 0n)],
    );
    await on.query(
      `INSERT INTO pool_slot (wallet_id, slot_no, free_sun, free_transactions)
       SELECT $1, n, sun, 10 FROM unnest($2::bigint[]) WITH ORDINALITY AS slot (sun, n)`,
      [id, sun],
    );
  }
}

/** Returns the legs of an order as [wallet, sun]. */
async function legsOf(on: Pick<Transaction, 'query'>): Promise<[number, bigint][]> {
  const legs = await on.query<{ wallet_id: number; amount_sun: bigint }>(
    'SELECT wallet_id, amount_sun FROM open_leg WHERE order_id = $1 ORDER BY leg_no',
    [ORDER],
  );
  return legs.map((leg) => [leg.wallet_id, leg.amount_sun]);
}

const reserve = (on: Pick<Transaction, 'query'>, sun: bigint, slackSun = 0n) =>
  on.query(`SELECT reserve_capacity($1, 'rental', 'TReceiver', $2, $3, $4)`, [ORDER, sun, slackSun, LEGS_MAX]);

const legsFor = (wallets: readonly Slots[], sun: bigint, slackSun = 0n) =>
  undone(database, async (tx) => {
    await addWallets(tx, wallets);
    await reserve(tx, sun, slackSun);
    return legsOf(tx);
  });

describe('an order', () => {
  it('takes the smallest slot that holds it, of the wallet with the least free stake', async () => {
    const slots = await undone(database, async (tx) => {
      await addWallets(tx, [
        [600, 400],
        [30, 20, 10],
        [700, 800],
      ]);
      await reserve(tx, 15n * TRX);
      return tx.query<{ wallet_id: number; slot_no: number; free: bigint }>(
        `SELECT wallet_id, slot_no::integer, free_sun / 1000000 AS free FROM pool_slot WHERE free_transactions < 10`,
      );
    });
    expect(slots).toEqual([{ wallet_id: 2, slot_no: 2, free: 5n }]);
  });

  it('that no slot holds takes the smallest wallet that holds it', async () => {
    const wallets = [
      [60, 60],
      [50, 50],
      [40, 40],
    ];
    expect(await legsFor(wallets, 90n * TRX)).toEqual([[2, 90n * TRX]]);
  });

  it('that no wallet holds takes the largest wallets first', async () => {
    const wallets = [
      [10, 10],
      [30, 30],
      [25, 25],
    ];
    expect(await legsFor(wallets, 100n * TRX)).toEqual([
      [2, 60n * TRX],
      [3, 40n * TRX],
    ]);
  });

  it('adds its slack for each further leg, whose amount rounds down', async () => {
    const wallets = [
      [30, 30],
      [25, 25],
      [10, 10],
    ];
    expect(await legsFor(wallets, 120n * TRX, 7n)).toEqual([
      [1, 60n * TRX],
      [2, 50n * TRX],
      [3, 10n * TRX + 14n],
    ]);
  });

  it('gets all of the free stake, and not a sun more', async () => {
    expect(await legsFor([[30, 30]], 60n * TRX)).toEqual([[1, 60n * TRX]]);
    await expect(legsFor([[30, 30]], 60n * TRX + 1n)).rejects.toThrow('CAPACITY_UNAVAILABLE');
  });

  it.each([
    ['takes all of a wallet if the rest with its slack is one TRX', 500_000n, [60_000_000n, 1_000_000n]],
    ['leaves the rest of a wallet that would make a leg below one TRX', 499_999n, [59_500_000n, 1_499_999n]],
  ])('%s', async (_what, slackSun, amounts) => {
    const wallets = [
      [30, 30],
      [10, 10],
    ];
    expect(await legsFor(wallets, 60_500_000n, slackSun)).toEqual([
      [1, amounts[0]],
      [2, amounts[1]],
    ]);
  });
});

it('an order of several parts that needs all of the free stake waits for a slot that another order holds', async () => {
  await addWallets(database, [[30, 30]]);
  await database.query('UPDATE pool_slot SET free_bandwidth_sun = 5000000');
  const holder = new pg.Client({ connectionString: store.url });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM pool_slot WHERE slot_no = 1 FOR UPDATE');
    const reserved = database.query(
      `SELECT reserve_order($1, 'TReceiver', ARRAY['rental', 'bandwidth'], ARRAY[60000000, 10000000]::bigint[],
        ARRAY[0, 0]::bigint[], ARRAY[20, 20])`,
      [ORDER],
    );
    const isWaiting = until(
      async () => {
        const { rows } = await holder.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows.length > 0 ? true : undefined;
      },
      WAIT_LIMIT_MS,
      'the order to wait for the slot',
      20,
    );
    await Promise.race([isWaiting, reserved]);
    await holder.query('ROLLBACK');
    await reserved;
    expect(await legsOf(database)).toEqual([
      [1, 60n * TRX],
      [1, 10n * TRX],
    ]);
  } finally {
    await holder.end();
  }
});
