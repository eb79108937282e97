// A full verification reads each table a few times, and never once per row.
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import type { Database, Statement } from '../../../src/platform/database/database.js';
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
