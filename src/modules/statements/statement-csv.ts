/** Writes the lines of a statement as CSV, page by page. */
import { Injectable } from '@nestjs/common';
import { csvLine, type CsvCell } from '../../platform/support/csv.js';
import { decimal } from '../../domain/conversion.js';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { entryBody } from './entries.dto.js';
import { StatementLines, type PageTurn, type StatementLine } from './statement-lines.js';

/** 10 000 000 credits are a dollar. */
const USD_DIGITS = 7;

export const CSV_COLUMNS = [
  ...['entry', 'time', 'kind', 'description', 'credits', 'usd', 'balance_credits', 'asset', 'amount', 'usd_rate'],
  ...['order_key', 'deposit', 'reference', 'txids'],
] as const;

@Injectable()
export class StatementCsv {
  constructor(private readonly lines: StatementLines) {}

  /** Yields the heading with the first lines, then the following pages, in order of time. */
  async *pages(statement: LedgerStatement, inTurn: PageTurn): AsyncGenerator<string, void, undefined> {
    let text = csvLine(CSV_COLUMNS);
    for await (const lines of this.lines.pages(statement, inTurn)) {
      yield text + lines.map((line) => csvLine(cellsOf(line))).join('');
      text = '';
    }
  }
}

function cellsOf({ row, balance }: StatementLine): readonly CsvCell[] {
  const body = entryBody(row);
  const number = (text: string | undefined): CsvCell => (text === undefined ? undefined : { decimal: text });
  return [
    ...[body.id, new Date(row.at), body.kind, body.description, row.credits],
    ...[{ decimal: decimal(row.credits, USD_DIGITS) }, balance, body.asset, number(body.amount)],
    ...[number(body.usd_rate), body.order_key, body.deposit, body.reference, body.txids?.join(' ')],
  ];
}
