/**
 * Returns SQL that finds the ids of rows older than $1 days, at most $2, the oldest first. $3 is the confirmed current
 * time. Only the oldest rows are read, by their ids, which grow with time: an index on the time would burden every
 * insert for this purpose alone.
 *
 * A time in the future is that of a clock that was ahead. Such a row is as old as the next one, so that it keeps none
 * after it, and does not stay itself.
 */
export function oldestIds(TABLE: string, TIME: string): string {
  return `WITH dated AS MATERIALIZED (
      SELECT id, ${TIME} < $3::timestamptz - $1 * interval '1 day' AS is_over FROM ${TABLE}
       WHERE ${TIME} <= $3::timestamptz ORDER BY id LIMIT $2)
    SELECT id FROM ${TABLE} WHERE id <= (SELECT max(id) FROM dated
       WHERE id < coalesce((SELECT min(id) FROM dated WHERE NOT is_over), 9223372036854775807))
     ORDER BY id LIMIT $2`;
}
