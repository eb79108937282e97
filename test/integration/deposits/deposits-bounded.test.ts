// The work per block is independent of earlier payments, and one project's lock does not delay other projects'
// deposits.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { until } from '../../../packages/local/src/wait.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { Database, type Transaction } from '../../../src/platform/database/database.js';
import {
  START_LIMIT_MS,
  type DepositProject,
  calm,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  laterRate,
  openFixture,
  operator,
  payTrx,
  rates,
  settle,
  newDepositProject,
  sightings,
  solid,
  worker,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

const taken = async (): Promise<void> => {
  await settle();
  await follow();
};

/** Inserts small payments of one sun each in earlier blocks, rated at 0.30 by default. */
async function dust({ id, address }: DepositProject, count: number, rate: bigint | null = 30_000_000n): Promise<void> {
  await database.query(
    `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at,
        status, reason, rate_e8)
     SELECT sha256(convert_to($1 || n, 'UTF8')), 'native', 0, $2, $3, 'T', 'TRX', 1, c.block_number, c.block_id, c.block_at,
        'pending', 'below_minimum', $5 FROM generate_series(1, $4::integer) n CROSS JOIN deposit_cursor c`,
    [randomBytes(8).toString('hex'), id, address, count, rate],
  );
  // As autovacuum would.
  await database.query(`ANALYZE deposit`);
}

/** Returns the deposit rows that sessions of this database read or changed during `work`. */
async function rowsTouched(work: () => Promise<void>): Promise<number> {
  // As autovacuum does at any time. The few sums change too rarely to get statistics.
  await database.query(`VACUUM ANALYZE deposit`);
  const before = await rowsReported();
  await work();
  return (await rowsReported()) - before;
}

/** More than the connections of a process here. */
const SESSIONS_MAX = 16;

/** Has every session report its work, which Postgres delays by up to ten seconds in an idle one, and returns the total. */
async function rowsReported(): Promise<number> {
  const reported = new Set<number>();
  const askAll = async (): Promise<true | undefined> => {
    const queries = [database, worker.get(Database), operator.get(Database)].flatMap((pool) =>
      Array.from({ length: SESSIONS_MAX }, () =>
        pool.query<{ pid: number }>(`SELECT pg_backend_pid() AS pid, pg_stat_force_next_flush(), pg_sleep(0.2)`),
      ),
    );
    for (const [row] of await Promise.all(queries)) reported.add(row!.pid);
    const sessions = await database.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND query NOT LIKE 'LISTEN%'`,
    );
    return sessions.every(({ pid }) => reported.has(pid)) || undefined;
  };
  await until(askAll, START_LIMIT_MS, 'the report of every session');
  await database.query(`SELECT pg_stat_clear_snapshot()`);
  const [row] = await database.query<{ rows: number }>(
    `SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0) + n_tup_upd)::float8 AS rows FROM pg_stat_user_tables WHERE relname = 'deposit'`,
  );
  return row!.rows;
}

const passesUntil = async (isDone: () => Promise<boolean>): Promise<void> => {
  for (let pass = 0; pass < 200; pass += 1) {
    if (await isDone()) return;
    await follow();
  }
  throw new Error('it is not done after 200 passes');
};

const statesOf = async ({ id }: DepositProject): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await database.query<{ status: string; count: number }>(
        `SELECT status, count(*)::integer AS count FROM deposit WHERE project_id = $1 GROUP BY status`,
        [id],
      )
    ).map(({ status, count }) => [status, count]),
  );

const joined = async ({ id }: DepositProject): Promise<boolean> =>
  (
    await database.query(
      `SELECT FROM deposit WHERE project_id = $1 AND status = 'pending' AND rate_e8 IS NOT NULL AND sum_id IS NULL LIMIT 1`,
      [id],
    )
  ).length === 0;

describe('a project with many small payments', () => {
  it('is credited with all of them by one payment that reaches the minimum, and a block reads a bounded number of rows', async () => {
    const [to, other] = [await newDepositProject(), await newDepositProject()];
    await dust(to, 12_000);
    await passesUntil(() => joined(to));
    await payTrx(to, 10_000_000);
    await payTrx(other, 10_000_000);
    await settle();
    const touched = await rowsTouched(async () => follow());
    // Three blocks and the passes before them, with at most 500 rows for each of a few statements.
    expect(touched).toBeLessThan(8000);
    // 10.012 TRX at 0.30, immediately. The small payments follow in batches.
    expect(await creditedTo(to)).toBe(30_036_000n);
    expect(await creditedTo(other)).toBe(30_000_000n);
    expect((await statesOf(to))['pending']).toBeGreaterThan(0);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
    await passesUntil(async () => (await statesOf(to))['pending'] === undefined);
    expect(await statesOf(to)).toEqual({ credited: 12_001 });
    expect(await creditedTo(to)).toBe(30_036_000n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('does the same work for one more small payment, however many came before', async () => {
    const [few, many] = [await newDepositProject(), await newDepositProject()];
    await dust(few, 10);
    await dust(many, 20_000);
    await passesUntil(async () => (await joined(few)) && (await joined(many)));
    const workFor = async (to: DepositProject): Promise<number> => {
      await payTrx(to, 1);
      await settle();
      return rowsTouched(async () => follow());
    };
    const [forFew, forMany] = [await workFor(few), await workFor(many)];
    expect(forMany).toBeLessThan(forFew + 1000);
  });

  it('gets rates for the waiting ones in batches, and credit for their sum', async () => {
    const to = await newDepositProject();
    await rates(
      () => undefined,
      () => 100_000_000n,
    );
    await dust(to, 1500, null);
    await payTrx(to, 9_999_000);
    await taken();
    expect(await creditedTo(to)).toBe(0n);
    await laterRate('TRX', 30_000_000n);
    await passesUntil(async () => (await statesOf(to))['credited'] === 1501);
    expect(await creditedTo(to)).toBe(30_001_500n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('is credited only together with its sum', async () => {
    const to = await newDepositProject();
    await payTrx(to, 4_000_000);
    await payTrx(to, 5_000_000);
    await taken();
    const alone = database.query(
      `UPDATE deposit SET status = 'credited', reason = NULL, entry_key = 'deposit:' || encode(txid, 'hex') || ':native:0',
         credits = 12000000 WHERE project_id = $1`,
      [to.id],
    );
    await expect(alone).rejects.toThrow('its sum is decided with another deposit');
    await payTrx(to, 1_000_000);
    await taken();
    expect(await creditedTo(to)).toBe(30_000_000n);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });
});

describe('a lock that another session holds', () => {
  /** Holds a statement's locks while `work` runs. */
  async function locked(statement: string, params: readonly unknown[], work: () => Promise<void>): Promise<void> {
    await database.transaction(async (tx: Transaction) => {
      expect(await tx.query(statement, params)).not.toEqual([]);
      await work();
    });
  }

  it.each([
    ['project', `SELECT id FROM project WHERE id = $1 FOR UPDATE`],
    ['balance', `SELECT project_id FROM credit_account WHERE project_id = $1 FOR UPDATE`],
  ])('on a project’s %s delays its own deposits alone, and they are credited once it ends', async (_of, statement) => {
    const [busy, other] = [await newDepositProject(), await newDepositProject()];
    await locked(statement, [busy.id], async () => {
      await payTrx(busy, 20_000_000);
      await payTrx(busy, 1_000_000);
      await payTrx(other, 20_000_000);
      await taken();
      expect(await creditedTo(other)).toBe(60_000_000n);
      expect(await depositsOf(busy)).toEqual([]);
      // The next block continues too, and no payment is parked twice.
      await payTrx(other, 20_000_000);
      await taken();
      expect(await creditedTo(other)).toBe(120_000_000n);
      expect(await database.query(`SELECT FROM parked_payment`)).toHaveLength(2);
      expect(await solid()).toBe(
        Number((await database.query<{ n: bigint }>(`SELECT block_number AS n FROM deposit_cursor`))[0]!.n),
      );
    });
    await follow();
    expect(await creditedTo(busy)).toBe(60_000_000n);
    expect((await depositsOf(busy)).map(({ amount, status }) => `${amount} ${status}`)).toEqual([
      '20000000 credited',
      '1000000 pending',
    ]);
    expect(await database.query(`SELECT FROM parked_payment`)).toEqual([]);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
  });

  it('on a deposit seen at the head delays that one alone', async () => {
    const [busy, other] = [await newDepositProject(), await newDepositProject()];
    await payTrx(busy, 20_000_000);
    await sightings();
    expect(await depositsOf(busy)).toMatchObject([{ status: 'pending', reason: 'not_solid' }]);
    await locked(`SELECT id FROM deposit WHERE project_id = $1 FOR UPDATE`, [busy.id], async () => {
      await payTrx(other, 20_000_000);
      await taken();
      expect(await creditedTo(other)).toBe(60_000_000n);
      expect(await depositsOf(busy)).toMatchObject([{ status: 'pending', reason: 'not_solid' }]);
    });
    await follow();
    expect(await creditedTo(busy)).toBe(60_000_000n);
    expect(await depositsOf(busy)).toMatchObject([{ status: 'credited' }]);
  });

  it('on a deposit that waits for a rate delays that one alone', async () => {
    const [busy, other] = [await newDepositProject(), await newDepositProject()];
    await rates(
      () => undefined,
      () => 100_000_000n,
    );
    await payTrx(busy, 20_000_000);
    await payTrx(other, 20_000_000);
    await taken();
    await laterRate('TRX', 30_000_000n);
    await locked(`SELECT id FROM deposit WHERE project_id = $1 FOR UPDATE`, [busy.id], async () => {
      await follow();
      expect(await creditedTo(other)).toBe(60_000_000n);
      expect(await creditedTo(busy)).toBe(0n);
    });
    await follow();
    expect(await creditedTo(busy)).toBe(60_000_000n);
  });
});
