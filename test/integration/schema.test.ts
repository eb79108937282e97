// A migrated database has the code's schema, and the comparison detects differences. `npm run schema` rewrites the
// listing; commit its change with the migration.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import { Database, type Queryable } from '../../src/store/database.js';
import { createDataSource, MIGRATION_NAMES } from '../../src/store/data-source.js';
import { FUNCTIONS, REFEREES, TRIGGERS } from '../../src/store/functions/wanted.js';
import { ApiKeys1760000000014 } from '../../src/store/migrations/0014-api-keys.js';
import { Capacity1760000000004 } from '../../src/store/migrations/0004-capacity.js';
import { OwnReturns1760000000062 } from '../../src/store/migrations/0062-own-returns.js';
import { GUARD_CHECKS } from '../../src/verify/guard-checks.js';
import { driftOf, listingOf, type Wanted } from '../schema-drift.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

const LISTING_FILE = new URL('../../src/store/schema.txt', import.meta.url);

let test: TestDatabase;
let source: DataSource;
let database: Database;
let wanted: Wanted;

beforeAll(async () => {
  test = await createTestDatabase();
  source = createDataSource({ url: test.url, poolMax: 2, applicationName: 'energy-test' });
  await source.initialize();
  database = new Database(source);
  if (process.env['SCHEMA_WRITE'] === '1') {
    await writeFile(LISTING_FILE, `${(await listingOf(database)).join('\n')}\n`);
  }
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

it('a database that every migration has run on has the functions, triggers, tables and indexes that the code wants', async () => {
  expect(await driftAfter('')).toEqual([]);
  expect(wanted.listing.length).toBeGreaterThan(150);
});

it.each(GUARD_CHECKS)('verify finds nothing wrong with $check in it', async ({ text, params }) => {
  expect(await database.query(text, [...(params?.({ settleWithinSec: 0, findingsMax: 100 }) ?? [])])).toEqual([]);
});

it('every unique index that verify compares is in the listing', () => {
  const listed = wanted.listing.join('\n');
  expect(Object.values(REFEREES).filter((definition) => !listed.includes(definition))).toEqual([]);
});

it('a function that was edited in the code and in no migration is a difference', async () => {
  const edited = FUNCTIONS['accept_order']!.replace('created := true;', 'created := false;');
  const drift = await driftAfter('', { ...wanted, functions: { ...FUNCTIONS, accept_order: edited } });
  expect(drift).toEqual([
    expect.stringMatching(/^function only in the code: .*accept_order.*created := false/s),
    expect.stringMatching(/^function only in the database: .*accept_order.*created := true/s),
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

/** Hashes of each migration's statements, by name and in order. They never change after landing. */
const SHIPPED: Readonly<Record<string, string>> = {
  Initial1760000000001: '36790030966e6654',
  Reconciling1760000000002: '76704daba158bb87',
  KeptRows1760000000003: '67302817cd5e353f',
  Capacity1760000000004: 'dad421ef2b39b573',
  ForeignActs1760000000005: 'c9acc06ff5f0497f',
  Delivery1760000000007: '09009b7c15620eff',
  CanariesClock1760000000008: 'b3f8ab27df286865',
  JudgedOnce1760000000009: '43348f3895b3d187',
  LeastRights1760000000010: '120d02d0c6659a4e',
  Refusals1760000000011: 'd4a95aedd639a070',
  AuditRoles1760000000012: '7e5cc918fc6c6848',
  Signatures1760000000013: 'bccd945f17c96640',
  ApiKeys1760000000014: 'd025b8d5a059cbca',
  KeyCaps1760000000015: '4df786dcbf8dfd05',
  Events1760000000020: 'eeb166ccead81f2d',
  UnsearchedBlocks1760000000025: '6f88a380c003e3fc',
  Webhooks1760000000027: 'b11115052830106b',
  RefusedRequests1760000000028: '9523db1eb0648ac1',
  Deposits1760000000031: '1fb5fd9fd68da482',
  RefusedTogether1760000000032: '26657116a70e90bd',
  LowBalance1760000000035: 'b18506d2c5035ec2',
  UnsolidDeposits1760000000036: '953d51444aa66400',
  DepositMovements1760000000037: '4f7ff5715887c455',
  ChainCosts1760000000038: '3d924e006e3b6dc9',
  LedgerTime1760000000039: 'e7808890426db743',
  Statements1760000000040: '0e50552feda144de',
  Extensions1760000000041: '6a90773a00c6fa0d',
  OrderKeys1760000000042: '988bee213c80b3f0',
  AutoDelegations1760000000043: '85d16e9dd8cbdf99',
  TestProjects1760000000044: '6ca7ee318bc8a67c',
  OrderFields1760000000045: '49d784ec67166015',
  ConsolePeople1760000000046: 'ba78e702237d6573',
  ConsoleRows1760000000047: 'eda50e7169045c62',
  RefillsInTurn1760000000049: '8fa492949abd2e26',
  JudgedLabels1760000000050: 'c7eadeb451923fe4',
  RecentSources1760000000051: 'f14ef49d684fcd50',
  CreditRequests1760000000052: '5a2dac2d4c9d79cf',
  SeenAsItIs1760000000053: '7932e3cd1a92afcf',
  OrdersAttention1760000000054: '1937bff0a0de7616',
  FirstCheck1760000000055: '06c1fe0048034091',
  OrderReplays1760000000056: '5427a5878e79b82e',
  ReceiverEnergy1760000000057: '4c976eb95bfd9fd9',
  Notifications1760000000058: 'a4d2b2240deb3369',
  UnresolvedOrders1760000000059: 'e259af2f688376fa',
  DeliveriesInOrder1760000000060: '23309207bfb55333',
  DepositOutflows1760000000061: '82c5d18918cf3b16',
  OwnReturns1760000000062: 'e8e1a65efd654d93',
  ConsoleMemberships1760000000063: 'b837c7e2a2a40be2',
  WaitingDeliveries1760000000064: '65b1a321c6643bde',
  UnrevokedKeys1760000000065: '6755bda76c29caf0',
  SmallSums1760000000066: '230de83354ae6704',
  ArchivedColumn1760000000067: 'a6b7e69868b81ca8',
  Archive1760000000068: '19ed493eb677a78e',
  ArchiveGuards1760000000069: '939765977de527f9',
  UsageLosses1760000000070: 'e0b0f18fa11401d1',
  DepositToken1760000000073: 'b0b6d4df4475d834',
  TokenState1760000000074: '8881446b06a532eb',
  BoundedWebhooks1760000000075: 'd2e61d327c839b5a',
  FollowedClock1760000000076: '9578f35fe6cb33fa',
  ProvenAddresses1760000000078: '42a78904124af1b5',
  LaterNotifications1760000000079: 'eb1bbcb5a24075d6',
  DepositSums1760000000083: '25d0f9eee689f6c5',
  DepositPlaces1760000000084: '9bc548e1cda3558e',
  KeptRates1760000000085: 'ea61cccd4f07485a',
  MaskedUrls1760000000091: '241fd9646d976cbd',
};

it('a migration runs what it ran on the day it came', async () => {
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

it('the projects there are get their key as the primary one, which may do everything', async () => {
  const ran: string[] = [];
  const runner = { query: (text: string) => Promise.resolve(ran.push(text)) } as unknown as QueryRunner;
  await new ApiKeys1760000000014().up(runner);
  const found = await undone(async (tx) => {
    // The schema before that trigger existed.
    await tx.query('ALTER TABLE project DISABLE TRIGGER project_primary_key');
    await tx.query(`INSERT INTO project (id, name, api_key_sealed, created_at)
      SELECT gen_random_uuid(), 'old ' || n, decode(md5(n::text), 'hex'), now() - n * interval '1 day' FROM generate_series(1, 3) n`);
    for (const text of ran.filter((each) => each.startsWith('INSERT INTO api_key'))) await tx.query(text);
    return tx.query(`SELECT k.name, k.scopes, k.allowed_sources, k.daily_cap_credits, k.revoked_at, k.previous_sealed,
        k.id = p.id AND k.project_id = p.id AND k.sealed = p.api_key_sealed AND k.created_at = p.created_at AS is_its_own
      FROM project p LEFT JOIN api_key k ON k.project_id = p.id`);
  });
  const primary = {
    name: 'primary',
    scopes: ['read', 'quote', 'order', 'manage'],
    allowed_sources: [],
    daily_cap_credits: null,
    revoked_at: null,
    previous_sealed: null,
    is_its_own: true,
  };
  expect(found).toEqual([primary, primary, primary]);
});

it.each([
  ['a default price that can never be sold goes', 130, '', []],
  ['a price that the operator set stays', 120, '', [{ price: 120 }]],
  [
    'the same price stays where the operator set it',
    130,
    `INSERT INTO audit_log (actor, action, subject) VALUES ('a', 'price.set', '2592000')`,
    [{ price: 130 }],
  ],
])('%s', async (_what, price, act, left) => {
  const ran: string[] = [];
  const runner = { query: (text: string) => Promise.resolve(ran.push(text)) } as unknown as Parameters<
    Capacity1760000000004['up']
  >[0];
  await new Capacity1760000000004().up(runner);
  const found = await undone(async (tx) => {
    await tx.query(`INSERT INTO price_row VALUES (2592000, $1)`, [price]);
    if (act !== '') await tx.query(act);
    for (const text of ran.filter((each) => each.includes('price_row'))) await tx.query(text);
    return tx.query(`SELECT sun_per_energy::int AS price FROM price_row WHERE duration_max_sec = 2592000`);
  });
  expect(found).toEqual(left);
});

it('of returns that shared a transaction one keeps it, and the others have one of their own that nobody has sent', async () => {
  const ran: string[] = [];
  const runner = { query: (text: string) => Promise.resolve(ran.push(text)) } as unknown as QueryRunner;
  await new OwnReturns1760000000062().up(runner);
  const found = await undone(async (tx) => {
    await tx.query(
      `ALTER TABLE deposit_return DROP CONSTRAINT deposit_return_txid_key, DROP CONSTRAINT deposit_return_deposit_id_fkey`,
    );
    await tx.query(`INSERT INTO deposit_return (deposit_id, to_address, txid, expires_at)
      SELECT n, 'T', sha256(convert_to(CASE n WHEN 4 THEN 'own' ELSE 'shared' END, 'UTF8')), now() FROM generate_series(1, 4) n`);
    for (const text of ran.filter((each) => /(UPDATE|ALTER TABLE) deposit_return/.test(each))) await tx.query(text);
    return tx.query(`SELECT deposit_id::int AS id, txid IN (sha256('shared'), sha256('own')) AS as_it_was,
        count(*) OVER (PARTITION BY txid)::int AS sharing FROM deposit_return ORDER BY deposit_id`);
  });
  expect(found).toEqual(
    [true, false, false, true].map((isAsItWas, at) => ({ id: at + 1, as_it_was: isAsItWas, sharing: 1 })),
  );
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
