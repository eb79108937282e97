import { Controller, Get, Query } from '@nestjs/common';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { pageBody, type PageBody } from '../../domain/page.js';
import { entryBody, LedgerQuery, type EntryBody } from './entries.dto.js';
import { LedgerList } from './ledger-list.js';
import { describeLedger } from './ledger.openapi.js';
import { momentOf } from '../../domain/moment.js';

@Controller('v1/ledger')
export class LedgerController {
  constructor(
    private readonly ledger: LedgerList,
    private readonly listQueue: ListQueue,
  ) {}

  @Get()
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeLedger)
  async list(
    @Caller() { project }: Caller,
    @Query() { from, to, limit, cursor }: LedgerQuery,
  ): Promise<PageBody<EntryBody>> {
    const filter = { from: from && momentOf(from), to: to && momentOf(to) };
    const rows = Number(limit ?? LIMIT_DEFAULT);
    const page = await this.listQueue.run(project.id, () => this.ledger.page(project.id, filter, rows, cursor));
    return pageBody(page, entryBody);
  }
}
