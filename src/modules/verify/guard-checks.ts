/**
 * Checks that the database still enforces its guards (I10): triggers, functions and unique indexes, as reads. They
 * compare definitions as well as names, because a trigger whose function only returns NEW guards nothing.
 */
import { bodyOf, FUNCTIONS, REFEREES, TRIGGERS } from '../../platform/database/expected-schema.js';
import { MIGRATION_NAMES } from '../../platform/database/data-source.js';
import type { RecordCheck } from './record-check.js';

/**
 * Triggers of open rows are off on these tables, because their rows don't change. Each of their ranges has its own
 * triggers.
 */
const ARCHIVES = ['archived_orders', 'archived_leg', 'archived_chain_tx'];

/** A trigger's table and name, taken from its definition. */
const TRIGGER = `SELECT def, (regexp_match(def, '^CREATE TRIGGER (\\S+) '))[1] AS name, (regexp_match(def, ' ON (\\S+) (?:REFERENCING|FOR EACH) '))[1] AS tab
        FROM unnest($1::text[]) AS def`;

export const GUARD_CHECKS: readonly RecordCheck[] = [
  {
    check: 'guards',
    rule: 'I10',
    says: 'The triggers, functions and unique indexes that protect the records exist and are enabled.',
    stops: 'everything',
    identity: ['state'],
    text: [
      `SELECT 'trigger ' || g.name AS subject, coalesce(t.tgenabled::text, 'missing') AS state
        FROM (`,
      TRIGGER,
      `) g LEFT JOIN pg_trigger t ON t.tgname = g.name AND t.tgrelid = to_regclass(g.tab) AND NOT t.tgisinternal
       WHERE t.oid IS NULL OR t.tgenabled NOT IN ('O', 'A')
      UNION ALL
      SELECT 'function ' || f.name, 'missing' FROM unnest($2::text[]) AS f(name)
       WHERE NOT EXISTS (SELECT FROM pg_proc p WHERE p.proname = split_part(f.name, ' ', 1) AND pg_function_is_visible(p.oid))
      UNION ALL
      SELECT 'index ' || r.name, CASE WHEN i.indexrelid IS NULL THEN 'missing' ELSE 'invalid' END
        FROM unnest($3::text[]) AS r(name) LEFT JOIN pg_index i ON i.indexrelid = to_regclass(r.name)
       WHERE i.indexrelid IS NULL OR NOT i.indisvalid OR NOT i.indisunique
      UNION ALL
      SELECT 'trigger ' || c.tgname || ' of ' || c.tgrelid::regclass, c.tgenabled::text
        FROM pg_trigger c JOIN pg_trigger p ON p.oid = c.tgparentid
       WHERE c.tgenabled NOT IN ('O', 'A') AND p.tgenabled IN ('O', 'A') AND c.tgrelid::regclass::text <> ALL ($4::text[])
      UNION ALL
      SELECT 'trigger ' || i.inhrelid::regclass || '_no_truncate', coalesce(t.tgenabled::text, 'missing')
        FROM pg_inherits i LEFT JOIN pg_trigger t ON t.tgrelid = i.inhrelid AND t.tgname = i.inhrelid::regclass || '_no_truncate'
       WHERE i.inhparent = ANY (SELECT to_regclass(name) FROM unnest($4::text[]) AS name)
         AND (SELECT relkind FROM pg_class WHERE oid = i.inhrelid) = 'r' AND (t.oid IS NULL OR t.tgenabled NOT IN ('O', 'A'))`,
    ].join(''),
    params: () => [TRIGGERS, Object.keys(FUNCTIONS), Object.keys(REFEREES), ARCHIVES],
  },
  {
    check: 'guard-definitions',
    rule: 'I10',
    says: 'These triggers, functions and unique indexes match this version of the code.',
    stops: 'everything',
    identity: ['definition'],
    // While two versions share a schema, one of them rightly sees different functions.
    unless: {
      text: `SELECT FROM (SELECT array_agg(name::text ORDER BY name::text) AS names FROM migrations) m
              WHERE m.names IS DISTINCT FROM (SELECT array_agg(name ORDER BY name) FROM unnest($1::text[]) AS name)`,
      params: [MIGRATION_NAMES],
      why: 'the schema belongs to another version: run `migrate`, or update this process',
    },
    text: [
      `SELECT 'trigger ' || g.name AS subject, pg_get_triggerdef(t.oid, true) AS definition
        FROM (`,
      TRIGGER,
      `) g JOIN pg_trigger t ON t.tgname = g.name AND t.tgrelid = to_regclass(g.tab) AND NOT t.tgisinternal
       WHERE pg_get_triggerdef(t.oid, true) <> g.def
          OR NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = t.tgfoid AND pg_function_is_visible(p.oid))
      UNION ALL
      SELECT 'function ' || f.name, string_agg(md5(p.prosrc), ' ') FROM unnest($2::text[], $3::text[]) AS f(name, body)
        JOIN pg_proc p ON p.proname = split_part(f.name, ' ', 1) AND pg_function_is_visible(p.oid)
       GROUP BY f.name, f.body HAVING NOT bool_or(p.prosrc = f.body)
      UNION ALL
      SELECT 'index ' || r.name, pg_get_indexdef(i.indexrelid)
        FROM unnest($4::text[], $5::text[]) AS r(name, def) JOIN pg_index i ON i.indexrelid = to_regclass(r.name)
       WHERE pg_get_indexdef(i.indexrelid) <> r.def`,
    ].join(''),
    params: () => [
      TRIGGERS,
      Object.keys(FUNCTIONS),
      Object.values(FUNCTIONS).map(bodyOf),
      Object.keys(REFEREES),
      Object.values(REFEREES),
    ],
  },
];
