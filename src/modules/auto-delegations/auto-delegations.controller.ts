/** Routes of auto-delegations. Contains no business logic. */
import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Res } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import type { Response } from 'express';
import { nonceOf } from '../auth/nonces.js';
import { pageBody, type PageBody } from '../../domain/page.js';
import { longestDurationSec } from '../../domain/price.js';
import { energy } from '../../domain/units.js';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import { LookupQueue } from '../../platform/http/pipeline/lookup-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { SalesTerms } from '../quotes/sales-terms.js';
import { AutoDelegationPrices } from './auto-delegation-prices.js';
import {
  autoDelegationBody,
  AutoDelegationListQuery,
  AutoDelegationRequest,
  levelsOf,
  termsOf,
  type AutoDelegationBody,
  type DurationCosts,
  type PricedAutoDelegationBody,
} from './auto-delegations.dto.js';
import {
  describeAutoDelegationDelete,
  describeAutoDelegationList,
  describeAutoDelegationRead,
  describeAutoDelegationSet,
  describeAutoDelegationWake,
} from './auto-delegations.openapi.js';
import { AutoDelegations, type ShownAutoDelegation } from './auto-delegations.service.js';

const READ = { scope: 'read', budget: 'general' } as const;
const WRITE = { scope: 'order', budget: 'general' } as const;
/** Requests without required members may be sent without a body. */
const ACT = { ...WRITE, mayBeEmpty: true } as const;

@Controller('v1/auto-delegations')
export class AutoDelegationsController {
  constructor(
    private readonly autoDelegations: AutoDelegations,
    private readonly prices: AutoDelegationPrices,
    private readonly sale: SalesTerms,
    private readonly listQueue: ListQueue,
    private readonly lookupQueue: LookupQueue,
  ) {}

  @Put(':address')
  @Describe(describeAutoDelegationSet)
  @RouteOptionsOf(WRITE)
  async set(
    @Caller() caller: Caller,
    @Param('address') address: string,
    @Body() request: AutoDelegationRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PricedAutoDelegationBody> {
    const terms = termsOf(request, longestDurationSec(this.sale.priceRows));
    const whose = { projectId: caller.project.id, address, apiKeyId: caller.keyId };
    const judge = this.prices.judge(address, terms);
    const { row, shown, isNew, costs } = await this.lookupQueue.run(caller.project.id, () =>
      this.autoDelegations.set(whose, terms, judge, nonceOf(caller)),
    );
    response.status(isNew ? 201 : 200);
    return { ...autoDelegationBody(row, shown), ...costs, ...this.durationsOf({ row, shown }) };
  }

  @Get()
  @Describe(describeAutoDelegationList)
  @RouteOptionsOf(READ)
  async list(
    @Caller() { project }: Caller,
    @Query() { status, limit, cursor }: AutoDelegationListQuery,
  ): Promise<PageBody<AutoDelegationBody>> {
    const request = { projectId: project.id, status, limit: Number(limit ?? LIMIT_DEFAULT), cursor };
    const page = await this.listQueue.run(project.id, () => this.autoDelegations.page(request));
    return pageBody(page, ({ row, shown }) => autoDelegationBody(row, shown));
  }

  @Get(':address')
  @Describe(describeAutoDelegationRead)
  @RouteOptionsOf(READ)
  async read(@Caller() { project }: Caller, @Param('address') address: string): Promise<PricedAutoDelegationBody> {
    const { row, shown } = await this.autoDelegations.get(project.id, address);
    const { keep_energy: keep, refill_below: below } = levelsOf(row);
    const costs = this.prices.costsIfKnown({
      keepEnergy: energy(keep),
      refillBelow: energy(below),
      durationSec: row.duration_sec,
    });
    return { ...autoDelegationBody(row, shown), ...costs, ...this.durationsOf({ row, shown }) };
  }

  @Delete(':address')
  @Describe(describeAutoDelegationDelete)
  @RouteOptionsOf(ACT)
  @HttpCode(204)
  async delete(@Caller() caller: Caller, @Param('address') address: string, @Body() _: EmptyBody): Promise<void> {
    await this.autoDelegations.delete(caller.project.id, address, nonceOf(caller));
  }

  @Post(':address/wake')
  @Describe(describeAutoDelegationWake)
  @RouteOptionsOf(ACT)
  @HttpCode(200)
  async wake(
    @Caller() caller: Caller,
    @Param('address') address: string,
    @Body() _: EmptyBody,
  ): Promise<AutoDelegationBody> {
    const { row, shown } = await this.autoDelegations.wake(caller.project.id, address, nonceOf(caller));
    return autoDelegationBody(row, shown);
  }

  private durationsOf({ row, shown: { at, chainAt = at } }: ShownAutoDelegation): DurationCosts {
    return this.prices.durationsIfKnown(row, chainAt.getTime());
  }
}
