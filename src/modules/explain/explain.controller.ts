import { Controller, Get, Param } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { LookupQueue } from '../../platform/http/pipeline/lookup-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { txidIn, type ExplanationBody } from './explain.dto.js';
import { describeExplain } from './explain.openapi.js';
import { ExplainService } from './explain.service.js';

@Controller('v1/explain')
export class ExplainController {
  constructor(
    private readonly explainService: ExplainService,
    private readonly lookupQueue: LookupQueue,
  ) {}

  /** A foreign transaction and one that does not exist have the same answer. */
  @Get(':txid')
  @Describe(describeExplain)
  @RouteOptionsOf({ scope: 'read', budget: 'quotes' })
  async explain(@Caller() { project }: Caller, @Param('txid') text: string): Promise<ExplanationBody> {
    const txid = txidIn(text);
    const found = await this.lookupQueue.run(project.id, () => this.explainService.explain([project.id], txid));
    if (found === undefined) {
      throw new ApiError('NOT_FOUND', 'No node knows this transaction, or no order of this project concerns it.');
    }
    return found;
  }
}
