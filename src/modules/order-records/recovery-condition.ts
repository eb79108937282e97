/**
 * Forbids claims, builds, sends, drops and refunds until the search of the past has finished. Applies to a server that
 * may have lost commits and to restored data. Each statement checks it itself, since a failover may happen between any
 * two statements.
 */
export const RECOVERY_IS_DONE = `(SELECT coalesce(server_mark = server_mark(), true) AND search_until IS NULL FROM reconcile_state)`;

/**
 * Seconds for which the search for lost commits holds an order whose delivery it found: longer than a worker's lease.
 */
export const RECOVERY_HOLD_SEC = 60;
