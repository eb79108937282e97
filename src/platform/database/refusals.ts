/** SQLSTATE of a refusal that a database function raises; its message is the error code of the interface. */
export const REFUSAL_SQLSTATE = 'ER001';

/**
 * Limit in ms of an order's wait for each lock that another order holds. The wait for the first request with its own
 * key is longer. The database functions have the same default.
 */
export const LOCK_WAIT_MS = 2000;
