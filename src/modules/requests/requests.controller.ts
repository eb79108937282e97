/** GET /v1/requests: the requests of a project that were refused. */
import { Controller, Get, Query } from '@nestjs/common';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { RequestHistory } from './request-history.js';
import { pageBody, type PageBody } from '../../domain/page.js';
import { refusedRequestBody, RequestListQuery, type RefusedRequestBody } from './requests.dto.js';
import { describeRequestList } from './requests.openapi.js';

@Controller('v1/requests')
export class RequestsController {
  constructor(
    private readonly history: RequestHistory,
    private readonly listQueue: ListQueue,
  ) {}

  @Get()
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeRequestList)
  async list(
    @Caller() { project }: Caller,
    @Query() { limit, cursor }: RequestListQuery,
  ): Promise<PageBody<RefusedRequestBody>> {
    const rows = Number(limit ?? LIMIT_DEFAULT);
    const page = await this.listQueue.run(project.id, () => this.history.list(project.id, rows, cursor));
    return pageBody(page, refusedRequestBody);
  }
}
