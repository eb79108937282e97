// Records in which every kind of change happened once. Rentals were delivered, extended, reclaimed and refunded on the
// local chain. Further changes are bookings of every kind, deposits, an auto-delegation, numbered and pruned events,
// and a delivered webhook. `planted` adds a false row, runs `verify`, and rolls back.
import { createHash, randomUUID } from 'node:crypto';
import { CreditRequests } from '../../../src/modules/billing/credit-requests.js';
import { credits } from '../../../src/domain/units.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { pruneEvents } from '../../../src/modules/events/retention.js';
import { FulfilmentLoop } from '../../../src/modules/fulfilment/loop/fulfilment-loop.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { requestHash } from '../../../src/modules/orders/request-hash.js';
import { recordAct } from '../../../src/platform/database/audit-log.js';
import type { Database, Statement, Transaction } from '../../../src/platform/database/database.js';
import type { Report } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { until } from '../../../packages/local/src/wait.js';
import { HmacCustomer } from '../../support/api/client.js';
import { AUTHOR, keepSelling } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { refundOrder, withKey } from '../../support/api/order-fixture.js';
import { ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

const LIMIT_MS = 120_000;
/** Id of a revoked key. */
const REVOKED_KEY = randomUUID();
/** Ids that the planted statements use. */
export interface History {
  readonly fixture: ReconciliationFixture;
  readonly project: string;
  /** Delivered, extended, and running. */
  readonly running: bigint;
  /** Delivered and reclaimed. */
  readonly ended: bigint;
  readonly refunded: bigint;
}

export async function openHistory(): Promise<History> {
  const fixture = await ReconciliationFixture.open();
  const { customer, api } = fixture;
  const receiver = (index: number): string => fixture.service.accounts[index]!.address;
  await fixture.syncAll();
  const running = await fixture.rent(receiver(0), 65_000, 86_400);
  const ended = await fixture.rent(receiver(1), 66_000, 60);
  await until(() => isReclaimed(fixture, ended), LIMIT_MS, 'the reclaim');
  const [{ key } = { key: '' }] = await api.database.query<{ key: string }>(`SELECT key FROM orders WHERE id = $1`, [
    running,
  ]);
  await until(() => extended(fixture, key), LIMIT_MS, 'the extension');
  // From here on the worker makes no changes.
  await fixture.worker.get(FulfilmentLoop).stop();
  const bought = await fixture.buy(receiver(2), 67_000);
  await refundOrder(api, customer.merchant, bought.key);
  const [{ id: refunded } = { id: 0n }] = await api.database.query<{ id: bigint }>(
    `SELECT id FROM orders WHERE key = $1`,
    [bought.key],
  );
  const history = { fixture, project: customer.merchant, running, ended, refunded };
  await book(history);
  await payIn(history);
  await keepSupplied(history, receiver(2));
  await reportEverything(history);
  return history;
}

async function isReclaimed({ database }: ReconciliationFixture, id: bigint): Promise<true | undefined> {
  const rows = await database.query(
    `SELECT FROM orders o WHERE id = $1 AND reclaimed_at IS NOT NULL AND next_run_at IS NULL
       AND NOT EXISTS (SELECT FROM leg WHERE order_id = o.id AND status <> 'reclaimed')`,
    [id],
  );
  return rows.length > 0 ? true : undefined;
}

/** Retried, because a worker may hold the order. */
async function extended({ api, customer }: ReconciliationFixture, key: string): Promise<true | undefined> {
  await keepSelling(api.database);
  const signing = new HmacCustomer(api.baseUrl, customer.merchant, customer.apiKey);
  const answer = await signing.post(`/v1/orders/${key}/extensions`, { duration_sec: 3600 }, withKey('an-hour-more'));
  if (answer.status === 400) throw new Error(JSON.stringify(answer.body));
  return answer.status === 200 ? true : undefined;
}

/**
 * Books an adjustment, a compensation, a top-up approved by a second person, a debt limit, a daily cap and a revoked
 * key.
 */
async function book({ fixture, project, running }: History): Promise<void> {
  const { ledger, database } = fixture.api;
  await ledger.adjust(project, credits(-1000), 'a-correction', AUTHOR);
  await ledger.compensate(running, credits(50), AUTHOR);
  await ledger.setTerms(project, { kind: 'postpaid', debtLimitCredits: credits(5_000_000) }, AUTHOR);
  await ledger.setLowBalance(project, credits(100), AUTHOR);
  await ledger.setDailyCap(project, credits(9_000_000_000), AUTHOR);
  const admins = await database.query<{ id: string; email: string }>(
    `INSERT INTO person (audience, email, password_hash) SELECT 'operator', 'admin' || n || '@operator.example', 'none'
       FROM generate_series(1, 2) n RETURNING id, email`,
  );
  const [asker, approver] = admins.map(({ id, email }) => ({ personId: id, email })) as [Admin, Admin];
  const requests = new CreditRequests(database, ledger, undefined as never);
  const id = randomUUID();
  await requests.requestCredits(
    id,
    { projectId: project, kind: 'topup', credits: credits(700), reference: 'asked-1' },
    asker,
    'paid',
  );
  await requests.approve(id, approver, 'seen', () => Promise.resolve());
  await database.query(
    `INSERT INTO api_key (id, project_id, name, scopes, allowed_sources, daily_cap_credits, sealed, revoked_at)
     VALUES ($1, $2, 'old', '{read}', '{192.0.2.1}', 500, '\\x00', now())`,
    [REVOKED_KEY, project],
  );
  const options = { name: 'old', scopes: ['read'], allowedSources: ['192.0.2.1'], dailyCapCredits: 500n };
  await database.transaction((tx) =>
    recordAct(tx, AUTHOR, { action: 'key.create', subject: project, detail: { key: REVOKED_KEY, ...options } }),
  );
  // The newer act counts; the project accepts every source again.
  for (const detail of [
    { allowedSources: ['192.0.2.1'], signatureSchemes: 'either', requireQuote: false, requireIdempotencyKey: false },
    { allowedSources: [] },
  ])
    await database.transaction((tx) => recordAct(tx, AUTHOR, { action: 'project.options', subject: project, detail }));
  await database.query(
    `INSERT INTO audit_log (actor, action, subject, reason, detail)
     VALUES ('test', 'key.revoke', $2, 'lost', jsonb_build_object('key', $1::text))`,
    [REVOKED_KEY, project],
  );
}

type Admin = Parameters<CreditRequests['requestCredits']>[2];

const TXID = `sha256(convert_to('deposit ' || $1::text, 'UTF8'))`;
/** The account, address and rate that the deposits need. */
const PAY_IN = [
  `INSERT INTO deposit_account (account, first_address) VALUES (7, 'TDepositAddress7') ON CONFLICT DO NOTHING`,
  `INSERT INTO deposit_address (address, account, place, project_id) VALUES ('TDepositAddress7', 7, 0, $2) ON CONFLICT DO NOTHING`,
  `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ('TRX', date_trunc('minute', now() - interval '1 hour'), 30000000) ON CONFLICT DO NOTHING`,
];
const DEPOSIT = `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at,
    status, reason, rate_e8, entry_key, credits)
  SELECT t.txid, 'native', 0, $2, 'TDepositAddress7', 'TPayer', 'TRX', 20000000, 1000 + $1::integer, sha256('block'),
         now() - interval '1 hour', $3::text, CASE $3 WHEN 'held' THEN 'rate_jump' END, 30000000,
         CASE $3 WHEN 'credited' THEN t.key END, CASE $3 WHEN 'credited' THEN 60000000 END
    FROM (SELECT ${TXID} AS txid, 'deposit:' || encode(${TXID}, 'hex') || ':native:0' AS key) t RETURNING id`;

/** Adds three deposits: one credited, one credited and returned, one ignored by the operator. */
async function payIn({ fixture, project }: History): Promise<void> {
  const { database, ledger } = fixture.api;
  await database.transaction(async (tx) => {
    for (const statement of PAY_IN) await tx.query(statement.replaceAll('$2', `'${project}'`));
    for (const n of [1, 2]) {
      const [row] = await tx.query<{ key: string }>(
        `SELECT 'deposit:' || encode(${TXID}, 'hex') || ':native:0' AS key`,
        [n],
      );
      const entry = { entryKey: row!.key, projectId: project, credits: credits(60_000_000) };
      await ledger.enterDeposit(tx, { ...entry, actor: 'chain', reason: 'deposit' });
      const [{ id } = { id: 0n }] = await tx.query<{ id: bigint }>(DEPOSIT, [n, project, 'credited']);
      await ledger.moveBalances(tx, new Map([[project, 60_000_000n]]));
      if (n === 1) continue;
      const entryKey = `adjustment:deposit-${id.toString()}-returned`;
      await tx.query(
        `INSERT INTO deposit_return (deposit_id, to_address, entry_key, txid, expires_at)
         VALUES ($1, 'TPayer', $2, sha256('return'), now() + interval '1 day')`,
        [id, entryKey],
      );
      await recordAct(tx, AUTHOR, {
        action: 'deposits.return',
        subject: id.toString(),
        detail: { to: 'TPayer', txid: createHash('sha256').update('return').digest('hex'), credits: 60_000_000n },
      });
      await ledger.withdrawDeposit(tx, { entryKey, projectId: project, credits: credits(60_000_000), author: AUTHOR });
    }
    const [{ id } = { id: 0n }] = await tx.query<{ id: bigint }>(DEPOSIT, [3, project, 'held']);
    await tx.query(
      `INSERT INTO audit_log (actor, action, subject, reason, detail) VALUES ('test', 'deposits.ignore', $1, 'not ours', '{}')`,
      [id.toString()],
    );
    await tx.query(`UPDATE deposit SET status = 'ignored', reason = 'not ours' WHERE id = $1`, [id]);
  });
}

const BUY = `SELECT buy_for_auto_delegation(id, fence, $2, $3, 30000, 3600, 1500000, 4500000, 30000000, 3500000000, 1000, 20, NULL, $4)
  FROM auto_delegation WHERE id = $1`;

/** Makes two purchases of an auto-delegation: one refunded, one open. */
async function keepSupplied({ fixture, project }: History, address: string): Promise<void> {
  const { api } = fixture;
  const [{ id } = { id: 0n }] = await api.database.query<{ id: bigint }>(
    `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, idle_after_sec, daily_cap_credits)
     VALUES ($1, $2, $1, 30000, 30000, 3600, 86400, 900000000) RETURNING id`,
    [project, address],
  );
  const hash = requestHash({ kind: 'direct', receiveAddress: address, energy: 30_000n as never, durationSec: 3600 });
  for (const number of [1n, 2n]) {
    const key = `auto_${id.toString()}_${number.toString()}`;
    await api.database.query(`UPDATE pool_wallet SET sells_until = now() + interval '1 hour'`);
    await api.database.query(BUY, [id, number, hash, key]);
    if (number === 1n) await refundOrder(api, project, key);
  }
}

/** Numbers every event, prunes the oldest three, and makes deliveries of the later ones. */
async function reportEverything({ fixture, project }: History): Promise<void> {
  const { database } = fixture.api;
  const numberer = new Numberer(database, new Metrics(), openLog('silent'));
  while ((await numberer.numberBatch()) > 0);
  await database.query(`UPDATE clock_mark SET seen_at = clock_timestamp(), followed_at = clock_timestamp()`);
  await pruneEvents(database, 0, 3);
  const [endpoint] = await database.query<{ id: string }>(
    `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed) VALUES ($1, $2, 'https://merchant.example/hook', '\\x00') RETURNING id`,
    [randomUUID(), project],
  );
  await fixture.api.ledger.setFrozen(project, true, AUTHOR);
  await fixture.api.ledger.setFrozen(project, false, AUTHOR);
  while ((await numberer.numberBatch()) > 0);
  await database.query(
    `UPDATE webhook_delivery SET status = 'delivered', attempts = 1, attempted_at = now(), ended_at = now(), next_at = NULL,
       answer_status = 200, is_fresh = false WHERE endpoint_id = $1`,
    [endpoint!.id],
  );
}

/** Runs `statements` with triggers off, returns the report of `verify`, and rolls back. */
export async function planted(database: Database, statements: readonly string[]): Promise<Report> {
  const undone = new Error('undone');
  let report: Report | undefined;
  const work = async (tx: Transaction): Promise<void> => {
    await tx.query(`SET LOCAL session_replication_role = replica`);
    for (const statement of statements) {
      const rows = await tx.query(`WITH changed AS (${statement} RETURNING 1) SELECT FROM changed`);
      if (rows.length === 0) throw new Error(`it changed nothing: ${statement}`);
    }
    report = await verifyRecords(within(database, tx));
    throw undone;
  };
  await database.transaction(work).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return report!;
}

/** Returns the database as `tx` sees it. Nested transactions join `tx`. */
function within(database: Database, tx: Transaction): Database {
  const query = async (statement: Statement | string, params?: readonly unknown[]): Promise<unknown> => {
    const text = typeof statement === 'string' ? statement : statement.text;
    return text.startsWith('SET TRANSACTION') ? [] : tx.query(statement, params);
  };
  const joined = { ...tx, query } as Transaction;
  return new Proxy(database, {
    get: (of, name) => {
      if (name === 'transaction') return (work: (on: Transaction) => Promise<unknown>) => work(joined);
      return name === 'query' ? query : (Reflect.get(of, name) as unknown);
    },
  });
}
