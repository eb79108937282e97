/** Success, time to delivery and refusals of the last day. Reads a bounded number of rows. */
import type { Database } from '../../platform/database/database.js';
import { timeOf, withoutNull } from './answers.js';
import { STRETCH } from './lists.js';
import type { ServiceFigures } from './operator-shapes.js';

/** Limits the counted orders and refused requests. */
const NEWEST_MAX = 2000;

/**
 * Both times are the database's: the time of a block would be another clock's. `$2` bounds the newest orders, among
 * which those of test projects may be most.
 */
const FIGURES = {
  name: 'console_service_figures',
  text: `WITH newest AS MATERIALIZED (SELECT id, status, created_at, test FROM orders ORDER BY id DESC LIMIT $2)
    SELECT (count(*) FILTER (WHERE status = 'delivered'))::int AS delivered,
      (count(*) FILTER (WHERE status = 'refunded'))::int AS refunded,
      percentile_disc(0.5) WITHIN GROUP (ORDER BY took) FILTER (WHERE status = 'delivered') AS p50_sec,
      percentile_disc(0.95) WITHIN GROUP (ORDER BY took) FILTER (WHERE status = 'delivered') AS p95_sec,
      CASE WHEN count(*) >= $1 THEN min(created_at) ELSE (SELECT min(n.created_at) FROM newest n
        HAVING count(*) >= $2 AND min(n.created_at) > clock_timestamp() - interval '1 day') END AS since,
      (SELECT coalesce(sum(1 + omitted), 0)::int FROM (SELECT at, omitted FROM refused_request ORDER BY id DESC LIMIT $1) r
        WHERE at > clock_timestamp() - interval '1 hour') AS refused
    FROM (SELECT o.status, o.created_at, extract(epoch FROM e.at - o.created_at)::float8 AS took
            FROM (SELECT id, status, created_at FROM newest WHERE NOT test ORDER BY id DESC LIMIT $1) o
            LEFT JOIN LATERAL (SELECT min(at) AS at FROM event WHERE order_id = o.id AND type = 'order.delivered') e ON true
           WHERE o.created_at > clock_timestamp() - interval '1 day') o`,
};

interface FiguresRow {
  readonly delivered: number;
  readonly refunded: number;
  readonly p50_sec: number | null;
  readonly p95_sec: number | null;
  readonly since: Date | null;
  readonly refused: number;
}

/** Returns the figures of the last 24 hours; fewer orders than that if there were more than can be read. */
export async function readServiceFigures(database: Database): Promise<ServiceFigures> {
  const [row] = await database.query<FiguresRow>(FIGURES, [NEWEST_MAX, STRETCH]);
  if (row === undefined) throw new Error('an aggregate has one row');
  return withoutNull<ServiceFigures>({
    delivered: row.delivered,
    refunded: row.refunded,
    p50_sec: row.p50_sec ?? undefined,
    p95_sec: row.p95_sec ?? undefined,
    since: timeOf(row.since),
    refused_in_hour: row.refused,
  });
}
