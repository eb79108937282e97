/** Reads the query of the list of orders; every fault is named, nothing is guessed. */
import { ApiError, type FieldFault } from '../domain/errors.js';
import { toJsonInteger } from '../domain/units.js';
import { ORDER_STATUSES, type OrderStatus } from '../domain/order-state.js';
import { readCursor } from './orders.service.js';

const LIMIT_DEFAULT = 20;
const LIMIT = /^(?:[1-9]\d?|100)$/;
const NAMES = ['status', 'limit', 'cursor'];
const NAME_SHOWN_MAX = 64;

export interface ListQuery {
  readonly status: OrderStatus | undefined;
  readonly limit: number;
  readonly beforeId: bigint | undefined;
}

/** `url` is the request's path with its query. Throws 400 INVALID_REQUEST with details. */
export function readListQuery(url: string): ListQuery {
  const at = url.indexOf('?');
  const params = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  const faults: FieldFault[] = [];
  for (const name of new Set(params.keys())) {
    if (!NAMES.includes(name)) {
      faults.push({ field: name.slice(0, NAME_SHOWN_MAX), msg: 'is not a parameter of this request' });
    } else if (params.getAll(name).length > 1) faults.push({ field: name, msg: 'must be given once' });
  }
  const statusText = params.get('status');
  const status = ORDER_STATUSES.find((known) => known === statusText);
  if (statusText !== null && status === undefined) {
    faults.push({ field: 'status', msg: `must be one of ${ORDER_STATUSES.join(', ')}` });
  }
  const limitText = params.get('limit');
  if (limitText !== null && !LIMIT.test(limitText)) faults.push({ field: 'limit', msg: 'must be from 1 to 100' });
  const [first] = faults;
  if (first !== undefined) {
    throw new ApiError('INVALID_REQUEST', `${first.field} ${first.msg}.`, { details: faults });
  }
  const cursor = params.get('cursor');
  return {
    status,
    limit: limitText === null ? LIMIT_DEFAULT : toJsonInteger(BigInt(limitText)),
    beforeId: cursor === null ? undefined : readCursor(cursor),
  };
}
