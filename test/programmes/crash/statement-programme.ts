// Kills a worker at every point of closing months. Afterwards every month of every project must be closed once, with
// all its entries and one event.
import { STATEMENT_POINTS, type StatementPoint } from '../../../src/platform/support/crash-point.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { CrashCluster } from './cluster.js';
import { killAtEach, noteMissing, type TaskOptions, type TaskOutcome, type TaskProgramme } from './task-programme.js';

const PROJECTS = 3;
const FIRST_MONTH = '2006-01-01';
const MONTHS = 220;
const DEATH_LIMIT_MS = 15_000;

/** Dates the existing first entry, which is from now, before all others. */
const MOVE_FIRST = [
  `ALTER TABLE credit_entry DISABLE TRIGGER credit_entry_append_only`,
  `UPDATE credit_entry SET created_at = '${FIRST_MONTH}Z' WHERE id = (SELECT min(id) FROM credit_entry)`,
  `ALTER TABLE credit_entry ENABLE TRIGGER credit_entry_append_only`,
];

/** Two entries of each project in each month, with ids out of time order. */
const ENTER = `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
  SELECT 'topup:crash-' || p.id || '-' || n, p.id, 'funding', 'topup', 1 + n, 'crash', 'a month',
         (timestamp '${FIRST_MONTH}' + (n / 2) * interval '1 month' + (n % 2) * interval '20 days') AT TIME ZONE 'UTC'
    FROM (SELECT id FROM project WHERE name = 'closed') p CROSS JOIN generate_series(0, $1::integer * 2 - 1) n ORDER BY n % 7, n`;
const BALANCES = `UPDATE credit_account a SET balance_credits = (SELECT coalesce(sum(credits), 0) FROM credit_entry e WHERE e.project_id = a.project_id)`;

const WRONG = `SELECT p.id, s.statements, s.lines, e.events FROM project p
    LEFT JOIN (SELECT project_id, count(*)::integer AS statements, sum(lines)::integer AS lines FROM statement GROUP BY project_id) s ON s.project_id = p.id
    LEFT JOIN (SELECT project_id, count(*)::integer AS events FROM event WHERE type = 'statement.ready' GROUP BY project_id) e ON e.project_id = p.id
   WHERE p.name = 'closed' AND (s.statements, s.lines, e.events) IS DISTINCT FROM ($1::integer, $1::integer * 2, $1::integer)`;
const OPEN = `SELECT FROM (SELECT max(month) AS month FROM statement_month WHERE closed_at IS NOT NULL) m
  WHERE (m.month + interval '1 month') AT TIME ZONE 'UTC' < date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' OR m.month IS NULL`;

export async function statementProgramme(options: TaskOptions<StatementPoint>): Promise<TaskOutcome<StatementPoint>> {
  const cluster = await CrashCluster.open({ ...options, walletsTrx: [90_000] });
  try {
    for (let made = 0; made < PROJECTS; made += 1) await cluster.service.cli('project', 'create', '--name', 'closed');
    for (const statement of MOVE_FIRST) await cluster.database.query(statement);
    await cluster.database.query(ENTER, [MONTHS]);
    await cluster.database.query(BALANCES);
    const kill = (point: StatementPoint, n: number) => cluster.killWorkerAt(point, n, DEATH_LIMIT_MS);
    const hits = await killAtEach(options, kill, (when) => check(cluster, when));
    await finish(cluster, options.finishLimitMs);
    noteMissing(cluster, options, hits);
    return { hits, violations: cluster.violations, made: PROJECTS * MONTHS };
  } finally {
    await cluster.close();
  }
}

/** Checks that closed months are correct; they must be at any moment. */
async function check(cluster: CrashCluster, when: string): Promise<void> {
  const found = findingsOf(await verifyRecords(cluster.database)).filter(({ rule }) => ['I1', 'I16'].includes(rule));
  cluster.violations.push(...found.slice(0, 5).map((finding) => `${when}: ${JSON.stringify(finding, textOf)}`));
}

/** Lets an unharmed worker close the remaining months. */
async function finish(cluster: CrashCluster, limitMs: number): Promise<void> {
  const worker = await cluster.service.startWorker();
  const deadline = performance.now() + limitMs;
  while (performance.now() < deadline && (await cluster.database.query(OPEN)).length > 0) await sleep(200);
  await cluster.stopAndForget(worker);
  const wrong = await cluster.database.query(WRONG, [MONTHS]);
  cluster.violations.push(...wrong.map((row) => `at the end: ${JSON.stringify(row, textOf)}`));
  await check(cluster, 'at the end');
}

const textOf = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);

export const STATEMENT_TASK: TaskProgramme<StatementPoint> = {
  ...{ name: 'statements', points: STATEMENT_POINTS, made: 'statements', run: statementProgramme },
};
