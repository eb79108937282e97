/** Routes for a project's requirements on requests, and its limits. Every member reads them, owners change them. */
import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { invalidField } from '../../domain/errors.js';
import { SIGNATURE_SCHEMES } from '../../domain/scopes.js';
import { credits } from '../../domain/units.js';
import { IsEither, IsFlag, IsInteger, IsText, Optional } from '../../platform/http/body/member-rules.js';
import { PROJECT_NAME_MAX, PROJECT_NAME_RULE, projectNameOf } from '../projects/project-name.js';
import { Projects, type ProjectChanges } from '../projects/projects.js';
import { money, withoutNull } from './answers.js';
import { authorOf, Person } from './caller.js';
import { Authority, type ConsoleCaller } from './authority.js';
import type { ChangeProject, ProjectSettings } from './integration-shapes.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const WRITES = { merchant: ['owner'], operator: ['admin'], scope: 'project', again: true } as const;
const AMOUNT = () => ({ min: 0, max: Number.MAX_SAFE_INTEGER });

class ChangeProjectRequest implements ChangeProject {
  @Optional()
  @IsText({ maxLength: PROJECT_NAME_MAX, description: 'The name in lists, statements and e-mails.' })
  declare readonly name?: string;

  @Optional()
  @IsEither(SIGNATURE_SCHEMES)
  declare readonly signature_schemes?: ProjectSettings['signature_schemes'];

  @Optional()
  @IsFlag('Orders need an Idempotency-Key.')
  declare readonly require_idempotency_key?: boolean;

  @Optional()
  @IsFlag('Orders need a quote.')
  declare readonly require_quote?: boolean;

  @Optional()
  @IsInteger(AMOUNT, 'The most that may be spent in a UTC day.')
  declare readonly daily_cap_credits?: number;

  @Optional()
  @IsFlag('Lifts the cap.')
  declare readonly no_daily_cap?: boolean;

  @Optional()
  @IsInteger(AMOUNT, 'A balance that falls below it is an event.')
  declare readonly low_balance_credits?: number;

  @Optional()
  @IsFlag('Disables the event.')
  declare readonly no_low_balance?: boolean;
}

@Controller('api/projects/:project_id/settings')
export class ProjectSettingsController {
  constructor(private readonly projects: Projects) {}

  @Get()
  @Authority(READS)
  async read(@Param('project_id') project: string): Promise<ProjectSettings> {
    const view = await this.projects.get(project);
    const { daily_cap_credits: cap, low_balance_credits: low, floor_credits: floor } = view;
    return withoutNull<ProjectSettings>({
      id: view.id,
      name: view.name,
      test: view.test ? true : undefined,
      created_at: view.created_at.toISOString(),
      is_postpaid: view.is_postpaid,
      debt_limit: view.is_postpaid && floor !== null ? money(0n - floor) : undefined,
      signature_schemes: view.signature_schemes,
      require_idempotency_key: view.require_idempotency_key,
      require_quote: view.require_quote,
      daily_cap: cap === null ? undefined : money(cap),
      low_balance: low === null ? undefined : money(low),
    });
  }

  @Post()
  @HttpCode(200)
  @Authority(WRITES)
  async change(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Body() request: ChangeProjectRequest,
  ): Promise<ProjectSettings> {
    const { signature_schemes: signatureSchemes, require_idempotency_key: requireIdempotencyKey } = request;
    const { daily_cap_credits: cap, low_balance_credits: low, require_quote: requireQuote } = request;
    const [isUncapped, isSilent] = [request.no_daily_cap === true, request.no_low_balance === true];
    if (isUncapped && cap !== undefined) throw invalidField('no_daily_cap', 'must not be sent with daily_cap_credits');
    if (isSilent && low !== undefined)
      throw invalidField('no_low_balance', 'must not be sent with low_balance_credits');
    const name = request.name === undefined ? undefined : projectNameOf(request.name);
    if (request.name !== undefined && name === undefined) throw invalidField('name', PROJECT_NAME_RULE);
    const amountOf = (value: number | undefined, isNone: boolean) =>
      isNone ? null : value === undefined ? undefined : credits(value);
    const dailyCapCredits = amountOf(cap, isUncapped);
    const lowBalanceCredits = amountOf(low, isSilent);
    const changes: ProjectChanges = {
      ...(name !== undefined && { name }),
      ...(signatureSchemes !== undefined && { signatureSchemes }),
      ...(requireIdempotencyKey !== undefined && { requireIdempotencyKey }),
      ...(requireQuote !== undefined && { requireQuote }),
      ...(dailyCapCredits !== undefined && { dailyCapCredits }),
      ...(lowBalanceCredits !== undefined && { lowBalanceCredits }),
    };
    await this.projects.change(project, changes, authorOf(caller));
    return this.read(project);
  }
}
