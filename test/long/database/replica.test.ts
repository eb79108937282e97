// DATABASE_READ_URL: a streaming standby answers later pages, reports and exports, and never with less than was already
// shown. Where it cannot, the primary answers.
import { checkDatabase } from '../../../src/modules/diagnostics/doctor-stores.js';
import type { Config } from '../../../src/platform/config/config.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Reports } from '../../../src/modules/reports/report-service.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { DatabaseHosts } from '../../../src/platform/database/database-hosts.js';
import { Database, isConnectionFault } from '../../../src/platform/database/database.js';
import { LedgerStatement } from '../../../src/platform/database/entities/statement.entity.js';
import { migrateUp } from '../../../src/platform/database/migrate.js';
import { replicaSource } from '../../../src/platform/database/open-database.js';
import { forProject, ProjectDatabase } from '../../../src/platform/database/project-scope.js';
import { Replica } from '../../../src/platform/database/replica.js';
import { watchReplica } from '../../../src/platform/database/replica-gauges.js';
import { StatementList } from '../../../src/modules/statements/statement-list.js';
import { until } from '../../../packages/local/src/wait.js';
import { HmacCustomer, type Customer } from '../../support/api/client.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import {
  makeImage,
  promote,
  startPair,
  urlOf,
  type PairImage,
  type ServerPair,
} from '../../support/database/server-pair.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const LIMIT_MS = 60_000;
const PAGE = 10;
/** Far longer than a silent replica may delay a read, and far shorter than a statement's limit. */
const PATIENCE_SEC = 8;

let image: PairImage;
let pair: ServerPair;
let redis: TestRedis;
let api: TestApi;
const opened: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  redis = await createTestRedis();
  image = await makeImage();
  pair = await startPair(image);
  await migrateUp(pair.first.url);
  const both = urlOf([pair.first, pair.second], pair.first);
  const extra = { DATABASE_READ_URL: both, DATABASE_READ_LAG_MAX_SEC: '5', REDIS_URL: redis.url, LOG_LEVEL: 'silent' };
  api = await openApi(settings(both, extra));
  const { registry } = api.app.get(Metrics);
  watchReplica(registry, api.app.get(Replica));
});
afterAll(async () => {
  for (const close of opened.splice(0).reverse()) await close();
  await api.close();
  await pair.close();
  await image.remove();
  await redis.close();
});
beforeEach(async () => {
  await replay('resume');
  await untilServing(api.app.get(Replica));
  api.app.get(Metrics).registry.getSingleMetric('pg_replica_reads_total')!.reset();
});

/** A client that may call every path. */
async function newCustomer(): Promise<HmacCustomer> {
  const { baseUrl, merchant, apiKey } = await makeCustomer(api);
  return new HmacCustomer(baseUrl, merchant, apiKey);
}

async function untilServing(replica: Replica): Promise<void> {
  const serves = (): Promise<true | undefined> => Promise.resolve(replica.state.fault === undefined ? true : undefined);
  await until(serves, LIMIT_MS, 'the replica serving');
}

async function untilFault(replica: Replica, fault: RegExp): Promise<void> {
  const fails = (): Promise<true | undefined> =>
    Promise.resolve(fault.test(replica.state.fault ?? '') ? true : undefined);
  await until(fails, LIMIT_MS, `the fault ${fault.source}`);
}

async function servesFromPromoted(): Promise<true | undefined> {
  const text = 'SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline';
  const rows = await api.app
    .get(Database)
    .query<{ timeline: string }>(text)
    .catch((error: unknown) => {
      if (isConnectionFault(error)) return [];
      throw error;
    });
  return Number.parseInt(rows[0]?.timeline ?? '0', 16) > 1 ? true : undefined;
}

/** Counts reads of this test's API, by answering server or reason. */
async function reads(): Promise<Record<string, number>> {
  const metric = await api.app.get(Metrics).registry.getSingleMetric('pg_replica_reads_total')!.get();
  const counted = metric.values.map(({ labels, value }) => {
    const { answered_by: by, reason } = labels as { answered_by: string; reason: string };
    return [by === 'replica' ? by : reason, value] as const;
  });
  return Object.fromEntries(counted.filter(([, value]) => value > 0));
}

/** Waits until the standby has replayed everything written so far. */
async function untilReplayed(): Promise<void> {
  const { rows } = await asAdmin(pair.first.url, (client) =>
    client.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn'),
  );
  const has = async (): Promise<true | undefined> => {
    const text = 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS has';
    const found = await asAdmin(pair.second.url, (client) => client.query<{ has: boolean }>(text, [rows[0]!.lsn]));
    return found.rows[0]!.has ? true : undefined;
  };
  await until(has, LIMIT_MS, 'the replay');
}

const replay = async (what: 'pause' | 'resume'): Promise<void> => {
  await asAdmin(pair.second.url, (client) => client.query(`SELECT pg_wal_replay_${what}()`));
  if (what === 'resume') return;
  // The pause takes effect with the next WAL record.
  const isPaused = async (): Promise<true | undefined> => {
    await asAdmin(pair.first.url, (client) => client.query('SELECT pg_log_standby_snapshot()').catch(() => undefined));
    await asAdmin(pair.first.url, (client) => client.query('SELECT pg_switch_wal()'));
    const { rows } = await asAdmin(pair.second.url, (client) =>
      client.query<{ state: string }>('SELECT pg_get_wal_replay_pause_state() AS state'),
    );
    return rows[0]!.state === 'paused' ? true : undefined;
  };
  await until(isPaused, LIMIT_MS, 'the pause of the replay');
};

/** Freezes every connection of the standby, open but silent, until the returned function is called. */
async function freezeSecond(): Promise<() => void> {
  const text = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
  const { rows } = await asAdmin(pair.second.url, (client) => client.query<{ pid: number }>(text));
  expect(rows.length).toBeGreaterThan(0);
  for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
  return () => {
    for (const { pid } of rows) process.kill(pid, 'SIGCONT');
  };
}

/** One order a minute from 2026-01-01, numbered in their keys. */
async function makeOrders({ merchant }: Customer, first: number, last: number): Promise<void> {
  await api.database.query(
    `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun,
       credits, trx_usd_e8, created_at, delivered_energy, delivered_at)
     SELECT $1::uuid, 'k' || n, sha256('x'), 'rental', 'delivered', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF', 65000, 3600,
       2925000, 8775000, 30000000, '2026-01-01Z'::timestamptz + n * interval '1 minute', 65000, '2026-01-01Z'
       FROM generate_series($2::integer, $3::integer) n`,
    [merchant, first, last],
  );
}

const numbersOf = (items: readonly { readonly key: string }[]): number[] =>
  items.map(({ key }) => Number(key.slice(1)));
const down = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, at) => from - at);

async function page(
  customer: Customer,
  cursor: string | undefined,
): Promise<{ readonly numbers: number[]; readonly next: string | undefined }> {
  const after = cursor === undefined ? '' : `&cursor=${cursor}`;
  const { status, body } = await customer.get(`/v1/orders?limit=${PAGE.toString()}${after}`);
  expect(status).toBe(200);
  return { numbers: numbersOf(body.items), next: body.next_cursor };
}

test('later pages are read at the replica, and each order appears once while new ones come', async () => {
  const customer = await newCustomer();
  await makeOrders(customer, 1, 35);
  const first = await page(customer, undefined);
  expect(first.numbers).toEqual(down(35, 26));
  expect(await reads()).toEqual({});
  await untilReplayed();
  await makeOrders(customer, 36, 40);
  const second = await page(customer, first.next);
  await makeOrders(customer, 41, 45);
  const third = await page(customer, second.next);
  const fourth = await page(customer, third.next);
  expect([second.numbers, third.numbers, fourth.numbers]).toEqual([down(25, 16), down(15, 6), down(5, 1)]);
  expect(fourth.next).toBeUndefined();
  expect(await reads()).toEqual({ replica: 3 });
});

test('a fresh write is on the pages after it, though the replica does not have it yet', async () => {
  const customer = await newCustomer();
  await makeOrders(customer, 1, 5);
  await untilReplayed();
  await replay('pause');
  await makeOrders(customer, 6, 25);
  const first = await page(customer, undefined);
  const second = await page(customer, first.next);
  const third = await page(customer, second.next);
  expect([first.numbers, second.numbers, third.numbers]).toEqual([down(25, 16), down(15, 6), down(5, 1)]);
  expect(await reads()).toEqual({ behind: 2 });
  // Keys, balances and first pages never use the replica.
  expect((await customer.get('/v1/orders/k25')).status).toBe(200);
  await api.ledger.topUp(customer.merchant, 5n as never, 'second', { actor: 'test', reason: 'a test' });
  expect((await customer.get('/v1/balance')).body.credits_balance).toBe(1_000_000_005);
  const entries = (await customer.get('/v1/ledger')).body.items as { readonly credits: number }[];
  expect(entries.map(({ credits }) => credits)).toEqual([5, 1_000_000_000]);
  await replay('resume');
  await untilReplayed();
  expect((await page(customer, second.next)).numbers).toEqual(down(5, 1));
  expect(await reads()).toMatchObject({ replica: 1 });
});

test('a process reads nothing at the replica that is older than its own start, whatever a cursor asks for', async () => {
  const customer = await newCustomer();
  await untilReplayed();
  await replay('pause');
  await api.ledger.topUp(customer.merchant, 7n as never, 'before-the-start', { actor: 'test', reason: 'a test' });
  const started = new Replica(api.app.get(Database));
  const answers: string[] = [];
  started.onRead = (by) => answers.push(by);
  const read = async () => {
    const rows = await started.read(1n, async (on) =>
      on.query<{ credits: bigint }>(`SELECT credits FROM credit_entry WHERE project_id = $1 ORDER BY id DESC LIMIT 1`, [
        customer.merchant,
      ]),
    );
    return rows[0]!.credits;
  };
  expect([await read(), answers]).toEqual([7n, ['behind']]);
  await replay('resume');
  await untilReplayed();
  expect([await read(), answers]).toEqual([7n, ['behind', 'replica']]);
});

test('a page of the ledger, of statements and of refused requests goes on where the one before ended', async () => {
  const customer = await newCustomer();
  for (let n = 0; n < 4; n += 1) {
    await api.ledger.topUp(customer.merchant, BigInt(n + 1) as never, `more-${n.toString()}`, {
      actor: 'test',
      reason: 'a test',
    });
  }
  await untilReplayed();
  const credits: number[] = [];
  let cursor = '';
  do {
    const { body } = await customer.get(`/v1/ledger?limit=2${cursor}`);
    credits.push(...(body.items as { readonly credits: number }[]).map((entry) => entry.credits));
    cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor as string}`;
    await untilReplayed();
  } while (cursor !== '');
  expect(credits).toEqual([4, 3, 2, 1, 1_000_000_000]);
  expect(await reads()).toEqual({ replica: 2 });
  const list = new StatementList(api.database.source.getRepository(LedgerStatement), api.app.get(Replica));
  await expect(list.page(customer.merchant, 1, 'none')).rejects.toThrow(/cursor/);
  const refused = await customer.get('/v1/orders?cursor=bzE.zz');
  expect([refused.status, refused.body.error]).toEqual([400, 'INVALID_REQUEST']);
});

test('a replica that is away costs no answer, and is read again when it is back', async () => {
  const customer = await newCustomer();
  await makeOrders(customer, 1, 30);
  await untilReplayed();
  const first = await page(customer, undefined);
  await pair.stop('second');
  expect((await page(customer, first.next)).numbers).toEqual(down(20, 11));
  expect(await reads()).toEqual({ away: 1 });
  const replica = api.app.get(Replica);
  await untilFault(replica, /no host of DATABASE_READ_URL is a standby that follows/);
  // Without a replica, no cursor gets a read mark: the next page comes from the primary.
  expect((await page(customer, undefined)).next).not.toContain('.');
  await pair.restart('second');
  await untilServing(replica);
  await untilReplayed();
  expect((await page(customer, first.next)).numbers).toEqual(down(20, 11));
  expect(await reads()).toEqual({ away: 1, replica: 1 });
});

test('a replica that goes silent delays one read for a moment, and no read after it', async () => {
  const customer = await newCustomer();
  await makeOrders(customer, 1, 30);
  await untilReplayed();
  const first = await page(customer, undefined);
  const thaw = await freezeSecond();
  try {
    const patience = api.database.query(`SELECT pg_sleep(${PATIENCE_SEC.toString()})`).then(() => 'out of patience');
    const next = page(customer, first.next).then(({ numbers }) => numbers);
    expect(await Promise.race([next, patience])).toEqual(down(20, 11));
    expect(await reads()).toEqual({ away: 1 });
    await patience;
  } finally {
    thaw();
  }
  const replica = api.app.get(Replica);
  await untilServing(replica);
  expect((await page(customer, first.next)).numbers).toEqual(down(20, 11));
  expect(await reads()).toEqual({ away: 1, replica: 1 });
});

test('a replica that lags more than it may is not read, whatever has been shown', async () => {
  const customer = await newCustomer();
  await makeOrders(customer, 1, 30);
  const first = await page(customer, undefined);
  await untilReplayed();
  await replay('pause');
  await makeOrders(customer, 31, 31);
  const replica = api.app.get(Replica);
  await untilFault(replica, /^it lags by \d+ s$/);
  expect((await page(customer, first.next)).numbers).toEqual(down(20, 11));
  expect(await reads()).toEqual({ lags: 1 });
  const metrics = await api.app.get(Metrics).registry.metrics();
  expect(metrics.match(/^pg_replica_serving\{host="[^"]+"\} 0$/gm)).toHaveLength(2);
  expect(Number(/^pg_replica_lag_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(5);
  await replay('resume');
  await untilServing(replica);
  expect((await page(customer, first.next)).numbers).toEqual(down(20, 11));
});

test('a standby of an older timeline than was seen may hold lost commits, and is refused', async () => {
  const hosts = new DatabaseHosts(urlOf([pair.second], pair.first), { wanted: 'standby' });
  expect((await hosts.choose()).name).toBe(`127.0.0.1:${pair.second.port.toString()}`);
  const { rows } = await asAdmin(pair.first.url, (client) =>
    client.query<{ system: string }>('SELECT system_identifier::text AS system FROM pg_control_system()'),
  );
  hosts.recordServer(rows[0]!.system, 2);
  hosts.leaveServingHost();
  await expect(hosts.choose()).rejects.toThrow(/follows timeline 1, and 2 was seen/);
  const others = new DatabaseHosts(urlOf([pair.second], pair.first), { wanted: 'standby' });
  others.recordServer('1', 1);
  await expect(others.choose()).rejects.toThrow(/is of another cluster/);
});

test('a report has what was written before it, and uses the replica where that catches up soon', async () => {
  const customer = await newCustomer();
  const replica = api.app.get(Replica);
  const by: string[] = [];
  const { onRead } = replica;
  replica.onRead = (who) => void by.push(who);
  const terms = { from: new Date(0), before: new Date(Date.UTC(2200, 0, 1)), by: 'project' } as const;
  const owed = async (): Promise<bigint> => (await new Reports(replica).make(terms)).standing.owedCredits;
  const before = await owed();
  await replay('pause');
  await api.ledger.topUp(customer.merchant, 7n as never, 'third', { actor: 'test', reason: 'a test' });
  expect((await owed()) - before).toBe(7n);
  expect(by).toEqual(['replica', 'behind']);
  replica.onRead = onRead;
  await replay('resume');
});

test('within a project’s scope the replica is read within it too, and accepts no write', async () => {
  const source = createDataSource({
    url: pair.first.url,
    replica: replicaSource(
      { readUrl: pair.second.url, namedStatements: 'on', poolMax: 2 },
      'energy-test-reads',
      () => undefined,
    ),
    poolMax: 2,
    applicationName: 'energy-test',
  });
  await source.initialize();
  opened.push(() => source.destroy());
  const database: Database = new ProjectDatabase(source);
  const replica = new Replica(database);
  opened.push(() => replica.onApplicationShutdown());
  const { merchant } = await newCustomer();
  await untilReplayed();
  const text = `SELECT current_setting('energy.project', true) AS project, pg_is_in_recovery() AS standby`;
  const seen = await forProject(merchant, () => replica.readNow((on) => on.query(text)));
  expect(seen).toEqual([{ project: merchant, standby: true }]);
  const outside = await replica.readNow((on) => on.query<{ standby: boolean }>(text));
  expect(outside).toMatchObject([{ standby: true }]);
  const write = replica.readNow((on) => on.query(`UPDATE project SET name = 'x'`));
  await expect(write).rejects.toMatchObject({ code: '25006' });
});

test('the doctor reports whether the replica follows', async () => {
  const database = { url: pair.first.url, readUrl: pair.second.url, readLagMaxSec: 5, poolMax: 1 };
  const look = async (readUrl: string) => {
    const findings = await checkDatabase({ database: { ...database, readUrl } } as unknown as Config);
    return findings.filter(({ check }) => check === 'replica');
  };
  const host = `127.0.0.1:${pair.second.port.toString()}`;
  expect(await look(pair.second.url)).toMatchObject([
    { state: 'ok', says: expect.stringContaining(`${host} received a write within`) as string },
  ]);
  expect(await look(pair.first.url)).toMatchObject([
    { state: 'warning', says: expect.stringContaining('takes writes: it is no standby') as string },
  ]);
  await replay('pause');
  await asAdmin(pair.first.url, (client) => client.query('CREATE TABLE more (n integer)'));
  expect(await look(pair.second.url)).toMatchObject([
    { state: 'warning', says: `${host} is more than 5 s behind, so it gets no reads.` },
  ]);
  await replay('resume');
});

test('a standby that was promoted is no longer a replica, and one of an older timeline is none either', async () => {
  const replica = api.app.get(Replica);
  const customer = await newCustomer();
  await makeOrders(customer, 1, 15);
  await untilReplayed();
  await promote(pair.second);
  await untilFault(replica, /no host of DATABASE_READ_URL is a standby that follows|no standby/);
  await until(servesFromPromoted, LIMIT_MS, 'the promoted server taking the writes');
  // Statements in progress when the old primary was left fail with their connections, and another connection reads the
  // key.
  const answers = async () => ((await customer.get('/v1/orders')).status === 200 ? true : undefined);
  await until(answers, LIMIT_MS, 'the API reading the promoted server');
  const first = await page(customer, undefined);
  expect((await page(customer, first.next)).numbers).toEqual(down(5, 1));
  expect(api.app.get(Replica).state.serving).toBeUndefined();
});
