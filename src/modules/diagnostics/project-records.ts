/** Reads the data for a project's check from the database: orders, refusals, money and events. Reads only. */
import { invariant } from '../../domain/errors.js';
import type { Database } from '../../platform/database/database.js';
import { SPENT_TODAY } from '../../platform/database/spent-today.js';
import { REQUESTS_KEPT_DAYS } from '../requests/retention.js';
import type { Credits } from '../../domain/units.js';

/** Number of days to read. */
export const RECORD_DAYS = REQUESTS_KEPT_DAYS;

export interface OrderRecords {
  readonly orders: number;
  /** Orders whose key the service created, because the request had none. */
  readonly without_key: number;
  /** Those of them that came within a minute of an equal one. */
  readonly twins: number;
}

export interface RefusalCount {
  readonly status: number;
  readonly error: string;
  readonly count: number;
  /** The most frequent reason. */
  readonly reason: string;
}

export interface MoneyRecords {
  readonly spent_credits: Credits;
  /** Days since the first charge in this time, at least one. */
  readonly days: number;
  /** In the current UTC day. */
  readonly spent_today_credits: Credits;
  /** The newest address; null if the project has none. */
  readonly deposit_address: string | null;
  readonly deposits: number;
}

export interface EventRecords {
  readonly position: bigint;
  /** The last time that a webhook accepted an event other than a test; null if not in this time. */
  readonly delivered_at: Date | null;
}

/** The start of the last $2 days. The planner knows this time, unlike that of a subquery, so it estimates the rows. */
const SINCE = 'statement_timestamp() - make_interval(days => $2)';

/** $1 project. Excludes orders bought by an auto-delegation: the service creates their keys by design. */
export const ORDERS = `WITH bought AS (
    SELECT receive_address, energy, duration_sec, kind, created_at,
           key LIKE 'nonce\\_%' OR key ~ '^[A-Za-z0-9_-]{21}[AQgw]$' AS is_made
      FROM orders WHERE project_id = $1 AND key NOT LIKE 'auto\\_%'
       AND created_at > ${SINCE}),
  paired AS (
    SELECT is_made, created_at - lag(created_at) OVER (PARTITION BY receive_address, energy, duration_sec, kind, is_made
                                                           ORDER BY created_at) < interval '1 minute' AS is_twin FROM bought)
  SELECT count(*)::int AS orders, (count(*) FILTER (WHERE is_made))::int AS without_key,
         (count(*) FILTER (WHERE is_made AND is_twin))::int AS twins FROM paired`;

const REFUSALS = `SELECT status, error, sum(1 + omitted)::int AS count, mode() WITHIN GROUP (ORDER BY reason) AS reason
    FROM refused_request WHERE project_id = $1 AND at > ${SINCE}
   GROUP BY status, error ORDER BY count DESC, error`;

export const MONEY = `SELECT coalesce(-sum(e.credits), 0)::bigint AS spent_credits,
    greatest(1, extract(epoch FROM clock_timestamp() - min(e.created_at)) / 86400)::float8 AS days,
    (SELECT ${SPENT_TODAY}
       FROM credit_account WHERE project_id = $1) AS spent_today_credits,
    (SELECT address FROM deposit_address WHERE project_id = $1 ORDER BY account DESC LIMIT 1) AS deposit_address,
    (SELECT count(*)::int FROM deposit WHERE project_id = $1 AND status = 'credited') AS deposits
  FROM credit_entry e WHERE e.project_id = $1 AND e.kind IN ('charge', 'refund')
   AND e.created_at > ${SINCE}`;

const EVENTS = `SELECT coalesce((SELECT position FROM event_position WHERE project_id = $1), 0) AS position,
    (SELECT max(d.ended_at) FROM webhook_endpoint w JOIN webhook_delivery d ON d.endpoint_id = w.id
      WHERE w.project_id = $1 AND d.status = 'delivered' AND d.cause <> 'test'
        AND d.ended_at > ${SINCE}) AS delivered_at`;

const SUCCESSES = `SELECT w.id, max(d.ended_at) AS at FROM webhook_endpoint w JOIN webhook_delivery d ON d.endpoint_id = w.id
   WHERE w.project_id = $1 AND w.deleted_at IS NULL AND d.status = 'delivered'
     AND d.ended_at > ${SINCE} GROUP BY w.id`;

export interface ProjectRecords {
  readonly orders: OrderRecords;
  readonly refusals: readonly RefusalCount[];
  readonly money: MoneyRecords;
  readonly events: EventRecords;
  /** Webhook id → the last time it accepted an event, tests included; absent if not in this time. */
  readonly successes: ReadonlyMap<string, Date>;
}

/** Reads the project. The caller has checked that it exists. */
export async function readProject(database: Database, projectId: string): Promise<ProjectRecords> {
  const parameters = [projectId, RECORD_DAYS];
  const one = async <T extends object>(text: string): Promise<T> => {
    const [row] = await database.query<T>(text, parameters);
    invariant(row !== undefined, 'an aggregate answers one row');
    return row;
  };
  const [orders, refusals, money, events, successes] = await Promise.all([
    one<OrderRecords>(ORDERS),
    database.query<RefusalCount>(REFUSALS, parameters),
    one<MoneyRecords>(MONEY),
    one<EventRecords>(EVENTS),
    database.query<{ id: string; at: Date }>(SUCCESSES, parameters),
  ]);
  return { orders, refusals, money, events, successes: new Map(successes.map(({ id, at }) => [id, at])) };
}
