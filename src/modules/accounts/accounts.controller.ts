/** Routes of accounts: activation on chain and the project's balance. */
import { Body, Controller, Get, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Ledger } from '../billing/ledger.js';
import { invariant } from '../../domain/errors.js';
import { readWait } from '../../platform/http/pipeline/prefer.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { answerOrder, OrderAnswers } from '../orders/order-answers.js';
import type { OrderBody } from '../orders/orders.dto.js';
import { OrdersService } from '../orders/orders.service.js';
import { orderContextOf } from '../orders/purchase.js';
import { ActivationRequest, balanceBody, type BalanceBody } from './accounts.dto.js';
import { describeActivation, describeBalance } from './accounts.openapi.js';

@Controller('v1')
export class AccountsController {
  constructor(
    private readonly orders: OrdersService,
    private readonly orderAnswers: OrderAnswers,
    private readonly ledger: Ledger,
  ) {}

  @Post('activate')
  @Describe(describeActivation)
  @RouteOptionsOf({ isPurchase: true, scope: 'order', acceptsMd5: true })
  @HttpCode(202)
  async activate(
    @Caller() caller: Caller,
    @Body() request: ActivationRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderBody> {
    const order = { kind: 'activation', receiveAddress: request.address } as const;
    const accepted = await this.orders.create(order, orderContextOf(caller, request, response));
    return answerOrder(response, await this.orderAnswers.hold(accepted, caller.project.id, readWait(caller)));
  }

  @Get('balance')
  @RouteOptionsOf({ scope: 'read', acceptsMd5: true })
  @Describe(describeBalance)
  async balance(@Caller() caller: Caller): Promise<BalanceBody> {
    const balance = await this.ledger.balanceOf(caller.project.id);
    invariant(balance !== undefined, 'every project has an account');
    return balanceBody(balance);
  }
}
