/** Orders as they are listed: by project, or all of them for operators. Reads only. */
import type { CsvCell } from '../base/csv.js';
import type { OrderKind, OrderStatus } from '../domain/order-state.js';
import { momentOf } from '../domain/moment.js';
import { toJsonInteger } from '../domain/units.js';
import type { Queryable } from '../store/database.js';
import { given, money, timeOf } from './answers.js';
import type { OrderLine } from './data-shapes.js';
import { STRETCH, type Stretch } from './lists.js';

export interface OrderFilter {
  readonly projectId?: string | undefined;
  readonly status?: OrderStatus | undefined;
  readonly kind?: OrderKind | undefined;
  readonly receiver?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Operators' alone. */
  readonly needsAttention?: boolean | undefined;
  readonly isDue?: boolean | undefined;
}

export interface OrderListRow {
  readonly id: bigint;
  readonly project_id: string;
  readonly key: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly settled: boolean;
  readonly needs_attention: boolean;
  readonly receive_address: string;
  readonly energy: bigint | null;
  readonly duration_sec: number | null;
  readonly credits: bigint;
  readonly created_at: Date;
  readonly delivered_at: Date | null;
  readonly ends_at: Date | null;
  readonly reclaimed_at: Date | null;
  readonly error_code: string | null;
  /** By our own clock, from its acceptance. */
  readonly delivered_in_ms: number | null;
}

const COLUMNS = `o.id, o.project_id, o.key, o.kind, o.status, o.settled, o.needs_attention, o.receive_address, o.energy,
  o.duration_sec, o.credits, o.created_at, o.delivered_at, o.ends_at, o.reclaimed_at, o.error_code`;

/** When it was first known to be delivered; both moments are the database's. */
export const DELIVERED_IN = `(SELECT round(extract(epoch FROM e.at - o.created_at) * 1000)::float8 FROM event e
  WHERE e.order_id = o.id AND e.type = 'order.delivered' ORDER BY e.id LIMIT 1) AS delivered_in_ms`;

export async function ordersBefore(
  on: Queryable,
  filter: OrderFilter,
  before: bigint,
  limit: number,
): Promise<Stretch<OrderListRow>> {
  const { ofStretch, within, params } = conditionsOf(filter, before);
  // What an index finds is no stretch: each of its rows is wanted.
  const isWhole = within.length === 0;
  const limits = [isWhole ? limit + 1 : STRETCH, limit + 1];
  const [stretchLimit, pageLimit] = limits.map((_, index) => `$${(params.length + index + 1).toString()}`);
  const text = [
    'SELECT o.*,',
    DELIVERED_IN,
    'FROM (SELECT * FROM (SELECT',
    COLUMNS,
    ...['FROM orders o WHERE', ofStretch.join(' AND '), 'ORDER BY o.id DESC LIMIT', stretchLimit, ') o'],
    ...(isWhole ? [] : ['WHERE', within.join(' AND ')]),
    ...['ORDER BY o.id DESC LIMIT', pageLimit, ') o ORDER BY o.id DESC'],
  ];
  const rows = await on.query<OrderListRow>(text.join(' '), [...params, ...limits]);
  if (rows.length > limit || isWhole) return { rows, endedAt: undefined };
  const ofEnd = params.slice(0, ofStretchParams(filter));
  const place = `$${(ofEnd.length + 1).toString()}`;
  const [end] = await on.query<{ id: bigint }>(
    ['SELECT o.id FROM orders o WHERE', ofStretch.join(' AND '), 'ORDER BY o.id DESC OFFSET', place, 'LIMIT 1'].join(
      ' ',
    ),
    [...ofEnd, STRETCH - 1],
  );
  return { rows, endedAt: end?.id };
}

export async function newestOrders(on: Queryable, projectId: string, limit: number): Promise<readonly OrderListRow[]> {
  return (await ordersBefore(on, { projectId }, 9_223_372_036_854_775_807n, limit)).rows.slice(0, limit);
}

const ofStretchParams = ({ projectId, status }: OrderFilter): number =>
  1 + (projectId === undefined ? 0 : 1) + (status === undefined ? 0 : 1);

function conditionsOf(filter: OrderFilter, before: bigint) {
  const params: unknown[] = [before];
  const numbered = (value: unknown): string => `$${params.push(value).toString()}`;
  const ofStretch = ['o.id < $1'];
  if (filter.projectId !== undefined) ofStretch.push(`o.project_id = ${numbered(filter.projectId)}`);
  if (filter.status !== undefined) ofStretch.push(`o.status = ${numbered(filter.status)}`);
  const within: string[] = [];
  if (filter.kind !== undefined) within.push(`o.kind = ${numbered(filter.kind)}`);
  if (filter.receiver !== undefined) within.push(`o.receive_address = ${numbered(filter.receiver)}`);
  if (filter.from !== undefined) within.push(`o.created_at >= ${numbered(momentOf(filter.from))}::timestamptz`);
  if (filter.to !== undefined) within.push(`o.created_at < ${numbered(momentOf(filter.to))}::timestamptz`);
  // Partial or small sets of the service's own rows; a merchant's console asks neither.
  if (filter.needsAttention === true) ofStretch.push('o.needs_attention AND NOT o.test');
  if (filter.isDue === true) ofStretch.push('o.next_run_at <= clock_timestamp()');
  return { ofStretch, within, params };
}

export function orderLine(row: OrderListRow): OrderLine {
  return given<OrderLine>({
    id: toJsonInteger(row.id),
    key: row.key,
    kind: row.kind,
    status: row.status,
    settled: row.settled,
    receive_address: row.receive_address,
    energy: row.energy === null ? undefined : toJsonInteger(row.energy),
    duration_sec: row.duration_sec,
    charged: money(row.credits),
    created_at: row.created_at.toISOString(),
    delivered_at: timeOf(row.delivered_at),
    ends_at: timeOf(row.ends_at),
    reclaimed_at: timeOf(row.reclaimed_at),
    delivered_in_ms: row.delivered_in_ms,
    error_code: row.error_code,
  });
}

export const ORDER_CSV = [
  ...['order', 'key', 'kind', 'status', 'receive_address', 'energy', 'duration_sec', 'credits', 'usd'],
  ...['created_at', 'delivered_at', 'ends_at', 'reclaimed_at', 'error_code'],
];

export function orderCells(row: OrderListRow): readonly CsvCell[] {
  return [
    ...[row.id, row.key, row.kind, row.status, row.receive_address, row.energy, row.duration_sec, row.credits],
    ...[{ decimal: money(row.credits).usd }, row.created_at, row.delivered_at, row.ends_at, row.reclaimed_at],
    row.error_code,
  ];
}
