/** The chain's clock as the records have it. */

/**
 * SQL: the time of the newest solid block that was read, and what has gone by since; null when none was read for five
 * minutes. Rentals end by it.
 */
export const CHAIN_AT = `(SELECT c.block_at + (clock_timestamp() - c.read_at) FROM deposit_cursor c
      WHERE c.read_at > clock_timestamp() - interval '5 minutes')`;

/** SQL: `CHAIN_AT`, or the database's clock where nothing better is known. */
export const CHAIN_NOW = `coalesce(${CHAIN_AT}, clock_timestamp())`;
