/** SQLSTATE of a refusal that a database function raises; its message is the error code of the interface. */
export const REFUSAL_SQLSTATE = 'ER001';

/**
 * The longest that an order waits for each lock of others, ms; the wait for the first request of its own key is longer.
 * The functions have it as their default.
 */
export const LOCK_WAIT_MS = 2000;
