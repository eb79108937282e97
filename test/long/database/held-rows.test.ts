// Another session holds a row or table lock, as an idle psql would. Other projects are served, delivered, settled and
// reclaimed meanwhile, and the blocked work is caught up afterwards.
import pg from 'pg';
import { until } from '../../../packages/local/src/wait.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

const LIMIT_MS = 40_000;
/** `HOLD_SEC=60` in a manual run holds every lock for a minute. */
const HOLD_SEC = Number(process.env['HOLD_SEC'] ?? '0');

let fixture: ReconciliationFixture;
let victim: Customer;
let other: Customer;
const receiver = (index: number): string => fixture.service.accounts[index % fixture.service.accounts.length]!.address;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
  victim = await makeCustomer(fixture.api, 100_000_000_000n);
  other = await makeCustomer(fixture.api, 100_000_000_000n);
});

afterAll(() => fixture.close());

/** Holds the locks of `statements` until `work` is done. */
async function whileHeld<T>(statements: readonly string[], work: () => Promise<T>): Promise<T> {
  const holder = new pg.Client({ connectionString: fixture.service.databaseUrl, query_timeout: 10_000 });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    for (const statement of statements) await holder.query(statement);
    return await work();
  } finally {
    await holder.query('ROLLBACK').catch(() => undefined);
    await holder.end();
  }
}

async function buy(customer: Customer, index: number, durationSec = 60): Promise<string> {
  const order = { receive_address: receiver(index), energy: 70_000 + index, duration_sec: durationSec };
  const answer = await customer.post('/v1/orders', order);
  if (answer.status !== 202) throw new Error(`answered ${answer.status.toString()} ${String(answer.body.error)}`);
  return String(answer.body.key);
}

interface Seen {
  readonly id: bigint;
  readonly status: string;
  readonly settled: boolean;
  readonly over: boolean;
}

async function see(key: string): Promise<Seen> {
  const [row] = await fixture.database.query<Seen>(
    `SELECT id, status, settled, NOT EXISTS (SELECT FROM leg WHERE order_id = o.id AND status NOT IN ('reclaimed', 'released')) AS over
       FROM orders o WHERE key = $1`,
    [key],
  );
  return row!;
}

async function untilSeen(key: string, what: string, isSo: (seen: Seen) => boolean): Promise<Seen> {
  return until(
    async () => {
      const seen = await see(key);
      return isSo(seen) ? seen : undefined;
    },
    LIMIT_MS,
    `${key} being ${what}`,
    50,
  );
}

/** Runs complete orders of another project, several concurrently, and repeats until the hold has lasted. */
async function othersGoOn(): Promise<void> {
  const untilMs = performance.now() + HOLD_SEC * 1000;
  do {
    const keys: string[] = [];
    for (const index of [1, 2, 3, 4]) keys.push(await buy(other, index));
    for (const key of keys) await untilSeen(key, 'settled', ({ settled }) => settled);
    for (const key of keys) await untilSeen(key, 'reclaimed and over', ({ over }) => over);
  } while (performance.now() < untilMs);
}

type Moment = 'just bought' | 'on its way' | 'running';

async function victimAt(moment: Moment): Promise<string> {
  const key = await buy(victim, 5, 60);
  if (moment === 'on its way') await untilSeen(key, 'placed', ({ status }) => status !== 'reserved');
  if (moment === 'running') await untilSeen(key, 'settled', ({ settled }) => settled);
  return key;
}

const ORDER = `(SELECT max(id) FROM orders)`;
const VICTIM_ACCOUNT = 'the credit account of one project';
const ROWS: readonly (readonly [string, Moment, string])[] = [
  ['the row of an order just bought', 'just bought', `SELECT FROM orders WHERE id = ${ORDER} FOR UPDATE`],
  ['the row of an order on its way', 'on its way', `SELECT FROM orders WHERE id = ${ORDER} FOR UPDATE`],
  ['the row of a running order', 'running', `SELECT FROM orders WHERE id = ${ORDER} FOR UPDATE`],
  ['a leg on its way', 'on its way', `SELECT FROM leg WHERE order_id = ${ORDER} FOR UPDATE`],
  ['a leg of a running order', 'running', `SELECT FROM leg WHERE order_id = ${ORDER} FOR UPDATE`],
  ['a chain transaction on its way', 'on its way', `SELECT FROM chain_tx WHERE order_id = ${ORDER} FOR UPDATE`],
  ['a chain transaction of a running order', 'running', `SELECT FROM chain_tx WHERE order_id = ${ORDER} FOR UPDATE`],
  [VICTIM_ACCOUNT, 'on its way', `SELECT FROM credit_account WHERE project_id = 'VICTIM' FOR UPDATE`],
  ['the row of one project', 'on its way', `SELECT FROM project WHERE id = 'VICTIM' FOR UPDATE`],
  [
    'one slot',
    'on its way',
    `SELECT FROM pool_slot WHERE (wallet_id, slot_no) = (SELECT wallet_id, min(slot_no) FROM pool_slot GROUP BY 1 ORDER BY 1 LIMIT 1) FOR UPDATE`,
  ],
  [
    'all slots of one wallet',
    'on its way',
    `SELECT FROM pool_slot WHERE wallet_id = (SELECT min(id) FROM pool_wallet) FOR UPDATE`,
  ],
  ['a pool wallet', 'on its way', `SELECT FROM pool_wallet WHERE id = (SELECT min(id) FROM pool_wallet) FOR UPDATE`],
  ['the reconciler’s row', 'on its way', `SELECT FROM reconcile_state FOR UPDATE`],
  ['all shared readings', 'on its way', `SELECT FROM market_state FOR UPDATE`],
  ['all broadcasts', 'on its way', `SELECT FROM broadcast FOR UPDATE`],
  ['all ledger entries', 'on its way', `SELECT FROM credit_entry FOR UPDATE`],
  ['all order events', 'on its way', `SELECT FROM event FOR UPDATE`],
  ['the audit log', 'on its way', `LOCK TABLE audit_log IN SHARE ROW EXCLUSIVE MODE`],
  ['the table of unrecorded transactions', 'on its way', `LOCK TABLE orphan_tx IN SHARE ROW EXCLUSIVE MODE`],
  ['the table of shared readings', 'on its way', `LOCK TABLE market_state IN SHARE ROW EXCLUSIVE MODE`],
  ['the table of the reconciler', 'on its way', `LOCK TABLE reconcile_state IN SHARE ROW EXCLUSIVE MODE`],
];

it.each(ROWS)(
  'while another session holds %s, everybody else is delivered, settled and reclaimed',
  async (_what, moment, lock) => {
    await fixture.syncAll();
    const key = await victimAt(moment);
    await whileHeld([lock.replace('VICTIM', victim.merchant)], othersGoOn);
    await untilSeen(key, 'settled', ({ settled }) => settled);
    await untilSeen(key, 'reclaimed and over', ({ over }) => over);
  },
  120_000 + HOLD_SEC * 1000,
);

const heldTransactions = async (): Promise<number> =>
  Number((await fixture.metric('held_transactions'))[0]!.split(' ')[1]);

it('a held order does not move, and a gauge shows it until it does', async () => {
  await fixture.syncAll();
  const key = await buy(victim, 5);
  await untilSeen(key, 'placed', ({ status }) => status !== 'reserved');
  await whileHeld([`SELECT FROM leg WHERE order_id = ${ORDER} FOR UPDATE`], async () => {
    await othersGoOn();
    expect(await see(key)).toMatchObject({ settled: false });
    expect(await heldTransactions()).toBeGreaterThan(0);
  });
  await untilSeen(key, 'reclaimed and over', ({ over }) => over);
  await until(async () => ((await heldTransactions()) === 0 ? true : undefined), LIMIT_MS, 'nothing being held');
});

it.each(['orders', 'leg', 'pool_slot', 'credit_account', 'credit_entry'])(
  'while another session holds the whole table %s, purchases are refused for now, and all goes on by itself afterwards',
  async (table) => {
    await fixture.syncAll();
    const before = await buy(other, 1);
    const refused = await whileHeld([`LOCK TABLE ${table} IN SHARE MODE`], () =>
      other.post('/v1/orders', { receive_address: receiver(2), energy: 70_000, duration_sec: 60 }),
    );
    expect([refused.status, refused.body.error]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const after = await buy(other, 2);
    for (const key of [before, after]) await untilSeen(key, 'reclaimed and over', ({ over }) => over);
  },
  120_000,
);

it('the records agree after everything that was held', async () => {
  expect(findingsOf(await fixture.verify())).toEqual([]);
});
