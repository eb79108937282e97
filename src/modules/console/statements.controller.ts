/** Routes for the statements of a project and its open month. Reads only. */
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { pageBody } from '../../domain/page.js';
import { writePages } from '../../platform/http/pipeline/written-pages.js';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { forPeople } from '../../platform/support/csv.js';
import { OpenMonths } from '../statements/open-month.js';
import { StatementCsv } from '../statements/statement-csv.js';
import { StatementLines } from '../statements/statement-lines.js';
import { StatementList } from '../statements/statement-list.js';
import { jsonOf, statementBody } from '../statements/statements.dto.js';
import { money, notFound, withoutNull } from './answers.js';
import { Authority } from './authority.js';
import type { OneStatement, Page, StatementEntry, StatementLine } from './data-shapes.js';
import { csvHeaders, datedName, limitOf } from './lists.js';
import { ledgerLine } from './order-page.js';
import { SpanFigures } from './span-figures.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
/** Names the open month where others have their number. */
const OPEN = 'open';
/** Entries of a sheet: about 250 printed pages. */
const SHEET_ENTRIES_MAX = 10_000n;

class StatementsQuery extends PageQuery {}

@Controller('api/projects/:project_id')
export class StatementPagesController {
  constructor(
    private readonly statementList: StatementList,
    private readonly open: OpenMonths,
    private readonly lines: StatementLines,
    private readonly csv: StatementCsv,
    private readonly figures: SpanFigures,
    private readonly config: ConsoleConfig,
  ) {}

  @Get('statements')
  @Authority(READS)
  async list(@Param('project_id') project: string, @Query() query: StatementsQuery): Promise<Page<StatementLine>> {
    return pageBody(await this.statementList.page(project, limitOf(query), query.cursor), statementLine);
  }

  @Get('statements/:file')
  @Authority(READS)
  async file(
    @Param('project_id') project: string,
    @Param('file') file: string,
    @Res() response: Response,
  ): Promise<void> {
    const name = /^(\d{1,9}|open)\.csv$/.exec(file)?.[1];
    const isOpen = name === OPEN;
    const statement = isOpen ? (await this.open.read(project)).statement : await this.find(project, name);
    const headers = csvHeaders(isOpen ? datedName('statement-until') : `statement-${statement.month.slice(0, 7)}`);
    const pages = this.csv.pages(statement, (read) => read());
    await writePages(response, headers, forPeople(pages), this.config.http.streamSlowSec * 1000);
  }

  /** The sums and, if they are not too many for a sheet, the entries. Both have the same limits. */
  @Get('statement/:number')
  @Authority(READS)
  async sheet(@Param('project_id') project: string, @Param('number') number: string): Promise<OneStatement> {
    const { statement, isWhole } =
      number === OPEN ? await this.open.read(project) : { statement: await this.find(project, number), isWhole: true };
    const { number: own, closed_at: closedAt, closing, entries, totals, ...line } = statementLine(statement);
    return withoutNull<OneStatement>({
      ...line,
      ...(number !== OPEN && { number: own, closed_at: closedAt }),
      ...(isWhole && { closing, entries, totals }),
      lines: isWhole && statement.lines <= SHEET_ENTRIES_MAX ? await this.entriesOf(statement) : undefined,
      measured: await this.figures.savingOf(project, line.month),
    });
  }

  private async entriesOf(statement: LedgerStatement): Promise<StatementEntry[]> {
    const entries: StatementEntry[] = [];
    for await (const lines of this.lines.pages(statement, (read) => read())) {
      for (const { row, balance } of lines) {
        const { id, kind, description, amount, created_at: at, order_key: order, reference } = ledgerLine(row);
        entries.push(
          withoutNull<StatementEntry>({
            ...{ id, kind, description, created_at: at, order_key: order, reference },
            ...{ credits: amount.credits, balance: money(balance).credits },
          }),
        );
      }
    }
    return entries;
  }

  /** Throws 404. */
  private async find(project: string, number: string | undefined): Promise<LedgerStatement> {
    const statement = number === undefined ? undefined : await this.statementList.find(project, number);
    if (statement === undefined) throw notFound('statement');
    return statement;
  }
}

function statementLine(statement: LedgerStatement): StatementLine {
  const { opening_credits: opening, closing_credits: closing, totals, ...body } = statementBody(jsonOf(statement));
  return {
    ...body,
    opening: money(BigInt(opening)),
    closing: money(BigInt(closing)),
    totals: {
      charge: money(BigInt(totals.charge)),
      refund: money(BigInt(totals.refund)),
      compensation: money(BigInt(totals.compensation)),
      deposit: money(BigInt(totals.deposit)),
      topup: money(BigInt(totals.topup)),
      adjustment: money(BigInt(totals.adjustment)),
    },
  };
}
