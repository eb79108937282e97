/**
 * Orders that nobody bought: a delegation of a pool wallet that stood on chain without a record is reclaimed through
 * the same machinery as a rental's end, as an order of this project, which no caller can be. Such an order is not
 * charged, and begins delivered.
 */

/** Owns the orders that take orphans back; the nil UUID, which no project has. */
export const RECOVERY_PROJECT = '00000000-0000-0000-0000-000000000000';
