// A restored old backup: later sales are on chain but in no record. The reconciler reports them, and sales stop until
// the operator has explained them. The backup is a copy of a cleanly stopped server's files.
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres, type Postgres } from '../../../packages/local/src/postgres.js';
import { until } from '../../../packages/local/src/wait.js';
import { migrateUp } from '../../../src/platform/database/migrate.js';
import type { Customer } from '../../support/api/client.js';
import { fillPool, makeCustomer, openApi, serviceEnv, type TestApi } from '../../support/api/factory.js';
import { scrape, startProcess, type ServiceProcess } from '../../support/api/processes.js';
import { startOrderChain, type OrderChain } from '../../support/chain/order-chain.js';
import { withKey } from '../../support/api/order-fixture.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

let dir: string;
let chain: OrderChain;
let redis: TestRedis;
let postgres: Postgres | undefined;
let api: TestApi | undefined;
let worker: ServiceProcess | undefined;
let customer: Customer;
/** Not part of a database backup. Without it the sealed keys stay closed. */
const MASTER_KEY = randomBytes(32).toString('base64');

const store = (): string => join(dir, 'store');
const backup = (): string => join(dir, 'backup');

/** With owners and times: a server refuses files of another user. */
const copy = async (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to]);

/** Starts Postgres on the kept files, an API in this process, and a worker. */
async function open(): Promise<void> {
  postgres = await startPostgres({ durable: false, dataDir: store() });
  await migrateUp(postgres.url);
  const env = { ...serviceEnv(postgres.url, redis.url, chain), TRON_POLL_MS: '150', MASTER_KEY };
  api = await openApi(env);
  worker = await startProcess('worker', env);
}

async function close(): Promise<void> {
  await worker?.process.stop();
  await api?.close();
  await postgres?.stop();
  [worker, api, postgres] = [undefined, undefined, undefined];
}

async function buy(receiver: string): Promise<void> {
  const at = customer.at(api!.baseUrl);
  const key = randomUUID();
  const order = { receive_address: receiver, energy: 65_000, duration_sec: 3600 };
  expect(await at.post('/v1/orders', order, withKey(key))).toMatchObject({ status: 202 });
  const settled = async () => ((await at.get(`/v1/orders/${key}`)).body.settled === true ? true : undefined);
  await until(settled, 60_000, 'the order settling');
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'energy-backup-'));
  // The server's user must be able to traverse this folder to its files, which stay closed to others.
  await chmod(dir, 0o711);
  [chain, redis] = await Promise.all([startOrderChain(), createTestRedis()]);
  await open();
  await fillPool(api!, chain);
  customer = await makeCustomer(api!);
});

afterAll(async () => {
  await close();
  await chain.stop();
  await redis.close();
  await rm(dir, { recursive: true, force: true });
});

test('after an old backup is restored, what it missed is reported and nothing is sold', async () => {
  await buy(chain.receivers[0]!);
  await close();
  await copy(store(), backup());
  await open();
  await buy(chain.receivers[1]!);
  const before = await api!.database.query<{ txid: string }>(
    `SELECT encode(txid, 'hex') AS txid FROM chain_tx ORDER BY id DESC LIMIT 1`,
  );
  await close();

  await rm(store(), { recursive: true });
  await copy(backup(), store());
  await open();
  const reported = async () => {
    const found = await scrape(worker!);
    return found.sum('orphan_chain_tx') > 0 ? found : undefined;
  };
  const found = await until(reported, 60_000, 'the reconciler reporting');
  expect(found.sum('sales_stopped') + found.sum('pool_wallet_paused')).toBeGreaterThan(0);
  const findings = worker!.lines.filter((line) => line['rule'] !== undefined);
  expect(JSON.stringify(findings)).toContain(before[0]!.txid);
  const order = { receive_address: chain.receivers[2]!, energy: 65_000, duration_sec: 3600 };
  const refused = await customer.at(api!.baseUrl).post('/v1/orders', order, withKey(randomUUID()));
  expect(refused.status).toBe(503);
  const [kept] = await api!.database.query<{ orders: number }>('SELECT count(*)::int AS orders FROM orders');
  expect(kept!.orders).toBe(1);
}, 240_000);
