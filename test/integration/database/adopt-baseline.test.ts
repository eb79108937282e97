// A database of the last version before the baseline is moved onto it, and later migrations run on its data.
import { jest } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { MIGRATION_NAMES } from '../../../src/platform/database/data-source.js';
import { migrateDown, migrateUp, pendingMigrations } from '../../../src/platform/database/migrate.js';
import { cliWith } from '../../support/cli.js';
import { restoreLastChain, type ChainDatabase } from './last-chain.js';
import { asAdmin } from '../../setup/admin.js';

const CLI_LIMIT_MS = 240_000;

let chain: ChainDatabase;

beforeEach(async () => {
  chain = await restoreLastChain();
});

afterEach(() => chain.drop());

const cli = (...words: string[]): ReturnType<ReturnType<typeof cliWith>> =>
  cliWith({ DATABASE_URL: chain.url })(...words);

async function rows(text: string): Promise<readonly Record<string, unknown>[]> {
  return asAdmin(chain.url, async (client) => (await client.query<Record<string, unknown>>(text)).rows);
}

const COUNTS = `SELECT (SELECT count(*) FROM orders)::int AS orders, (SELECT count(*) FROM leg)::int AS legs,
  (SELECT count(*) FROM credit_entry)::int AS entries, (SELECT sum(balance_credits) FROM credit_account)::int AS balance`;
const KEPT = [{ orders: 12, legs: 12, entries: 14, balance: 1_970_000 }];

it(
  'adopts a database of the last version before the baseline, and keeps its rows',
  async () => {
    const refused = await cli('migrate');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('migrate adopt-baseline') });
    expect(await cli('migrate', 'adopt-baseline')).toMatchObject({ code: 0, err: '' });
    expect(await rows('SELECT timestamp::text, name FROM migrations')).toEqual([
      { timestamp: '1760000000001', name: 'Baseline1760000000001' },
    ]);
    expect((await cli('migrate', 'up')).out).toContain('The database is up to date');
    expect((await cli('migrate', 'check')).code).toBe(0);
    expect(await rows(COUNTS)).toEqual(KEPT);
    const again = await cli('migrate', 'adopt-baseline');
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('already on the baseline') });
  },
  CLI_LIMIT_MS,
);

it.each([
  ['another column', 'ALTER TABLE broadcast ALTER COLUMN node TYPE varchar(20)', 'table broadcast'],
  ['another trigger', 'ALTER TABLE leg DISABLE TRIGGER leg_guard', 'table leg'],
  [
    'another function',
    `CREATE OR REPLACE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`,
    'function credit_entry_guard',
  ],
  ['a missing index', 'DROP INDEX orders_due', 'table open_orders'],
  ['a missing policy', 'DROP POLICY person_of_audience ON person', 'table person'],
  ['an unknown table', 'CREATE TABLE spare (id integer)', 'table spare'],
  ['another column of a changed table', 'ALTER TABLE reclaim_usage ADD COLUMN spare text', 'table reclaim_usage'],
])('refuses to adopt a database with %s', async (_what, change, object) => {
  await asAdmin(chain.url, (client) => client.query(change));
  const answer = await cli('migrate', 'adopt-baseline');
  expect(answer).toMatchObject({ code: 1, err: expect.stringContaining(`differs from the baseline in: ${object}.`) });
  expect(await rows(`SELECT count(*)::int AS count FROM migrations`)).toEqual([{ count: 65 }]);
});

it('refuses to adopt a database that lacks an object that changes, and changes nothing', async () => {
  const trigger = `SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'reclaim_usage'::regclass ORDER BY tgname`;
  await asAdmin(chain.url, (client) => client.query('DROP TRIGGER reclaim_usage_final ON reclaim_usage'));
  const before = await rows(trigger);
  const answer = await cli('migrate', 'adopt-baseline');
  expect(answer).toMatchObject({ code: 1, err: expect.stringContaining('"reclaim_usage_final"') });
  expect(await rows(trigger)).toEqual(before);
  expect(await rows(`SELECT count(*)::int AS count FROM migrations`)).toEqual([{ count: 65 }]);
});

it.each([
  ['an older one', `DELETE FROM migrations WHERE name LIKE 'MaskedUrls%'`, 'not MaskedUrls'],
  ['one with a gap', `DELETE FROM migrations WHERE name LIKE 'Webhooks%'`, 'newest of 64 migrations'],
  ['an empty one', 'DELETE FROM migrations', 'run only `migrate`'],
])('refuses to adopt a database of another version: %s', async (_what, change, says) => {
  await asAdmin(chain.url, (client) => client.query(change));
  expect(await cli('migrate', 'adopt-baseline')).toMatchObject({ code: 1, err: expect.stringContaining(says) });
});

/** Stands for a newer version's migration. */
class Later1760000000999 {
  readonly name = 'Later1760000000999';
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE orders ADD COLUMN later text DEFAULT 'later'`);
    await runner.query(`CREATE FUNCTION later_orders() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM orders'`);
  }
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION later_orders');
    await runner.query('ALTER TABLE orders DROP COLUMN later');
  }
}

class Failing1760000000999 extends Later1760000000999 {
  override async up(runner: QueryRunner): Promise<void> {
    await super.up(runner);
    await runner.query('SELECT 1 / 0');
  }
}

it('runs a later migration on the data of an adopted database, and undoes it', async () => {
  const later = [Later1760000000999];
  await cli('migrate', 'adopt-baseline');
  const print = jest.spyOn(console, 'log');
  await expect(migrateUp(chain.url, { later: [Failing1760000000999] })).rejects.toThrow('division by zero');
  expect(print).not.toHaveBeenCalled();
  expect(await rows(`SELECT FROM pg_proc WHERE proname = 'later_orders'`)).toEqual([]);
  expect(await migrateUp(chain.url, { later })).toEqual(['Later1760000000999']);
  expect(await rows('SELECT later, count(*)::int AS count FROM orders GROUP BY later')).toEqual([
    { later: 'later', count: 12 },
  ]);
  // The version before runs on the newer schema.
  expect(await pendingMigrations(chain.url)).toEqual([]);
  const down = migrateDown(chain.url, { later, database: chain.name, isPooled: false });
  await expect(down).rejects.toThrow('12 unfinished orders');
  await asAdmin(chain.url, (client) =>
    client.query(`SET session_replication_role = replica;
      UPDATE orders SET settled = true, status = 'refunded', next_run_at = NULL;
      UPDATE leg SET status = 'released'; UPDATE credit_account SET balance_credits = 0`),
  );
  expect(await migrateDown(chain.url, { later, database: chain.name, isPooled: false })).toEqual({
    undone: 'Later1760000000999',
    remaining: MIGRATION_NAMES,
  });
  expect(await rows('SELECT count(*)::int AS count FROM orders')).toEqual([{ count: 12 }]);
  // The first migration keeps a database that has records, even when nothing is open.
  await expect(migrateDown(chain.url, { database: chain.name, isPooled: false })).rejects.toThrow('has records');
  expect(await rows('SELECT count(*)::int AS count FROM orders')).toEqual([{ count: 12 }]);
});
