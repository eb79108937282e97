// Compares a database with the code's schema: functions and triggers by their definitions, all else by a committed
// listing.
import type { Queryable } from '../src/store/database.js';

/** The schema of the code. Each statement creates one function. */
export interface Wanted {
  readonly functions: Readonly<Record<string, string>>;
  readonly triggers: readonly string[];
  /** Lines of the committed listing. */
  readonly listing: readonly string[];
}

// An identity column is listed as such, without its internal default. A partition inherits the identity of its table,
// and only Postgres 17 and newer report it for the partition. Before 16, Postgres lists a view's columns with their
// table.
const LISTING = `
  SELECT format('column %s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                CASE WHEN a.attnotnull THEN ' NOT NULL' END,
                CASE WHEN c.relispartition THEN '' ELSE CASE a.attidentity WHEN 'a' THEN ' IDENTITY ALWAYS' WHEN 'd' THEN ' IDENTITY BY DEFAULT' END END,
                ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)) AS line
    FROM pg_attribute a JOIN ours c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm')
  UNION ALL
  SELECT format('table %s%s%s', c.relname, ' (' || array_to_string(c.reloptions, ', ') || ')',
                CASE WHEN c.relrowsecurity THEN ' ROW LEVEL SECURITY' END)
    FROM ours c WHERE c.relkind IN ('r', 'p')
  UNION ALL
  SELECT format('view %s %s', c.relname, regexp_replace(pg_get_viewdef(c.oid), '\\m[a-z_]+\\.', '', 'g'))
    FROM ours c WHERE c.relkind IN ('v', 'm')
  UNION ALL
  -- NOT NULL is said with its column.
  SELECT format('constraint %s.%s %s', c.relname, o.conname, pg_get_constraintdef(o.oid))
    FROM pg_constraint o JOIN ours c ON c.oid = o.conrelid WHERE o.contype NOT IN ('n', 't')
  UNION ALL
  SELECT format('index %s.%s %s%s', c.relname, i.indexrelid::regclass, pg_get_indexdef(i.indexrelid),
                CASE WHEN NOT i.indisvalid THEN ' INVALID' END)
    FROM pg_index i JOIN ours c ON c.oid = i.indrelid
  UNION ALL
  SELECT format('sequence %s', c.relname) FROM ours c WHERE c.relkind = 'S'
  UNION ALL
  SELECT format('type %s', t.typname) FROM pg_type t
   WHERE t.typnamespace = 'public'::regnamespace AND t.typtype IN ('d', 'e', 'r')`;
// TypeORM's own table is excluded.
const OURS = `WITH ours AS (
  SELECT * FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'migrations%')`;

/** Returns tables, columns, constraints and indexes of a database, one per line, in a fixed order. */
export async function listingOf(tx: Queryable): Promise<string[]> {
  const rows = await tx.query<{ line: string }>([OURS, LISTING].join(''));
  return rows.map(({ line }) => line.replace(/\s+/g, ' ')).sort();
}

/** Returns every difference as a line that names the side. Run it in a transaction that is rolled back. */
export async function driftOf(tx: Queryable, wanted: Wanted): Promise<string[]> {
  const listing = await listingOf(tx);
  const triggers = await tx.query<{ line: string }>(
    `SELECT pg_get_triggerdef(oid, true) || CASE tgenabled WHEN 'O' THEN '' ELSE ' STATE ' || tgenabled::text END AS line
       FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0`,
  );
  const functions = await functionsOf(tx, 'public');
  await tx.query('CREATE SCHEMA wanted');
  await tx.query('SET LOCAL search_path = wanted, public');
  for (const statement of Object.values(wanted.functions)) await tx.query(statement);
  const made = await functionsOf(tx, 'wanted');
  const undefinedNames = Object.keys(wanted.functions).filter(
    (name) => !made.some((text) => text.includes(` ${name.split(' ')[0]!}(`)),
  );
  return [
    ...undefinedNames.map((name) => `no statement makes the function ${name}`),
    ...differences('function', functions, made),
    ...differences(
      'trigger',
      triggers.map(({ line }) => line),
      wanted.triggers,
    ),
    ...differences('listing', listing, wanted.listing),
  ];
}

async function functionsOf(tx: Queryable, schema: 'public' | 'wanted'): Promise<string[]> {
  const rows = await tx.query<{ definition: string }>(
    `SELECT replace(pg_get_functiondef(oid), format('FUNCTION %s.', $1::text), 'FUNCTION ') AS definition
       FROM pg_proc WHERE pronamespace = to_regnamespace($1)`,
    [schema],
  );
  return rows.map(({ definition }) => definition);
}

function differences(kind: string, has: readonly string[], wants: readonly string[]): string[] {
  return [
    ...wants.filter((line) => !has.includes(line)).map((line) => `${kind} only in the code: ${line}`),
    ...has.filter((line) => !wants.includes(line)).map((line) => `${kind} only in the database: ${line}`),
  ];
}
