/** Deletes the oldest events of logs: an expired event loses its payload and can no longer be read. Its row remains. */
import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database } from '../../platform/database/database.js';
import { holdNumbering } from './numbering-lock.js';

/**
 * Reads by id, which nearly follows time. Begins at the end of the last step, and stops at the first row that is too
 * recent or has no position yet. A time in the future is that of a clock that was ahead: the row is as old as the next
 * one, so that it keeps none after it. $1 days, $2 maximum number of rows, $3 the confirmed current time.
 */
const PRUNE = {
  name: 'prune_events',
  text: `WITH batch AS MATERIALIZED (
      SELECT e.id, e.project_id, e.position, e.payload IS NOT NULL AS is_read, e.at,
             e.type IS NULL OR e.position IS NOT NULL AS is_numbered
        FROM event e WHERE e.id > (SELECT pruned_id FROM event_numbering) ORDER BY e.id LIMIT $2),
    looked AS (
      SELECT b.*, b.is_numbered AND CASE WHEN b.at <= $3::timestamptz THEN b.at
               ELSE coalesce(min(b.at) FILTER (WHERE b.at <= $3::timestamptz)
                   OVER (ORDER BY b.id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING),
                 (SELECT n.at FROM event n WHERE n.id > (SELECT max(id) FROM batch) AND n.at <= $3::timestamptz
                   ORDER BY n.id LIMIT 1),
                 b.at) END < $3::timestamptz - $1 * interval '1 day' AS is_over
        FROM batch b),
    over AS (SELECT * FROM looked WHERE id < coalesce((SELECT min(id) FROM looked WHERE NOT is_over), 9223372036854775807)),
    pruned AS (UPDATE event e SET payload = NULL FROM over WHERE e.id = over.id AND over.is_read),
    positions AS (
      UPDATE event_position p SET pruned_to = greatest(p.pruned_to, o.position)
        FROM (SELECT project_id, max(position) AS position FROM over WHERE is_read GROUP BY project_id) o
       WHERE p.project_id = o.project_id)
    UPDATE event_numbering SET pruned_id = o.id FROM (SELECT max(id) AS id FROM over) o WHERE o.id IS NOT NULL
    RETURNING (SELECT count(*)::int FROM over) AS rows`,
};

/**
 * Runs one bounded step. Returns the number of rows passed; 0 while events are being numbered or the clock is
 * unconfirmed.
 */
export async function pruneEvents(database: Database, days: number, rowsMax: number): Promise<number> {
  const now = await confirmedNow(database);
  if (now === undefined) return 0;
  return database.transaction(async (tx) => {
    if (!(await holdNumbering(tx))) return 0;
    const [done] = await tx.query<{ rows: number }>(PRUNE, [days, rowsMax, now]);
    return done?.rows ?? 0;
  });
}
