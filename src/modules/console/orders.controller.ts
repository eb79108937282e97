/** Routes for a project's orders: lists, and the page of one order. */
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OneOf } from '../../platform/http/body/member-rules.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { ORDER_STATUSES, type OrderKind, type OrderStatus } from '../../domain/order-state.js';
import { ApiError } from '../../domain/errors.js';
import { OrderHistory } from '../orders/order-history.js';
import { describeStanding } from '../orders/order-standing.js';
import { Projects } from '../projects/projects.js';
import { Replica } from '../../platform/database/replica.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { Person } from './caller.js';
import { CsvAnswers } from './csv-answers.js';
import type { NewCount, OperatorOrder, OrderLine, OrderStory, Page, RefundReason } from './data-shapes.js';
import { AnyText, datedName, newSince, pageFrom, TimedQuery, type ReadOn } from './lists.js';
import { operatorOrder } from './operator-order.js';
import { ORDER_CSV, ORDER_CSV_DETAILS, orderCells, type OrderCsvRow } from './order-csv.js';
import {
  ORDER_STATES,
  orderLine,
  ordersBefore,
  type OrderDetails,
  type OrderListRow,
  type OrderState,
} from './order-list.js';
import { OrderRecordReader, type OrderRecord } from './order-records.js';
import { orderPageOf } from './order-page.js';
import { refundOf } from './order-texts.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const KINDS: readonly OrderKind[] = ['rental', 'activation'];

export class OrderQuery extends TimedQuery {
  @OneOf(ORDER_STATUSES)
  declare readonly status?: OrderStatus;

  @OneOf(ORDER_STATES)
  declare readonly state?: OrderState;

  @OneOf(KINDS)
  declare readonly kind?: OrderKind;

  @AnyText(34)
  declare readonly receiver?: string;

  @AnyText(64)
  declare readonly reference?: string;
}

@Controller('api/projects/:project_id')
export class OrdersController {
  constructor(
    private readonly replica: Replica,
    private readonly orderRecordReader: OrderRecordReader,
    private readonly history: OrderHistory,
    private readonly projects: Projects,
    private readonly csv: CsvAnswers,
    private readonly config: ConsoleConfig,
  ) {}

  @Get('orders')
  @Authority(READS)
  async page(@Param('project_id') project: string, @Query() query: OrderQuery): Promise<Page<OrderLine>> {
    return pageFrom(this.replica, query, this.read(project, query), orderLine);
  }

  @Get('orders/new')
  @Authority(READS)
  async newOrders(@Param('project_id') project: string, @Query() query: OrderQuery): Promise<NewCount> {
    return newSince(this.replica, query.since, this.read(project, query));
  }

  @Get('orders.csv')
  @Authority(READS)
  async csvOf(
    @Param('project_id') project: string,
    @Query() query: OrderQuery,
    @Res() response: Response,
  ): Promise<void> {
    await this.csv.write(response, {
      name: datedName('orders'),
      columns: ORDER_CSV,
      read: this.read<OrderCsvRow>(project, query, ORDER_CSV_DETAILS),
      cells: orderCells,
    });
  }

  @Get('orders/:key')
  @Authority(READS)
  async readHistory(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('key') key: string,
  ): Promise<OrderStory> {
    const order = await this.orderRecordReader.read(project, key);
    const records = await this.orderRecordReader.load(order);
    const operator = caller.audience === 'operator' ? await this.forOperator(project, order) : undefined;
    return orderPageOf(records, this.config, operator);
  }

  @Get('orders/:key/refund')
  @Authority(READS)
  async refund(@Param('project_id') project: string, @Param('key') key: string): Promise<RefundReason> {
    const reason = refundOf(await this.orderRecordReader.load(await this.orderRecordReader.read(project, key)));
    if (reason === undefined) throw new ApiError('NOT_FOUND', 'This order was not refunded.');
    return reason;
  }

  private read<Row extends OrderListRow = OrderListRow>(
    projectId: string,
    query: OrderQuery,
    details?: OrderDetails,
  ): ReadOn<Row> {
    const { status, state, kind, receiver, reference, from, to } = query;
    const filter = { projectId, status, state, kind, receiver, reference, from, to };
    return (on, before, limit) => ordersBefore<Row>(on, filter, { before, limit, details });
  }

  private async forOperator(project: string, { id }: OrderRecord): Promise<OperatorOrder> {
    const details = await this.history.load(await this.history.find(id.toString(), undefined));
    const { name } = await this.projects.get(project);
    return operatorOrder(details, { id: project, name }, describeStanding(details));
  }
}
