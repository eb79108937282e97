/**
 * The project of recovery orders. A delegation of a pool wallet without a record is reclaimed like an ended rental, as
 * an order of this project. No caller can have its id. Such an order is free and starts as delivered.
 */

/** Owner of the orders that reclaim orphans: the nil UUID, which no project has. */
export const RECOVERY_PROJECT = '00000000-0000-0000-0000-000000000000';
