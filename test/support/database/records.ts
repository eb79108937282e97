// The records of a database as a file: written by a run of chaos, restored to test a migration on real data.
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type pg from 'pg';

/** `rows`: a JSON array as Postgres writes it, so that no number or time loses digits. */
interface TableRecords {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: string;
}

/** Tables that are not copied: they belong to the schema, or to the secrets of a service. */
const LEFT_OUT = ['migrations', 'key_canary'];

/** Tables without their partitions, with every column that can be inserted. */
const TABLES = `SELECT c.relname AS table, array_agg(a.attname::text ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname <> ALL ($1)
  GROUP BY c.relname ORDER BY c.relname`;

const SEQUENCES = `SELECT pg_get_serial_sequence(quote_ident(c.relname), a.attname) AS sequence, c.relname AS table,
    a.attname AS column
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND pg_get_serial_sequence(quote_ident(c.relname), a.attname) IS NOT NULL`;

/** Writes the rows of all tables, read from one snapshot, into a compressed file. */
export async function saveRecords(pool: pg.Pool, path: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const records = await readRecords(client);
    await client.query('ROLLBACK');
    await writeFile(path, await promisify(gzip)(JSON.stringify(records), { level: 9 }));
  } finally {
    client.release(true);
  }
}

/** Returns the rows of all tables that have some. Rows are in the order of their text, so that two reads compare. */
async function readRecords(client: pg.ClientBase): Promise<readonly TableRecords[]> {
  const tables = await client.query<{ table: string; columns: string[] }>(TABLES, [LEFT_OUT]);
  const records: TableRecords[] = [];
  for (const { table, columns } of tables.rows) {
    const rows = await rowsOf(client, table, columns);
    if (rows !== null) records.push({ table, columns, rows });
  }
  return records;
}

/** Returns the given columns of a table's rows as a JSON array; null if it has no row. */
export async function rowsOf(client: pg.ClientBase, table: string, columns: readonly string[]): Promise<string | null> {
  const names = columns.map((column) => `"${column}"`).join(', ');
  const { rows } = await client.query<{ rows: string | null }>(
    `SELECT json_agg(t ORDER BY t::text)::text AS rows FROM (SELECT ${names} FROM "${table}") t`,
  );
  return rows[0]?.rows ?? null;
}

/** Reads a file that `saveRecords` wrote. */
export async function openRecords(path: URL): Promise<readonly TableRecords[]> {
  return JSON.parse((await promisify(gunzip)(await readFile(path))).toString()) as readonly TableRecords[];
}

/**
 * Replaces the rows of all tables. Columns that the file lacks get their defaults. Triggers and foreign keys do not run,
 * as in a restore of a backup.
 */
export async function restoreRecords(client: pg.ClientBase, records: readonly TableRecords[]): Promise<void> {
  await client.query('BEGIN');
  await client.query('SET LOCAL session_replication_role = replica');
  for (const { table, columns, rows } of records) {
    const names = columns.map((column) => `"${column}"`).join(', ');
    await client.query(`DELETE FROM "${table}"`);
    await client.query(
      `INSERT INTO "${table}" (${names}) OVERRIDING SYSTEM VALUE
        SELECT ${names} FROM json_populate_recordset(NULL::"${table}", $1::json)`,
      [rows],
    );
  }
  const { rows: sequences } = await client.query<{ sequence: string; table: string; column: string }>(SEQUENCES);
  for (const { sequence, table, column } of sequences) {
    await client.query(
      `SELECT setval($1, (SELECT max("${column}") FROM "${table}")) WHERE EXISTS (SELECT FROM "${table}")`,
      [sequence],
    );
  }
  await client.query('COMMIT');
}
