// API keys of a project: rights, rotation, revocation, and responses that do not reveal the number of keys.
import { randomUUID } from 'node:crypto';
import { KeyUse } from '../../../src/modules/auth/key-use.js';
import { KEYS_MAX, KEYS_PER_DAY, type Scope } from '../../../src/domain/scopes.js';
import { until } from '../../../packages/local/src/wait.js';
import type { ApiKeys } from '../../../src/modules/projects/api-keys.js';
import { PROJECT_BY_ID } from '../../../src/modules/projects/project-feed.js';
import { ProjectDirectory } from '../../../src/modules/projects/project-directory.js';
import { afterAnnouncement as announcedTo } from '../../support/api/announcement.js';
import { expectError } from '../../support/api/answers.js';
import { Customer, HmacCustomer, type Answer } from '../../support/api/client.js';
import { AUTHOR, openPipeline, type PipelineApp } from '../../support/api/pipeline-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { apiKeysOn } from '../../support/api/services.js';

const END_OVERLAP = `UPDATE api_key SET previous_until = clock_timestamp() + interval '1 second' WHERE id = $1`;
const OVERLAP_ENDED = `SELECT FROM api_key WHERE id = $1 AND previous_until <= clock_timestamp()`;
const ALL: readonly Scope[] = ['read', 'quote', 'order', 'manage'];

let testDatabase: TestDatabase;
let testRedis: TestRedis;
let pipeline: PipelineApp;
/** Another process of the same service. */
let other: PipelineApp;
let keys: ApiKeys;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  testRedis = await createTestRedis();
  const env = { REDIS_URL: testRedis.url, REDIS_PREFIX: 'keys', BAD_SIGNATURES_PER_MINUTE: '1000000' };
  pipeline = await openPipeline(testDatabase.url, env);
  other = await openPipeline(testDatabase.url, env);
  keys = apiKeysOn(pipeline.database, pipeline.app);
});

afterAll(async () => {
  await other.close();
  await pipeline.close();
  await testRedis.close();
  await testDatabase.drop();
});

const codeOf = (answer: Answer): string => (answer.status === 200 ? 'OK' : (answer.body.error as string));
const read = async (customer: Customer): Promise<string> => codeOf(await customer.get('/v1/things'));

/** A client that signs by HMAC with a new project's primary key. */
async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await pipeline.customer('keys');
  return new HmacCustomer(pipeline.baseUrl, merchant, apiKey);
}

/** Changes a project's keys and waits until both processes have received the announcement. */
const announced = async <T>(of: HmacCustomer, change: () => Promise<T>): Promise<T> =>
  announcedTo([pipeline.app, other.app], of, change);

/** Creates another key of the project. */
async function further(primary: HmacCustomer, scopes = ALL): Promise<{ id: string; customer: HmacCustomer }> {
  const { merchant } = primary;
  const create = async () => keys.create(merchant, { name: 'further', scopes }, AUTHOR);
  const { id, apiKey } = await announced(primary, create);
  return { id, customer: primary.withKey(apiKey) };
}

test.each([
  ['read', ['OK', 'KEY_SCOPE', 'KEY_SCOPE', 'KEY_SCOPE']],
  ['quote', ['KEY_SCOPE', 'OK', 'KEY_SCOPE', 'KEY_SCOPE']],
  ['order', ['KEY_SCOPE', 'KEY_SCOPE', 'OK', 'KEY_SCOPE']],
  ['manage', ['KEY_SCOPE', 'KEY_SCOPE', 'KEY_SCOPE', 'OK']],
] as const)('a key with the scope %s can do that and nothing else', async (scope, codes) => {
  const { customer } = await further(await project(), [scope]);
  const body = { receive_address: 'T' };
  const answers = [
    await customer.get('/v1/things'),
    await customer.post('/v1/limited', body),
    await customer.post('/v1/buy', body),
    // A route without a declared scope needs the strictest one.
    await customer.post('/v1/plain', {}),
  ];
  expect(answers.map(codeOf)).toEqual(codes);
});

test('every key of a project signs by HMAC, and only the primary one by MD5', async () => {
  const primary = await project();
  const made = [await further(primary), await further(primary), await further(primary)];
  for (const { customer } of made) {
    expect(await read(customer)).toBe('OK');
    expect(await read(new Customer(pipeline.baseUrl, customer.merchant, customer.apiKey))).toBe('INVALID_SIGNATURE');
  }
  expect(await read(primary)).toBe('OK');
  expect(await read(new Customer(pipeline.baseUrl, primary.merchant, primary.apiKey))).toBe('OK');
});

test('a new key works in every process once announced, and a revoked one verifies nowhere', async () => {
  const primary = await project();
  expect([await read(primary), await read(primary.at(other.baseUrl))]).toEqual(['OK', 'OK']);
  const { id, customer } = await further(primary);
  const both = [customer, customer.at(other.baseUrl)];
  for (const each of both) expect(await read(each)).toBe('OK');
  await announced(primary, async () => keys.revoke(id, AUTHOR));
  for (const each of both) expect(await read(each)).toBe('INVALID_SIGNATURE');
  expect(await read(primary)).toBe('OK');
});

test('after a rotation with an overlap both secrets verify until its end, and then only the new one', async () => {
  const { id, customer } = await further(await project());
  const rotate = async (overlapSec: number) =>
    customer.withKey(await announced(customer, async () => keys.rotate(id, overlapSec, AUTHOR)));
  const second = await rotate(3600);
  expect([await read(customer), await read(second)]).toEqual(['OK', 'OK']);
  // An overlap of a second from the start could end before the reads above.
  await announced(customer, async () => asAdmin(testDatabase.url, (client) => client.query(END_OVERLAP, [id])));
  await until(async () => ((await read(customer)) === 'INVALID_SIGNATURE' ? true : undefined), 30_000, 'the end');
  // The process may be milliseconds ahead of the database, whose clock decides about the next rotation.
  const ended = async () => (await asAdmin(testDatabase.url, (client) => client.query(OVERLAP_ENDED, [id]))).rowCount;
  await until(async () => ((await ended()) === 1 ? true : undefined), 30_000, 'the end by the database’s clock');
  const third = await rotate(3600);
  expect([await read(customer), await read(second), await read(third)]).toEqual(['INVALID_SIGNATURE', 'OK', 'OK']);
  const last = await rotate(0);
  expect([await read(second), await read(third), await read(last)]).toEqual([
    'INVALID_SIGNATURE',
    'INVALID_SIGNATURE',
    'OK',
  ]);
});

test.each([
  [
    'primary',
    async () => {
      const customer = await project();
      return { customer, rotate: (sec: number) => pipeline.projects.rotateKey(customer.merchant, AUTHOR, sec) };
    },
  ],
  [
    'further',
    async () => {
      const { id, customer } = await further(await project());
      return { customer, rotate: (sec: number) => keys.rotate(id, sec, AUTHOR) };
    },
  ],
])('a repeated rotation of a %s key does not end the secret whose overlap runs', async (_, make) => {
  const { customer, rotate } = await make();
  const results = await announced(customer, async () => Promise.allSettled([rotate(3600), rotate(3600)]));
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await expect(rotate(60)).rejects.toThrow(/is still valid, until .* create another key, or rotate without an overlap/);
  const [given] = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect([await read(customer), await read(customer.withKey(given!))]).toEqual(['OK', 'OK']);
  const last = customer.withKey(await announced(customer, async () => rotate(0)));
  expect([await read(customer), await read(customer.withKey(given!)), await read(last)]).toEqual([
    'INVALID_SIGNATURE',
    'INVALID_SIGNATURE',
    'OK',
  ]);
});

test('the primary key rotates the same way, for both signatures, and a rotation restores a revoked one', async () => {
  const before = await project();
  const by = (apiKey: string) => [before.withKey(apiKey), new Customer(pipeline.baseUrl, before.merchant, apiKey)];
  const codes = async (apiKey: string) => Promise.all(by(apiKey).map(read));
  const rotate = async () => pipeline.projects.rotateKey(before.merchant, AUTHOR, 3600);
  const next = await announced(before, rotate);
  expect([await codes(before.apiKey), await codes(next)]).toEqual([
    ['OK', 'OK'],
    ['OK', 'OK'],
  ]);
  await announced(before, async () => keys.revoke(before.merchant, AUTHOR));
  const NO = ['INVALID_SIGNATURE', 'INVALID_SIGNATURE'];
  expect([await codes(before.apiKey), await codes(next)]).toEqual([NO, NO]);
  const last = await announced(before, rotate);
  // A revoked secret stays invalid.
  expect([await codes(before.apiKey), await codes(next), await codes(last)]).toEqual([NO, NO, ['OK', 'OK']]);
});

test('a concurrent rotation does not undo a revocation', async () => {
  const primary = await project();
  const { id } = await further(primary);
  const { rotation } = await pipeline.database.transaction(async (tx) => {
    await tx.query(`UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = $1`, [id]);
    const rotation = keys.rotate(id, 60, AUTHOR).then(
      () => 'rotated',
      (error: unknown) => String(error),
    );
    const isWaiting = async (): Promise<true | undefined> => {
      const waiting = await pipeline.database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%api_key%'`,
      );
      return waiting.length > 0 ? true : undefined;
    };
    await until(isWaiting, 10_000, 'the rotation waiting for the key');
    return { rotation };
  });
  expect(await rotation).toContain('This key is permanently revoked');
  expect((await keys.get(id)).revoked_at).not.toBeNull();
});

test('revokes a key once: a repetition changes nothing and writes no second event', async () => {
  const primary = await project();
  const { id } = await further(primary);
  await Promise.all([keys.revoke(id, AUTHOR), keys.revoke(id, AUTHOR)]);
  const { revoked_at: first } = await keys.get(id);
  await keys.revoke(id, AUTHOR);
  expect((await keys.get(id)).revoked_at).toEqual(first);
  for (const [kept, of] of [
    [`SELECT type AS what FROM event WHERE project_id = $1 AND type = 'key.revoked'`, 'key.revoked'],
    [`SELECT action AS what FROM audit_log WHERE subject = $1::text AND action = 'key.revoke'`, 'key.revoke'],
  ] as const) {
    expect(await pipeline.database.query(kept, [primary.merchant])).toEqual([{ what: of }]);
  }
});

test('a key works only from its own addresses', async () => {
  const { id, customer } = await further(await project());
  const allow = async (source: string) =>
    announced(customer, async () => keys.setOptions(id, { allowedSources: [source] }, AUTHOR));
  await allow('10.0.0.0/8');
  expectError(await customer.get('/v1/things'), 'SOURCE_NOT_ALLOWED');
  await allow('127.0.0.1');
  expect(await read(customer)).toBe('OK');
});

test('creates only ten of more than ten concurrent keys', async () => {
  const primary = await project();
  const made = await Promise.allSettled(Array.from({ length: 14 }, () => further(primary, ['read'])));
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(KEYS_MAX - 1);
  for (const each of made) {
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'LIMIT_REACHED' });
  }
  expect(await keys.list(primary.merchant)).toHaveLength(KEYS_MAX);
  // Each of them verifies, and a revocation frees a place.
  for (const each of made) if (each.status === 'fulfilled') expect(await read(each.value.customer)).toBe('OK');
  const [, revoked] = await keys.list(primary.merchant);
  await keys.revoke(revoked!.id, AUTHOR);
  await further(primary, ['read']);
});

test('creates at most a hundred keys a day in a loop of creating and revoking', async () => {
  const { merchant } = await project();
  const make = async () => keys.create(merchant, { name: 'loop', scopes: ['read'] }, AUTHOR);
  const before = `INSERT INTO api_key (id, project_id, name, scopes, sealed, created_at, revoked_at)
    SELECT gen_random_uuid(), $1, 'loop', '{read}', '', clock_timestamp() - $3::interval, clock_timestamp()
      FROM generate_series(1, $2)`;
  await pipeline.database.query(before, [merchant, 500, '1 day']);
  await pipeline.database.query(before, [merchant, KEYS_PER_DAY - 2, '23 hours']);
  const made = await Promise.allSettled([make(), make(), make()]);
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  await expect(make()).rejects.toMatchObject({
    code: 'LIMIT_REACHED',
    message: expect.stringContaining('100 API keys'),
  });
  // A rotation creates no key, so it does not count.
  const [, last] = await keys.list(merchant);
  await keys.rotate(last!.id, 0, AUTHOR);
  await pipeline.projects.rotateKey(merchant, AUTHOR);
});

test('reads a project as fast after thousands of its keys were revoked', async () => {
  const { merchant } = await project();
  await pipeline.database.query(
    `INSERT INTO api_key (id, project_id, name, scopes, sealed, revoked_at)
     SELECT gen_random_uuid(), $1, 'revoked', '{read}', '', clock_timestamp() FROM generate_series(1, 20000)`,
    [merchant],
  );
  /** Returns the rows read to load the project, with a custom or a generic plan. */
  const rowsRead = async (plan: 'force_custom_plan' | 'force_generic_plan') =>
    pipeline.database.transaction(async (tx) => {
      await tx.query(`SET LOCAL plan_cache_mode = ${plan}`);
      const { name, text } = PROJECT_BY_ID;
      await tx.query(`PREPARE ${name}_${plan} (uuid) AS ${text}`);
      const [{ 'QUERY PLAN': plans }] = (await tx.query(
        `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE ${name}_${plan} ('${merchant}')`,
      )) as [{ 'QUERY PLAN': { Plan: PlanNode }[] }];
      await tx.query(`DEALLOCATE ${name}_${plan}`);
      return plans.reduce((sum, { Plan }) => sum + readBy(Plan), 0);
    });
  for (const plan of ['force_custom_plan', 'force_generic_plan'] as const) {
    expect(await rowsRead(plan)).toBeLessThan(2 * KEYS_MAX);
  }
  await pipeline.database.query('ANALYZE api_key');
  for (const plan of ['force_custom_plan', 'force_generic_plan'] as const) {
    expect(await rowsRead(plan)).toBeLessThan(2 * KEYS_MAX);
  }
});

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const readBy = (node: PlanNode): number =>
  (node.Plans ?? []).reduce((sum, each) => sum + readBy(each), node['Actual Rows']) +
  (node['Rows Removed by Filter'] ?? 0);

test('a revoked primary key takes no eleventh place', async () => {
  const primary = await project();
  await keys.revoke(primary.merchant, AUTHOR);
  const made = await Promise.all(Array.from({ length: KEYS_MAX }, () => further(primary, ['read'])));
  const rotate = () => pipeline.projects.rotateKey(primary.merchant, AUTHOR);
  await expect(rotate()).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
  expect(await keys.list(primary.merchant)).toHaveLength(KEYS_MAX);
  await keys.revoke(made[0]!.id, AUTHOR);
  await rotate();
  expect(await keys.list(primary.merchant)).toHaveLength(KEYS_MAX);
  for (const { customer } of made.slice(1)) expect(await read(customer)).toBe('OK');
});

test('checks as many secrets for any project as for one that does not exist', async () => {
  const few = await project();
  const many = await project();
  for (let count = 1; count < KEYS_MAX; count += 1) await further(many);
  const directory = pipeline.app.get(ProjectDirectory);
  const entries = [few.merchant, many.merchant, randomUUID()].map((id) => directory.load(id));
  const counts = (await Promise.all(entries)).map(({ secrets, primary }) => [secrets.length, primary.length]);
  expect(counts).toEqual([
    [2 * KEYS_MAX, 2],
    [2 * KEYS_MAX, 2],
    [2 * KEYS_MAX, 2],
  ]);
});

test('shows the last use of a key', async () => {
  const env = { REDIS_URL: testRedis.url, REDIS_PREFIX: 'keys' };
  const primary = await project();
  const { id, customer } = await further(primary);
  const third = await openPipeline(testDatabase.url, env);
  expect(await read(customer.at(third.baseUrl))).toBe('OK');
  await third.close();
  expect((await keys.get(id)).last_used_at).toBeInstanceOf(Date);
  expect((await keys.get(primary.merchant)).last_used_at).toBeNull();
});

test('writes the last use of other keys while an order holds one', async () => {
  const [held, free] = [await project(), await project()];
  const third = await openPipeline(testDatabase.url, { REDIS_URL: testRedis.url, REDIS_PREFIX: 'keys' });
  try {
    for (const each of [held, free]) expect(await read(each.at(third.baseUrl))).toBe('OK');
    await third.database.transaction(async (tx) => {
      await tx.query('SELECT FROM api_key WHERE id = $1 FOR UPDATE', [held.merchant]);
      await third.app.get(KeyUse).beforeApplicationShutdown();
      expect((await keys.get(free.merchant)).last_used_at).toBeInstanceOf(Date);
      expect((await keys.get(held.merchant)).last_used_at).toBeNull();
    });
  } finally {
    await third.close();
  }
});

test('stores no key in the clear, and deletes none', async () => {
  const { id, customer } = await further(await project());
  const [row] = await pipeline.database.query<{ sealed: Buffer }>('SELECT sealed FROM api_key WHERE id = $1', [id]);
  expect(row!.sealed.includes(customer.apiKey)).toBe(false);
  await expect(pipeline.database.query('DELETE FROM api_key WHERE id = $1', [id])).rejects.toThrow('append-only');
});
