/** Requests and answers of GET /v1/requests. */
import { PageQuery } from '../../platform/http/body/page-query.js';
import type { RefusedPage } from './request-history.js';

export class RequestListQuery extends PageQuery {}

export interface RefusedRequestBody {
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error: string;
  readonly reason: string;
  readonly source_address: string;
  readonly key?: string;
  readonly omitted?: number;
}

export interface RefusedPageBody {
  readonly items: readonly RefusedRequestBody[];
  readonly next_cursor?: string;
}

export function refusedPageBody({ items, nextCursor }: RefusedPage): RefusedPageBody {
  return {
    items: items.map(({ at, key, omitted, ...rest }) => ({
      at: at.toISOString(),
      ...rest,
      ...(key !== null && { key }),
      ...(omitted > 0 && { omitted }),
    })),
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
  };
}
