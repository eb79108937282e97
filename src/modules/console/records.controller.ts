/** Routes for further records of a project: ledger, events, refused requests, acts. Reads only. */
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { CsvCell } from '../../platform/support/csv.js';
import { momentOf } from '../../domain/moment.js';
import { ApiError } from '../../domain/errors.js';
import { pageBody } from '../../domain/page.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { writePages } from '../../platform/http/pipeline/written-pages.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { RequestHistory } from '../requests/request-history.js';
import { refusedRequestBody } from '../requests/requests.dto.js';
import type { EntryRow } from '../statements/entry-rows.js';
import { LedgerList } from '../statements/ledger-list.js';
import { Replica } from '../../platform/database/replica.js';
import { csvLine, forPeople } from '../../platform/support/csv.js';
import { Authority } from './authority.js';
import type { LedgerLine, Page } from './data-shapes.js';
import type { AuditShape, EventShape, RefusedShape } from './integration-shapes.js';
import { AnyText, csvHeaders, datedName, limitOf, pageFrom, TimedQuery } from './lists.js';
import { ledgerLine } from './order-page.js';
import { actsBefore, eventsBefore } from './project-records.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const CSV_ROWS_MAX = 100_000;
const CSV_PAGE = 1000;
const LEDGER_CSV = [
  'entry',
  'time',
  'kind',
  'description',
  'credits',
  'usd',
  'asset',
  'amount',
  'usd_rate',
  'order_key',
  'deposit',
  'reference',
  'txids',
];

class LedgerListQuery extends TimedQuery {}
class SimpleQuery extends PageQuery {}
class EventsQuery extends PageQuery {
  @AnyText(2000)
  declare readonly types?: string;
}

@Controller('api/projects/:project_id')
export class RecordsController {
  constructor(
    private readonly ledger: LedgerList,
    private readonly requestHistory: RequestHistory,
    private readonly replica: Replica,
    private readonly config: ConsoleConfig,
  ) {}

  @Get('ledger')
  @Authority(READS)
  async entries(@Param('project_id') project: string, @Query() query: LedgerListQuery): Promise<Page<LedgerLine>> {
    return pageBody(await this.ledger.page(project, spanOf(query), limitOf(query), query.cursor), ledgerLine);
  }

  @Get('ledger.csv')
  @Authority(READS)
  async entriesCsv(
    @Param('project_id') project: string,
    @Query() query: LedgerListQuery,
    @Res() response: Response,
  ): Promise<void> {
    await this.write(response, datedName('ledger'), this.entryPages(project, query));
  }

  @Get('events')
  @Authority(READS)
  async events(@Param('project_id') project: string, @Query() query: EventsQuery): Promise<Page<EventShape>> {
    const named = query.types?.split(',').filter((type) => type !== '');
    const terms = { projectId: project, types: named?.length === 0 ? undefined : named };
    return pageFrom(
      this.replica,
      query,
      (on, before, limit) => eventsBefore(on, terms, before, limit),
      ({ payload }) => JSON.parse(payload) as EventShape,
    );
  }

  @Get('requests')
  @Authority(READS)
  async refused(@Param('project_id') project: string, @Query() query: SimpleQuery): Promise<Page<RefusedShape>> {
    return pageBody(await this.requestHistory.list(project, limitOf(query), query.cursor), refusedRequestBody);
  }

  @Get('audit')
  @Authority({ merchant: ['owner'], operator: ['admin', 'support'], scope: 'project' })
  async acts(@Param('project_id') project: string, @Query() query: SimpleQuery): Promise<Page<AuditShape>> {
    return pageFrom(this.replica, query, actsBefore, ({ id, at, actor, action, reason, detail }) => ({
      id: id.toString(),
      at: at.toISOString(),
      actor,
      action,
      subject: project,
      ...(reason !== null && { reason }),
      ...(detail !== null && { detail }),
    }));
  }

  private async *entryPages(project: string, query: LedgerListQuery): AsyncGenerator<string, void, undefined> {
    let cursor: string | undefined;
    let text = csvLine(LEDGER_CSV);
    for (let written = 0; ;) {
      const page = await this.ledger.page(project, spanOf(query), CSV_PAGE, cursor);
      written += page.items.length;
      if (written > CSV_ROWS_MAX)
        throw new ApiError('INVALID_REQUEST', 'There are too many entries in this period. Choose a shorter one.');
      yield text + page.items.map((row) => csvLine(cellsOf(row))).join('');
      text = '';
      cursor = page.nextCursor;
      if (cursor === undefined) return;
    }
  }

  private async write(response: Response, name: string, pages: AsyncGenerator<string, void, undefined>): Promise<void> {
    await writePages(response, csvHeaders(name), forPeople(pages), this.config.http.streamSlowSec * 1000);
  }
}

const spanOf = ({ from, to }: TimedQuery) => ({ from: from && momentOf(from), to: to && momentOf(to) });

function cellsOf(row: EntryRow): readonly CsvCell[] {
  const line = ledgerLine(row);
  const number = (text: string | undefined): CsvCell => (text === undefined ? undefined : { decimal: text });
  return [
    ...[line.id, new Date(row.at), line.kind, line.description, row.credits, number(line.amount.usd), line.asset],
    ...[
      number(line.asset_amount),
      number(line.usd_rate),
      line.order_key,
      line.deposit,
      line.reference,
      line.txids?.join(' '),
    ],
  ];
}
