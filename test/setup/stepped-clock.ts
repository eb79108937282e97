// Shifts the clock of one database. SQL functions replace the built-in time functions and add an offset from a table.
// Postgres inlines them in all planned expressions: statements, defaults, functions and triggers.
import type pg from 'pg';

const FUNCTIONS = [
  ['clock_timestamp', 'clock_timestamp', 'VOLATILE'],
  ['statement_timestamp', 'statement_timestamp', 'STABLE'],
  ['transaction_timestamp', 'now', 'STABLE'],
  ['now', 'now', 'STABLE'],
] as const;

const INSTALL = [
  `CREATE SCHEMA IF NOT EXISTS stepped_clock`,
  `CREATE TABLE IF NOT EXISTS stepped_clock.step (by interval NOT NULL)`,
  `INSERT INTO stepped_clock.step SELECT interval '0' WHERE NOT EXISTS (SELECT FROM stepped_clock.step)`,
  `GRANT USAGE ON SCHEMA stepped_clock TO PUBLIC`,
  `CREATE OR REPLACE FUNCTION stepped_clock.by() RETURNS interval LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
    BEGIN RETURN (SELECT by FROM stepped_clock.step); END $$`,
  ...FUNCTIONS.flatMap(([name, symbol, volatility]) => [
    `CREATE OR REPLACE FUNCTION stepped_clock.real_${name}() RETURNS timestamptz LANGUAGE internal ${volatility} AS '${symbol}'`,
    `CREATE OR REPLACE FUNCTION pg_catalog.${name}() RETURNS timestamptz LANGUAGE sql ${volatility} PARALLEL RESTRICTED
      AS $$ SELECT stepped_clock.real_${name}() + stepped_clock.by() $$`,
  ]),
];

/** Installs the shiftable clock. Needs a superuser. Open sessions see later shifts too. */
export async function installSteppedClock(client: pg.ClientBase | pg.Pool): Promise<void> {
  for (const statement of INSTALL) await client.query(statement);
}

/** Shifts the database's clock from the server's by an interval such as `31 days`. `0` resets it. */
export async function stepClock(client: pg.ClientBase | pg.Pool, by: string): Promise<void> {
  await client.query(`UPDATE stepped_clock.step SET by = $1::interval`, [by]);
}
