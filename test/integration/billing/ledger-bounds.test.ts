// The operator's bookings never move a balance below the project's debt limit or beyond a JSON integer, and leave room
// for the refunds of open orders.
import { DepositBatch } from '../../../src/modules/deposits/deposit-batch.js';
import { credits } from '../../../src/domain/units.js';
import type { Database } from '../../../src/platform/database/database.js';
import { AUTHOR, openAsOwner } from '../../support/api/factory.js';
import { ledgerOn } from '../../support/api/services.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const PROJECT = '11111111-2222-4333-8444-666666666666';
const MOST = 9_007_199_254_740_991n;
let store: TestDatabase;
let database: Database;

beforeAll(async () => {
  store = await createTestDatabase();
  database = await openAsOwner(store.url);
  await database.query(`INSERT INTO project (id, name, api_key_sealed) VALUES ($1, 'bounds', '\\x00')`, [PROJECT]);
  await database.query(`INSERT INTO credit_account (project_id) VALUES ($1)`, [PROJECT]);
});

afterAll(async () => {
  await database.source.destroy();
  await store.drop();
});

const balance = async (): Promise<bigint> => (await ledgerOn(database).balanceOf(PROJECT))!.balanceCredits;

it('a correction lowers a balance to its floor, and no credit further', async () => {
  const ledger = ledgerOn(database);
  await ledger.topUp(PROJECT, credits(100), 'first', AUTHOR);
  await expect(ledger.adjust(PROJECT, credits(-101), 'too-much', AUTHOR)).rejects.toThrow(
    'below the limit of the project’s terms',
  );
  expect(await balance()).toBe(100n);
  await ledger.adjust(PROJECT, credits(-100), 'all-of-it', AUTHOR);
  expect(await balance()).toBe(0n);
  await ledger.setTerms(PROJECT, { kind: 'postpaid', debtLimitCredits: credits(10) }, AUTHOR);
  await ledger.adjust(PROJECT, credits(-10), 'all-of-the-debt', AUTHOR);
  await expect(ledger.adjust(PROJECT, credits(-1), 'one-more', AUTHOR)).rejects.toThrow(
    'below the limit of the project’s terms',
  );
  expect(await balance()).toBe(-10n);
});

it('a payment is booked while the balance is below its floor', async () => {
  const ledger = ledgerOn(database);
  await ledger.setTerms(PROJECT, { kind: 'prepaid' }, AUTHOR);
  const before = await balance();
  expect(before).toBeLessThan(-1n);
  expect(await ledger.topUp(PROJECT, credits(1), 'a-part', AUTHOR)).toEqual({
    isNew: true,
    balanceCredits: before + 1n,
  });
});

it('a reference has up to 200 printable characters', async () => {
  const ledger = ledgerOn(database);
  const booked = (reference: string) => ledger.adjust(PROJECT, credits(1), reference, AUTHOR);
  for (const wrong of ['', ' a', 'a ', 'a\tb', 'é', 'r'.repeat(201)]) {
    await expect(booked(wrong)).rejects.toThrow('A reference must be 1 to 200 printable ASCII characters.');
  }
  const before = await balance();
  expect(await booked('r'.repeat(200))).toEqual({ isNew: true, balanceCredits: before + 1n });
});

it('a booking raises a balance to the largest JSON integer, and no credit further', async () => {
  const ledger = ledgerOn(database);
  await ledger.topUp(PROJECT, credits(MOST - (await balance())), 'as-much-as-there-can-be', AUTHOR);
  await expect(ledger.topUp(PROJECT, credits(1), 'one-too-many', AUTHOR)).rejects.toThrow('would exceed 2^53');
  expect(await balance()).toBe(MOST);
});

it('bookings and deposits leave room for the refunds of open orders', async () => {
  const ledger = ledgerOn(database);
  const charge = 5_000n;
  await ledger.adjust(PROJECT, credits(-charge), 'as-charged', AUTHOR);
  const [order] = await database.query<{ id: bigint }>(
    `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
      VALUES ($1, 'open', sha256(''), 'activation', 'reserved', 'T', 1, $2, 1, clock_timestamp()) RETURNING id`,
    [PROJECT, charge],
  );
  await database.query(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
      VALUES ('charge:' || $1::bigint, $2, 'revenue', 'charge', -$3::bigint, $1)`,
    [order!.id, PROJECT, charge],
  );
  const roomOf = () => database.transaction((tx) => new DepositBatch(tx).roomOf(PROJECT));
  expect(await roomOf()).toBe(0n);
  await expect(ledger.topUp(PROJECT, credits(1), 'into-the-room', AUTHOR)).rejects.toThrow('charges of open orders');
  await expect(ledger.adjust(PROJECT, credits(1), 'into-the-room', AUTHOR)).rejects.toThrow('charges of open orders');
  await ledger.adjust(PROJECT, credits(-7), 'seven-less', AUTHOR);
  expect(await roomOf()).toBe(7n);
  const roomBesideDeposit = database.transaction((tx) => {
    const batch = new DepositBatch(tx);
    batch.balances.set(PROJECT, 5n);
    return batch.roomOf(PROJECT);
  });
  expect(await roomBesideDeposit).toBe(2n);
  await ledger.topUp(PROJECT, credits(7), 'seven-again', AUTHOR);
  const whole = { credits: credits(charge), kept: credits(0) };
  expect(await database.transaction((tx) => ledger.refund(tx, order!.id, PROJECT, whole))).toBe(true);
  expect(await balance()).toBe(MOST);
});
