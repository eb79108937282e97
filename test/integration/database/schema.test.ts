// A migrated database has the expected schema, and the comparison finds differences. `npm run schema` writes the
// listing and the baseline's fingerprint; commit their changes with the migration.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import { fingerprintOf } from '../../../src/platform/database/adopt-baseline.js';
import { BASELINE_OBJECTS } from '../../../src/platform/database/baseline-fingerprint.js';
import { Database, type Queryable } from '../../../src/platform/database/database.js';
import { createDataSource, MIGRATION_NAMES } from '../../../src/platform/database/data-source.js';
import { FUNCTIONS, REFEREES, TRIGGERS } from '../../../src/platform/database/expected-schema.js';
import { functionsOf, listingOf, triggersOf } from '../../../src/platform/database/schema-lines.js';
import { SQL_FILES } from '../../../src/platform/database/sql-files.js';
import { GUARD_CHECKS } from '../../../src/modules/verify/guard-checks.js';
import { driftOf, type Wanted } from './schema-drift.js';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const WRITES = process.env['SCHEMA_WRITE'] === '1';
const LISTING_FILE = new URL('schema.txt', import.meta.url);
const FINGERPRINT_FILE = new URL('../../../src/platform/database/baseline-fingerprint.ts', import.meta.url);

let test: TestDatabase;
let source: DataSource;
let database: Database;
let wanted: Wanted;

beforeAll(async () => {
  test = await createTestDatabase();
  source = createDataSource({ url: test.url, poolMax: 2, applicationName: 'energy-test' });
  await source.initialize();
  database = new Database(source);
  if (WRITES) await writeFile(LISTING_FILE, `${(await listingOf(database)).join('\n')}\n`);
  const listing = (await readFile(LISTING_FILE, 'utf8')).trimEnd().split('\n');
  wanted = { functions: FUNCTIONS, triggers: TRIGGERS, listing };
});

afterAll(async () => {
  await database.source.destroy();
  await test.drop();
});

/** Runs `work` in a transaction and rolls it back. */
async function undone<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined;
  const undo = new Error('undo');
  await database
    .transaction(async (tx) => {
      result = { value: await work(tx) };
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return result!.value;
}

/** Returns the differences that `change` causes, each shortened to its subject. */
async function driftAfter(change: string, wants: Wanted = wanted): Promise<string[]> {
  return undone(async (tx) => {
    if (change !== '') await tx.query(change);
    return driftOf(tx, wants);
  });
}

it('a fully migrated database has the functions, triggers, tables and indexes of the code', async () => {
  expect(await driftAfter('')).toEqual([]);
  expect(wanted.listing.length).toBeGreaterThan(150);
});

it.each(GUARD_CHECKS)('verify finds nothing wrong with $check in it', async ({ text, params }) => {
  expect(await database.query(text, [...(params?.({ settleWithinSec: 0, findingsMax: 100 }) ?? [])])).toEqual([]);
});

it('the listing has every unique index that verify compares', () => {
  const listed = wanted.listing.join('\n');
  expect(Object.values(REFEREES).filter((definition) => !listed.includes(definition))).toEqual([]);
});

it('a function that was edited in the code and in no migration is a difference', async () => {
  const edited = FUNCTIONS['take_order']!.replace('created := true;', 'created := false;');
  const drift = await driftAfter('', { ...wanted, functions: { ...FUNCTIONS, take_order: edited } });
  expect(drift).toEqual([
    expect.stringMatching(/^function only in the code: .*take_order.*created := false/s),
    expect.stringMatching(/^function only in the database: .*take_order.*created := true/s),
  ]);
});

const CHANGES: readonly (readonly [string, string, readonly RegExp[]])[] = [
  [
    'a guard whose body was replaced',
    `CREATE OR REPLACE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`,
    [/^function only in the code: .*orders_guard/, /^function only in the database: .*orders_guard/],
  ],
  [
    'a function with further arguments',
    `CREATE FUNCTION take_from_slots(p_wallet integer) RETURNS void LANGUAGE sql AS ''`,
    [/^function only in the database: .*take_from_slots/],
  ],
  [
    'a trigger that is off',
    `ALTER TABLE leg DISABLE TRIGGER leg_guard`,
    [/^trigger only in the code: .*leg_guard/, /^trigger only in the database: .*leg_guard.* STATE D$/],
  ],
  ['a trigger that is gone', `DROP TRIGGER orders_kept ON orders`, [/^trigger only in the code: .*orders_kept/]],
  ['an index that is gone', `DROP INDEX orders_due`, [/^listing only in the code: index open_orders.orders_due/]],
  [
    'a column of another type',
    `ALTER TABLE broadcast ALTER COLUMN node TYPE varchar(20)`,
    [
      /^listing only in the code: column broadcast.node text/,
      /^listing only in the database: column broadcast.node char/,
    ],
  ],
  [
    'a column that may be empty',
    `ALTER TABLE broadcast ALTER COLUMN node DROP NOT NULL`,
    [/^listing only in the code: column broadcast.node/, /^listing only in the database: column broadcast.node/],
  ],
  [
    'a column with another default',
    `ALTER TABLE pool_wallet ALTER COLUMN status SET DEFAULT 'paused'`,
    [/^listing only in the code: column pool_wallet.status/, /^listing only in the database: .*DEFAULT 'paused'/],
  ],
  [
    'a constraint that is gone',
    `ALTER TABLE pool_slot DROP CONSTRAINT pool_slot_free_sun_check`,
    [/^listing only in the code: constraint pool_slot/],
  ],
  ['a table that nobody knows', `CREATE TABLE spare (id integer)`, [/column spare.id integer/, /table spare/]],
];

it.each(CHANGES)('%s is a difference', async (_what, change, expected) => {
  expect(await driftAfter(change)).toEqual(expected.map((pattern) => expect.stringMatching(new RegExp(pattern, 's'))));
});

/** A hash of the statements of each migration, by its name, in order. A migration never changes. */
const SHIPPED: Readonly<Record<string, string>> = {
  Baseline1760000000001: 'e74b5815de8402a0',
};

it('a migration runs the statements that it shipped with', async () => {
  const hashes: Record<string, string> = {};
  for (const migration of source.migrations) {
    const ran: string[] = [];
    const runner = { query: (text: string) => Promise.resolve(ran.push(text)) } as unknown as QueryRunner;
    await migration.up(runner);
    hashes[migration.name ?? ''] = createHash('sha256').update(ran.join('\n')).digest('hex').slice(0, 16);
  }
  expect(hashes).toEqual(SHIPPED);
  expect(MIGRATION_NAMES).toEqual(Object.keys(SHIPPED));
});

/** The files of src/platform/database/sql in an order in which each finds what it refers to. */
function currentSql(): string {
  const tables = Object.entries(SQL_FILES).filter(([path]) => path.startsWith('sql/tables/'));
  const textOf = new Map(tables.map(([path, text]) => [path.slice('sql/tables/'.length, -'.sql'.length), text]));
  const ordered = new Set<string>();
  const add = (name: string): void => {
    const text = textOf.get(name)!;
    const others = [...text.matchAll(/\b(?:REFERENCES|FROM) (\w+)/g)].map(([, other]) => other!);
    for (const other of others) if (other !== name && textOf.has(other) && !ordered.has(other)) add(other);
    ordered.add(name);
  };
  for (const name of textOf.keys()) if (!ordered.has(name)) add(name);
  const functions = Object.entries(SQL_FILES).filter(([path]) => path.startsWith('sql/functions/'));
  return [
    'SET check_function_bodies = off;',
    ...functions.map(([, text]) => text),
    ...[...ordered].map((name) => textOf.get(name)!),
  ].join('\n');
}

/** Runs `script` in an empty database, then `work` on it. */
async function inScratch<T>(script: string, work: (database: Database) => Promise<T>): Promise<T> {
  const adminUrl = fromSetup('TEST_DATABASE_URL');
  const name = `${fromSetup('TEST_DATABASE_PREFIX')}_scratch`;
  await asAdmin(adminUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  const made = createDataSource({ url: databaseUrl(adminUrl, name), poolMax: 1, applicationName: 'energy-test' });
  try {
    await asAdmin(databaseUrl(adminUrl, name), (client) => client.query(script));
    await made.initialize();
    return await work(new Database(made));
  } finally {
    if (made.isInitialized) await made.destroy();
    await asAdmin(adminUrl, (client) => client.query(`DROP DATABASE ${name}`));
  }
}

it('the files of src/platform/database/sql make the schema of the migrations', async () => {
  const linesOf = async (db: Database): Promise<string[]> => [
    // Row security is also on where only the roles bring policies.
    ...(await listingOf(db)).map((line) => line.replace(/^(table .*) ROW LEVEL SECURITY$/, '$1')),
    ...(await triggersOf(db)),
    ...(await functionsOf(db, 'public')),
  ];
  expect(await inScratch(currentSql(), linesOf)).toEqual(await linesOf(database));
});

it('the baseline has the fingerprint that a database must have to be moved onto it', async () => {
  const found = await inScratch(`BEGIN; ${SQL_FILES['migrations/0001-baseline.sql']!}; COMMIT`, fingerprintOf);
  if (WRITES) {
    const before = await readFile(FINGERPRINT_FILE, 'utf8');
    const lines = Object.entries(found).map(([object, hash]) => `  '${object}': '${hash}',\n`);
    await writeFile(FINGERPRINT_FILE, before.replace(/(= \{\n)[^]*(\};\n)$/, `$1${lines.join('')}$2`));
  } else {
    expect(found).toEqual(BASELINE_OBJECTS);
  }
});

/** Definitions as a dump prints them, with the statements that make each again. Constraints of columns stay. */
const PRINTED = `
  SELECT format('trigger %s.%s', tgrelid::regclass, tgname) AS object, pg_get_triggerdef(t.oid) AS printed,
         format('DROP TRIGGER %I ON %s; %s', tgname, tgrelid::regclass, pg_get_triggerdef(t.oid)) AS again
    FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
   WHERE NOT tgisinternal AND tgparentid = 0 AND relnamespace = 'public'::regnamespace
  UNION ALL
  SELECT format('constraint %s.%s', conrelid::regclass, conname), pg_get_constraintdef(oid),
         format('ALTER TABLE %s DROP CONSTRAINT %I; ALTER TABLE %1$s ADD CONSTRAINT %2$I %s', conrelid::regclass, conname,
                pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND coninhcount = 0
  UNION ALL
  SELECT format('index %s', indexrelid::regclass), pg_get_indexdef(indexrelid),
         format('DROP INDEX %s; %s', indexrelid::regclass, pg_get_indexdef(indexrelid))
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid
   WHERE relnamespace = 'public'::regnamespace AND relkind = 'i' AND (indpred IS NOT NULL OR indexprs IS NOT NULL)`;

it('triggers, checks and indexes of a restored dump are printed as before', async () => {
  const printed = (tx: Queryable): Promise<{ object: string; printed: string; again: string }[]> =>
    tx.query(`${PRINTED} ORDER BY 1`);
  await undone(async (tx) => {
    const before = await printed(tx);
    for (const { again } of before) await tx.query(again);
    expect(await printed(tx)).toEqual(before);
    expect(before.length).toBeGreaterThan(200);
  });
});

it.each(['orders', 'leg', 'chain_tx', 'credit_entry', 'audit_log'])(
  'the database refuses to truncate %s',
  async (table) => {
    await expect(undone((tx) => tx.query(`TRUNCATE ${table} CASCADE`))).rejects.toThrow('append-only');
  },
);

const A_ROW: Readonly<Record<string, string>> = {
  orders: `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
    VALUES (gen_random_uuid(), 'k', sha256(''), 'activation', 'reserved', 'T', 1, 1, 1, now())`,
  leg: `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (1, 1, 'rental', 1, 'T', 1, 'reserved')`,
  chain_tx: `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, ref_block_number, expires_at)
    VALUES (1, 1, 'activate', 1, 1, 'built', sha256('x'), 'x', 1, now())`,
  credit_entry: `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
    VALUES ('a', gen_random_uuid(), 'funding', 'topup', 1, 'a', 'a')`,
  audit_log: `INSERT INTO audit_log (actor, action, subject) VALUES ('a', 'a', 'a')`,
};

it.each(Object.entries(A_ROW))('the database refuses to delete a row of %s', async (table, insert) => {
  const emptied = undone(async (tx) => {
    await tx.query(insert);
    await tx.query(`DELETE FROM ${table}`);
  });
  await expect(emptied).rejects.toThrow('append-only');
});
