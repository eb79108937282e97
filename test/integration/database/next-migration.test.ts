// Migrations after the baseline on the records of a used service: they keep every row while orders are taken, and back.
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import { createDataSource, MIGRATION_NAMES } from '../../../src/platform/database/data-source.js';
import { giveRoles, migrateDown, migrateUp } from '../../../src/platform/database/migrate.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { until } from '../../../packages/local/src/wait.js';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import type { Customer } from '../../support/api/client.js';
import { fillPool, makeCustomer, openApi, openAsOwner, serviceEnv } from '../../support/api/factory.js';
import { startOrderChain, type OrderChain } from '../../support/chain/order-chain.js';
import { XPUB } from '../../support/chain/deposits-on-chain.js';
import { seedTestCanaries } from '../../support/cli.js';
import { openRecords, restoreRecords, rowsOf } from '../../support/database/records.js';

/** Made by `npm run chaos -- --rounds 1 --records FILE`. It stays as it is: released versions have made such rows. */
const RECORDS = new URL('../../fixtures/baseline-records.json.gz', import.meta.url);
const BUYERS = 3;
const ORDERS_MIN = 10;
const LIMIT_MS = 240_000;

/** Does what a release may do: a column with a value on every row, an index, a function. */
class Next1760000000999 {
  readonly name = 'Next1760000000999';
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE orders ADD COLUMN next_note text`);
    await runner.query(`ALTER TABLE credit_account ADD COLUMN next_limit bigint NOT NULL DEFAULT 7`);
    await runner.query(
      'CREATE INDEX orders_next_note ON open_orders (project_id, next_note) WHERE next_note IS NOT NULL',
    );
    await runner.query(`CREATE FUNCTION next_orders() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM orders'`);
  }
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION next_orders');
    await runner.query('ALTER TABLE credit_account DROP COLUMN next_limit');
    await runner.query('ALTER TABLE orders DROP COLUMN next_note');
  }
}

const later = [Next1760000000999];
let name: string;
let url: string;
let chain: OrderChain;
let redis: TestRedis;

beforeAll(async () => {
  [chain, redis] = await Promise.all([startOrderChain(), createTestRedis()]);
});

afterAll(async () => {
  await chain.stop();
  await redis.close();
});

beforeEach(async () => {
  const adminUrl = fromSetup('TEST_DATABASE_URL');
  name = `${fromSetup('TEST_DATABASE_PREFIX')}_next_${randomBytes(4).toString('hex')}`;
  url = databaseUrl(adminUrl, name);
  await asAdmin(adminUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  await runBaseline();
  // Before the records: their secrets are sealed with a key that nobody has.
  await seedTestCanaries(url);
  const records = await openRecords(RECORDS);
  await asAdmin(url, (client) => restoreRecords(client, records));
});

afterEach(() =>
  asAdmin(fromSetup('TEST_DATABASE_URL'), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`)),
);

/** Makes the schema of the first release, without the migrations after it. */
async function runBaseline(): Promise<void> {
  const options = createDataSource({
    url,
    poolMax: 2,
    applicationName: 'energy-migrate',
    statementTimeoutMs: 0,
  }).options;
  const [baseline] = options.migrations as (new () => never)[];
  const source = await new DataSource({ ...options, migrations: [baseline!] }).initialize();
  await source.runMigrations();
  await source.destroy();
}

/** Returns the number of findings of each check. Definitions are compared only on this version's own schema. */
async function findings(): Promise<Record<string, number>> {
  const database = await openAsOwner(url);
  try {
    const { checks } = await verifyRecords(database);
    return Object.fromEntries(
      checks.filter(({ check }) => check !== 'guard-definitions').map(({ check, count }) => [check, count]),
    );
  } finally {
    await database.source.destroy();
  }
}

/** Expects every row of the fixture, in the columns of the fixture. */
async function expectKept(): Promise<void> {
  const records = await openRecords(RECORDS);
  await asAdmin(url, async (client: pg.Client) => {
    for (const { table, columns, rows } of records) {
      const now = new Set(
        (JSON.parse((await rowsOf(client, table, columns))!) as unknown[]).map((row) => JSON.stringify(row)),
      );
      const lost = (JSON.parse(rows) as unknown[]).map((row) => JSON.stringify(row)).filter((row) => !now.has(row));
      expect({ table, lost }).toEqual({ table, lost: [] });
    }
  });
}

it(
  'keeps the records of the first release through every later migration',
  async () => {
    const before = await findings();
    await migrateUp(url, { later });
    await expectKept();
    expect(await asAdmin(url, async (client) => (await client.query('SELECT next_orders()::int AS n')).rows)).toEqual([
      { n: expect.any(Number) as number },
    ]);
    expect(await findings()).toEqual(before);
  },
  LIMIT_MS,
);

it(
  'takes every order while the next migration runs, and loses none on the way back',
  async () => {
    await migrateUp(url);
    await giveRoles(url, []);
    const api = await openApi({ ...serviceEnv(url, redis.url, chain), DEPOSIT_XPUB: XPUB });
    const taken: string[] = [];
    const refused: unknown[] = [];
    let isOver = false;
    let buying: Promise<void>[] = [];
    const buy = async (customer: Customer, buyer: number): Promise<void> => {
      for (let n = 0; !isOver; n += 1) {
        const key = `next-${buyer.toString()}-${n.toString()}`;
        const order = { receive_address: chain.receivers[0], energy: 65_000, duration_sec: 3600 };
        const answer = await customer.post('/v1/orders', order, { 'Idempotency-Key': key });
        if (answer.status === 202) taken.push(key);
        else refused.push(answer.body);
      }
    };
    try {
      await fillPool(api, chain);
      const buyers = await Promise.all(Array.from({ length: BUYERS }, () => makeCustomer(api)));
      buying = buyers.map(buy);
      await until(() => (taken.length >= ORDERS_MIN ? true : undefined), LIMIT_MS, 'orders before the migration');
      expect(await migrateUp(url, { later })).toEqual(['Next1760000000999']);
      const then = taken.length;
      await until(() => (taken.length >= then + ORDERS_MIN ? true : undefined), LIMIT_MS, 'orders after the migration');
    } finally {
      isOver = true;
      await Promise.allSettled(buying);
      await api.close();
    }
    expect(refused).toEqual([]);
    await closeEverything();
    expect(await migrateDown(url, { later, database: name, isPooled: false })).toEqual({
      undone: 'Next1760000000999',
      remaining: MIGRATION_NAMES,
    });
    const kept = await asAdmin(url, async (client) =>
      client.query<{ key: string }>(`SELECT key FROM orders WHERE key LIKE 'next-%' ORDER BY key`),
    );
    expect(kept.rows.map(({ key }) => key)).toEqual(taken.sort());
  },
  LIMIT_MS,
);

it(
  'repeats a migration that a deadlock with a running process undid',
  async () => {
    await migrateUp(url);
    await asAdmin(url, async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT FROM credit_account FOR UPDATE');
      const migrating = migrateUp(url, { later });
      await until(
        async () => {
          // On a connection of its own: a transaction sees one state of all sessions.
          const { rowCount } = await asAdmin(url, (other) =>
            other.query(
              `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'energy-migrate'
                 AND wait_event_type = 'Lock'`,
            ),
          );
          return rowCount === 1 ? true : undefined;
        },
        20_000,
        'the migration to wait for credit_account',
      );
      // The migration holds `orders`. It waited first, so Postgres ends the deadlock by undoing the migration.
      await client.query('SELECT FROM orders LIMIT 1');
      await client.query('COMMIT');
      expect(await migrating).toEqual(['Next1760000000999']);
    });
  },
  LIMIT_MS,
);

/** Ends what keeps `migrate down` from running: nothing may be open. */
async function closeEverything(): Promise<void> {
  await asAdmin(url, (client) =>
    client.query(`SET session_replication_role = replica;
      UPDATE orders SET settled = true, status = 'refunded', next_run_at = NULL;
      UPDATE leg SET status = 'released';
      UPDATE chain_tx SET status = 'solid' WHERE status IN ('built', 'signed', 'sending', 'included');
      UPDATE orphan_tx SET gone_at = now();
      UPDATE credit_account SET balance_credits = 0`),
  );
}
