// Two API processes as deployed: a project's change reaches both immediately, and within the cache's age when the
// announcement was lost. The chain is down on purpose: reading a balance does not need it.
import { until } from '../../../packages/local/src/wait.js';
import type { Answer, Customer } from '../../support/api/client.js';
import { startApi, type ApiProcess } from '../../support/api/factory.js';
import { AUTHOR, openPipeline, type PipelineApp } from '../../support/api/pipeline-fixture.js';
import { settings } from '../../support/cli.js';
import { openProxy, type Proxy } from '../../support/database/proxy.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { servedUrl } from '../../setup/pooler.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

/** Far below the 30 s after which `steady` would reload by itself, so a change seen within this was announced. */
const HEARD_LIMIT_MS = 10_000;

let testDatabase: TestDatabase;
let testRedis: TestRedis;
/** Between the two processes and the database. */
let postgres: Proxy;
/** The operator's side. It serves no requests here. */
let app: PipelineApp;
/** Caches a project for the 30 s that the interface allows. */
let steady: ApiProcess;
/** Caches for 2 s, so that a test can wait for the expiry. */
let brief: ApiProcess;

beforeAll(async () => {
  [testDatabase, testRedis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  postgres = await openProxy(servedUrl(testDatabase.url));
  const env = settings(postgres.url, { REDIS_URL: testRedis.url, HOST: '127.0.0.1', PORT: '0' });
  app = await openPipeline(testDatabase.url, { MASTER_KEY: env['MASTER_KEY']!, REDIS_URL: testRedis.url });
  [steady, brief] = await Promise.all([
    startApi({ ...env, PROJECT_CACHE_SEC: '30' }),
    startApi({ ...env, PROJECT_CACHE_SEC: '2' }),
  ]);
});

afterAll(async () => {
  await Promise.all([steady.process.stop(), brief.process.stop()]);
  await app.close();
  await postgres.close();
  await testRedis.close();
  await testDatabase.drop();
});

const codeOf = (answer: Answer): string => (answer.status === 200 ? 'OK' : (answer.body.error as string));
const ask = async (customer: Customer): Promise<string> => codeOf(await customer.get('/v1/balance'));

/** Creates a project and two clients of it; each process has the project cached. */
async function known(name: string): Promise<[atSteady: Customer, atBrief: Customer]> {
  const customer = await app.customer(name);
  const both = [customer.at(steady.baseUrl), customer.at(brief.baseUrl)] as [Customer, Customer];
  // Twice, because a read overtaken by the project's own announcement is not cached.
  for (const each of [...both, ...both]) expect(await ask(each)).toBe('OK');
  return both;
}

async function becomes(customer: Customer, code: string): Promise<void> {
  await until(async () => ((await ask(customer)) === code ? true : undefined), HEARD_LIMIT_MS, code, 5);
}

/** Runs `work` while the database announces no change. */
async function unannounced(work: () => Promise<unknown>): Promise<void> {
  const announce = async (how: 'DISABLE' | 'ENABLE') => {
    // The other triggers stay on: their writes are part of the change.
    for (const table of ['project', 'credit_account', 'api_key']) {
      await app.database.query(`ALTER TABLE ${table} ${how} TRIGGER ${table}_announced`);
    }
  };
  await announce('DISABLE');
  try {
    await work();
  } finally {
    await announce('ENABLE');
  }
}

test('freezing and unfreezing reach every process at once', async () => {
  const both = await known('freezes');
  await app.ledger.setFrozen(both[0].merchant, true, AUTHOR);
  for (const each of both) await becomes(each, 'PROJECT_FROZEN');
  // A wrong signature never reveals that the project is frozen.
  for (const each of both) expect(await ask(each.withKey('wrong'))).toBe('INVALID_SIGNATURE');
  await app.ledger.setFrozen(both[0].merchant, false, AUTHOR);
  for (const each of both) await becomes(each, 'OK');
});

test('a rotated key works at once everywhere, and the old one ends', async () => {
  const both = await known('rotates');
  const newKey = await app.projects.rotateKey(both[0].merchant, AUTHOR);
  for (const each of both) await becomes(each, 'INVALID_SIGNATURE');
  for (const each of both) expect(await ask(each.withKey(newKey))).toBe('OK');
});

test('a lost announcement delays freezing and the end of a key by the age of the cache and no more', async () => {
  const [frozen, rotated] = [await known('unheard'), await known('unheard key')];
  await unannounced(async () => {
    await app.ledger.setFrozen(frozen[0].merchant, true, AUTHOR);
    await app.projects.rotateKey(rotated[0].merchant, AUTHOR);
  });
  for (const each of [...frozen, ...rotated]) expect(await ask(each)).toBe('OK');
  await becomes(frozen[1], 'PROJECT_FROZEN');
  await becomes(rotated[1], 'INVALID_SIGNATURE');
  // The other process missed it too but is within its 30 s, so the expiry caused the change.
  expect([await ask(frozen[0]), await ask(rotated[0])]).toEqual(['OK', 'OK']);
  // The project's next announcement makes up for it.
  await app.projects.change(frozen[0].merchant, { requireQuote: true }, AUTHOR);
  await becomes(frozen[0], 'PROJECT_FROZEN');
});

test('processes that lost their connection learn what they missed as soon as they have one again', async () => {
  const both = await known('cut off');
  postgres.cut();
  try {
    await app.ledger.setFrozen(both[0].merchant, true, AUTHOR);
    // The project is cached and the signature valid, so the request passes the pipeline. Its handler needs the
    // database.
    for (const each of both) expect(await ask(each)).toBe('SERVICE_UNAVAILABLE');
  } finally {
    postgres.mend();
  }
  for (const each of both) await becomes(each, 'PROJECT_FROZEN');
});
