/** What a GET takes beside its path: text, all optional, each once. */
import { Parameter } from './member-rules.js';

export const LIMIT_DEFAULT = 20;

/** Every query of the API is one of these. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- by it the pipe knows queries from bodies
export abstract class Query {}

/** Of a list. */
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

/** Of a list that is read page by page. */
export abstract class PageQuery extends ListQuery {
  @Parameter({
    name: 'isCursor',
    faultOf: () => undefined,
    openApi: () => ({ type: 'string', description: 'Where the page begins: next_cursor of the page before.' }),
  })
  declare readonly cursor?: string;
}
