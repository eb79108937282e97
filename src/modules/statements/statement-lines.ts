/** Reads the ledger entries of a statement, page by page, with one page in memory. */
import { Injectable } from '@nestjs/common';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { Replica } from '../../platform/database/replica.js';
import { entriesWhere, type EntryRow } from './entry-rows.js';
import { StatementList } from './statement-list.js';

const PAGE_LINES = 1000;

/**
 * $2 and $3: the line to start after; $4 and $5: the statement's limits; $6 and $7: those of the previous statement;
 * $8: the number of lines.
 */
const LINES = {
  name: 'statement_lines',
  text: entriesWhere(
    `project_id = $1 AND (created_at, id) > ($2::timestamptz, $3::bigint) AND created_at < $4::timestamptz
         AND id <= $5::bigint AND (id > $7::bigint OR created_at >= $6::timestamptz)
       ORDER BY created_at, id LIMIT $8`,
    'e.created_at, e.id',
  ),
};

/** Runs the read of one page in a fair queue. */
export type PageTurn = <T>(read: () => Promise<T>) => Promise<T>;

/** An entry with the project's balance after it. */
export interface StatementLine {
  readonly row: EntryRow;
  readonly balance: bigint;
}

@Injectable()
export class StatementLines {
  constructor(
    private readonly replica: Replica,
    private readonly statementList: StatementList,
  ) {}

  /** Yields the lines in order of time, at most a thousand at a time. */
  async *pages(
    statement: LedgerStatement,
    inTurn: PageTurn,
  ): AsyncGenerator<readonly StatementLine[], void, undefined> {
    const before = await this.statementList.before(statement);
    const mark = await this.replica.mark();
    const range = [
      ...[statement.endsAt, statement.entriesTo],
      ...[before?.endsAt ?? '-infinity', before?.entriesTo ?? 0n],
    ];
    let balance = statement.openingCredits;
    // No entry has id 0. `at` may be text, because a database time has more digits than a Date.
    let last: { readonly at: string | Date; readonly id: bigint } = { at: statement.firstAt, id: 0n };
    for (;;) {
      const params = [statement.projectId, last.at, last.id, ...range, PAGE_LINES];
      const rows = await inTurn(() => this.replica.read(mark, (on) => on.query<EntryRow>(LINES, params)));
      const lines: StatementLine[] = [];
      for (const row of rows) {
        balance += row.credits;
        lines.push({ row, balance });
      }
      yield lines;
      const end = rows.at(-1);
      if (end === undefined || rows.length < PAGE_LINES) return;
      last = end;
    }
  }
}
