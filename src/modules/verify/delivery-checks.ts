/** Rule of webhook deliveries (I10), as a read: due deliveries are sent. */
import type { RecordCheck } from './record-check.js';

/** A failing endpoint rests for a minute at most, and a dead sender loses its lease within minutes. */
const LATE_SEC_MIN = 300;

/**
 * Returns one row per endpoint, with its longest overdue delivery. An endpoint under lease, or with its next turn
 * within the bound, is being served. An endpoint with a turn further away was forgotten.
 */
export const DELIVERIES_ATTEMPTED: RecordCheck = {
  check: 'deliveries-attempted',
  rule: 'I10',
  says: 'A due webhook delivery is attempted, or a sender has claimed its endpoint.',
  stops: 'nothing',
  text: `SELECT 'webhook ' || e.id AS subject, d.id AS delivery, d.type, d.position, d.attempts, d.next_at AS due,
        s.due_at AS endpoint_due
      FROM webhook_endpoint e
      LEFT JOIN webhook_state s ON s.endpoint_id = e.id
      CROSS JOIN LATERAL (
        SELECT p.* FROM webhook_delivery p WHERE p.endpoint_id = e.id AND p.status = 'pending'
           AND p.next_at < now() - $1 * interval '1 second' ORDER BY p.next_at, p.id LIMIT 1) d
     WHERE e.deleted_at IS NULL AND e.disabled_at IS NULL
       AND (s.lease_until IS NULL OR s.lease_until < now())
       AND (s.due_at IS NULL OR abs(extract(epoch FROM s.due_at - now())) > $1)`,
  params: ({ settleWithinSec }) => [Math.max(settleWithinSec, LATE_SEC_MIN)],
};
