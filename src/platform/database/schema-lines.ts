/** A database's schema as lines of text, for comparing it with an expected one. */
import type { Queryable } from './database.js';

// Partitions are listed without identity, because Postgres 17 and later repeat that of the parent. View definitions are
// listed without table names, because Postgres prints them with columns only before version 16.
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
  -- NOT NULL is part of the column's line.
  SELECT format('constraint %s.%s %s', c.relname, o.conname, pg_get_constraintdef(o.oid))
    FROM pg_constraint o JOIN ours c ON c.oid = o.conrelid WHERE o.contype NOT IN ('n', 't')
  UNION ALL
  SELECT format('index %s.%s %s%s', c.relname, i.indexrelid::regclass, pg_get_indexdef(i.indexrelid),
                CASE WHEN NOT i.indisvalid THEN ' INVALID' END)
    FROM pg_index i JOIN ours c ON c.oid = i.indrelid
  UNION ALL
  SELECT format('sequence %s', c.relname) FROM ours c WHERE c.relkind = 'S'
  UNION ALL
  -- Policies that name a role come with the roles.
  SELECT format('policy %s.%s %s', c.relname, p.polname, pg_get_expr(p.polqual, p.polrelid))
    FROM pg_policy p JOIN ours c ON c.oid = p.polrelid WHERE p.polroles = '{0}'
  UNION ALL
  SELECT format('type %s', t.typname) FROM pg_type t
   WHERE t.typnamespace = 'public'::regnamespace AND t.typtype IN ('d', 'e', 'r')
     AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e')`;
// Leaves out TypeORM's own table, objects of extensions, and the partitions of the archive, which the service creates.
const OURS = `WITH ours AS (
  SELECT * FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'migrations%'
     AND relname !~ '^archived_(orders|leg|chain_tx)_[0-9]+'
     AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))`;

/** Returns tables, columns, constraints, indexes, views, sequences and types, one per line, in a fixed order. */
export async function listingOf(tx: Queryable): Promise<string[]> {
  const rows = await tx.query<{ line: string }>([OURS, LISTING].join(''));
  return rows.map(({ line }) => line.replace(/\s+/g, ' ')).sort();
}

/** Returns the definition of each trigger, with its state unless it is enabled. */
export async function triggersOf(tx: Queryable): Promise<string[]> {
  const rows = await tx.query<{ line: string }>(
    `SELECT pg_get_triggerdef(t.oid, true) || CASE tgenabled WHEN 'O' THEN '' ELSE ' STATE ' || tgenabled::text END AS line
       FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
      WHERE NOT tgisinternal AND tgparentid = 0 AND c.relname !~ '^archived_(orders|leg|chain_tx)_[0-9]+$'
        AND c.relnamespace = 'public'::regnamespace`,
  );
  return rows.map(({ line }) => line).sort();
}

/** Returns the definition of each function in a schema, without the schema's name. */
export async function functionsOf(tx: Queryable, schema: string): Promise<string[]> {
  const rows = await tx.query<{ definition: string }>(
    `SELECT replace(pg_get_functiondef(p.oid), format('FUNCTION %s.', $1::text), 'FUNCTION ') AS definition
       FROM pg_proc p WHERE pronamespace = to_regnamespace($1) AND prokind = 'f'
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')`,
    [schema],
  );
  return rows.map(({ definition }) => definition).sort();
}
