// A full verification reads each table a few times, and never once per row. A pass over newer records reads few deposits.
import { NEWER_DEPOSIT_CHECKS } from '../../../src/modules/verify/deposit-checks.js';
import { runRecordCheck } from '../../../src/modules/verify/record-check.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import type { Database, Statement, Transaction } from '../../../src/platform/database/database.js';
import { ENDED_TABLES, insertEnded } from '../../support/database/ended-orders.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const ORDERS = 3000;
/** Maximum number of reads of each row of a table by one check. */
const TIMES_MAX = 12;
const LIMIT_MS = 60_000;

let database: TestDatabase;
let redis: TestRedis;
let api: TestApi;

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  api = await openApi(settings(database.url, { REDIS_URL: redis.url, LOG_LEVEL: 'silent' }));
}, LIMIT_MS);

afterAll(async () => {
  await api.close();
  await database.drop();
  await redis.close();
}, LIMIT_MS);

type Node = Readonly<Record<string, unknown>>;

/** Returns the rows read from each table, including filtered ones. */
function readIn(plan: unknown): Map<string, number> {
  const read = new Map<string, number>();
  JSON.stringify(plan, (_, node: unknown) => {
    if (typeof node !== 'object' || node === null || !('Relation Name' in node)) return node;
    const of = (name: string): number => Number((node as Node)[name] ?? 0);
    const rows = of('Actual Rows') + of('Rows Removed by Filter') + of('Rows Removed by Index Recheck');
    const table = String((node as Node)['Relation Name']);
    read.set(table, (read.get(table) ?? 0) + rows * of('Actual Loops'));
    return node;
  });
  return read;
}

/** Explains every statement in a transaction and keeps its plan and row counts. */
function explained(on: Database, plans: Map<string, unknown>): Database {
  const transaction: Database['transaction'] = (work) =>
    on.transaction((tx) =>
      work({
        ...tx,
        query: async (statement: Statement | string, params: readonly unknown[] = []) => {
          const text = typeof statement === 'string' ? statement : statement.text;
          if (/^(SELECT|WITH)/.test(text)) {
            const [row] = await tx.query<Node>(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`, params);
            plans.set(text, row?.['QUERY PLAN']);
          }
          return tx.query(statement, params);
        },
      }),
    );
  return new Proxy(on, {
    get: (of, name) => (name === 'transaction' ? transaction : (Reflect.get(of, name) as unknown)),
  });
}

test(
  'of thousands of orders no check reads any table once for each',
  async () => {
    const { merchant } = await makeCustomer(api, 0n);
    await api.database.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await insertEnded((text, params) => tx.query(text, params), {
        projects: [merchant],
        receiver: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
        poolWallet: 1,
        activationWallet: 2,
        begins: { delegate: 'd0', reclaim: 'e0', activate: 'a0' },
        from: 1,
        to: ORDERS,
        isArchived: false,
      });
    });
    for (const table of ENDED_TABLES) await api.database.query(`ANALYZE ${table}`);
    const plans = new Map<string, unknown>();
    const { checks, unmade } = await verifyRecords(explained(api.database, plans));
    // Without a chain only the record checks run, each with at least one statement.
    expect(plans.size).toBeGreaterThanOrEqual(checks.length);
    expect(unmade.filter(({ why }) => why !== 'the chain was not checked')).toEqual([]);
    // Each order has an entry and a key; other tables have at most two rows per order.
    const most = ORDERS * 2 * TIMES_MAX;
    const tooOften = [...plans].flatMap(([text, plan]) =>
      [...readIn(plan)].filter(([, rows]) => rows > most).map(([table, rows]) => [table, rows, text.slice(-300)]),
    );
    expect(tooOften).toEqual([]);
  },
  LIMIT_MS,
);

/** Deposits of each kind that lie before the newer ones: credited three days ago, and too small until now. */
const OLDER_DEPOSITS = 20_000;
const PAID_IN = [
  `INSERT INTO deposit_token (contract, from_block) VALUES ('TToken', 0)`,
  `INSERT INTO deposit_account (account, first_address) VALUES (7, 'TAddress')`,
  `INSERT INTO deposit_address (address, account, place, project_id) VALUES ('TAddress', 7, 0, $1)`,
];
/** $1: project, $2: number of deposits, $3: name, $4: status, $5: reason, $6: days since the change, $7: token. */
const PAY = `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at,
    contract, status, reason, rate_e8, entry_key, credits, changed_at)
  SELECT sha256(convert_to($3 || n, 'UTF8')), 'log', 0, $1, 'TAddress', 'TPayer', 'USDT', 1000000, n, sha256('block'), now(), $7, $4, $5,
         100000000, CASE $4 WHEN 'credited' THEN $3 || n END, CASE $4 WHEN 'credited' THEN 10000000 END, now() - $6 * interval '1 day'
    FROM generate_series(1, $2::integer) n RETURNING id`;

/** Adds deposits as only the database's owner can, calls `work` and rolls back. */
async function withDeposits(work: (tx: Transaction, merchant: string) => Promise<void>): Promise<void> {
  const { merchant } = await makeCustomer(api, 0n);
  const undone = new Error('undone');
  const plant = async (tx: Transaction): Promise<void> => {
    await tx.query('SET LOCAL session_replication_role = replica');
    for (const statement of PAID_IN) await tx.query(statement.replace('$1', `'${merchant}'`));
    await work(tx, merchant);
    throw undone;
  };
  await expect(api.database.transaction(plant)).rejects.toBe(undone);
}

test(
  'a pass reads a bounded number of deposits, and finds the false ones among newer, waiting and newly credited ones',
  () =>
    withDeposits(async (tx, merchant) => {
      const pay = async (count: number, name: string, status: string, reason: string | null, days = 3) => {
        const token = count === 1 ? 'TOther' : 'TToken';
        const rows = await tx.query<{ id: bigint }>(PAY, [merchant, count, name, status, reason, days, token]);
        return `deposit ${rows[0]!.id.toString()}`;
      };
      const older = [
        await pay(1, 'held', 'held', 'rate_jump'),
        await pay(1, 'waiting', 'pending', 'no_rate'),
        await pay(1, 'newly credited', 'credited', null, 1),
      ];
      await pay(OLDER_DEPOSITS, 'credited', 'credited', null);
      await pay(OLDER_DEPOSITS, 'small', 'pending', 'below_minimum');
      const wrong = [...older, await pay(1, 'newest', 'pending', 'below_minimum')].sort();
      await tx.query(`UPDATE deposit SET address = 'TNobody' WHERE contract = 'TOther'`);
      await tx.query(`ANALYZE deposit`);
      const terms = { settleWithinSec: 900, findingsMax: 100 };
      const found = new Map<string, readonly string[]>();
      for (const check of NEWER_DEPOSIT_CHECKS) {
        const [row] = await tx.query<Node>(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${check.text}`);
        const read = readIn(row!['QUERY PLAN']).get('deposit') ?? 0;
        expect([check.check, read < OLDER_DEPOSITS / 2 || read]).toEqual([check.check, true]);
        const { findings } = await runRecordCheck(tx, check, terms);
        found.set(check.check, findings.map(({ subject }) => subject).sort());
      }
      expect(found.get('deposit-token')).toEqual(wrong);
      expect(found.get('deposit-address')).toEqual(wrong);
      expect(found.get('deposit-credits')).toEqual([older[2]]);
    }),
  LIMIT_MS,
);
