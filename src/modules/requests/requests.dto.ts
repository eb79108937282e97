/** Requests and answers of GET /v1/requests. */
import { PageQuery } from '../../platform/http/body/page-query.js';
import type { RefusedRequestView } from './request-history.js';

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

export function refusedRequestBody({ id: _, at, key, omitted, ...rest }: RefusedRequestView): RefusedRequestBody {
  return {
    at: at.toISOString(),
    ...rest,
    ...(key !== null && { key }),
    ...(omitted > 0 && { omitted }),
  };
}
