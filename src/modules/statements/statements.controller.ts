import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { pageBody, type PageBody } from '../../domain/page.js';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { writePages } from '../../platform/http/pipeline/written-pages.js';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { StatementCsv } from './statement-csv.js';
import { StatementList } from './statement-list.js';
import { jsonOf, statementBody, StatementListQuery, type StatementBody } from './statements.dto.js';
import { describeStatement, describeStatementLines, describeStatementList } from './statements.openapi.js';

@Controller('v1/statements')
export class StatementsController {
  private readonly slowMs: number;

  constructor(
    private readonly statementList: StatementList,
    private readonly csv: StatementCsv,
    private readonly listQueue: ListQueue,
    config: Config,
  ) {
    this.slowMs = config.http.streamSlowSec * 1000;
  }

  @Get()
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeStatementList)
  async list(
    @Caller() { project }: Caller,
    @Query() { limit, cursor }: StatementListQuery,
  ): Promise<PageBody<StatementBody>> {
    const rows = Number(limit ?? LIMIT_DEFAULT);
    const page = await this.listQueue.run(project.id, () => this.statementList.page(project.id, rows, cursor));
    return pageBody(page, (statement) => statementBody(jsonOf(statement)));
  }

  @Get(':number')
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeStatement)
  async read(@Caller() { project }: Caller, @Param('number') number: string): Promise<StatementBody> {
    return statementBody(jsonOf(await this.find(project.id, number)));
  }

  /** A separate path, because no signature covers the header `Accept`. */
  @Get(':number/lines.csv')
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeStatementLines)
  async lines(
    @Caller() { project }: Caller,
    @Param('number') number: string,
    @Res() response: Response,
  ): Promise<void> {
    const statement = await this.find(project.id, number);
    const pages = this.csv.pages(statement, (read) => this.listQueue.run(project.id, read));
    const name = `statement-${statement.month.slice(0, 7)}.csv`;
    const headers = {
      'Content-Type': 'text/csv; charset=utf-8; header=present',
      'Content-Disposition': `attachment; filename="${name}"`,
    };
    await writePages(response, headers, pages, this.slowMs);
  }

  private async find(projectId: string, number: string): Promise<LedgerStatement> {
    const statement = await this.statementList.find(projectId, number);
    if (statement === undefined) throw new ApiError('NOT_FOUND', 'This project has no statement with this number.');
    return statement;
  }
}
