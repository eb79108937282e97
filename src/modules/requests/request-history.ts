/** Reads the request log of a project: refused requests of the last days, with reasons. */
import { Injectable } from '@nestjs/common';
import { cursorAt, idIn } from '../../domain/cursor.js';
import { cutPage, type ListPage } from '../../domain/page.js';
import { ownedBy } from '../../platform/database/owner-order.js';
import { Replica } from '../../platform/database/replica.js';
import { REQUESTS_KEPT_DAYS } from './retention.js';

/** A refused request as its project sees it. */
export interface RefusedRequestView {
  readonly id: bigint;
  readonly at: Date;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error: string;
  readonly reason: string;
  readonly source_address: string;
  /** Null if the signing key is unknown. */
  readonly key: string | null;
  readonly omitted: number;
}

const ID_MAX = 9_223_372_036_854_775_807n;

const IS_OF_PROJECT = ownedBy('r.project_id', '$1::uuid');

export const LIST = {
  name: 'list_refused_requests',
  text: `SELECT r.id, r.at, r.request_id, r.method, r.path, r.status, r.error, r.reason, r.source_address, k.name AS key, r.omitted
    FROM refused_request r LEFT JOIN api_key k ON k.id = r.key_id
   WHERE ${IS_OF_PROJECT} AND r.id < $2 AND r.at >= clock_timestamp() - ${REQUESTS_KEPT_DAYS.toString()} * interval '1 day'
   ORDER BY r.project_id DESC, r.id DESC LIMIT $3`,
};

@Injectable()
export class RequestHistory {
  constructor(private readonly replica: Replica) {}

  /** Returns the newest refusals after `cursor`. Throws 400 INVALID_REQUEST for an invalid cursor. */
  async list(projectId: string, limit: number, cursor: string | undefined): Promise<ListPage<RefusedRequestView>> {
    return this.replica.page(cursor, async (on, after) => {
      const params = [projectId, after === undefined ? ID_MAX : idIn('r', after, 'requests'), limit + 1];
      const rows = await on.query<RefusedRequestView>(LIST, params);
      return cutPage(rows, limit, ({ id }) => cursorAt('r', id));
    });
  }
}
