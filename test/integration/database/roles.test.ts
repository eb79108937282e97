// Least privilege in the database: each role has exactly its declared rights, and they suffice for its process.
import type pg from 'pg';
import { Database } from '../../../src/platform/database/database.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { FUNCTION_GRANTS } from '../../../src/platform/database/function-grants.js';
import { TABLE_GRANTS } from '../../../src/platform/database/grants.js';
import {
  ALL_ROLES,
  OWNER,
  rightsIn,
  roleNamed,
  wantedRights,
  type AnyRole,
} from '../../../src/platform/database/roles.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { asRole } from '../../setup/roles.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  const source = createDataSource({ url: test.url, poolMax: 2, applicationName: 'energy-test' });
  await source.initialize();
  database = new Database(source);
});

afterAll(async () => {
  await database.source.destroy();
  await test.drop();
});

/** Returns the error of `statement` run as `role` after the owner ran `before`, or 'done'. Rolls back. */
async function refusalOf(role: AnyRole, statement: string, before = 'SELECT'): Promise<string> {
  return asAdmin(test.url, async (client) => {
    await client.query('BEGIN');
    try {
      await client.query(before);
      await client.query(`SET LOCAL ROLE ${roleNamed(role)}`);
      await client.query(statement);
      return 'done';
    } catch (error) {
      return (error as pg.DatabaseError).code ?? String(error);
    } finally {
      await client.query('ROLLBACK');
    }
  });
}

describe('the grants of a migrated database', () => {
  it('are the declared ones, for every table, column and function, and none for PUBLIC', async () => {
    const text = (rights: Awaited<ReturnType<typeof rightsIn>>): string[] =>
      rights.map(({ on, privilege, grantee }) => `${grantee} ${privilege} ${on}`).sort();
    const wanted = text(await wantedRights(database));
    expect(wanted.length).toBeGreaterThan(200);
    expect(text(await rightsIn(database))).toEqual(wanted);
  });

  it('are declared for every existing table, view and function', async () => {
    const tables = await database.query<{ name: string }>(
      `SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')`,
    );
    expect(tables.map(({ name }) => name).sort()).toEqual(Object.keys(TABLE_GRANTS).sort());
    const functions = await database.query<{ name: string }>(
      `SELECT DISTINCT proname::text AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    );
    expect(functions.map(({ name }) => name).sort()).toEqual(Object.keys(FUNCTION_GRANTS).sort());
  });

  it('need no right on a sequence, because each belongs to a column', async () => {
    const free = await database.query(
      `SELECT relname FROM pg_class c WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i'))`,
    );
    expect(free).toEqual([]);
  });

  it('name only existing columns', async () => {
    const columns = await database.query<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'public'`,
    );
    const known = new Set(columns.map(({ name }) => name));
    const named = Object.entries(TABLE_GRANTS).flatMap(([table, byRole]) =>
      Object.values(byRole).flatMap((access) =>
        [access.select, access.insert, access.update].flatMap((of) =>
          of === undefined || of === 'all' ? [] : ('only' in of ? of.only : of.but).map((name) => `${table}.${name}`),
        ),
      ),
    );
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it('let only the roles that open a sealed key read it', async () => {
    const readers = (await rightsIn(database))
      .filter(({ on }) => on.startsWith('TABLE '))
      .flatMap(({ on, privilege, grantee }) => {
        const table = on.slice('TABLE '.length);
        if (privilege === 'SELECT') return [`${table} ${grantee}`];
        return /^SELECT \(.*_sealed\)$/.test(privilege) ? [`${table} ${grantee}`] : [];
      });
    const sealed = await database.query<{ table: string }>(
      `SELECT table_name AS table FROM information_schema.columns WHERE table_schema = 'public' AND column_name LIKE '%\\_sealed'`,
    );
    const tables = new Set(sealed.map(({ table }) => table));
    expect(readers.filter((reader) => tables.has(reader.split(' ')[0]!)).sort()).toEqual([
      'api_key energy_api',
      'api_key energy_cli',
      // People's second factors: the console holds their key.
      'console_session energy_console_merchant',
      'console_session energy_console_operator',
      'person energy_cli',
      'person energy_console_merchant',
      'person energy_console_operator',
      'pool_wallet energy_cli',
      'pool_wallet energy_worker',
      'project energy_api',
      'project energy_cli',
      'webhook_endpoint energy_api',
      'webhook_endpoint energy_cli',
      'webhook_endpoint energy_sender',
    ]);
  });

  it('belong to the role of the migrations, and functions with the owner’s rights have one search path', async () => {
    const others = await database.query(
      `SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND pg_get_userbyid(relowner) <> $1
        UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND pg_get_userbyid(proowner) <> $1`,
      [OWNER],
    );
    expect(others).toEqual([]);
    const definers = await database.query(
      `SELECT proname::text AS name, proconfig AS settings FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef`,
    );
    const settings = ['search_path=public, pg_temp'];
    const names = [
      ...['take_order', 'extend_order', 'return_to_caps', 'keep_order_key'],
      ...['webhook_changed', 'webhook_fan_out', 'webhook_fan_out_batch', 'webhook_project_frozen'],
      ...['auto_delegation_order_moved', 'buy_for_auto_delegation', 'extend_for_auto_delegation'],
      ...['buy_in_console', 'extend_in_console'],
      ...['console_memberships', 'console_invited_to', 'console_looks', 'notifications_due'],
      ...['project_acts', 'project_order_legs', 'project_order_compensations'],
      'project_deposit_returns',
      'prune_test_orders',
      'archive_orders',
      'end_later_times',
      'recount_spending',
    ];
    expect(definers).toHaveLength(names.length);
    expect(definers).toEqual(expect.arrayContaining(names.map((name) => ({ name, settings }))));
  });

  it('let only the owner create objects in the schema, and no one a temporary table', async () => {
    for (const role of ALL_ROLES) {
      const may = role === 'migrations' ? 'done' : '42501';
      expect([role, await refusalOf(role, `CREATE TABLE mine (id integer)`)]).toEqual([role, may]);
      expect([role, await refusalOf(role, `CREATE TEMP TABLE leg (id integer)`)]).toEqual([role, '42501']);
    }
  });
});

const A_WALLET = `INSERT INTO pool_wallet (address, role, permission_id, key_address, key_sealed) VALUES ('T', 'pool', 2, 'T', 'x')`;
const A_LEG = `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
  VALUES (1, 1, 'rental', 1, 'T', 1, 'reserved')`;
const AN_ENTRY = `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
  VALUES ('a', gen_random_uuid(), 'funding', 'topup', 1, 'a', 'a')`;
const AN_ORDER = `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
  VALUES (gen_random_uuid(), 'k', sha256(''), 'activation', 'reserved', 'T', 1, 1, 1, now())`;

const REFUSED: readonly (readonly [role: AnyRole, what: string, statement: string, before?: string])[] = [
  ['api', 'read a pool key', 'SELECT key_sealed FROM pool_wallet', A_WALLET],
  ['api', 'read a pool key among all columns', 'SELECT * FROM pool_wallet', A_WALLET],
  ['api', 'switch a trigger off', 'ALTER TABLE orders DISABLE TRIGGER orders_guard'],
  ['api', 'act as a replica, where no trigger runs', 'SET session_replication_role = replica'],
  ['api', 'replace a guard', 'CREATE OR REPLACE FUNCTION public.orders_guard() RETURNS trigger LANGUAGE sql AS $$ $$'],
  ['api', 'write into the ledger', AN_ENTRY],
  ['api', 'change a balance', 'UPDATE credit_account SET balance_credits = 1'],
  ['api', 'write an order past its function', AN_ORDER],
  ['api', 'reserve capacity without an order', `SELECT reserve_capacity(1, 'rental', 'T', 1, 1)`],
  ['api', 'empty the orders', 'TRUNCATE orders'],
  ['api', 'delete a leg', 'DELETE FROM leg', A_LEG],
  ['worker', 'read an API key', 'SELECT api_key_sealed FROM project'],
  ['worker', 'read a further API key', 'SELECT sealed FROM api_key'],
  ['api', 'widen a key', `UPDATE api_key SET scopes = '{order}'`],
  ['api', 'forget what a key has spent', 'UPDATE api_key SET spent_credits = 0'],
  ['cli', 'forget what a key has spent', 'UPDATE api_key SET spent_credits = 0'],
  ['worker', 'change a pool key', `UPDATE pool_wallet SET key_sealed = 'y'`, A_WALLET],
  ['worker', 'have a wallet signed for by another key', `UPDATE pool_wallet SET key_address = 'T2'`, A_WALLET],
  [
    'worker',
    'take an order in a project’s name',
    `SELECT take_order(gen_random_uuid(), gen_random_uuid(), 'k', 'x', 'rental', null, null, 'T', 1, 1, 1, 1, 1, 1, 1, null, null)`,
  ],
  ['worker', 'change what was sold', 'UPDATE orders SET credits = 1', AN_ORDER],
  ['worker', 'forgive a debt limit', 'UPDATE credit_account SET floor_credits = NULL'],
  ['worker', 'delete an order', 'DELETE FROM orders', AN_ORDER],
  ['worker', 'delete a leg', 'DELETE FROM leg', A_LEG],
  ['worker', 'empty the ledger', 'TRUNCATE credit_entry'],
  ['worker', 'switch a trigger off', 'ALTER TABLE leg DISABLE TRIGGER ALL'],
  ['cli', 'change the audit log', `UPDATE audit_log SET actor = 'b'`],
  ['cli', 'delete from the ledger', 'DELETE FROM credit_entry', AN_ENTRY],
  ['cli', 'switch a trigger off', 'ALTER TABLE audit_log DISABLE TRIGGER ALL'],
  ['reports', 'read a pool key', 'SELECT key_sealed FROM pool_wallet'],
  ['reports', 'read an API key', 'SELECT api_key_sealed FROM project'],
  ['reports', 'write anything', `UPDATE price_row SET sun_per_energy = 1`],
  ['sender', 'read an order', 'SELECT FROM orders'],
  ['console_merchant', 'read the pool', 'SELECT FROM pool_wallet'],
  ['console_merchant', 'write into the ledger', AN_ENTRY],
  ['console_merchant', 'change a price', `UPDATE price_row SET sun_per_energy = 1`],
  ['console_operator', 'read a sealed API key', 'SELECT sealed FROM api_key'],
  ['console_operator', 'change what became of an order', `UPDATE orders SET status = 'delivered'`, AN_ORDER],
  ['console_operator', 'change the audit log', `UPDATE audit_log SET actor = 'b'`],
];

it.each(REFUSED.map(([role, what, statement, before = 'SELECT']) => [role, what, statement, before] as const))(
  'the role %s may not %s',
  async (role, _what, statement, before) => {
    expect(await refusalOf(role, statement, before)).toBe('42501');
  },
);

it.each([
  ['api', 'SELECT id, address FROM pool_wallet'],
  ['worker', 'DELETE FROM broadcast'],
  ['worker', 'SELECT key_sealed FROM pool_wallet'],
  ['cli', 'DELETE FROM price_row'],
  ['reports', 'SELECT * FROM orders'],
] as const)('the role %s may run %s', async (role, statement) => {
  expect(await refusalOf(role, statement)).toBe('done');
});

it.each(['api', 'worker', 'cli'] as const)('a login of %s has its role’s rights and no other’s', async (role) => {
  await asAdmin(asRole(test.url, role), async (client) => {
    await client.query('SELECT FROM orders');
    for (const other of ALL_ROLES.filter((each) => each !== role)) {
      await expect(client.query(`SET ROLE ${roleNamed(other)}`)).rejects.toMatchObject({ code: '42501' });
    }
  });
});

it('the sender reads only what it sends', async () => {
  for (const table of ['orders', 'api_key', 'project', 'pool_wallet', 'credit_account', 'credit_entry', 'chain_tx']) {
    expect([table, await refusalOf('sender', `SELECT * FROM ${table}`)]).toEqual([table, '42501']);
  }
  expect(await refusalOf('sender', `SELECT snapshot FROM event`)).toBe('42501');
  expect(await refusalOf('sender', `UPDATE webhook_endpoint SET url = 'https://evil.example.com/'`)).toBe('42501');
  const event = `INSERT INTO event (project_id, type) VALUES (gen_random_uuid(), 'project.frozen')`;
  expect(await refusalOf('sender', event)).toBe('42501');
  expect(await refusalOf('sender', `SELECT payload FROM event`)).toBe('done');
});
