/** Routes for a project's auto-delegations. Only owners change them. The services of API and CLI perform each act. */
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import {
  AUTO_DELEGATION_STATUSES,
  AutoDelegationRequest,
  termsOf,
  type AutoDelegationStatus,
  type AutoDelegationTerms,
} from '../auto-delegations/auto-delegations.dto.js';
import { AutoDelegations, type ShownAutoDelegation } from '../auto-delegations/auto-delegations.service.js';
import { ApiError } from '../../domain/errors.js';
import { pageBody } from '../../domain/page.js';
import { longestDurationSec } from '../../domain/price.js';
import { credits } from '../../domain/units.js';
import { IsInteger, OneOf } from '../../platform/http/body/member-rules.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { ApiKeys } from '../projects/api-keys.js';
import { Prices } from '../quotes/prices.js';
import { audited } from '../../platform/database/audit-log.js';
import type { Done } from './api-shapes.js';
import { AutoDelegationAnswers, autoDelegationShape } from './auto-delegation-answers.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { authorOf, Person } from './caller.js';
import type { Page } from './data-shapes.js';
import type { AutoDelegationShape, KeepingPreview, OneAutoDelegation, SetCap } from './integration-shapes.js';
import { limitOf } from './lists.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const WRITES = { merchant: ['owner'], scope: 'project', again: true } as const;
/** For previews of costs, which change nothing. */
const ASKS = { merchant: ['owner'], scope: 'project' } as const;

class AutoQuery extends PageQuery {
  @OneOf(AUTO_DELEGATION_STATUSES)
  declare readonly status?: AutoDelegationStatus;
}

class CapRequest implements SetCap {
  @IsInteger(
    () => ({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    'The most credits it may spend in a UTC day; 0 pauses it.',
  )
  declare readonly daily_cap_credits: number;
}

@Controller('api/projects/:project_id/auto-delegations')
export class AutoDelegationPagesController {
  constructor(
    private readonly autoDelegations: AutoDelegations,
    private readonly answers: AutoDelegationAnswers,
    private readonly keys: ApiKeys,
    private readonly prices: Prices,
  ) {}

  @Get()
  @Authority(READS)
  async list(@Param('project_id') project: string, @Query() query: AutoQuery): Promise<Page<AutoDelegationShape>> {
    const { status, cursor } = query;
    const page = await this.autoDelegations.page({ projectId: project, status, limit: limitOf(query), cursor });
    return pageBody(page, ({ row, shown }) => autoDelegationShape(row, shown));
  }

  @Post('preview')
  @HttpCode(200)
  @Authority(ASKS)
  async preview(@Param('project_id') project: string, @Body() request: AutoDelegationRequest): Promise<KeepingPreview> {
    return this.answers.preview(project, await this.termsOf(request));
  }

  @Get(':address')
  @Authority(READS)
  async read(@Param('project_id') project: string, @Param('address') address: string): Promise<OneAutoDelegation> {
    return this.answers.one(project, await this.autoDelegations.get(project, address));
  }

  @Post(':address')
  @HttpCode(200)
  @Authority(WRITES)
  async set(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('address') address: string,
    @Body() request: AutoDelegationRequest,
  ): Promise<OneAutoDelegation> {
    const terms = await this.termsOf(request);
    const apiKeyId = await this.payingKey(project, address);
    const whose = { projectId: project, address, apiKeyId };
    const judge = async () => ({ costs: await this.answers.costs(terms) });
    return this.answers.one(project, await this.autoDelegations.set(whose, terms, judge, audited(authorOf(caller))));
  }

  @Post(':address/cap')
  @HttpCode(200)
  @Authority(WRITES)
  async setCap(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('address') address: string,
    @Body() { daily_cap_credits: cap }: CapRequest,
  ): Promise<OneAutoDelegation> {
    const act = audited(authorOf(caller));
    return this.answers.one(project, await this.autoDelegations.setCap(project, address, credits(cap), act));
  }

  @Post(':address/wake')
  @HttpCode(200)
  @Authority(WRITES)
  async wake(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('address') address: string,
    @Body() _: EmptyBody,
  ): Promise<OneAutoDelegation> {
    return this.answers.one(project, await this.autoDelegations.wake(project, address, audited(authorOf(caller))));
  }

  @Post(':address/delete')
  @HttpCode(200)
  @Authority(WRITES)
  async delete(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('address') address: string,
    @Body() _: EmptyBody,
  ): Promise<Done> {
    await this.autoDelegations.delete(project, address, audited(authorOf(caller)));
    return { done: true };
  }

  /** The console asks no node: a worker simulates a transfer at its next check. */
  private async termsOf(request: AutoDelegationRequest): Promise<AutoDelegationTerms> {
    return termsOf(request, longestDurationSec(await this.prices.list()));
  }

  /** Returns the key that pays at present, if it may order, or else the primary key. Throws 409 if that is revoked. */
  private async payingKey(projectId: string, address: string): Promise<string> {
    const keys = (await this.keys.list(projectId)).filter(({ scopes }) => scopes.includes('order'));
    const present = await this.present(projectId, address);
    const key = keys.find(({ id }) => id === present?.row.api_key_id) ?? keys.find((each) => each.is_primary);
    if (key !== undefined) return key.id;
    throw new ApiError(
      'LIMIT_REACHED',
      'The primary key is revoked, so nothing could be bought. Rotate the primary key first.',
    );
  }

  private async present(projectId: string, address: string): Promise<ShownAutoDelegation | undefined> {
    try {
      return await this.autoDelegations.get(projectId, address);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }
}
