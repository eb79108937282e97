/** What a GET of a list takes: text, all optional, each once. Every query of the API is one of these. */
import { Parameter } from './member-rules.js';

export const LIMIT_DEFAULT = 20;

export abstract class PageQuery {
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

  @Parameter({
    name: 'isCursor',
    faultOf: () => undefined,
    openApi: () => ({ type: 'string', description: 'Where the page begins: next_cursor of the page before.' }),
  })
  declare readonly cursor?: string;
}
