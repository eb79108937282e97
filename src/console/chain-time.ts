/** The chain's clock as the records have it. */

/** TRON: a block is solid once 19 of the 27 witnesses built on it, one each 3 s. A chain of few witnesses is quicker. */
const SOLID_LAG_MAX = `interval '${(19 * 3).toString()} seconds'`;

/**
 * SQL: the head's time: that of the newest solid block that was read, how far it was behind the database's clock by then,
 * and what has gone by since; null when none was read for five minutes. Rentals end by it.
 */
const CHAIN_AT = `(SELECT c.block_at + least(greatest(c.read_at - c.block_at, interval '0'), ${SOLID_LAG_MAX})
        + (clock_timestamp() - c.read_at) FROM deposit_cursor c
      WHERE c.read_at > clock_timestamp() - interval '5 minutes')`;

/** SQL: `CHAIN_AT`, or the database's clock where nothing better is known. */
export const CHAIN_NOW = `coalesce(${CHAIN_AT}, clock_timestamp())`;

/** SQL: the clock that an order `o` ends by: `CHAIN_AT`; of a test order, which is on no chain, the database's. */
export const END_CLOCK = `CASE WHEN o.test THEN clock_timestamp() ELSE ${CHAIN_AT} END`;
