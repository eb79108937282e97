/**
 * Nothing is claimed, built, sent, dropped or refunded on a server that may have lost commits, or from data that was read
 * back, until its past was searched: asked in the statement itself, since a failover may come between any two of them.
 */
export const PAST_IS_KNOWN = `(SELECT coalesce(server_mark = server_mark(), true) AND search_until IS NULL FROM reconcile_state)`;

/** Seconds for which the search for lost commits holds an order whose delivery it has found: longer than a worker's lease. */
export const HELD_BY_SEARCH_SEC = 60;
