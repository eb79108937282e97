// Months of a project whose ledger does not add up: they wait in order and delay no other project.
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { StatementClosing } from '../../../src/modules/statements/statement-closing.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { StatementFixture } from '../../support/worker/statement-fixture.js';
import { makeCustomer, openAsOwner } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';
import { asRole } from '../../setup/roles.js';

const LIMIT_MS = 120_000;
const MOVE = `UPDATE credit_account SET balance_credits = balance_credits + $2 WHERE project_id = $1`;
let fixture: OrderFixture;
let statementFixture: StatementFixture;

// A new database for each test: a worker may cut off every past month, and later entries would be in no statement.
beforeEach(async () => {
  fixture = await openOrderFixture();
  statementFixture = await StatementFixture.open(fixture);
}, LIMIT_MS);

afterEach(async () => {
  await statementFixture.close();
  await fixture.close();
}, LIMIT_MS);

const rowsOf = async (projectId: string) =>
  (await statementFixture.statements(projectId)).map(({ number, month, lines, opening_credits, closing_credits }) => [
    ...[number, month, Number(lines), Number(opening_credits), Number(closing_credits)],
  ]);

const another = (on = statementFixture.worker) => new StatementClosing(on, new Metrics(), openLog('silent'));
const stepUntil = async (isOver: () => Promise<boolean>, closing: StatementClosing): Promise<void> => {
  for (let steps = 0; !(await isOver()); steps += 1) {
    if (steps > 300) throw new Error('it never comes to this');
    await closing.runStep();
  }
};
/** Creates two projects with an entry in each of two months. The project with the higher id has a wrong balance. */
const prepare = async (...months: readonly [string, string]) => {
  const made = [await makeCustomer(fixture.api, 0n), await makeCustomer(fixture.api, 0n)];
  const [right = '', wrong = ''] = made.map(({ merchant }) => merchant).sort();
  for (const month of months) for (const each of [right, wrong]) await statementFixture.book(each, 3n, `${month}-09`);
  await fixture.api.database.query(MOVE, [wrong, 1]);
  const both = months.map((month, place) => [place + 1, month, 1, 3 * place, 3 * place + 3]);
  const isDone = async () => (await rowsOf(right)).length === 2;
  return { right, wrong, both, isDone };
};

it('while a project’s ledger does not add up, the other projects’ next months are closed, and its own wait in order', async () => {
  const months = ['2024-08', '2024-09'] as const;
  const { right, wrong, both, isDone } = await prepare(...months);
  const closing = another();
  await stepUntil(isDone, closing);
  expect(await rowsOf(right)).toEqual(both);
  await fixture.api.database.query(MOVE, [wrong, -1]);
  // The wrong project comes next while its earlier month is still open.
  const isGoneThrough = async () =>
    (
      await fixture.api.database.query(
        `SELECT FROM statement_month WHERE month = '2024-09-01' AND projects_after IS NULL`,
      )
    ).length === 1;
  await stepUntil(isGoneThrough, closing);
  expect(await rowsOf(wrong)).toEqual([]);
  expect(await Promise.all(months.map((month) => statementFixture.isClosed(month)))).toEqual([false, false]);
  await statementFixture.closeUpTo('2024-09', another());
  expect(await rowsOf(wrong)).toEqual(both);
  expect(await statementFixture.isClosed('2024-08')).toBe(true);
});

it('concurrent workers that die at any of their statements leave that unchanged', async () => {
  const { right, wrong, both, isDone } = await prepare('2024-10', '2024-11');
  const die = (): never => {
    throw new Error('killed');
  };
  const names = ['cut_statement_month', 'close_statement', 'pass_statement_project', 'begin_statement_month_again'];
  for (const name of names) {
    for (const side of ['before', 'after'] as const) {
      const dying = await openAsOwner(asRole(fixture.env['DATABASE_URL']!, 'worker'));
      aroundStatements(dying, [name], { [side]: die });
      const ends = [another(dying), another(dying)].map((closing) => stepUntil(isDone, closing));
      for (const end of await Promise.allSettled(ends)) {
        expect(end).toMatchObject(end.status === 'rejected' ? { reason: { message: 'killed' } } : {});
      }
      await dying.source.destroy();
    }
  }
  await stepUntil(isDone, another());
  expect([await rowsOf(right), await rowsOf(wrong)]).toEqual([both, []]);
  await fixture.api.database.query(MOVE, [wrong, -1]);
  await statementFixture.closeUpTo('2024-11', another());
  expect(await rowsOf(wrong)).toEqual(both);
});

it('the same worker returns to a waiting month, and reports the number and the time meanwhile', async () => {
  const { right, wrong, both } = await prepare('2025-01', '2025-02');
  const metrics = new Metrics();
  const closing = new StatementClosing(statementFixture.worker, metrics, openLog('silent'));
  const toTheEnd = async (): Promise<(number | undefined)[]> => {
    while ((await closing.runStep()) !== 'idle');
    const names = ['statements_unproven', 'statement_closing_overdue_seconds'];
    return Promise.all(
      names.map(async (name) => (await metrics.registry.getSingleMetric(name)!.get()).values[0]?.value),
    );
  };
  const monthsSec = 86_400 * 300;
  for (let round = 1; round <= 2; round += 1) {
    const [unproven, overdueSec] = await toTheEnd();
    expect([unproven, (overdueSec ?? 0) > monthsSec, await rowsOf(wrong)]).toEqual([1, true, []]);
  }
  expect(await rowsOf(right)).toEqual(both);
  await fixture.api.database.query(MOVE, [wrong, -1]);
  await toTheEnd();
  expect([await rowsOf(wrong), await toTheEnd()]).toEqual([both, [0, 0]]);
});
