// Rows at boundaries: retention keeps them until their end, and paging skips none.
import { pruneNonces } from '../../../src/modules/auth/nonce-retention.js';
import { LedgerList } from '../../../src/modules/statements/ledger-list.js';
import { Replica } from '../../../src/platform/database/replica.js';
import type { Database } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const PROJECT = '11111111-2222-4333-8444-555555555555';
let store: TestDatabase;
let database: Database;

beforeAll(async () => {
  store = await createTestDatabase();
  database = await openAsOwner(store.url);
  await database.query(`INSERT INTO project (id, name, api_key_sealed) VALUES ($1, 'kept', '\\x00')`, [PROJECT]);
});

afterAll(async () => {
  await database.source.destroy();
  await store.drop();
});

it('keeps a nonce until it expires', async () => {
  await database.query(
    `INSERT INTO request_nonce (project_id, nonce, expires_at) SELECT $1, sec || ' s', clock_timestamp() + sec * interval '1 second'
       FROM unnest(ARRAY[-60, 50]) AS sec`,
    [PROJECT],
  );
  expect(await pruneNonces(database, 1000)).toBe(1);
  expect(await database.query(`SELECT nonce FROM request_nonce`)).toEqual([{ nonce: '50 s' }]);
});

it('pages of the ledger have every entry of the same microsecond, once', async () => {
  await database.query(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
     SELECT 'topup:' || n, $1, 'funding', 'topup', n, 'a', 'b', '2026-01-01T00:00:00.000001Z' FROM generate_series(1, 5) n`,
    [PROJECT],
  );
  const list = new LedgerList(new Replica(database));
  const seen: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await list.page(PROJECT, {}, 2, cursor);
    seen.push(...page.items.map(({ credits }) => Number(credits)));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(seen).toEqual([5, 4, 3, 2, 1]);
});
