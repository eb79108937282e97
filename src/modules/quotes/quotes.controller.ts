import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { LookupQueue } from '../../platform/http/pipeline/lookup-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { QuoteRequest, quoteBody, rentalOf, type QuoteBody } from './quote.dto.js';
import { describeQuote } from './quote.openapi.js';
import { QuotesService } from './quotes.service.js';

@Controller('v1/quotes')
export class QuotesController {
  constructor(
    private readonly quotes: QuotesService,
    private readonly lookupQueue: LookupQueue,
  ) {}

  @Post()
  @Describe(describeQuote)
  @HttpCode(200)
  @RouteOptionsOf({ budget: 'quotes', scope: 'quote', acceptsMd5: true })
  async create(@Caller() { project }: Caller, @Body() body: QuoteRequest): Promise<QuoteBody> {
    const rental = rentalOf(body, project.isTest);
    return quoteBody(
      this.quotes.issue(project.id, await this.lookupQueue.run(project.id, () => this.quotes.quote(rental))),
    );
  }
}
