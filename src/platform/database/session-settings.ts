/**
 * Session settings that this code needs. Server, database and role may set others; the options of a connection override
 * all three. A pooler drops most options, so a start also reads the resulting values.
 */

/** The formats of values, and the default isolation of transactions. */
export const PINNED: Readonly<Record<string, string>> = {
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  default_transaction_isolation: 'read committed',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
};

/** The subset that PgBouncer accepts from a client and applies to every server connection it uses. */
export const STARTUP_PARAMETERS: Readonly<Record<string, string>> = {
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  standard_conforming_strings: 'on',
};

/** As parts of the startup option `options`, where a space is escaped. */
export const PINNED_OPTIONS: readonly string[] = Object.entries(PINNED).map(
  ([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`,
);
