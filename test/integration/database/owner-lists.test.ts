// Lists of one owner read its own rows by their index, even if the statistics make the primary key look cheaper.
import 'reflect-metadata';
import pg from 'pg';
import { LIST as DELEGATIONS } from '../../../src/modules/auto-delegations/auto-delegations.service.js';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { NEWEST_ENTRY } from '../../../src/modules/billing/ledger-sql.js';
import { STATE } from '../../../src/modules/console/go-live.js';
import { NEEDS, RUNNING, STEPS } from '../../../src/modules/console/home.service.js';
import { IS_ANY_BEFORE } from '../../../src/modules/console/project-records.js';
import { depositsBefore } from '../../../src/modules/console/top-up.service.js';
import { DepositList } from '../../../src/modules/deposits/deposit-list.js';
import { LIST as REFUSALS } from '../../../src/modules/requests/request-history.js';
import { OPEN } from '../../../src/modules/statements/open-month.js';
import { LIST as DELIVERIES, LIST_IN } from '../../../src/modules/webhooks/webhook-deliveries.js';
import { openApi, type TestApi } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import { PLAN_MODES, rowsRead } from '../../support/database/rows-read.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

/** The owner of the oldest rows, one in twenty. */
const QUIET = '00000000-0000-4000-8000-000000000001';
const BUSY = '00000000-0000-4000-8000-000000000002';
/** The owner of the newest rows, three in ten. */
const YOUNG = '00000000-0000-4000-8000-000000000003';
const ROWS = 20_000;
const QUIET_ROWS = ROWS / 20;
const LAST = '9223372036854775807';
const PAGE = 21;

const OWNER = `(CASE WHEN n <= ${QUIET_ROWS.toString()} THEN '${QUIET}' WHEN n > ${(ROWS * 0.7).toString()} THEN '${YOUNG}' ELSE '${BUSY}' END)::uuid`;
/** The planner expects half of the rows of each of two owners. */
const OLDER_OWNER = `(CASE WHEN n <= ${QUIET_ROWS.toString()} THEN '${QUIET}' ELSE '${BUSY}' END)::uuid`;
const AT = `now() - (${ROWS.toString()} - n) * interval '10 seconds'`;
const FILLED: readonly (readonly [table: string, columns: Readonly<Record<string, string>>])[] = [
  [
    'refused_request',
    {
      ...{ project_id: OWNER, at: AT, request_id: `'r' || n`, method: `'GET'`, path: `'/'`, status: '404' },
      ...{ error: `'NOT_FOUND'`, reason: `'none'`, source_address: `'10.0.0.1'` },
    },
  ],
  [
    'webhook_delivery',
    {
      ...{ endpoint_id: OWNER, cause: `'event'`, event_id: 'n', event_key: `'e' || n`, type: `'order.created'` },
      ...{ position: 'n', status: `'delivered'`, attempts: '1', created_at: AT, ended_at: AT, next_at: 'NULL' },
      ...{ is_fresh: 'false' },
    },
  ],
  [
    'auto_delegation',
    {
      ...{ project_id: OWNER, address: `'A' || n`, api_key_id: OWNER, keep_energy: '65000', refill_below: '65000' },
      ...{ duration_sec: '3600', idle_after_sec: '3600', daily_cap_credits: '1', due_at: 'NULL', check_at: 'NULL' },
      // Paused ones are as rare as the quiet owner's rows, but they are all of the busy one.
      paused_at: `CASE WHEN n % 20 = 0 AND n > ${QUIET_ROWS.toString()} THEN now() END`,
      pause_reason: `CASE WHEN n % 20 = 0 AND n > ${QUIET_ROWS.toString()} THEN 'spend_cap' END`,
    },
  ],
  [
    'credit_entry',
    {
      ...{ entry_key: `'charge:' || n`, project_id: OLDER_OWNER, contra: `'revenue'`, kind: `'charge'`, credits: '-1' },
      ...{ order_id: 'n', created_at: AT },
    },
  ],
  [
    'deposit',
    {
      ...{ project_id: OWNER, address: `'T'`, txid: 'sha256(n::text::bytea)', kind: `'log'`, place: '0' },
      ...{
        asset: `'USDT'`,
        from_address: `'T'`,
        amount: '1',
        block_number: 'n',
        block_id: `sha256('b')`,
        block_at: AT,
      },
      ...{ status: `'credited'`, credits: '1', rate_e8: '1', seen_at: AT, changed_at: AT },
    },
  ],
  [
    'orders',
    {
      ...{ project_id: OWNER, key: `'k' || n`, request_hash: `sha256('x')`, kind: `'rental'`, status: `'delivered'` },
      ...{ receive_address: `'R'`, energy: '65000', duration_sec: '3600', price_sun: '1', credits: '1' },
      ...{ trx_usd_e8: '1', settled: 'true', created_at: AT, delivered_at: AT, ends_at: AT, reclaimed_at: AT },
    },
  ],
  ['event', { project_id: OWNER, order_id: 'n', type: `'order.created'`, position: 'n', payload: `'{}'`, at: AT }],
];

let store: TestDatabase;
let redis: TestRedis;
let api: TestApi;

beforeAll(async () => {
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  api = await openApi(settings(store.url, { REDIS_URL: redis.url, LOG_LEVEL: 'silent' }));
  await asAdmin(store.url, async (client) => {
    // Only the rows matter here.
    await client.query(`SET session_replication_role = replica`);
    for (const [table, columns] of FILLED) {
      await client.query(
        `INSERT INTO ${table} (${Object.keys(columns).join(', ')}) SELECT ${Object.values(columns).join(', ')}
           FROM generate_series(1, ${ROWS.toString()}) n`,
      );
    }
    for (const owner of [QUIET, BUSY, YOUNG]) {
      await client.query(
        `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $1, 'https://example.com', 'x')`,
        [owner],
      );
      await client.query(`INSERT INTO webhook_state (endpoint_id) VALUES ($1)`, [owner]);
      await client.query(`INSERT INTO project (id, name, api_key_sealed) VALUES ($1::uuid, $1::text, 'x')`, [owner]);
      await client.query(`INSERT INTO credit_account (project_id) VALUES ($1)`, [owner]);
    }
    await client.query('ANALYZE');
  });
}, 120_000);

afterAll(async () => {
  await api.close();
  await store.drop();
  await redis.close();
});

describe.each(PLAN_MODES)('with %s', (mode) => {
  it.each([
    ['refused requests', REFUSALS.text, [QUIET, LAST, PAGE], PAGE],
    ['webhook deliveries', DELIVERIES.text, [QUIET, LAST, PAGE], PAGE],
    ['delivered webhooks', LIST_IN.delivered.text, [QUIET, LAST, PAGE], PAGE],
    ['auto-delegations', DELEGATIONS.text, [QUIET, LAST, 'active', 'infinity', PAGE], QUIET_ROWS],
    ['the newest entry', NEWEST_ENTRY.text, [QUIET], 1],
    ['the open month', OPEN.text, [QUIET, 100_001], QUIET_ROWS],
    ['running rentals', RUNNING.text, [QUIET, 100, 20], 100],
    ['problems', NEEDS.text, [QUIET], QUIET_ROWS + 100],
    ['the first steps', STEPS.text, [YOUNG], 1002],
    ['the state before going live', STATE.text, [YOUNG], 1],
    ['earlier events', IS_ANY_BEFORE.text, [YOUNG, LAST], 1],
  ] as const)('reads %s of one owner alone', async (_name, text, values, most) => {
    const read = await asAdmin(store.url, (client) => rowsRead(client, mode, text, values));
    expect(read).toBeLessThanOrEqual(most + FEW);
  });

  it.each([
    ['entries', () => api.app.get(Ledger).history(QUIET, PAGE)],
    ['deposits', () => api.app.get(DepositList).page({ merchant: QUIET }, PAGE - 1, undefined)],
    [
      'deposits of a console',
      () =>
        api.database.transaction((tx) => depositsBefore(tx, { scope: 'all', projectId: QUIET }, 2n ** 62n, PAGE - 1)),
    ],
  ] as const)('reads %s of one owner alone', async (_name, list) => {
    const [asked] = await statementsOf(list, /FROM "(credit_entry|deposit)"/);
    const read = await asAdmin(store.url, (client) => rowsRead(client, mode, asked!.text, asked!.values));
    expect(read).toBeLessThanOrEqual(PAGE);
  });
});

/** Rows of the small tables that statements read beside a list. */
const FEW = 20;

interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Returns the statements that match among those that `work` sends. */
async function statementsOf(work: () => Promise<unknown>, pattern: RegExp): Promise<Asked[]> {
  const asked: Asked[] = [];
  const { query } = pg.Client.prototype as unknown as { query: (this: unknown, ...args: unknown[]) => unknown };
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, second] = args as [string | { text?: string; values?: readonly unknown[] }, unknown];
    const text = typeof first === 'string' ? first : (first.text ?? '');
    const values = typeof first === 'string' ? second : first.values;
    if (pattern.test(text)) asked.push({ text, values: (values as unknown[] | undefined) ?? [] });
    return query.apply(this, args);
  } as typeof pg.Client.prototype.query;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query as typeof pg.Client.prototype.query;
  }
  return asked;
}
