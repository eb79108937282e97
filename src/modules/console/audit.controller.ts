/** Operators' routes for the audit log of the whole service. Reads only. */
import { Controller, Get, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OneOf } from '../../platform/http/body/member-rules.js';
import { ACT_KINDS, type ActKind } from '../../domain/act-kinds.js';
import { Replica } from '../../platform/database/replica.js';
import { Authority } from './authority.js';
import { ACT_COLUMNS, actCells, AuditList, serviceAct, type ActFilter } from './audit-list.js';
import { CsvAnswers } from './csv-answers.js';
import type { Page } from './data-shapes.js';
import { AnyText, pageFrom, TimedQuery } from './lists.js';
import type { ServiceAct } from './system-shapes.js';

const READS = { operator: ['admin', 'support'], scope: 'service' } as const;

class AuditQuery extends TimedQuery {
  @AnyText(200)
  declare readonly by?: string;

  @OneOf(ACT_KINDS)
  declare readonly kind?: ActKind;

  @AnyText(100)
  declare readonly action?: string;

  @AnyText(200)
  declare readonly subject?: string;

  @AnyText(100)
  declare readonly project?: string;

  @OneOf(['true', 'false'])
  declare readonly looks?: string;
}

@Controller('api/operator')
export class AuditController {
  constructor(
    private readonly list: AuditList,
    private readonly replica: Replica,
    private readonly csv: CsvAnswers,
  ) {}

  @Get('audit')
  @Authority(READS)
  async acts(@Query() query: AuditQuery): Promise<Page<ServiceAct>> {
    const filter = filterOf(query);
    return pageFrom(
      this.replica,
      query,
      (on, before, limit) => this.list.before(on, filter, before, limit),
      serviceAct,
    );
  }

  @Get('audit.csv')
  @Authority(READS)
  async actsCsv(@Query() query: AuditQuery, @Res() response: Response): Promise<void> {
    const filter = filterOf(query);
    await this.csv.write(response, {
      name: 'audit',
      columns: ACT_COLUMNS,
      read: (on, before, limit) => this.list.before(on, filter, before, limit),
      cells: actCells,
    });
  }
}

function filterOf({ by, kind, action, subject, project, from, to, looks }: AuditQuery): ActFilter {
  return { by, kind, action, subject, project, from, to, hasLooks: looks === 'true' };
}
