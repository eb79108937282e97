// The checks of statements: `verify` finds every change made to one with triggers off.
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { StatementFixture } from '../../support/worker/statement-fixture.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';

const LIMIT_MS = 120_000;
let fixture: OrderFixture;
let statementFixture: StatementFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
  statementFixture = await StatementFixture.open(fixture);
}, LIMIT_MS);

afterAll(async () => {
  await statementFixture.close();
  await fixture.close();
}, LIMIT_MS);

const named = async (depth?: 'newer'): Promise<string[]> => {
  const { checks } = await verifyRecords(fixture.api.database, depth === undefined ? {} : { depth });
  return checks.filter(({ check, count }) => check.startsWith('statement-') && count > 0).map(({ check }) => check);
};

const HANDS: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'an entry in two statements',
    `UPDATE statement SET lines = lines + 1, topup_credits = topup_credits + 3, closing_credits = closing_credits + 3 WHERE project_id = $1 AND number = 2`,
    `UPDATE statement SET lines = lines - 1, topup_credits = topup_credits - 3, closing_credits = closing_credits - 3 WHERE project_id = $1 AND number = 2`,
    ['statement-sums', 'statement-complete'],
  ],
  [
    'an entry in the statement of another month',
    `UPDATE statement SET lines = 3 - lines WHERE project_id = $1`,
    `UPDATE statement SET lines = 3 - lines WHERE project_id = $1`,
    ['statement-sums'],
  ],
  [
    'a sum under the wrong kind',
    `UPDATE statement SET topup_credits = topup_credits - 1, adjustment_credits = 1 WHERE project_id = $1 AND number = 1`,
    `UPDATE statement SET topup_credits = topup_credits + 1, adjustment_credits = 0 WHERE project_id = $1 AND number = 1`,
    ['statement-sums'],
  ],
  [
    'a top-up among the deposits',
    `UPDATE statement SET topup_credits = topup_credits - 3, deposit_credits = 3 WHERE project_id = $1 AND number = 1`,
    `UPDATE statement SET topup_credits = topup_credits + 3, deposit_credits = 0 WHERE project_id = $1 AND number = 1`,
    ['statement-sums'],
  ],
  [
    'the name of another month',
    `UPDATE statement SET month = '2026-07-01' WHERE project_id = $1 AND number = 2`,
    `UPDATE statement SET month = '2026-06-01' WHERE project_id = $1 AND number = 2`,
    ['statement-numbers'],
  ],
  [
    'a number left out',
    `UPDATE statement SET number = 3 WHERE project_id = $1 AND number = 2`,
    `UPDATE statement SET number = 2 WHERE project_id = $1 AND number = 3`,
    ['statement-numbers'],
  ],
  [
    'an entry that no statement has',
    `UPDATE statement SET first_at = first_at + interval '1 second', lines = 1, topup_credits = 3, closing_credits = 6
      WHERE project_id = $1 AND number = 2`,
    `UPDATE statement SET first_at = '2026-06-10', lines = 2, topup_credits = 6, closing_credits = 9 WHERE project_id = $1 AND number = 2`,
    ['statement-complete'],
  ],
];
it('reports every change made past the guards', async () => {
  const { merchant } = await makeCustomer(fixture.api, 0n);
  for (const at of ['2026-05-09', '2026-06-10', '2026-06-11']) await statementFixture.book(merchant, 3n, at);
  await statementFixture.closeUpTo('2026-07');
  for (const [what, change, back, checks] of HANDS) {
    await statementFixture.pastGuards('statement', [change, [merchant]]);
    expect([what, ...(await named())]).toEqual([what, ...checks]);
    if (checks.includes('statement-sums')) expect([what, ...(await named('newer'))]).toEqual([what, 'statement-sums']);
    await statementFixture.pastGuards('statement', [back, [merchant]]);
    expect([what, ...(await named())]).toEqual([what]);
  }
});
