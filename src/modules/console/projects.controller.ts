/** Operators' routes for projects: list, create and freeze. Owners are invited by the team routes. */
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { Ledger, type BillingTerms } from '../billing/ledger.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { DepositAddresses } from '../deposits/deposit-addresses.js';
import { cursorAt, placeIn, unknownCursor } from '../../domain/cursor.js';
import { cutPage, pageBody } from '../../domain/page.js';
import { invalidField } from '../../domain/errors.js';
import { credits } from '../../domain/units.js';
import { UUID } from '../../domain/uuid.js';
import { AuditLog } from '../../platform/database/audit-log.js';
import { IsEither, IsInteger, IsText, OneOf, Optional } from '../../platform/http/body/member-rules.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { PROJECT_NAME_MAX, PROJECT_NAME_RULE, projectNameOf } from '../projects/project-name.js';
import { PROJECT_STATES, Projects, type ProjectState, type ProjectView } from '../projects/projects.js';
import { money, notFound, reasonOf, withoutNull } from './answers.js';
import { authorOf, Person } from './caller.js';
import { Authority, type ConsoleCaller } from './authority.js';
import type { Page } from './data-shapes.js';
import { AnyText, limitOf } from './lists.js';
import type { MadeProject, ProjectLine } from './operator-shapes.js';

const READS = { operator: ['admin', 'support'], scope: 'service' } as const;
const WRITES = { operator: ['admin'], scope: 'service', again: true } as const;
const REASON = { maxLength: 1000, description: 'The reason, kept for ever.' };

class ProjectsQuery extends PageQuery {
  @AnyText(PROJECT_NAME_MAX)
  declare readonly name?: string;

  @OneOf(PROJECT_STATES)
  declare readonly state?: ProjectState;
}

class MakeProjectRequest {
  @IsText({ maxLength: PROJECT_NAME_MAX, description: 'The name in lists, statements and e-mails.' })
  declare readonly name: string;

  @IsEither(['prepaid', 'postpaid'])
  declare readonly terms: 'prepaid' | 'postpaid';

  @Optional()
  @IsInteger(() => ({ min: 0, max: Number.MAX_SAFE_INTEGER }), 'The greatest debt of a postpaid project, in credits.')
  declare readonly debt_limit_credits?: number;

  @IsText(REASON)
  declare readonly reason: string;
}

class ReasonRequest {
  @IsText(REASON)
  declare readonly reason: string;
}

@Controller('api/operator/projects')
export class ProjectsController {
  constructor(
    private readonly projects: Projects,
    private readonly ledger: Ledger,
    private readonly depositAddresses: DepositAddresses,
    private readonly audit: AuditLog,
    private readonly config: ConsoleConfig,
  ) {}

  @Get()
  @Authority(READS)
  async list(@Query() query: ProjectsQuery): Promise<Page<ProjectLine>> {
    const { name, state, cursor } = query;
    const limit = limitOf(query);
    const views = await this.projects.page({ name, state, after: placeOf(cursor) }, limit + 1);
    return pageBody(
      cutPage(views, limit, ({ id }) => cursorAt('p', id)),
      projectLine,
    );
  }

  @Get(':id')
  @Authority({ ...READS, auditsReadOf: 'id' })
  async read(@Param('id') id: string): Promise<ProjectLine> {
    return this.withFreeze(await this.find(id));
  }

  @Post()
  @HttpCode(201)
  @Authority(WRITES)
  async make(@Person() caller: ConsoleCaller, @Body() request: MakeProjectRequest): Promise<MadeProject> {
    const act = authorOf(caller, reasonOf(request));
    const name = projectNameOf(request.name);
    if (name === undefined) throw invalidField('name', PROJECT_NAME_RULE);
    // Debt is a form of credit, so one admin may grant no more of it than one booking.
    const limit = this.config.approvalCredits;
    if (BigInt(request.debt_limit_credits ?? 0) > limit) {
      const most = `$${money(limit).usd}`;
      throw invalidField('debt_limit_credits', `must be at most ${most} here; set a higher limit with the CLI`);
    }
    const { id, apiKey } = await this.projects.create(name, termsOf(request), act);
    return withoutNull<MadeProject>({
      project: projectLine(await this.projects.get(id)),
      secret: apiKey,
      deposit_address: await this.depositAddresses.addressOf(id),
    });
  }

  @Post(':id/freeze')
  @HttpCode(200)
  @Authority(WRITES)
  async freeze(@Person() caller: ConsoleCaller, @Param('id') id: string, @Body() request: ReasonRequest) {
    return this.setFrozen(caller, id, request, true);
  }

  @Post(':id/unfreeze')
  @HttpCode(200)
  @Authority(WRITES)
  async unfreeze(@Person() caller: ConsoleCaller, @Param('id') id: string, @Body() request: ReasonRequest) {
    return this.setFrozen(caller, id, request, false);
  }

  private async setFrozen(
    caller: ConsoleCaller,
    id: string,
    request: ReasonRequest,
    isFrozen: boolean,
  ): Promise<ProjectLine> {
    await this.find(id);
    await this.ledger.setFrozen(id, isFrozen, authorOf(caller, reasonOf(request)));
    return this.withFreeze(await this.projects.get(id));
  }

  /** Adds the author and the reason of a freeze from the audit log. */
  private async withFreeze(view: ProjectView): Promise<ProjectLine> {
    const line = projectLine(view);
    if (!view.frozen) return line;
    const [act] = await this.audit.list({ action: 'project.freeze', subject: view.id }, 1);
    if (act === undefined) return line;
    return { ...line, frozen_by: { actor: act.actor, reason: act.reason ?? '', at: act.at.toISOString() } };
  }

  private async find(id: string): Promise<ProjectView> {
    if (!UUID.test(id)) throw notFound('project');
    return this.projects.get(id);
  }
}

/** Throws 400 for a cursor that no page returned. */
function placeOf(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const id = placeIn('p', cursor);
  if (id === undefined || !UUID.test(id)) throw unknownCursor('this list');
  return id;
}

/** Requires a debt limit for postpaid projects; a project without one is made by command. */
function termsOf({ terms, debt_limit_credits: limit }: MakeProjectRequest): BillingTerms {
  if (terms === 'prepaid' && limit !== undefined)
    throw invalidField('debt_limit_credits', 'applies to postpaid projects only');
  if (terms === 'prepaid') return { kind: 'prepaid' };
  if (limit === undefined) throw invalidField('debt_limit_credits', 'is required for a postpaid project');
  return { kind: 'postpaid', debtLimitCredits: credits(limit) };
}

function projectLine(view: ProjectView): ProjectLine {
  const { floor_credits: floor, daily_cap_credits: cap } = view;
  return withoutNull<ProjectLine>({
    id: view.id,
    name: view.name,
    frozen: view.frozen,
    test: view.test ? true : undefined,
    is_postpaid: view.is_postpaid,
    balance: money(view.balance_credits),
    debt_limit: view.is_postpaid && floor !== null ? money(0n - floor) : undefined,
    daily_cap: cap === null ? undefined : money(cap),
    signature_schemes: view.signature_schemes,
    require_idempotency_key: view.require_idempotency_key,
    require_quote: view.require_quote,
    allowed_sources: view.allowed_sources,
    created_at: view.created_at.toISOString(),
  });
}
