// Single conditions of the statement that extends a rental. Each test fails without its condition.
import type { Database, Transaction } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { undoneBare } from '../../support/database/undone.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const PROJECT = '11111111-2222-4333-8444-777777777777';
const ORDER = 1n;
const [SELLING, PAUSED] = [1, 2];
const ENDS_AT = new Date('2026-03-01T12:00:00Z');
const [ADDED_SEC, LONGEST_SEC] = [600, 86_400];
const MADE = 'made';

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

async function addRental(tx: Transaction): Promise<void> {
  await tx.query(`INSERT INTO project (id, name, api_key_sealed) VALUES ($1, 'extends', '\\x00')`, [PROJECT]);
  await tx.query(
    `INSERT INTO api_key (id, project_id, name, scopes, sealed) VALUES ($1, $1, 'key', '{read,quote,order,manage}', '\\x00')`,
    [PROJECT],
  );
  await tx.query(`INSERT INTO credit_account (project_id, balance_credits) VALUES ($1, 1000)`, [PROJECT]);
  await tx.query(
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, settled, receive_address, energy, delivered_energy,
        duration_sec, price_sun, credits, trx_usd_e8, created_at, delivered_at, ends_at)
     OVERRIDING SYSTEM VALUE
     VALUES ($1, $2, 'order', sha256('a'), 'rental', 'delivered', true, 'T', 100, 100, 3600, 9, 9, 9, $3, $3, $3)`,
    [ORDER, PROJECT, ENDS_AT],
  );
  for (const [id, status] of [
    [SELLING, 'active'],
    [PAUSED, 'paused'],
  ]) {
    await tx.query(
      `INSERT INTO pool_wallet (id, address, role, permission_id, key_address, status)
       OVERRIDING SYSTEM VALUE VALUES ($1::integer, 'T' || $1::integer, 'pool', 2, 'TKey', $2)`,
      [id, status],
    );
  }
  await addLeg(tx, 1, SELLING, 'active');
}

const addLeg = (tx: Transaction, legNo: number, wallet: number, status: string) =>
  tx.query(
    `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
     VALUES ($1, $2, 'rental', $3, 'T', 1000000, $4)`,
    [ORDER, legNo, wallet, status],
  );

/** Extends the rental after `change`, with the chain's head `headSec` after its end. Returns the refusal, or MADE. */
const extend = (change: (tx: Transaction) => Promise<unknown>, headSec = -60): Promise<string> =>
  undoneBare(database, async (tx) => {
    await addRental(tx);
    await change(tx);
    const head = new Date(ENDS_AT.getTime() + headSec * 1000);
    const params = [PROJECT, ORDER, ADDED_SEC, head, LONGEST_SEC];
    const extended = tx.query<{ created: boolean }>(
      `SELECT created FROM extend_order($1, $1, 'extension', sha256('b'), $2, $3, 9, 9, 9, $4, $5, NULL, 'request')`,
      params,
    );
    return extended.then(
      ([row]) => (row?.created === true ? MADE : 'not made'),
      (error: unknown) => (error as Error).message,
    );
  });

const unchanged = () => Promise.resolve();
const set = (columns: string) => (tx: Transaction) => tx.query(`UPDATE orders SET ${columns} WHERE id = 1`);

it('extends a running rental', async () => {
  expect(await extend(unchanged)).toBe(MADE);
});

it.each([
  ['is not settled', 'settled = false'],
  ['is being undone', 'undoing = true'],
  ['was reclaimed', 'reclaimed_at = ends_at'],
  ['needs the attention of an operator', 'needs_attention = true'],
  ['was extended a hundred times', 'extensions = 100'],
])('extends no rental that %s', async (_what, columns) => {
  expect(await extend(set(columns))).toBe('NOT_EXTENDABLE');
});

it('extends an ended rental only if the added time is not over too', async () => {
  expect([await extend(unchanged, ADDED_SEC - 1), await extend(unchanged, ADDED_SEC)]).toEqual([
    MADE,
    'NOT_EXTENDABLE',
  ]);
});

it('extends to the longest rental on sale, and not a second beyond', async () => {
  const most = ADDED_SEC - LONGEST_SEC;
  expect([await extend(unchanged, most), await extend(unchanged, most - 1)]).toEqual([MADE, 'INVALID_REQUEST']);
});

it('extends no rental of a paused wallet, unless its leg there was released', async () => {
  const withLeg = (status: string) => extend((tx) => addLeg(tx, 2, PAUSED, status));
  expect([await withLeg('active'), await withLeg('released')]).toEqual(['CAPACITY_UNAVAILABLE', MADE]);
});

it('extends no rental while the past of the records is searched', async () => {
  const searching = (tx: Transaction) => tx.query('UPDATE reconcile_state SET search_until = clock_timestamp()');
  expect(await extend(searching)).toBe('CAPACITY_UNAVAILABLE');
});
