/** Rules of the event log (I10), as reads: no position is missing from it. */
import type { OrderCheck, RecordCheck } from './record-check.js';
import { RECOVERY_PROJECT } from './recovery.js';

/** Least step of a log's position after commits may have been lost (src/modules/events/numberer.ts). */
const RESTART_STEP = '1000000';

const ENDINGS = `'order.ended', 'order.ended_early'`;

/**
 * An order without events is judged by `order-history`. An order that moved before the log existed has moves without a
 * project. An order accepted before the log and moved since has no `order.created`, and neither has any older order.
 */
export const ORDER_EVENTS: OrderCheck = {
  check: 'order-events',
  rule: 'I10',
  says: 'A settled order has each of its events once, from `order.created` to its end, with positions in the order of their times, and has ended if they say so.',
  stops: 'nothing',
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, array_to_string(e.types, ', ') AS events
      FROM the_orders o JOIN (
        SELECT order_id, bool_or(project_id IS NULL) AS is_older,
               array_agg(type ORDER BY id) FILTER (WHERE type IS NOT NULL) AS types,
               (array_agg(type ORDER BY id DESC) FILTER (WHERE type IN (${ENDINGS}, 'order.reverted')))[1] IN (${ENDINGS}) AS has_ended,
               array_agg(position ORDER BY id) FILTER (WHERE position IS NOT NULL) AS by_time,
               array_agg(position ORDER BY position) FILTER (WHERE position IS NOT NULL) AS by_position
          FROM the_events each GROUP BY order_id) e ON e.order_id = o.id
     WHERE o.project_id <> '${RECOVERY_PROJECT}' AND (
        e.by_time <> e.by_position
        OR cardinality(array_positions(e.types, 'order.created')) > 1 OR cardinality(array_positions(e.types, 'order.settled')) > 1
        OR cardinality(array_positions(e.types, 'order.refunded')) > 1
        OR (NOT e.is_older AND cardinality(array_positions(e.types, 'order.extended')) <> o.extensions)
        OR (o.settled AND o.status = 'delivered' AND NOT e.is_older AND (o.reclaimed_at IS NOT NULL) <> coalesce(e.has_ended, false))
        OR (o.settled AND NOT e.is_older AND (
          NOT coalesce(e.types, '{}') @> CASE o.status WHEN 'delivered' THEN '{order.delivered,order.settled}' ELSE '{order.refunded}' END::text[]
          OR (coalesce(e.types[1], '') <> 'order.created' AND (
            SELECT b.type FROM event b WHERE b.order_id < o.id AND b.type = 'order.created' ORDER BY b.order_id DESC LIMIT 1) IS NOT NULL))))`,
};

/** Checks every position of every project's log, also of pruned events. */
export const EVENT_POSITIONS: RecordCheck = {
  check: 'event-positions',
  rule: 'I10',
  says: 'The positions of a project’s events have no gaps except announced restarts, up to the last assigned position.',
  stops: 'nothing',
  identity: ['position'],
  // A test project also loses the rows before its log's start.
  text: `SELECT 'project ' || coalesce(e.project_id, p.project_id) AS subject, e.before, e.position, e.type, p.position AS given
      FROM (SELECT project_id, type, position,
                   coalesce(lag(position) OVER (PARTITION BY project_id ORDER BY position), 0) AS before,
                   lead(position) OVER (PARTITION BY project_id ORDER BY position) AS next
              FROM event WHERE position IS NOT NULL) e
      FULL JOIN (SELECT p.*, CASE WHEN r.test THEN p.pruned_to ELSE 0 END AS gone_to
                   FROM event_position p LEFT JOIN project r ON r.id = p.project_id) p ON p.project_id = e.project_id
     WHERE p.position IS NULL OR (e.position IS NULL AND p.position > p.gone_to)
        OR (e.next IS NULL AND e.position <> p.position AND p.position > p.gone_to)
        OR e.position > p.gone_to + 1 AND CASE e.type WHEN 'log.restarted' THEN e.position <= e.before + ${RESTART_STEP} ELSE e.position <> e.before + 1 END`,
};
