/**
 * Closes the months of the ledger after their end. First the month is cut off at an entry id, once no entry with a
 * lower id can still appear. Then each project gets its statement, in its own transaction. An entry belongs to the
 * first statement closed after it whose month ends after it, and to no other.
 *
 * A project that cannot be closed delays only its own months; other projects' later months are closed meanwhile. The
 * only writer of statements.
 */
import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { invariant, messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import { Database, isRowFault, type Queryable } from '../../platform/database/database.js';
import * as sql from './closing-sql.js';

/** Pause after a step that found no work. */
const IDLE_MS = 60_000;
/** Interval of checks for open writers. */
const WAIT_MS = 1000;
/**
 * Half a million entries of one project take a third of a second; the connection's usual limit is for requests.
 * Sequential scans are disabled, because plans made for a small table stay cached while it grows.
 */
const SETTINGS = `SELECT set_config('statement_timeout', '300s', true), set_config('enable_seqscan', 'off', true)`;
const LIMIT_MS = 310_000;

/** Result of a step: more work is due, the cut waits for writers, or there is no work. */
export type ClosingStep = 'more' | 'waits' | 'idle';

/** A month to cut off once all transactions that were writing at the read of its last entry have ended. */
interface Cut {
  readonly month: string;
  readonly entriesTo: bigint;
  readonly serverMark: string;
  readonly writers: ReadonlySet<string>;
}

/** Thrown if a project's month cannot be closed with its present entries. */
class NotClosedError extends Error {
  override readonly name = 'NotClosedError';
  constructor(
    readonly projectId: string,
    message: string,
  ) {
    super(message);
  }
}

@Injectable()
export class StatementClosing extends RepeatedTask {
  private readonly closedCounter: Counter;
  private readonly unprovenGauge: Gauge;
  private readonly overdueGauge: Gauge;
  private cut: Cut | undefined;
  /** The newest open month processed in this round; a new round starts after the last one. */
  private passed: string | undefined;
  /** Projects skipped in this round. */
  private skipped = 0;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    super(IDLE_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to close a month');
    });
    const registers = [metrics.registry];
    this.closedCounter = new Counter({
      name: 'statements_closed_total',
      help: 'Monthly statements closed.',
      registers,
    });
    this.unprovenGauge = new Gauge({
      name: 'statements_unproven',
      help: 'Projects whose ledger does not add up, so a month stays open: must be 0.',
      registers,
    });
    this.overdueGauge = new Gauge({
      name: 'statement_closing_overdue_seconds',
      help: 'Time that the oldest open month is overdue; 0 without one.',
      registers,
    });
  }

  protected override async runOnce(): Promise<number> {
    return { more: 0, waits: WAIT_MS, idle: IDLE_MS }[await this.runStep()];
  }

  /** Cuts off a month, or closes it for one project. Does neither while the database's clock is not confirmed. */
  async runStep(): Promise<ClosingStep> {
    const now = await confirmedNow(this.database);
    if (now === undefined) return 'idle';
    const [open] = await this.database.query<sql.OpenMonthRow>(sql.OPEN_MONTH, [this.passed ?? null, now]);
    if (this.passed === undefined) this.overdueGauge.set(open?.overdue_sec ?? 0);
    if (open === undefined) return this.endRound();
    if (this.repeater.isEnding) return 'idle';
    return open.entries_to === null ? this.cutMonth(open.month) : this.closeNext(open.month);
  }

  private async cutMonth(month: string): Promise<ClosingStep> {
    this.cut = await this.omitEndedWriters(this.cut?.month === month ? this.cut : await this.beginCut(month));
    const { entriesTo, serverMark, writers } = this.cut;
    if (writers.size > 0) return 'waits';
    await this.database.query(sql.CUT, [month, entriesTo, serverMark]);
    this.cut = undefined;
    return 'more';
  }

  private async beginCut(month: string): Promise<Cut> {
    const [last] = await this.database.query<{ id: bigint; mark: string }>(sql.LAST_ENTRY);
    invariant(last !== undefined, 'an aggregate is a row');
    return { month, entriesTo: last.id, serverMark: last.mark, writers: await this.readWriters() };
  }

  /** Keeps only the writers that are still active. */
  private async omitEndedWriters(cut: Cut): Promise<Cut> {
    if (cut.writers.size === 0) return cut;
    const now = await this.readWriters();
    return { ...cut, writers: new Set([...cut.writers].filter((writer) => now.has(writer))) };
  }

  private async readWriters(): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ writer: string }>(sql.WRITERS);
    return new Set(rows.map(({ writer }) => writer));
  }

  private async closeNext(month: string): Promise<ClosingStep> {
    try {
      const step = await this.database.transaction(async (tx) => {
        const [lock] = await tx.query<{ held: boolean }>(sql.HOLD);
        if (lock?.held !== true) return 'idle';
        await tx.query(SETTINGS);
        const [next] = await tx.query<sql.NextProjectRow>({ ...sql.NEXT_PROJECT, query_timeout: LIMIT_MS }, [month]);
        if (next === undefined) return 'more';
        if (next.id === null) return this.endPass(tx, month, next.skipped);
        if (!next.waits) await closeProject(tx, month, next.id, next);
        await tx.query(sql.PASS_PROJECT, [month, next.id, next.waits]);
        return next.waits ? 'more' : 'closed';
      });
      if (step !== 'closed') return step;
      this.closedCounter.inc();
    } catch (error) {
      if (!(error instanceof NotClosedError)) throw error;
      // Other projects continue.
      this.log.error({ project: error.projectId, month, fault: error.message }, 'failed to close a statement');
      this.skipped += 1;
      await this.database.query(sql.PASS_PROJECT, [month, error.projectId, true]);
    }
    return 'more';
  }

  /** Ends a pass over all projects: closes the month unless projects were skipped. */
  private async endPass(tx: Queryable, month: string, hasSkipped: boolean): Promise<ClosingStep> {
    this.unprovenGauge.set(this.skipped);
    const ended = hasSkipped ? [] : await tx.query(sql.END_MONTH, [month]);
    if (ended.length === 0) {
      await tx.query(sql.BEGIN_AGAIN, [month]);
      this.passed = month;
    }
    return 'more';
  }

  private endRound(): ClosingStep {
    this.unprovenGauge.set(this.skipped);
    this.skipped = 0;
    this.passed = undefined;
    return 'idle';
  }
}

/** Throws NotClosedError if the statements and the entries after them don't sum to the balance. */
async function closeProject(tx: Queryable, month: string, id: string, next: sql.NextProjectRow): Promise<void> {
  const before = next.before_ends_at instanceof Date ? next.before_ends_at : '-infinity';
  const params = [
    ...[id, month, next.ends_at, next.entries_to, next.number, next.closing_credits],
    ...[before, next.before_entries_to, next.rest_from],
  ];
  const rows = tx.query<sql.ClosedRow>({ ...sql.CLOSE, query_timeout: LIMIT_MS }, params);
  const [closed] = await rows.catch((error: unknown) => {
    throw isRowFault(error) ? new NotClosedError(id, messageOf(error)) : error;
  });
  invariant(closed !== undefined, 'a project with entries has an account');
  const { closing_credits: closing, rest, balance_credits: balance, explained_credits: explained } = closed;
  if (closing + rest === balance || closing + rest + (explained ?? 0n) === balance) return;
  const sums = `it closes with ${closing.toString()}, ${rest.toString()} came after it`;
  throw new NotClosedError(id, `${sums}, and the balance is ${balance.toString()}`);
}
