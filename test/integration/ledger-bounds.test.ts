// The operator's bookings never move a balance below the project's debt limit or beyond a JSON integer.
import { credits } from '../../src/domain/units.js';
import type { Database } from '../../src/store/database.js';
import { AUTHOR, openAsOwner } from '../support/api/factory.js';
import { ledgerOn } from '../support/api/services.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

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

it('a booking raises a balance to the largest JSON integer, and no credit further', async () => {
  const ledger = ledgerOn(database);
  await ledger.topUp(PROJECT, credits(MOST - (await balance())), 'as-much-as-there-can-be', AUTHOR);
  await expect(ledger.topUp(PROJECT, credits(1), 'one-too-many', AUTHOR)).rejects.toThrow('would exceed 2^53');
  expect(await balance()).toBe(MOST);
});
