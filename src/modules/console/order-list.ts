/** Lists orders of one project, or of all for operators. Reads only. */
import type { OrderKind, OrderStatus } from '../../domain/order-state.js';
import { invalidField } from '../../domain/errors.js';
import { momentOf } from '../../domain/moment.js';
import { toJsonInteger } from '../../domain/units.js';
import type { Queryable } from '../../platform/database/database.js';
import { money, timeOf, withoutNull } from './answers.js';
import type { OrderLine } from './data-shapes.js';
import { ID_MAX, STRETCH, type Stretch } from './lists.js';

/** Groups of statuses: rentals that run, orders that are over, and orders with an open outcome. */
export const ORDER_STATES = ['running', 'ended', 'attention'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

const IN_STATE: Readonly<Record<OrderState, string>> = {
  running: `o.status = 'delivered' AND o.kind = 'rental' AND o.reclaimed_at IS NULL`,
  ended: `(o.status = 'refunded' OR o.status = 'delivered' AND (o.reclaimed_at IS NOT NULL OR o.kind = 'activation'))`,
  attention: `(o.needs_attention OR o.status = 'unresolved')`,
};

/** Due, and not under way. */
const IS_DUE = `o.next_run_at <= (SELECT clock_timestamp())
  AND (o.lease_until IS NULL OR o.lease_until < (SELECT clock_timestamp()))`;

export interface OrderFilter {
  readonly projectId?: string | undefined;
  readonly status?: OrderStatus | undefined;
  readonly state?: OrderState | undefined;
  readonly kind?: OrderKind | undefined;
  readonly receiver?: string | undefined;
  readonly reference?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Only for operators. */
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
  readonly bandwidth: bigint | null;
  readonly activation_credits: bigint | null;
  readonly duration_sec: number | null;
  readonly credits: bigint;
  readonly created_at: Date;
  readonly delivered_at: Date | null;
  readonly ends_at: Date | null;
  readonly reclaimed_at: Date | null;
  readonly error_code: string | null;
  readonly reference: string | null;
  /** Time from acceptance, by our clock. */
  readonly delivered_in_ms: number | null;
}

const COLUMNS = `o.id, o.project_id, o.key, o.kind, o.status, o.settled, o.needs_attention, o.receive_address, o.energy,
  o.bandwidth, o.activation_credits, o.duration_sec, o.credits, o.created_at, o.delivered_at, o.ends_at, o.reclaimed_at, o.error_code, o.reference`;

/** Time until the delivery was recorded; both times are the database's. */
export const DELIVERED_IN = `(SELECT round(extract(epoch FROM e.at - o.created_at) * 1000)::float8 FROM event e
  WHERE e.order_id = o.id AND e.type = 'order.delivered' ORDER BY e.id LIMIT 1) AS delivered_in_ms`;

/**
 * Finds the time and id after which a page continues. If `$3`, the end of the list's time range, is earlier, the page
 * continues there.
 */
const PLACE = {
  name: 'console_order_place',
  text: `SELECT least(created_at, $3::timestamptz)::text AS at, CASE WHEN created_at < $3::timestamptz THEN id ELSE 0 END AS id
    FROM orders WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2)`,
};

/** Limits the due orders to the longest overdue ones. */
const DUE_MAX = 20_000;

/** A condition on a row: SQL up to the operator, and the value after it; or a whole condition without a value. */
type Sought = readonly [condition: string, value?: unknown];

/** A part of a list: the orders that follow the order `before`. */
export interface OrderPart {
  readonly before: bigint;
  readonly limit: number;
  readonly details?: OrderDetails | undefined;
}

/** Further columns of the rows of a page, and the tables that they come from. */
export interface OrderDetails {
  readonly columns: string;
  readonly joins: string;
}

/** The rows that an index yields, in list order, and the conditions to filter them by. */
interface Reading {
  /** SQL from FROM on, without its limit; `params` are its values. */
  readonly found: string;
  readonly params: readonly unknown[];
  readonly order: string;
  readonly within: readonly Sought[];
}

const BY_TIME = 'ORDER BY o.created_at DESC, o.id DESC';
const BY_NUMBER = 'ORDER BY o.id DESC';

/**
 * Returns the orders of the filter that follow the order `before` in the list. May run on any server. Throws 400 for a
 * cursor that no page of this list returned.
 */
export async function ordersBefore<Row extends OrderListRow = OrderListRow>(
  on: Queryable,
  filter: OrderFilter,
  { before, limit, details }: OrderPart,
): Promise<Stretch<Row>> {
  return new OrderReading<Row>(on, details).read(filter, before, limit);
}

export async function newestOrders(on: Queryable, projectId: string, limit: number): Promise<readonly OrderListRow[]> {
  return (await ordersBefore(on, { projectId }, { before: ID_MAX, limit })).rows.slice(0, limit);
}

class OrderReading<Row extends OrderListRow> {
  constructor(
    private readonly on: Queryable,
    private readonly details: OrderDetails | undefined,
  ) {}

  /**
   * Lists by time within a project, for a receiver or reference, and within a time range. Lists all other orders by id,
   * which is nearly the same order: where the clock was set back, times fall while ids rise.
   */
  async read(filter: OrderFilter, before: bigint, limit: number): Promise<Stretch<Row>> {
    if (filter.isDue === true) return this.rowsOf(this.due(filter, before), limit);
    const { projectId, receiver, reference, from, to } = filter;
    const isNamed = receiver !== undefined || reference !== undefined;
    const isRange = (from !== undefined || to !== undefined) && !isFew(filter);
    const isByTime = projectId !== undefined || isNamed || isRange;
    const reading = isByTime ? await this.byTime(filter, before, limit) : this.byNumber(filter, before);
    return this.rowsOf(reading, limit);
  }

  private async rowsOf({ found, params, order, within }: Reading, limit: number): Promise<Stretch<Row>> {
    // Without further conditions, every row of the index matches.
    const isWhole = within.length === 0;
    const all: unknown[] = [...params];
    const numbered = (value: unknown): string => `$${all.push(value).toString()}`;
    const ofStretch = ['SELECT', COLUMNS, found, order, 'LIMIT', numbered(isWhole ? limit + 1 : STRETCH)].join(' ');
    const wanted = within.map(([condition, ...values], index) =>
      [index === 0 ? 'WHERE' : 'AND', condition, ...values.map(numbered)].join(' '),
    );
    const page = ['SELECT * FROM (', ofStretch, ') o', ...wanted, order, 'LIMIT', numbered(limit + 1)].join(' ');
    const { columns = '', joins = '' } = this.details ?? {};
    const text = ['SELECT o.*,', DELIVERED_IN, columns, 'FROM (', page, ') o', joins, order].join(' ');
    const rows = await this.on.query<Row>(text, all);
    if (rows.length > limit || isWhole) return { rows, endedAt: undefined };
    const place = [params.length + 1, params.length + 2].map((number) => `$${number.toString()}`);
    const stretch = ['SELECT o.id, o.created_at', found, order, 'LIMIT', place[0]].join(' ');
    const [end] = await this.on.query<{ id: bigint }>(
      ['SELECT id FROM (', stretch, ') o', order, 'OFFSET', place[1]].join(' '),
      [...params, STRETCH, STRETCH - 1],
    );
    return { rows, endedAt: end?.id };
  }

  /** Reads a range of an index by time, receiver, reference or status, in one project or in each. */
  private async byTime(filter: OrderFilter, before: bigint, limit: number): Promise<Reading> {
    const { projectId, from, to } = filter;
    const end = (to === undefined ? undefined : momentOf(to)) ?? 'infinity';
    const place = await this.placeOf(before, projectId, end);
    const params: unknown[] = [place.at, place.id];
    const numbered = (value: unknown): string => `$${params.push(value).toString()}`;
    const range = ['(o.created_at, o.id) < ($1::timestamptz, $2::bigint)', ...attentionConditions(filter)];
    if (from !== undefined) range.push(`o.created_at >= ${numbered(momentOf(from))}::timestamptz`);
    const [first, ...others] = LISTED_BY.filter(({ of }) => filter[of] !== undefined);
    if (first !== undefined) range.push(`o.${first.column} = ${numbered(filter[first.of])}`);
    const within: Sought[] = others.map(({ column, of }) => [`o.${column} =`, filter[of]]);
    if (filter.kind !== undefined) within.push(['o.kind =', filter.kind]);
    within.push(...stateConditions(filter));
    const rows = ['FROM orders o WHERE', range.join(' AND '), 'AND o.project_id ='].join(' ');
    if (projectId !== undefined)
      return { found: [rows, numbered(projectId)].join(' '), params, order: BY_TIME, within };
    // Reads each project's range of the index separately, because no index covers all projects.
    const most = ['LIMIT', numbered(within.length === 0 ? limit + 1 : STRETCH)].join(' ');
    const each = ['SELECT o.id, o.created_at', rows, 'p.id', BY_TIME, most].join(' ');
    const ids = ['SELECT o.id FROM project p CROSS JOIN LATERAL (', each, ') o', BY_TIME, most].join(' ');
    const found = ['FROM (', ids, ') found JOIN orders o ON o.id = found.id'].join(' ');
    return { found, params, order: BY_TIME, within };
  }

  /** Due orders form one short list for the whole service; other conditions filter it. */
  private due(filter: OrderFilter, before: bigint): Reading {
    const { from, to, kind, projectId } = filter;
    const range = [IS_DUE, ...attentionConditions(filter)].join(' AND ');
    const longest = ['SELECT', COLUMNS, 'FROM orders o WHERE', range, 'ORDER BY o.next_run_at LIMIT $2'].join(' ');
    const within: Sought[] = LISTED_BY.filter(({ of }) => filter[of] !== undefined).map(({ column, of }) => [
      `o.${column} =`,
      filter[of],
    ]);
    if (projectId !== undefined) within.push(['o.project_id =', projectId]);
    if (kind !== undefined) within.push(['o.kind =', kind]);
    if (from !== undefined) within.push(['o.created_at >=', momentOf(from)]);
    if (to !== undefined) within.push(['o.created_at <', momentOf(to)]);
    within.push(...stateConditions(filter));
    const found = ['FROM (', longest, ') o WHERE o.id < $1'].join(' ');
    return { found, params: [before, DUE_MAX], order: BY_NUMBER, within };
  }

  /** Reads all orders, or a small set that has a separate index. */
  private byNumber(filter: OrderFilter, before: bigint): Reading {
    const { from, to, kind, status } = filter;
    const range = ['o.id < $1', ...attentionConditions(filter)];
    const within: Sought[] = [];
    if (from !== undefined) within.push(['o.created_at >=', momentOf(from)]);
    if (to !== undefined) within.push(['o.created_at <', momentOf(to)]);
    if (status === 'unresolved') range.push(`o.status = 'unresolved'`);
    else if (status !== undefined) within.push(['o.status =', status]);
    if (kind !== undefined) within.push(['o.kind =', kind]);
    within.push(...stateConditions(filter));
    return { found: `FROM orders o WHERE ${range.join(' AND ')}`, params: [before], order: BY_NUMBER, within };
  }

  /** Throws 400 for a cursor that no page of this list returned. */
  private async placeOf(
    before: bigint,
    projectId: string | undefined,
    end: string,
  ): Promise<{ readonly at: string; readonly id: bigint }> {
    if (before === ID_MAX) return { at: end, id: 0n };
    const [place] = await this.on.query<{ at: string; id: bigint }>(PLACE, [before, projectId ?? null, end]);
    if (place === undefined) throw invalidField('cursor', 'is not one that a page of this list returned');
    return place;
  }
}

/** Members to choose the index by, likely the most selective first. The others become conditions. */
const LISTED_BY = [
  { of: 'reference', column: 'reference' },
  { of: 'receiver', column: 'receive_address' },
  { of: 'status', column: 'status' },
] as const;

/** Returns true for the small sets of orders that have an index by number in all projects. */
const isFew = ({ needsAttention, status }: OrderFilter): boolean => needsAttention === true || status === 'unresolved';

/** Returns the condition for a small set of orders that only operators request. */
function attentionConditions({ needsAttention }: OrderFilter): string[] {
  return needsAttention === true ? ['o.needs_attention AND NOT o.test'] : [];
}

const stateConditions = ({ state }: OrderFilter): Sought[] => (state === undefined ? [] : [[IN_STATE[state]]]);

export function orderLine(row: OrderListRow): OrderLine {
  return withoutNull<OrderLine>({
    id: toJsonInteger(row.id),
    key: row.key,
    kind: row.kind,
    status: row.status,
    settled: row.settled,
    receive_address: row.receive_address,
    energy: row.energy === null ? undefined : toJsonInteger(row.energy),
    bandwidth: row.bandwidth === null ? undefined : toJsonInteger(row.bandwidth),
    activates: row.activation_credits === null ? undefined : true,
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
