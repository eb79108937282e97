// Two APIs and two workers as deployed, under load. They restart in turn without a failed request while the master key
// is rotated. One request id leads from request to block, and every metric of docs/metrics.md is read.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../../../src/platform/support/clock.js';
import { Pruning } from '../../../src/modules/fulfilment/loop/pruning.js';
import { openLog } from '../../support/log.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { until } from '../../../packages/local/src/wait.js';
import { watchDatabase } from '../../../src/platform/database/database-gauges.js';
import { openBalancer, type Balancer } from '../events/balancer.js';
import type { Answer, Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { probe, Scrape, scrape, startProcess, type ServiceProcess, type LogLine } from '../../support/api/processes.js';
import { cliWith } from '../../support/cli.js';
import { documentedMetrics } from '../../support/docs/metrics-page.js';
import { asAdmin } from '../../setup/admin.js';
import { noteKeysOf } from '../../setup/canary.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

const CALLERS = 4;
const PAUSE_MS = 150;
/** Answers by old and new processes side by side before the next process is replaced. */
const MIXED_ANSWERS = 40;
const PLENTY = 1_000_000_000_000_000n;

let fixture: OrderFixture;
let balancer: Balancer;
let customer: Customer;
const fleet: ServiceProcess[] = [];
let apis: ServiceProcess[] = [];
let workers: ServiceProcess[] = [];
/**
 * MASTER_KEY, and MASTER_KEY_PREVIOUS while two are held. From the first rotation on, each process gets only its own
 * keys.
 */
let keys: Record<string, string> = {};
let dir: string;

const startApi = async (): Promise<ServiceProcess> => member('api', { DRAIN_DELAY_SEC: '1' });
const startWorker = async (): Promise<ServiceProcess> => member('worker', {});

async function member(role: 'api' | 'worker', extra: Record<string, string>): Promise<ServiceProcess> {
  const started = await startProcess(role, {
    ...fixture.env,
    TRON_POLL_MS: '150',
    RATE_LIMIT_PER_MINUTE: '1000000',
    ...(await keysOf(role)),
    ...extra,
  });
  fleet.push(started);
  return started;
}

/** Returns the keys of one process, derived from `keys`. An API reads them and its other secrets from files. */
async function keysOf(role: 'api' | 'worker'): Promise<Record<string, string>> {
  if (Object.keys(keys).length === 0) return {};
  const derived = await cliWith(keys)('secrets', 'derive', '--for', role);
  expect([derived.code, derived.err]).toEqual([0, '']);
  const lines = derived.out.trim().split('\n');
  const own = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
  noteKeysOf(own);
  if (role === 'worker') return { MASTER_KEY: '', ...own };
  const { DATABASE_URL, REDIS_URL } = fixture.env;
  const files = Object.entries({ DATABASE_URL: DATABASE_URL!, REDIS_URL: REDIS_URL!, ...own }).map(
    async ([name, value]) => {
      const path = join(dir, `${name}-${randomUUID()}`);
      await writeFile(path, `${value}\n`, { mode: 0o600 });
      return [`${name}_FILE`, path] as const;
    },
  );
  return { MASTER_KEY: '', DATABASE_URL: '', REDIS_URL: '', ...Object.fromEntries(await Promise.all(files)) };
}

const isReady = async ({ adminUrl }: ServiceProcess): Promise<true | undefined> =>
  (await probe(`${adminUrl}/ready`)) === 200 ? true : undefined;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deploy-'));
  fixture = await openOrderFixture();
  // Writes the canaries, which every process opens at its start and for each readiness check.
  expect((await cliWith({ ...fixture.env, USER: 'tester' })('migrate')).code).toBe(0);
  balancer = await openBalancer();
  [apis, workers] = await Promise.all([
    Promise.all([startApi(), startApi()]),
    Promise.all([startWorker(), startWorker()]),
  ]);
  for (const started of [...apis, ...workers]) await until(() => isReady(started), 20_000, 'becoming ready');
  for (const api of apis) balancer.add(api);
  customer = (await makeCustomer(fixture.api, PLENTY)).at(balancer.url);
  await until(
    async () => ((await probe(`${balancer.url}/v1/openapi.json`)) === 0 ? undefined : true),
    10_000,
    'serving',
  );
});

afterAll(async () => {
  await balancer.close();
  await Promise.all(fleet.map(({ process }) => process.stop()));
  await fixture.close();
  await rm(dir, { recursive: true });
});

interface Load {
  readonly answers: Answer[];
  readonly failures: string[];
  readonly keys: string[];
  stop(): Promise<void>;
}

/** Clients that continuously quote, buy with the quote, read the order and the balance, on kept-alive connections. */
function startLoad(): Load {
  const stopping = new AbortController();
  const [answers, failures, keys]: [Answer[], string[], string[]] = [[], [], []];
  const note = async (what: string, request: Promise<Answer>): Promise<Answer | undefined> => {
    try {
      const answer = await request;
      answers.push(answer);
      if (answer.status >= 300) failures.push(`${what}: ${answer.status.toString()} ${answer.text}`);
      return answer;
    } catch (error) {
      failures.push(`${what}: ${String(error)}`);
      return undefined;
    }
  };
  const caller = async (index: number): Promise<void> => {
    while (!stopping.signal.aborted) {
      const key = randomUUID();
      const order = { receive_address: fixture.receiver(index), energy: 65_000, duration_sec: 3600 };
      // On new connections, so that one process opens a quote that another one sealed.
      const anew = { Connection: 'close' };
      const quote = await note('quote', customer.post('/v1/quotes', order, anew));
      const { ref } = (quote?.body ?? {}) as { ref?: string };
      await note('buy', customer.post('/v1/orders', { quote_ref: ref }, { ...withKey(key), ...anew }));
      keys.push(key);
      await note('read', customer.get(`/v1/orders/${key}`));
      await note('balance', customer.get('/v1/balance'));
      await sleep(PAUSE_MS, stopping.signal);
    }
  };
  const callers = Array.from({ length: CALLERS }, (_, index) => caller(index));
  return {
    answers,
    failures,
    keys,
    stop: async () => {
      stopping.abort();
      await Promise.all(callers);
    },
  };
}

/** Sends SIGTERM to one process and starts a new one in its place. Returns the old one's exit code. */
async function replace(old: ServiceProcess, start: () => Promise<ServiceProcess>): Promise<number> {
  old.process.signal('SIGTERM');
  const code = await old.process.exited;
  balancer.remove(old);
  const next = await start();
  await until(() => isReady(next), 20_000, 'becoming ready');
  if (old.baseUrl.endsWith(':0')) workers = workers.map((worker) => (worker === old ? next : worker));
  else {
    apis = apis.map((api) => (api === old ? next : api));
    balancer.add(next);
  }
  return code;
}

/** Replaces every process, one of each kind at a time. */
async function restartAll(load: Load): Promise<void> {
  for (const turn of [0, 1]) {
    const before = load.answers.length;
    const codes = await Promise.all([replace(apis[turn]!, startApi), replace(workers[turn]!, startWorker)]);
    expect(codes).toEqual([0, 0]);
    expect(load.answers.length).toBeGreaterThan(before);
    const enough = load.answers.length + MIXED_ANSWERS;
    await until(() => (load.answers.length > enough ? true : undefined), 30_000, 'serving side by side');
  }
}

test('restarting every process in turn to change the master key fails no request and loses no order', async () => {
  const [oldKey, newKey] = [fixture.env['MASTER_KEY']!, randomBytes(32).toString('base64')];
  const load = startLoad();
  try {
    // The steps of `keys --help`: every process can open the new key's data; the new key seals; the old key is removed.
    keys = { MASTER_KEY: oldKey, MASTER_KEY_PREVIOUS: newKey };
    await restartAll(load);
    keys = { MASTER_KEY: newKey, MASTER_KEY_PREVIOUS: oldKey };
    await restartAll(load);
    const rewrapped = await cliWith({ ...fixture.env, ...keys, USER: 'tester' })('keys', 'rewrap', '--json');
    expect(rewrapped.json()).toEqual({
      rewrap: [
        { what: 'api keys', rewrapped: 1, current: 0, failed: [] },
        { what: 'pool keys', rewrapped: 2, current: 0, failed: [] },
        { what: 'webhook secrets', rewrapped: 0, current: 0, failed: [] },
        { what: 'second factors', rewrapped: 0, current: 0, failed: [] },
        { what: 'canaries', rewrapped: 5, current: 0, failed: [] },
      ],
    });
    keys = { MASTER_KEY: newKey };
    await restartAll(load);
  } finally {
    await load.stop();
  }
  expect(load.failures).toEqual([]);
  // A stopping process finishes its work before it closes its connections.
  expect(fleet.flatMap(({ lines }) => lines).filter(({ level }) => level === 'error')).toEqual([]);
  const state = async () => {
    const [row] = await fixture.api.database.query<{ orders: number; delivered: number; charges: number }>(
      `SELECT count(*)::int AS orders, count(*) FILTER (WHERE status = 'delivered')::int AS delivered,
          (SELECT count(*)::int FROM credit_entry WHERE kind = 'charge') AS charges FROM orders`,
    );
    return row!;
  };
  const wanted = load.keys.length;
  const allDelivered = async () => ((await state()).delivered === wanted ? true : undefined);
  await until(allDelivered, 60_000, 'delivering every order').catch(() => undefined);
  expect(await state()).toEqual({ orders: wanted, delivered: wanted, charges: wanted });
});

test('a process reports that it holds the key to everything, and none starts with the keys of another', async () => {
  const real = { TRON_HEAD_AGE_MAX_SEC: '60' };
  const warned = /"role":"api".*MASTER_KEY opens every secret/;
  const [own, foreign, { MASTER_KEY }] = [await keysOf('api'), await keysOf('worker'), keys];
  keys = {};
  const [withMaster, withOwn] = await Promise.all([
    member('api', { ...real, MASTER_KEY: MASTER_KEY! }),
    member('api', { ...real, ...own }),
  ]);
  expect(JSON.stringify(withMaster.lines)).toMatch(warned);
  expect(JSON.stringify(withOwn.lines)).not.toMatch(warned);
  await Promise.all([withMaster, withOwn].map(({ process }) => process.stop()));
  await expect(member('api', foreign)).rejects.toThrow(
    'or instead SEAL_KEY_API_KEYS and SEAL_KEY_QUOTES and SEAL_KEY_WEBHOOKS',
  );
  await expect(member('worker', own)).rejects.toThrow('or instead SEAL_KEY_POOL_KEYS');
});

test('one request id leads from the request to the chain transaction and to the end', async () => {
  const requestId = `trace-${randomUUID()}`;
  const key = randomUUID();
  const order = { receive_address: fixture.receiver(9), energy: 65_000, duration_sec: 3600 };
  const answer = await customer.post('/v1/orders', order, { ...withKey(key), 'X-Request-Id': requestId });
  expect(answer.status).toBe(202);
  const ours = (): LogLine[] => fleet.flatMap(({ lines }) => lines).filter((line) => line['requestId'] === requestId);
  const isSettled = (): true | undefined => (ours().some(({ msg }) => msg === 'order settled') ? true : undefined);
  await until(() => Promise.resolve(isSettled()), 60_000, 'the order settling');
  expect(
    ours()
      .map(({ msg }) => msg)
      .sort(),
  ).toEqual([
    'order accepted',
    'order delivered',
    'order placed',
    'order settled',
    'request',
    'transaction included',
    'transaction sending',
    'transaction solid',
  ]);
  const shown = (await customer.get(`/v1/orders/${key}`)).body as { delegations: { txid: string }[] };
  const transactions = ours().filter(({ msg }) => msg?.startsWith('transaction'));
  expect(new Set(transactions.map((line) => line['txid']))).toEqual(new Set([shown.delegations[0]!.txid]));
  for (const line of ours()) expect(line['projectId']).toBe(customer.merchant);
});

test('the processes show every metric of docs/metrics.md, and no other', async () => {
  const [api, worker] = [await scrape(apis[0]!), await scrape(workers[0]!)];
  const table = documentedMetrics().filter(({ process }) => ['api', 'worker', 'both'].includes(process));
  expect(table.length).toBeGreaterThan(30);
  const missing = table.filter(
    ({ name, process }) =>
      (process !== 'worker' && !api.names.has(name)) || (process !== 'api' && !worker.names.has(name)),
  );
  expect(missing).toEqual([]);
  const known = new Set(table.map(({ name }) => name));
  const own = [...api.names, ...worker.names].filter((name) => !/^(nodejs|process)_/.test(name));
  expect(own.filter((name) => !known.has(name))).toEqual([]);
});

test('the metrics of all processes together show what was done', async () => {
  const all = await Promise.all(workers.map(scrape));
  const sum = (name: string, ...labels: string[]) =>
    all.reduce((total, found) => total + found.sum(name, ...labels), 0);
  expect(sum('order_changes_total', 'to="delivered"')).toBeGreaterThan(0);
  expect(sum('order_seconds_count', 'to="delivered"')).toBe(sum('order_changes_total', 'to="delivered"'));
  expect(sum('chain_transaction_attempts_count')).toBe(sum('chain_transactions_total', 'to="included"'));
  expect(sum('broadcast_answers_total', 'code="SUCCESS"')).toBeGreaterThan(0);
  expect(sum('early_reclaims_total')).toBe(0);
  expect(sum('pg_pool_connections')).toBeGreaterThan(0);
  const isRunning = async () => {
    const found = await scrape(workers[0]!);
    return found.sum('orders_by_state', 'state="running"') > 0 && found.sum('redis_up') === 1 ? true : undefined;
  };
  await until(isRunning, 30_000, 'the worker sampling the open orders');
});

test('a stopping process reports it and goes away, without effect on the others', async () => {
  const [victim, other] = apis;
  victim!.process.signal('SIGTERM');
  // Within the drain delay: not ready, alive, and still serving.
  await until(async () => ((await probe(`${victim!.adminUrl}/ready`)) === 503 ? true : undefined), 5000, 'saying so');
  expect(await probe(`${victim!.adminUrl}/live`)).toBe(200);
  expect((await customer.at(victim!.baseUrl).get('/v1/balance')).headers['connection']).toBe('close');
  expect(await victim!.process.exited).toBe(0);
  expect(await probe(`${victim!.adminUrl}/live`)).toBe(0);
  expect(await probe(`${other!.adminUrl}/ready`)).toBe(200);
});

test('what only people read is deleted once it is old, and nothing else', async () => {
  const { database, config } = fixture.api;
  const pruning = new Pruning(database, config, new Metrics(), openLog('silent'));
  const counts = async () =>
    database.query(`SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM leg) AS legs,
      (SELECT count(*) FROM chain_tx) AS txs, (SELECT count(*) FROM credit_entry) AS entries`);
  const left = async () =>
    database.query<{ events: number; answers: number }>(
      'SELECT (SELECT count(*)::int FROM event WHERE payload IS NOT NULL) AS events, (SELECT count(*)::int FROM broadcast) AS answers',
    );
  const before = await counts();
  const [all] = await left();
  expect(all!.events).toBeGreaterThan(10);
  await pruning.pruneOnce();
  expect(await left()).toEqual([all]);
  await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(`UPDATE event SET at = at - interval '2 years' WHERE id <= (
      SELECT id FROM event WHERE payload IS NOT NULL ORDER BY id OFFSET 9 LIMIT 1)`);
  });
  await database.query(`UPDATE broadcast SET sent_at = sent_at - interval '40 days' WHERE id IN (
    SELECT id FROM broadcast ORDER BY id LIMIT 10)`);
  await pruning.pruneOnce();
  expect(await left()).toEqual([{ events: all!.events - 10, answers: all!.answers - 10 }]);
  expect(await counts()).toEqual(before);
});

test('statements that fail by locks, limits or lost connections are counted, refusals are not', async () => {
  const { database } = fixture.api;
  const { registry } = new Metrics();
  watchDatabase(registry, database);
  const count = async (fault: string) => new Scrape(await registry.metrics()).sum('pg_faults_total', `"${fault}"`);
  await expect(
    database.transaction(async (tx) => {
      await tx.query(`SET LOCAL statement_timeout = '10ms'`);
      await tx.query('SELECT pg_sleep(5)');
    }),
  ).rejects.toThrow('statement timeout');
  await expect(database.query('SELECT pg_terminate_backend(pg_backend_pid())')).rejects.toThrow();
  await expect(database.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
  expect(await count('statement_timeout')).toBe(1);
  expect(await count('connection')).toBe(1);
  expect(await count('deadlock')).toBe(0);
});
