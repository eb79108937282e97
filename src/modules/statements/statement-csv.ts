/** Writes the lines of a statement as CSV, page by page, with one page in memory. */
import { Injectable } from '@nestjs/common';
import { csvLine, type CsvCell } from '../../platform/support/csv.js';
import { decimal } from '../../domain/conversion.js';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { Replica } from '../../platform/database/replica.js';
import { entryBody } from './entries.dto.js';
import { ENTRIES, OF_ENTRY, OF_WHAT, type EntryRow } from './entry-rows.js';
import { StatementList } from './statement-list.js';

const PAGE_LINES = 1000;
/** 10 000 000 credits are a dollar. */
const USD_DIGITS = 7;

export const CSV_COLUMNS = [
  ...['entry', 'time', 'kind', 'description', 'credits', 'usd', 'balance_credits', 'asset', 'amount', 'usd_rate'],
  ...['order_key', 'deposit', 'reference', 'txids'],
] as const;

/**
 * $2 and $3: the line to start after; $4 and $5: the statement's limits; $6 and $7: those of the previous statement.
 */
const LINES = {
  name: 'statement_lines',
  text: `${ENTRIES} (
      SELECT ${OF_ENTRY} FROM credit_entry
       WHERE project_id = $1 AND (created_at, id) > ($2::timestamptz, $3::bigint) AND created_at < $4::timestamptz
         AND id <= $5::bigint AND (id > $7::bigint OR created_at >= $6::timestamptz)
       ORDER BY created_at, id LIMIT $8) ${OF_WHAT}
    ORDER BY e.created_at, e.id`,
};

/** Runs the read of one page in a fair queue. */
export type PageTurn = <T>(read: () => Promise<T>) => Promise<T>;

@Injectable()
export class StatementCsv {
  constructor(
    private readonly replica: Replica,
    private readonly statements: StatementList,
  ) {}

  /** Yields the heading with the first lines, then the following pages, in order of time. */
  async *pages(statement: LedgerStatement, inTurn: PageTurn): AsyncGenerator<string, void, undefined> {
    const before = await this.statements.before(statement);
    const mark = await this.replica.mark();
    const range = [
      ...[statement.endsAt, statement.entriesTo],
      ...[before?.endsAt ?? '-infinity', before?.entriesTo ?? 0n],
    ];
    let text = csvLine(CSV_COLUMNS);
    let balance = statement.openingCredits;
    // No entry has id 0. `at` may be text, because a database time has more digits than a Date.
    let last: { readonly at: string | Date; readonly id: bigint } = { at: statement.firstAt, id: 0n };
    for (;;) {
      const params = [statement.projectId, last.at, last.id, ...range, PAGE_LINES];
      const rows = await inTurn(() => this.replica.read(mark, (on) => on.query<EntryRow>(LINES, params)));
      for (const row of rows) {
        balance += row.credits;
        text += csvLine(cellsOf(row, balance));
      }
      yield text;
      text = '';
      const end = rows.at(-1);
      if (end === undefined || rows.length < PAGE_LINES) return;
      last = end;
    }
  }
}

function cellsOf(row: EntryRow, balance: bigint): readonly CsvCell[] {
  const body = entryBody(row);
  const number = (text: string | undefined): CsvCell => (text === undefined ? undefined : { decimal: text });
  return [
    ...[body.id, new Date(row.at), body.kind, body.description, row.credits],
    ...[{ decimal: decimal(row.credits, USD_DIGITS) }, balance, body.asset, number(body.amount)],
    ...[number(body.usd_rate), body.order_key, body.deposit, body.reference, body.txids?.join(' ')],
  ];
}
