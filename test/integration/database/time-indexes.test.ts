// Statements that read rows by age use the index of their time: a volatile function alone would read every row.
import { PRUNE_SOME } from '../../../src/modules/auth/nonces.js';
import { CREDITED_TODAY } from '../../../src/modules/deposits/deposit-sql.js';
import { MONEY, ORDERS } from '../../../src/modules/diagnostics/project-records.js';
import { FORGET } from '../../../src/modules/people/guesses.js';
import { NEWER_DEPOSIT_CHECKS } from '../../../src/modules/verify/deposit-checks.js';
import { NEWER_STATEMENT_CHECKS } from '../../../src/modules/verify/statement-checks.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let store: TestDatabase;

beforeAll(async () => {
  store = await createTestDatabase();
});

afterAll(() => store.drop());

/** Returns the conditions of the indexes in the generic plan of a statement. */
const indexConditionsOf = (text: string): Promise<string> =>
  asAdmin(store.url, async (client) => {
    await client.query(`SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off`);
    await client.query(`PREPARE planned AS ${text}`);
    const parameters = text.includes('$2') ? `('00000000-0000-0000-0000-000000000000', 1)` : '';
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS OFF) EXECUTE planned${parameters}`);
    return rows
      .map((row) => row['QUERY PLAN'])
      .filter((line) => line.includes('Index Cond:'))
      .join('\n');
  });

it.each([
  ['the credits of a day', CREDITED_TODAY.text, 'changed_at'],
  ['the check of new deposits', NEWER_DEPOSIT_CHECKS[0]!.text, 'changed_at'],
  ['the check of new statements', NEWER_STATEMENT_CHECKS[0]!.text, 'closed_at'],
  ['the deletion of nonces', PRUNE_SOME.text, 'expires_at'],
  ['the deletion of guesses', FORGET, 'window_ends'],
  ['a project’s latest orders', ORDERS, 'created_at'],
  ['a project’s latest spending', MONEY, 'created_at'],
])('%s', async (_name, text, column) => {
  expect(await indexConditionsOf(text)).toMatch(new RegExp(`\\b${column} [<>]`));
});
