/**
 * Rules of the logs as callers read them (I10): events match their rows, deliveries match their events, and no log ends
 * early.
 */
import type { RecordCheck } from './record-check.js';

const keyOf = (row: string): string =>
  `'evt_' || left(encode(sha256(convert_to(${row}.project_id || ':' || ${row}.position, 'UTF8')), 'hex'), 32)`;
const EVENT_KEY = keyOf('e');

/** `OFFSET 0` parses a payload once instead of for each member. */
const SAYS: RecordCheck = {
  check: 'event-says',
  rule: 'I10',
  says: 'The payload of an event has the type, position, ID and times of its row, and the state that its type names.',
  stops: 'nothing',
  text: `SELECT 'event ' || e.position || ' of ' || e.project_id AS subject, e.id AS event, e.type, e.at, ${EVENT_KEY} AS should_be,
        left(e.payload, 200) AS says
      FROM event e CROSS JOIN LATERAL (SELECT e.payload::jsonb AS said OFFSET 0) p LEFT JOIN project r ON r.id = e.project_id
     WHERE e.payload IS NOT NULL AND e.position IS NOT NULL AND (
       (p.said ->> 'type', p.said ->> 'position', p.said ->> 'id') IS DISTINCT FROM (e.type, e.position::text, ${EVENT_KEY})
       OR abs(extract(epoch FROM (p.said ->> 'timestamp')::timestamptz - e.at)) > 0.002 OR p.said -> 'data' IS NULL
       OR (p.said ->> 'chain_timestamp' IS NULL) <> (e.chain_at IS NULL)
       OR abs(extract(epoch FROM (p.said ->> 'chain_timestamp')::timestamptz - e.chain_at)) > 0.002
       OR coalesce((p.said ->> 'test')::boolean, false) <> coalesce(r.test, false)
       OR e.type IN ('project.frozen', 'project.unfrozen')
         AND (p.said #>> '{data,project,frozen}')::boolean IS DISTINCT FROM (e.type = 'project.frozen'))`,
};

/**
 * A log is readable after the newest event without a payload. In a live project that event's row remains. A position in
 * between may belong to an older event that the next pruning step will reach.
 */
const PRUNED: RecordCheck = {
  check: 'event-pruned',
  rule: 'I10',
  says: 'A log starts after a pruned event, and every later event still has its payload.',
  stops: 'nothing',
  text: `SELECT 'project ' || p.project_id AS subject, p.pruned_to, 'the position of an event without a payload' AS should_be
      FROM event_position p LEFT JOIN project r ON r.id = p.project_id
      LEFT JOIN event e ON e.project_id = p.project_id AND e.position = p.pruned_to
     WHERE p.pruned_to > 0 AND (p.pruned_to > p.position OR e.payload IS NOT NULL OR (e.id IS NULL AND NOT coalesce(r.test, false)))
    UNION ALL
    SELECT 'project ' || p.project_id, p.pruned_to, max(e.position)::text
      FROM event e JOIN event_position p ON p.project_id = e.project_id AND e.position > p.pruned_to
     WHERE e.payload IS NULL AND e.type IS NOT NULL GROUP BY p.project_id, p.pruned_to`,
};

const OF_ORDERS: RecordCheck = {
  check: 'event-orders',
  rule: 'I10',
  says: 'Every event of an order has its order.',
  stops: 'everything',
  text: `SELECT 'event ' || e.id AS subject, e.type, e.order_id, e.project_id::text AS of_project, e.position
      FROM event e LEFT JOIN orders o ON o.id = e.order_id WHERE e.order_id IS NOT NULL AND o.id IS NULL`,
};

/** The event of a delivery may be deleted together with its test order. */
const DELIVERIES: RecordCheck = {
  check: 'delivery-events',
  rule: 'I10',
  says: 'A delivery belongs to an event of its endpoint’s project, and counts as delivered if and only if it has a success status.',
  stops: 'nothing',
  text: `SELECT 'delivery ' || d.id AS subject, d.endpoint_id::text AS endpoint, d.status, d.type, d.position, d.event_key, d.answer_status,
        d.attempts, e.type || ' at ' || e.position || ', ' || ${EVENT_KEY} AS should_be
      FROM webhook_delivery d LEFT JOIN webhook_endpoint w ON w.id = d.endpoint_id LEFT JOIN event e ON e.id = d.event_id
     WHERE w.id IS NULL OR (d.status <> 'delivered' AND d.answer_status BETWEEN 200 AND 299)
        OR e.id IS NOT NULL AND ((d.type, d.position, d.event_key) IS DISTINCT FROM (e.type, e.position, ${EVENT_KEY})
           OR w.project_id <> e.project_id)
        OR d.status = 'delivered' AND (d.attempts < 1 OR d.attempted_at IS NULL OR NOT coalesce(d.answer_status BETWEEN 200 AND 299, false))`,
};

/** A purchase whose order was never delivered is open. A delivered order that was reverted is not open again. */
const NEWEST_IS_OPEN = `EXISTS (SELECT FROM orders o WHERE o.id = k.order_id AND k.extension IS NULL AND o.request_id = o.key
        AND o.status IN ('reserved', 'placed', 'unresolved')
        AND NOT EXISTS (SELECT FROM event m WHERE m.order_id = o.id AND m.to_status = 'delivered'))`;
const HAS_KEY = `EXISTS (SELECT FROM api_key y WHERE y.id = a.api_key_id AND y.project_id = a.project_id)`;

/** A number is used with the key of its purchase, or skipped because a caller had used that key. */
const PURCHASES: RecordCheck = {
  check: 'auto-delegation-numbers',
  rule: 'I17',
  says: 'An auto-delegation belongs to a key of its project, counts exactly its purchases, and its newest purchase is its open order until it is delivered.',
  stops: 'everything',
  text: `SELECT 'auto-delegation ' || a.id AS subject, a.project_id::text AS of_project, a.purchases, a.open_order_id, k.order_id AS should_be
      FROM auto_delegation a
      LEFT JOIN order_key k ON k.project_id = a.project_id AND k.key = 'auto_' || a.id || '_' || a.purchases
     WHERE a.purchases > 0 AND (k.key IS NULL OR a.open_order_id <> k.order_id) OR a.purchases = 0 AND a.open_order_id IS NOT NULL
        OR a.open_order_id IS NULL AND ${NEWEST_IS_OPEN} OR NOT ${HAS_KEY}`,
};

/** Checks over all logs, deliveries and auto-delegations. */
export const LOG_CHECKS: readonly RecordCheck[] = [SAYS, OF_ORDERS, PRUNED, DELIVERIES, PURCHASES];
