/** POST /v1/quotes. No logic. */
import { Controller, HttpCode, Post } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Caller } from '../http/pipeline/request-context.js';
import { Describe, SaleBounds } from '../http/openapi/openapi.js';
import { RouteOptionsOf } from '../http/pipeline/route-options.js';
import { readBody } from '../http/body/validation.js';
import { energy } from '../domain/units.js';
import { quoteBody, quoteSchema, type QuoteBody } from './quote.dto.js';
import { describeQuote } from './quote.openapi.js';
import { QuotesService } from './quotes.service.js';

@Controller('v1/quotes')
export class QuotesController {
  private readonly schema;

  constructor(
    config: Config,
    sale: SaleBounds,
    private readonly quotes: QuotesService,
  ) {
    this.schema = quoteSchema(config.sales, sale);
  }

  @Post()
  @Describe(describeQuote)
  @HttpCode(200)
  @RouteOptionsOf({ isRateLimited: true })
  async create(@Caller() caller: Caller): Promise<QuoteBody> {
    const body = readBody(caller, this.schema);
    const rental = await this.quotes.price({
      receiveAddress: body.receive_address,
      energy: body.energy === undefined ? undefined : energy(body.energy),
      durationSec: body.duration_sec,
    });
    return quoteBody(this.quotes.issue(caller.project.id, rental));
  }
}
