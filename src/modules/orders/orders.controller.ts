/** Routes of orders (docs/interface.md §9, §12). */
import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { ApiError } from '../../domain/errors.js';
import { toJsonInteger } from '../../domain/units.js';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { readWait } from '../../platform/http/pipeline/prefer.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { describeOrder, describeOrderList, describeOrderRead } from './order.openapi.js';
import { answerOrder, OrderAnswers } from './order-answers.js';
import { OrderList, type OrderPage } from './order-list.js';
import { OrderListQuery, OrderRequest, requestedRental, type OrderBody } from './orders.dto.js';
import { orderContextOf } from './purchase.js';
import { OrdersService } from './orders.service.js';

@Controller('v1/orders')
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly orderAnswers: OrderAnswers,
    private readonly orderList: OrderList,
  ) {}

  @Post()
  @Describe(describeOrder)
  @RouteOptionsOf({ isPurchase: true, scope: 'order', acceptsMd5: true })
  @HttpCode(202)
  async create(
    @Caller() caller: Caller,
    @Body() request: OrderRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderBody> {
    const order = requestedRental(request);
    const accepted = await this.orders.create(order, orderContextOf(caller, request, response));
    return answerOrder(response, await this.orderAnswers.hold(accepted, caller.project.id, readWait(caller)));
  }

  @Get()
  @RouteOptionsOf({ scope: 'read', acceptsMd5: true })
  @Describe(describeOrderList)
  async list(@Caller() { project }: Caller, @Query() { limit, cursor, ...filter }: OrderListQuery): Promise<OrderPage> {
    return this.orderList.page(project.id, filter, toJsonInteger(BigInt(limit ?? LIMIT_DEFAULT)), cursor);
  }

  /** The router percent-decodes the key; a plus remains a plus. */
  @Get(':key')
  @RouteOptionsOf({ scope: 'read', acceptsMd5: true })
  @Describe(describeOrderRead)
  async find(@Caller() caller: Caller, @Param('key') key: string): Promise<OrderBody> {
    const order = await this.orderAnswers.find(caller.project.id, key);
    if (order === undefined) throw new ApiError('NOT_FOUND', 'This project has no order with this key.');
    return order;
  }
}
