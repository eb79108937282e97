/** Routes of the search ("/"): in a project, and for operators in the whole service. Reads only. */
import { Controller, Get, Param, Query } from '@nestjs/common';
import { invalidField } from '../../domain/errors.js';
import { Query as QueryClass } from '../../platform/http/body/page-query.js';
import { Authority } from './authority.js';
import { AnyText } from './lists.js';
import type { SearchAnswer } from './search-shapes.js';
import { Search } from './search.service.js';

/** The longest Idempotency-Key. */
const TEXT_MAX = 255;

class SearchQuery extends QueryClass {
  @AnyText(TEXT_MAX)
  declare readonly q?: string;
}

@Controller('api/projects/:project_id/search')
export class ProjectSearchController {
  constructor(private readonly search: Search) {}

  @Get()
  @Authority({ merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' })
  async find(@Param('project_id') project: string, @Query() query: SearchQuery): Promise<SearchAnswer> {
    return this.search.find(textOf(query), project);
  }
}

@Controller('api/operator/search')
export class OperatorSearchController {
  constructor(private readonly search: Search) {}

  @Get()
  @Authority({ operator: ['admin', 'support'], scope: 'service' })
  async find(@Query() query: SearchQuery): Promise<SearchAnswer> {
    return this.search.find(textOf(query));
  }
}

function textOf({ q = '' }: SearchQuery): string {
  if (q.trim() === '') throw invalidField('q', 'is required');
  return q;
}
