/** The client family's energy routes: the same quotes and orders as elsewhere, answered as its clients expect. */
import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { monotonicMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { LookupQueue } from '../../platform/http/pipeline/lookup-queue.js';
import { ArrivedMs, Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { NO_LABELS } from '../orders/order-labels.js';
import { OrderAnswers } from '../orders/order-answers.js';
import { UnlabelledOrderRequest, requestedRental } from '../orders/orders.dto.js';
import { OrdersService } from '../orders/orders.service.js';
import { keyedContextOf } from '../orders/purchase.js';
import { QuoteRequest, quoteBody, rentalOf, type QuoteBody } from '../quotes/quote.dto.js';
import { QuotesService } from '../quotes/quotes.service.js';
import { answerEnergyOrder, energyOrderBody, type EnergyOrderBody } from './energy-order.js';
import { EnergyOrderRequest } from './energy.dto.js';
import { describeEnergyOrder, describeEnergyQuote, describeRent } from './energy.openapi.js';

@Controller('v1/energy')
export class EnergyController {
  constructor(
    private readonly quotes: QuotesService,
    private readonly orders: OrdersService,
    private readonly orderAnswers: OrderAnswers,
    private readonly lookupQueue: LookupQueue,
    private readonly config: Config,
  ) {}

  @Post('quote')
  @Describe(describeEnergyQuote)
  @HttpCode(200)
  @RouteOptionsOf({ budget: 'quotes', scope: 'quote' })
  async quote(@Caller() { project }: Caller, @Body() body: QuoteRequest): Promise<QuoteBody> {
    const rental = rentalOf(body, project.isTest);
    return quoteBody(
      this.quotes.issue(project.id, await this.lookupQueue.run(project.id, () => this.quotes.quote(rental))),
    );
  }

  /**
   * The hold counts from the arrival, so that the answer comes within the minute that the clients wait, even if taking
   * the order was slow.
   */
  @Post('rent')
  @Describe(describeRent)
  @HttpCode(200)
  @RouteOptionsOf({ isPurchase: true, scope: 'order' })
  async rent(
    @Caller() caller: Caller,
    @ArrivedMs() arrivedMs: number,
    @Body() request: UnlabelledOrderRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<EnergyOrderBody> {
    const order = requestedRental(request);
    const context = { ...keyedContextOf(caller, response), labels: NO_LABELS };
    const accepted = await this.orders.create(order, context);
    const leftSec = this.config.http.rentHoldSec - (monotonicMs() - arrivedMs) / 1000;
    return answerEnergyOrder(response, await this.orderAnswers.hold(accepted, caller.project.id, leftSec));
  }

  @Post('order')
  @Describe(describeEnergyOrder)
  @HttpCode(200)
  @RouteOptionsOf({ scope: 'read' })
  async order(@Caller() { project }: Caller, @Body() { key }: EnergyOrderRequest): Promise<EnergyOrderBody> {
    const order = await this.orderAnswers.find(project.id, key);
    if (order?.kind !== 'rental') throw new ApiError('NOT_FOUND', 'This project has no energy order with this key.');
    return energyOrderBody(order);
  }
}
