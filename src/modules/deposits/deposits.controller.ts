/** Routes of deposits. Contains no business logic. */
import { Controller, Get, Query } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { pageBody, type PageBody } from '../../domain/page.js';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { DepositAddresses } from './deposit-addresses.js';
import { DepositList } from './deposit-list.js';
import { DepositTerms } from './deposit-terms.js';
import {
  depositBody,
  depositJsonOf,
  DepositListQuery,
  type DepositAddressBody,
  type DepositBody,
} from './deposits.dto.js';
import { describeDepositAddress, describeDepositList } from './deposits.openapi.js';

@Controller('v1/deposits')
export class DepositsController {
  constructor(
    private readonly addresses: DepositAddresses,
    private readonly terms: DepositTerms,
    private readonly depositList: DepositList,
    private readonly listQueue: ListQueue,
  ) {}

  @Get('address')
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeDepositAddress)
  async address(@Caller() { project }: Caller): Promise<DepositAddressBody> {
    if (project.isTest) {
      throw new ApiError('TOPUP_NOT_CONFIGURED', 'A test project has no deposit address: its credits are play money.');
    }
    const address = await this.addresses.addressOf(project.id);
    if (address === undefined) {
      throw new ApiError('TOPUP_NOT_CONFIGURED', 'Deposits are not available here. Ask the operator of the service.');
    }
    return { address, network: 'TRON (TRC20)', accepts: await this.terms.accepted() };
  }

  @Get()
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeDepositList)
  async list(
    @Caller() { project }: Caller,
    @Query() { status, limit, cursor }: DepositListQuery,
  ): Promise<PageBody<DepositBody>> {
    const filter = { merchant: project.id, ...(status !== undefined && { status }) };
    const rows = Number(limit ?? LIMIT_DEFAULT);
    const page = await this.listQueue.run(project.id, () => this.depositList.page(filter, rows, cursor));
    return pageBody(page, (deposit) => depositBody(depositJsonOf(deposit)));
  }
}
