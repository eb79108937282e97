/** Operators' views of the whole service: home, inbox, pool, orders, deposits, reports. Reads only. */
import { Controller, Get, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OneOf } from '../../platform/http/body/member-rules.js';
import { momentOf } from '../../domain/moment.js';
import { invalidField } from '../../domain/errors.js';
import type { DepositStatus } from '../../domain/deposit-state.js';
import { UUID } from '../../domain/uuid.js';
import { DEPOSIT_STATUSES } from '../deposits/deposits.dto.js';
import { Query as QueryClass } from '../../platform/http/body/page-query.js';
import { fileForPeople } from '../../platform/support/csv.js';
import { reportCsv } from '../reports/report-csv.js';
import { Projects } from '../projects/projects.js';
import { Reports, type ReportBy } from '../reports/report-service.js';
import { Replica } from '../../platform/database/replica.js';
import { Authority } from './authority.js';
import type { Page } from './data-shapes.js';
import { AnyText, CountedQuery, csvHeaders, pageFrom } from './lists.js';
import { orderLine, ordersBefore } from './order-list.js';
import { Operations } from './operations.service.js';
import type {
  InboxItem,
  OperatorDeposit,
  OperatorDays,
  OperatorHome,
  OperatorOrderLine,
  PoolShape,
  ReportShape,
} from './operator-shapes.js';
import { OrderQuery } from './orders.controller.js';
import { depositsBefore, operatorDeposit } from './top-up.service.js';

const READS = { operator: ['admin', 'support'], scope: 'service' } as const;
const DAY_MS = 86_400_000;
const DAYS_MAX = 366;
const BY: readonly ReportBy[] = ['day', 'project', 'wallet'];
const FLAG = ['true', 'false'];

class ServiceOrderQuery extends OrderQuery {
  @AnyText(36)
  declare readonly project?: string;

  @OneOf(FLAG)
  declare readonly attention?: string;

  @OneOf(FLAG)
  declare readonly due?: string;
}

class ServiceDepositQuery extends CountedQuery {
  @OneOf(DEPOSIT_STATUSES)
  declare readonly status?: DepositStatus;

  @AnyText(36)
  declare readonly project?: string;
}

class ReportQuery extends QueryClass {
  @AnyText(10)
  declare readonly from?: string;

  @AnyText(10)
  declare readonly to?: string;

  @OneOf(BY)
  declare readonly by?: ReportBy;
}

@Controller('api/operator')
export class OperationsController {
  constructor(
    private readonly operations: Operations,
    private readonly replica: Replica,
    private readonly reports: Reports,
    private readonly projects: Projects,
  ) {}

  @Get('home')
  @Authority(READS)
  async home(): Promise<OperatorHome> {
    return this.operations.home();
  }

  @Get('days')
  @Authority(READS)
  async days(): Promise<OperatorDays> {
    return this.operations.days();
  }

  @Get('inbox')
  @Authority(READS)
  async inbox(): Promise<{ items: InboxItem[] }> {
    return { items: await this.operations.inbox() };
  }

  @Get('pool')
  @Authority(READS)
  async pool(): Promise<PoolShape> {
    return this.operations.pool();
  }

  @Get('orders')
  @Authority({ ...READS, auditsReadOf: 'project' })
  async orderList(@Query() query: ServiceOrderQuery): Promise<Page<OperatorOrderLine>> {
    const { status, state, kind, receiver, reference, from, to, attention, due } = query;
    const named = { status, state, kind, receiver, reference, from, to };
    const filter = { ...named, needsAttention: attention === 'true', isDue: due === 'true' };
    const projectId = projectOf(query.project);
    const page = await pageFrom(
      this.replica,
      query,
      (on, before, limit) => ordersBefore(on, { ...filter, projectId }, { before, limit }),
      (row) => row,
    );
    const names = await this.projects.namesOf(page.items.map((row) => row.project_id));
    return {
      ...page,
      items: page.items.map((row) => ({
        ...orderLine(row),
        project: { id: row.project_id, name: names.get(row.project_id) ?? '' },
        needs_attention: row.needs_attention,
      })),
    };
  }

  @Get('deposits')
  @Authority({ ...READS, auditsReadOf: 'project' })
  async deposits(@Query() query: ServiceDepositQuery): Promise<Page<OperatorDeposit>> {
    const filter = { scope: 'all', projectId: projectOf(query.project), status: query.status } as const;
    const page = await pageFrom(
      this.replica,
      query,
      (on, before, limit) => depositsBefore(on, filter, before, limit),
      (row) => row,
    );
    const names = await this.projects.namesOf(page.items.map((row) => row.projectId));
    return {
      ...page,
      items: page.items.map((row) => operatorDeposit(row, names.get(row.projectId) ?? '')),
    };
  }

  @Get('report')
  @Authority(READS)
  async report(@Query() query: ReportQuery): Promise<ReportShape> {
    const { from, before, by } = termsOf(query);
    return this.operations.report(from, before, by);
  }

  @Get('report.csv')
  @Authority(READS)
  async reportCsv(@Query() query: ReportQuery, @Res() response: Response): Promise<void> {
    const text = reportCsv(await this.reports.make(termsOf(query)));
    response.writeHead(200, csvHeaders('report')).end(fileForPeople(text));
  }
}

function projectOf(text: string | undefined): string | undefined {
  if (text !== undefined && !UUID.test(text)) throw invalidField('project', 'must be the id of a project');
  return text;
}

/** Throws 400 for an invalid or too long range of days. */
function termsOf({ from: first, to: last, by = 'day' }: ReportQuery): { from: Date; before: Date; by: ReportBy } {
  const [from, to] = [dayOf('from', first), dayOf('to', last)];
  const days = (to.getTime() - from.getTime()) / DAY_MS + 1;
  if (days < 1) throw invalidField('to', 'must not be before from');
  if (days > DAYS_MAX) throw invalidField('to', `must be within ${DAYS_MAX.toString()} days of from`);
  return { from, before: new Date(to.getTime() + DAY_MS), by };
}

function dayOf(field: string, text: string | undefined): Date {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text) || momentOf(text) === undefined) {
    throw invalidField(field, 'must be a UTC day, such as 2026-11-20');
  }
  return new Date(text);
}
