// Orders while a dependency is down, slow or lying. Redis never decides; only new orders need the chain; after a
// database outage every key is as before.
import { createHash, randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { until } from '../../../packages/local/src/wait.js';
import { ORDERS_QUEUE } from '../../../src/platform/queue/jobs.js';
import { HmacCustomer, type Customer } from '../../support/api/client.js';
import { makeCustomer, openApi, startApi, type TestApi } from '../../support/api/factory.js';
import {
  balanceOf,
  expectRefusal,
  openOrderFixture,
  withKey,
  type OrderFixture,
} from '../../support/api/order-fixture.js';
import { openProxy } from '../../support/database/proxy.js';

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
});

afterAll(() => fixture.close());

const body = (energy = 65_000) => ({ receive_address: fixture.receiver(), energy });

/** Starts another API of the same service with changed settings while `work` runs. */
async function withApi(changed: Record<string, string>, work: (api: TestApi) => Promise<void>): Promise<void> {
  const api = await openApi({ ...fixture.env, LOG_LEVEL: 'silent', ...changed });
  try {
    await work(api);
  } finally {
    await api.close();
  }
}

/** Creates an order, replays it, and expects the usual refusal. */
async function buysAsAlways(customer: Customer): Promise<void> {
  const before = await balanceOf(customer);
  const key = randomUUID();
  const first = await customer.post('/v1/orders', body(), withKey(key));
  expect(first.status).toBe(202);
  const replay = await customer.post('/v1/orders', body(), withKey(key));
  expect(replay.text).toBe(first.text);
  expect(replay.headers['idempotency-replayed']).toBe('true');
  expectRefusal(await customer.post('/v1/orders', body(70_000), withKey(key)), 422, 'IDEMPOTENCY_KEY_REUSED');
  expect(await balanceOf(customer)).toBe(before - first.body.credits);
}

describe('Redis', () => {
  const cacheKeyOf = (customer: Customer, key: string) =>
    `ter:key:${createHash('sha256').update(customer.merchant).update('\n').update(key).digest('base64url')}`;

  test('a wrong cached key changes nothing', async () => {
    const customer = await makeCustomer(fixture.api);
    const redis = new Redis(fixture.env['REDIS_URL']!);
    try {
      const key = randomUUID();
      await redis.set(cacheKeyOf(customer, key), '1');
      const created = await customer.post('/v1/orders', body(), withKey(key));
      expect(created.status).toBe(202);
      expect(created.headers['idempotency-replayed']).toBeUndefined();
      await redis.set(cacheKeyOf(customer, key), 'nonsense');
      expect((await customer.post('/v1/orders', body(), withKey(key))).text).toBe(created.text);
      await redis.flushdb();
      // Best effort: after a slow answer the process skips Redis for a second, and a later replay caches the key.
      const cached = await until(
        async () => {
          expect((await customer.post('/v1/orders', body(), withKey(key))).text).toBe(created.text);
          return (await redis.get(cacheKeyOf(customer, key))) ?? undefined;
        },
        10_000,
        'the cached key',
      );
      expect(cached).toBe(String(created.body.id));
    } finally {
      redis.disconnect();
    }
  });

  test('a burst of orders wakes the worker for the newest of them', async () => {
    const customer = await makeCustomer(fixture.api);
    let newest = 0;
    for (let index = 0; index < 10; index += 1) newest = (await customer.post('/v1/orders', body())).body.id as number;
    const connection = new Redis(fixture.env['REDIS_URL']!, { maxRetriesPerRequest: null });
    const queue = new Queue(ORDERS_QUEUE, { connection, prefix: 'ter:queue' });
    try {
      const isWoken = async () => {
        const jobs = await queue.getJobs(['waiting', 'active', 'delayed']);
        return jobs.some((job) => job.data.orderId === newest.toString()) ? true : undefined;
      };
      await until(isWoken, 5_000, 'the job of the newest order');
    } finally {
      await queue.close();
      connection.disconnect();
    }
  });

  test('gone at the start, orders are bought and replayed without it', async () => {
    const customer = await makeCustomer(fixture.api);
    await withApi({ REDIS_URL: 'redis://127.0.0.1:1' }, (api) => buysAsAlways(customer.at(api.baseUrl)));
  });

  test('hanging, cut and back again, orders are bought and replayed all the time', async () => {
    const customer = await makeCustomer(fixture.api);
    const proxy = await openProxy(fixture.env['REDIS_URL']!);
    try {
      await withApi({ REDIS_URL: proxy.url }, async (api) => {
        const at = customer.at(api.baseUrl);
        await buysAsAlways(at);
        proxy.stall();
        await buysAsAlways(at);
        proxy.cut();
        await buysAsAlways(at);
        proxy.mend();
        await buysAsAlways(at);
      });
    } finally {
      await proxy.close();
    }
  });
});

describe('the chain', () => {
  test('away, new orders wait for it and old keys do not', async () => {
    const customer = await makeCustomer(fixture.api);
    const first = await customer.post('/v1/orders', body(), withKey('before'));
    const away = { TRON_FULL_NODE_URLS: 'http://127.0.0.1:1', TRON_SOLIDITY_NODE_URLS: 'http://127.0.0.1:1' };
    // The processes share chain readings through the database, so this waits until they are too old for this process.
    await withApi({ ...away, MARKET_MAX_AGE_SEC: '1', MARKET_REFRESH_SEC: '3600' }, async (api) => {
      const at = customer.at(api.baseUrl);
      const refused = await until(
        async () => {
          const answer = await at.post('/v1/orders', body(), withKey(randomUUID()));
          return answer.status === 202 ? undefined : answer;
        },
        30_000,
        'the known state of the chain growing old',
      );
      expectRefusal(refused, 503, 'CHAIN_UNAVAILABLE');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      const replay = await at.post('/v1/orders', body(), withKey('before'));
      expect(replay.text).toBe(first.text);
      const unknown = { receive_address: fixture.chain.receivers[39]!, energy: 65_000 };
      expectRefusal(await at.post('/v1/orders', unknown, withKey('other')), 503, 'CHAIN_UNAVAILABLE');
      expectRefusal(await at.post('/v1/activate', { address: fixture.chain.token }), 503, 'CHAIN_UNAVAILABLE');
      expectRefusal(await at.post('/v1/orders', body(66_000), withKey('before')), 422, 'IDEMPOTENCY_KEY_REUSED');
    });
    expect((await customer.get('/v1/orders/other')).status).toBe(404);
  });
});

describe('Postgres', () => {
  test('gone for longer than the wait, the caller gets its key back and later finds the order by it', async () => {
    const customer = await makeCustomer(fixture.api);
    const proxy = await openProxy(fixture.env['DATABASE_URL']!);
    try {
      await withApi({ DATABASE_URL: proxy.url }, async (api) => {
        const at = customer.at(api.baseUrl);
        expect((await at.post('/v1/orders', body(), withKey('first'))).status).toBe(202);
        proxy.cut();
        const [keyed, keyless, read] = await Promise.all([
          at.post('/v1/orders', body(), withKey('second')),
          at.post('/v1/orders', body()),
          at.get('/v1/orders/first'),
        ]);
        for (const refused of [keyed, keyless]) {
          expectRefusal(refused, 503, 'SERVICE_UNAVAILABLE');
          expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
        }
        expect(keyed.headers['idempotency-key']).toBe('second');
        for (const refused of [keyed, keyless]) {
          expect(refused.body.key).toBe(refused.headers['idempotency-key']);
          expect(refused.body.msg).toContain(`Repeat the request with Idempotency-Key ${String(refused.body.key)}`);
        }
        expectRefusal(read, 503, 'SERVICE_UNAVAILABLE');
        proxy.mend();
        const made = keyless.headers['idempotency-key']!;
        for (const key of ['second', made]) {
          const answer = await at.post('/v1/orders', body(), withKey(key));
          expect(answer.status).toBe(202);
          expect(answer.body.key).toBe(key);
        }
        expect((await at.get('/v1/orders')).body.items).toHaveLength(3);
      });
    } finally {
      await proxy.close();
    }
  });

  test('away for a moment, an order under way is accepted all the same', async () => {
    const customer = await makeCustomer(fixture.api);
    const proxy = await openProxy(fixture.env['DATABASE_URL']!);
    try {
      await withApi({ DATABASE_URL: proxy.url }, async (api) => {
        const at = customer.at(api.baseUrl);
        expect((await at.post('/v1/orders', body())).status).toBe(202);
        proxy.cut();
        const answering = at.post('/v1/orders', body(), withKey('patient'));
        await new Promise((resolve) => setTimeout(resolve, 700));
        proxy.mend();
        expect((await answering).status).toBe(202);
        expect((await at.get('/v1/orders')).body.items).toHaveLength(2);
      });
    } finally {
      await proxy.close();
    }
  });

  test('a first request that does not end makes requests with its key wait: 503 after ten seconds, then one order', async () => {
    const customer = await makeCustomer(fixture.api);
    const blocker = new pg.Client({ connectionString: fixture.env['DATABASE_URL'] });
    await blocker.connect();
    try {
      await withApi({}, async (other) => {
        await blocker.query('BEGIN');
        await blocker.query('SELECT 1 FROM credit_account WHERE project_id = $1 FOR UPDATE', [customer.merchant]);
        const answers = await Promise.all([
          customer.post('/v1/orders', body(), withKey('stuck')),
          customer.post('/v1/orders', body(), withKey('stuck')),
          customer.at(other.baseUrl).post('/v1/orders', body(), withKey('stuck')),
        ]);
        for (const answer of answers) expectRefusal(answer, 503, 'SERVICE_UNAVAILABLE');
        await blocker.query('COMMIT');
        expect((await customer.post('/v1/orders', body(), withKey('stuck'))).status).toBe(202);
        expect((await customer.get('/v1/orders')).body.items).toHaveLength(1);
      });
    } finally {
      await blocker.end();
    }
  });
});

describe('one project that reads page after page', () => {
  test('delays neither the purchases of another nor its pages, however slow each page is', async () => {
    const [heavy, other] = [await makeCustomer(fixture.api), await makeCustomer(fixture.api)];
    const blocker = new pg.Client({ connectionString: fixture.env['DATABASE_URL'] });
    const watcher = new pg.Client({ connectionString: fixture.env['DATABASE_URL'] });
    await Promise.all([blocker.connect(), watcher.connect()]);
    try {
      expect((await heavy.post('/v1/orders', body())).status).toBe(202);
      const isHeld = async (count: number) => {
        // On another connection: the blocker's transaction sees pg_stat_activity as of its first read. The match uses
        // the start of the statement, because Postgres shows only its first 1 024 bytes.
        const { rows } = await watcher.query<{ count: number }>(
          `SELECT count(*)::int FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'SELECT o.id, o.key,%'`,
        );
        return rows[0]!.count >= count ? true : undefined;
      };
      await blocker.query('BEGIN');
      // Every page reads this table; no purchase does.
      await blocker.query('LOCK TABLE chain_tx IN ACCESS EXCLUSIVE MODE');
      const pages = Array.from({ length: 64 }, () => heavy.get('/v1/orders?limit=100'));
      await until(() => isHeld(1), 10_000, 'a page being held');
      expect((await other.post('/v1/orders', body())).status).toBe(202);
      expect((await heavy.post('/v1/orders', body())).status).toBe(202);
      const page = other.get('/v1/orders');
      await until(() => isHeld(2), 10_000, "the other's page being asked for");
      await blocker.query('COMMIT');
      expect((await page).status).toBe(200);
      for (const { status } of await Promise.all(pages)) expect([200, 503]).toContain(status);
    } finally {
      await Promise.all([blocker.end(), watcher.end()]);
    }
  });
});

describe('a purchase of unknown outcome', () => {
  test.each(['/v1/orders', '/v1/activate'])(
    'sent without a key is found by the key of its 503: %s',
    async (path) => {
      const customer = await makeCustomer(fixture.api);
      const request = path === '/v1/orders' ? body() : { address: newChainAccount().address };
      const blocker = new pg.Client({ connectionString: fixture.env['DATABASE_URL'] });
      await blocker.connect();
      try {
        await blocker.query('BEGIN');
        await blocker.query('SELECT 1 FROM credit_account WHERE project_id = $1 FOR UPDATE', [customer.merchant]);
        const unknown = await customer.post(path, request);
        await blocker.query('COMMIT');
        expectRefusal(unknown, 503, 'SERVICE_UNAVAILABLE');
        const key = unknown.body.key as string;
        expect(key).toMatch(/^[A-Za-z0-9_-]{16,}$/);
        expect(unknown.headers['idempotency-key']).toBe(key);
        expect(unknown.body.msg).toContain(`Idempotency-Key ${key}`);
        const orders = [];
        for (let time = 0; time < 3; time += 1) orders.push(await customer.post(path, request, withKey(key)));
        for (const { status, body: order } of orders)
          expect([status, order.key, order.id]).toEqual([202, key, orders[0]!.body.id]);
        expect((await customer.get('/v1/orders')).body.items).toHaveLength(1);
      } finally {
        await blocker.end();
      }
    },
    60_000,
  );
});

describe('a purchase by HMAC of unknown outcome', () => {
  test.each(['/v1/orders', '/v1/activate'])(
    'sent without a key is read by the key of its nonce, as its 503 says: %s',
    async (path) => {
      const { baseUrl, merchant, apiKey } = await makeCustomer(fixture.api);
      const customer = new HmacCustomer(baseUrl, merchant, apiKey);
      const request = path === '/v1/orders' ? body() : { address: newChainAccount().address };
      const blocker = new pg.Client({ connectionString: fixture.env['DATABASE_URL'] });
      await blocker.connect();
      try {
        await blocker.query('BEGIN');
        await blocker.query('SELECT 1 FROM credit_account WHERE project_id = $1 FOR UPDATE', [merchant]);
        const unknown = await customer.post(path, request);
        await blocker.query('COMMIT');
        expectRefusal(unknown, 503, 'SERVICE_UNAVAILABLE');
        const key = unknown.body.key as string;
        expect(key).toMatch(/^nonce_/);
        const [, read] = /Read GET (\S+) for the outcome/.exec(unknown.body.msg as string)!;
        expect(unknown.body.msg).not.toContain('repeat');
        expectRefusal(await customer.get(read!), 404, 'NOT_FOUND');
        expectRefusal(await customer.post(path, request, withKey(key)), 400, 'INVALID_REQUEST');
      } finally {
        await blocker.end();
      }
    },
    60_000,
  );
});

describe('a process', () => {
  test('that stops answers the waiting requests, then ends by itself', async () => {
    const customer = await makeCustomer(fixture.api);
    const api = await startApi(fixture.env);
    const answering = customer.at(api.baseUrl).post('/v1/orders', body(), { ...withKey('waiting'), Prefer: 'wait=30' });
    await until(
      async () => ((await customer.get('/v1/orders/waiting')).status === 200 ? true : undefined),
      10_000,
      'the order being taken',
    );
    api.process.signal('SIGTERM');
    const answer = await answering;
    expect(answer.status).toBe(202);
    expect(answer.body.key).toBe('waiting');
    expect(await api.process.exited).toBe(0);
  });

  test('starts while Redis and the chain are away, and refuses to start without its database', async () => {
    const customer = await makeCustomer(fixture.api);
    const nowhere = 'http://127.0.0.1:1';
    const away = { REDIS_URL: 'redis://127.0.0.1:1', TRON_FULL_NODE_URLS: nowhere, TRON_SOLIDITY_NODE_URLS: nowhere };
    const api = await startApi({ ...fixture.env, ...away });
    expect((await customer.at(api.baseUrl).get('/v1/balance')).status).toBe(200);
    await api.process.stop();
    await expect(startApi({ ...fixture.env, DATABASE_URL: 'postgres://127.0.0.1:1/none' })).rejects.toThrow(
      'DATABASE_URL',
    );
    await expect(startApi({ ...fixture.env, MASTER_KEY: 'short' })).rejects.toThrow('MASTER_KEY');
  });
});
