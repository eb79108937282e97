// Past months for tests of statements: moves new entries to past dates, and closes months as a worker does.
import { credits } from '../../../src/domain/units.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { StatementClosing } from '../../../src/modules/statements/statement-closing.js';
import type { Database } from '../../../src/platform/database/database.js';
import { AUTHOR, openAsOwner } from '../api/factory.js';
import { openLog } from '../log.js';
import type { OrderFixture } from '../api/order-fixture.js';
import { asRole } from '../../setup/roles.js';

export interface StatementRow {
  readonly number: number;
  readonly month: string;
  readonly lines: bigint;
  readonly opening_credits: bigint;
  readonly closing_credits: bigint;
}

/** More steps than any test needs. */
const STEPS_MAX = 3000;

let booked = 0;

type BilledService = Pick<OrderFixture, 'api' | 'env'>;

export class StatementFixture {
  private constructor(
    private readonly fixture: BilledService,
    /** Connected with the worker's rights. */
    readonly worker: Database,
    readonly metrics: Metrics,
    readonly closing: StatementClosing,
  ) {}

  static async open(fixture: BilledService): Promise<StatementFixture> {
    const worker = await openAsOwner(asRole(fixture.env['DATABASE_URL']!, 'worker'));
    const metrics = new Metrics();
    return new StatementFixture(fixture, worker, metrics, new StatementClosing(worker, metrics, openLog('silent')));
  }

  async close(): Promise<void> {
    await this.worker.source.destroy();
  }

  private get owner(): Database {
    return this.fixture.api.database;
  }

  /** Adds or removes credits, dated `at`. */
  async book(projectId: string, amount: bigint, at: string, reference?: string): Promise<void> {
    booked += 1;
    const name = reference ?? `booked-${booked.toString()}`;
    if (amount > 0n) await this.fixture.api.ledger.topUp(projectId, credits(amount), name, AUTHOR);
    else await this.fixture.api.ledger.adjust(projectId, amount as ReturnType<typeof credits>, name, AUTHOR);
    await this.moveNewest(projectId, at);
  }

  /** Dates the newest entry of a project `at`. */
  async moveNewest(projectId: string, at: string): Promise<void> {
    await this.pastGuards('credit_entry', [
      `UPDATE credit_entry SET created_at = $2::timestamptz WHERE id = (SELECT max(id) FROM credit_entry WHERE project_id = $1)`,
      [projectId, at],
    ]);
  }

  /** Changes a guarded table with its triggers off, which only the database's owner may do. */
  async pastGuards(table: string, ...changes: readonly (string | readonly unknown[])[][]): Promise<void> {
    await this.owner.transaction(async (tx) => {
      await tx.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
      for (const [text, params] of changes) await tx.query(text as string, (params ?? []) as unknown[]);
      await tx.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
    });
  }

  /** Closes months up to and including this one. */
  async closeUpTo(month: string, closing = this.closing): Promise<void> {
    for (let steps = 0; !(await this.isClosed(month)); steps += 1) {
      if (steps > STEPS_MAX) throw new Error(`${month} is not closed after ${steps.toString()} steps`);
      await closing.runStep();
    }
  }

  async isClosed(month: string): Promise<boolean> {
    const rows = await this.owner.query(
      `SELECT FROM statement_month WHERE month = $1::date AND closed_at IS NOT NULL`,
      [`${month}-01`],
    );
    return rows.length === 1;
  }

  async statements(projectId: string): Promise<StatementRow[]> {
    return this.owner.query<StatementRow>(
      `SELECT number, to_char(month, 'YYYY-MM') AS month, lines, opening_credits, closing_credits
         FROM statement WHERE project_id = $1 ORDER BY number`,
      [projectId],
    );
  }
}
