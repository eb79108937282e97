/** The paths of orders. No logic: reads the request, asks the service, sets status and headers. */
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Config } from '../config/config.js';
import { ApiError } from '../domain/errors.js';
import { Caller } from '../http/pipeline/request-context.js';
import { takePurchaseKey } from '../http/pipeline/idempotency-key.js';
import { Describe, SaleBounds } from '../http/openapi/openapi.js';
import { readWait } from '../http/pipeline/prefer.js';
import { RouteOptionsOf } from '../http/pipeline/route-options.js';
import { readBody } from '../http/body/validation.js';
import { readListQuery } from './list-query.js';
import { describeOrder, describeOrderList, describeOrderRead } from './order.openapi.js';
import { answerOrder } from './order-answer.js';
import { orderSchema, type OrderBody } from './orders.dto.js';
import { OrdersService, type OrderPage } from './orders.service.js';

const KEY = /^[\x20-\x7e]{1,255}$/;

@Controller('v1/orders')
export class OrdersController {
  private readonly schema: ReturnType<typeof orderSchema>;

  constructor(
    private readonly orders: OrdersService,
    config: Config,
    sale: SaleBounds,
  ) {
    this.schema = orderSchema(config.sales, sale);
  }

  @Post()
  @Describe(describeOrder)
  @RouteOptionsOf({ isPurchase: true })
  @HttpCode(202)
  async create(@Caller() caller: Caller, @Res({ passthrough: true }) response: Response): Promise<OrderBody> {
    const request = readBody(caller, this.schema);
    const key = takePurchaseKey(caller, response);
    const context = { project: caller.project, key, requestId: caller.requestId, waitSec: readWait(caller) };
    return answerOrder(response, await this.orders.create(request, context));
  }

  @Get()
  @Describe(describeOrderList)
  async list(@Caller() caller: Caller, @Req() request: Request): Promise<OrderPage> {
    const { status, limit, beforeId } = readListQuery(request.url);
    return this.orders.list(caller.project.id, status, limit, beforeId);
  }

  /** The key arrives percent-decoded by the router; a plus is a plus. */
  @Get(':key')
  @Describe(describeOrderRead)
  async find(@Caller() caller: Caller, @Param('key') key: string): Promise<OrderBody> {
    // What no key can look like is not looked up: Postgres refuses some of it (U+0000) as no text at all.
    const order = KEY.test(key) ? await this.orders.find(caller.project.id, key) : undefined;
    if (order === undefined) throw new ApiError('NOT_FOUND', 'This project has no order with this key.');
    return order;
  }
}
