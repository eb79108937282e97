/** Routes for a project's balance, deposit address and deposits. */
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OneOf } from '../../platform/http/body/member-rules.js';
import { rateText, trxOf } from '../../domain/conversion.js';
import type { DepositStatus } from '../../domain/deposit-state.js';
import { invalidField } from '../../domain/errors.js';
import type { RateE8 } from '../../domain/units.js';
import type { ListedDeposit } from '../deposits/deposit-return-states.js';
import { DEPOSIT_STATUSES } from '../deposits/deposits.dto.js';
import { Query as QueryClass } from '../../platform/http/body/page-query.js';
import type { Deposit } from '../../platform/database/entities/deposit.entity.js';
import { Replica } from '../../platform/database/replica.js';
import { Authority } from './authority.js';
import { CsvAnswers } from './csv-answers.js';
import type { Arrivals, BalanceShape, DepositAddressShape, DepositShape, NewCount, Page } from './data-shapes.js';
import { AnyText, CountedQuery, datedName, newSince, pageFrom, type ReadOn } from './lists.js';
import { depositsBefore, depositShape, TopUp } from './top-up.service.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;

class DepositQuery extends CountedQuery {
  @OneOf(DEPOSIT_STATUSES)
  declare readonly status?: DepositStatus;
}

class ArrivalQuery extends QueryClass {
  @AnyText(16)
  declare readonly after?: string;
}

const CSV_COLUMNS = [
  ...['deposit', 'seen_at', 'status', 'reason', 'asset', 'amount', 'usd_rate', 'credits', 'txid', 'from_address'],
  ...['address', 'block_number', 'block_timestamp'],
];

@Controller('api/projects/:project_id')
export class TopUpController {
  constructor(
    private readonly topUp: TopUp,
    private readonly replica: Replica,
    private readonly csv: CsvAnswers,
  ) {}

  @Get('balance')
  @Authority(READS)
  async balance(@Param('project_id') project: string): Promise<BalanceShape> {
    return this.topUp.balance(project);
  }

  @Get('deposit-address')
  @Authority(READS)
  async address(@Param('project_id') project: string): Promise<DepositAddressShape> {
    return this.topUp.address(project);
  }

  @Get('deposits')
  @Authority(READS)
  async deposits(@Param('project_id') project: string, @Query() query: DepositQuery): Promise<Page<DepositShape>> {
    return pageFrom(this.replica, query, this.read(project, query), depositShape);
  }

  @Get('deposits/new')
  @Authority(READS)
  async newDeposits(@Param('project_id') project: string, @Query() query: DepositQuery): Promise<NewCount> {
    return newSince(this.replica, query.since, this.read(project, query));
  }

  @Get('deposits.csv')
  @Authority(READS)
  async csvOf(
    @Param('project_id') project: string,
    @Query() query: DepositQuery,
    @Res() response: Response,
  ): Promise<void> {
    await this.csv.write(response, {
      name: datedName('deposits'),
      columns: CSV_COLUMNS,
      read: this.read(project, query),
      cells: cellsOf,
    });
  }

  @Get('arrivals')
  @Authority(READS)
  async arrivals(@Param('project_id') project: string, @Query() { after }: ArrivalQuery): Promise<Arrivals> {
    if (after !== undefined && !/^\d{1,15}$/.test(after))
      throw invalidField('after', 'must be a position of the event log');
    return this.topUp.arrivals(project, after === undefined ? undefined : BigInt(after));
  }

  private read(projectId: string, { status }: DepositQuery): ReadOn<ListedDeposit> {
    return (on, before, limit) => depositsBefore(on, { scope: 'project', projectId, status }, before, limit);
  }
}

function cellsOf(deposit: Deposit) {
  return [
    ...[`dep_${deposit.id.toString()}`, deposit.seenAt, deposit.status, deposit.reason, deposit.asset],
    ...[{ decimal: trxOf(BigInt(deposit.amount)) }, deposit.rateE8 && { decimal: rateText(deposit.rateE8 as RateE8) }],
    ...[deposit.credits, deposit.txid.toString('hex'), deposit.fromAddress, deposit.address],
    ...[deposit.blockNumber, deposit.blockAt],
  ];
}
