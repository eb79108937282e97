/** The chain's time according to the records. */

/**
 * TRON: a block is solid once 19 of the 27 witnesses built on it, one every 3 s. A chain with fewer witnesses is
 * faster.
 */
const SOLID_LAG_MAX = `interval '${(19 * 3).toString()} seconds'`;

/**
 * SQL: estimated time of the head, by which rentals end. It is the time of the newest solid block read, plus its lag
 * behind the database's clock at the reading, plus the time since. Null if no block was read for five minutes.
 */
const CHAIN_AT = `(SELECT c.block_at + least(greatest(c.read_at - c.block_at, interval '0'), ${SOLID_LAG_MAX})
        + (clock_timestamp() - c.read_at) FROM deposit_cursor c
      WHERE c.read_at > clock_timestamp() - interval '5 minutes')`;

/** SQL: `CHAIN_AT`, or the database's clock if that is null. */
export const CHAIN_NOW = `coalesce(${CHAIN_AT}, clock_timestamp())`;

/**
 * SQL: the clock that ends an order `o`: `CHAIN_AT`, or the database's clock for a test order, which is on no chain.
 */
export const END_CLOCK = `CASE WHEN o.test THEN clock_timestamp() ELSE ${CHAIN_AT} END`;
