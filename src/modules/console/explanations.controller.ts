/** Routes of "Why did it burn?": a console writes the request, a worker answers, and the page reads the answer. */
import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { UUID } from '../../domain/uuid.js';
import { IsText } from '../../platform/http/body/member-rules.js';
import { txidIn } from '../explain/explain.dto.js';
import { ExplanationRequests, type ExplanationState } from '../explain/explanation-requests.js';
import { withoutNull } from './answers.js';
import { Authority } from './authority.js';
import type { AskExplanation, AskedExplanation, ExplanationShape } from './explanation-shapes.js';

const IN_PROJECT = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const IN_SERVICE = { operator: ['admin', 'support'], scope: 'service' } as const;

class AskExplanationRequest implements AskExplanation {
  @IsText({ maxLength: 100, description: 'The id of the transaction, 64 hex digits.' })
  declare readonly txid: string;
}

@Controller('api/projects/:project_id/explanations')
export class ProjectExplanationsController {
  constructor(private readonly requests: ExplanationRequests) {}

  @Post()
  @HttpCode(202)
  @Authority(IN_PROJECT)
  async ask(@Param('project_id') project: string, @Body() { txid }: AskExplanationRequest): Promise<AskedExplanation> {
    return { id: await this.requests.ask(project, txidIn(txid.trim())) };
  }

  @Get(':id')
  @Authority(IN_PROJECT)
  async find(@Param('project_id') project: string, @Param('id') id: string): Promise<ExplanationShape> {
    return shapeOf(UUID.test(id) ? await this.requests.find(project, id) : undefined);
  }
}

@Controller('api/operator/explanations')
export class OperatorExplanationsController {
  constructor(private readonly requests: ExplanationRequests) {}

  /** Explains by the orders of all projects. */
  @Post()
  @HttpCode(202)
  @Authority(IN_SERVICE)
  async ask(@Body() { txid }: AskExplanationRequest): Promise<AskedExplanation> {
    return { id: await this.requests.ask(undefined, txidIn(txid.trim())) };
  }

  @Get(':id')
  @Authority(IN_SERVICE)
  async find(@Param('id') id: string): Promise<ExplanationShape> {
    return shapeOf(UUID.test(id) ? await this.requests.find(undefined, id) : undefined);
  }
}

function shapeOf(found: ExplanationState | undefined): ExplanationShape {
  if (found === undefined) throw new ApiError('NOT_FOUND', 'There is no such request. Requests are kept for a day.');
  const { isAnswered, answer, error } = found;
  return withoutNull<ExplanationShape>({ answered: isAnswered, answer, error });
}
