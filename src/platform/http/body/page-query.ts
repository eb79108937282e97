/** The query parameters of GET requests: texts, all optional, each at most once. */
import { momentOf } from '../../../domain/moment.js';
import { Parameter } from './member-rules.js';

export const LIMIT_DEFAULT = 20;

/** Base class of every query of the API. */
// oxlint-disable-next-line typescript/no-extraneous-class -- by it the pipe knows queries from bodies
export abstract class Query {}

/** The query of a list. */
export abstract class ListQuery extends Query {
  @Parameter({
    name: 'isLimit',
    faultOf: (value) => (/^(?:[1-9]\d?|100)$/.test(String(value)) ? undefined : 'must be from 1 to 100'),
    openApi: () => ({
      type: 'integer',
      minimum: 1,
      maximum: 100,
      default: LIMIT_DEFAULT,
      description: 'Entries per page.',
    }),
  })
  declare readonly limit?: string;
}

/** The query of a list that is read page by page. */
export abstract class PageQuery extends ListQuery {
  @Parameter({
    name: 'isCursor',
    faultOf: () => undefined,
    openApi: () => ({ type: 'string', description: 'Start of the page: next_cursor of the previous page.' }),
  })
  declare readonly cursor?: string;
}

/** A UTC day, or a time in UTC ending in Z (`momentOf`). */
export const timeParameter = (description: string) =>
  Parameter({
    name: 'isMoment',
    faultOf: (value) =>
      momentOf(String(value)) === undefined
        ? 'must be a UTC time such as 2026-11-01 or 2026-11-01T12:00:00Z'
        : undefined,
    openApi: () => ({ type: 'string', examples: ['2026-11-01'], description }),
  });
