// The request budget of a node: no window of one second exceeds the limit, whatever the mix of callers. An unset limit
// is learned from a node that throttles.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { monotonicMs } from '../../../src/platform/support/clock.js';
import { RequestBudget, type Urgency } from '../../../src/platform/chain/request-budget.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { authorizationOf, urlAt } from '../../../src/platform/chain/node-url.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const LIMIT = 10;

let store: TestRedis;
const clients: Redis[] = [];

beforeAll(async () => {
  store = await createTestRedis();
});

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await store.close();
});

async function connect(): Promise<Redis> {
  const redis = new Redis(store.url, { enableOfflineQueue: false, lazyConnect: true });
  clients.push(redis);
  await redis.connect();
  return redis;
}

async function waitUntil(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await isSo()); turn += 1) {
    if (turn === 600) throw new Error('it never became so');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const newPrefix = (): string => `t${randomBytes(4).toString('hex')}`;

/** Returns the most requests in any window of one second. */
function mostInOneSecond(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return Math.max(0, ...sorted.map((from, at) => sorted.slice(at).filter((time) => time < from + 1000).length));
}

it('no second has more requests than the limit, broadcasts and heads included, from several processes', async () => {
  const prefix = newPrefix();
  const options = { prefix, account: 'k', requestsPerSec: LIMIT, waitMaxMs: 5000 };
  const budgets = [];
  for (let n = 0; n < 3; n += 1) budgets.push(new RequestBudget({ ...options, redis: await connect() }));
  const times: number[] = [];
  const admitted: Record<Urgency, number> = { broadcast: 0, head: 0, other: 0 };
  const endMs = monotonicMs() + 3500;
  const ask = async (budget: RequestBudget, urgency: Urgency): Promise<void> => {
    while (monotonicMs() < endMs) {
      if (!(await budget.admit(urgency))) continue;
      times.push(monotonicMs());
      admitted[urgency] += 1;
    }
  };
  await Promise.all(budgets.flatMap((budget) => [ask(budget, 'other'), ask(budget, 'head'), ask(budget, 'broadcast')]));
  expect(mostInOneSecond(times)).toBeLessThanOrEqual(LIMIT);
  expect(admitted.broadcast).toBeGreaterThan(0);
  expect(admitted.head).toBeGreaterThan(0);
  expect(times.length).toBeGreaterThanOrEqual(LIMIT);
});

it('a broadcast and a head get places however much else is requested', async () => {
  const budget = new RequestBudget({
    redis: await connect(),
    prefix: newPrefix(),
    account: 'k',
    requestsPerSec: LIMIT,
    waitMaxMs: 1,
  });
  let others = 0;
  while (await budget.admit('other')) others += 1;
  expect(others).toBeGreaterThan(0);
  expect(await budget.admit('head')).toBe(true);
  expect(await budget.admit('broadcast')).toBe(true);
});

it('a limit is learned from throttled answers, lowered by further ones, and shared', async () => {
  const options = { prefix: newPrefix(), account: 'k', requestsPerSec: 0, waitMaxMs: 1 };
  const budget = new RequestBudget({ ...options, redis: await connect() });
  let learned: number | undefined;
  // Not from the burst with which a process starts.
  for (let n = 0; n < 40; n += 1) expect(await budget.admit('other')).toBe(true);
  expect([budget.learn(), budget.learn()]).toEqual([undefined, undefined]);
  await waitUntil(async () => {
    expect(await budget.admit('other')).toBe(true);
    learned = budget.learn();
    return learned !== undefined;
  });
  expect(learned).toBeLessThanOrEqual(20);
  expect(budget.learn()).toBeUndefined();
  const other = new RequestBudget({ ...options, redis: await connect() });
  await other.admit('other');
  await waitUntil(() => other.requestsPerSec === learned);
});

it('the first learned limit counts the requests of all processes', async () => {
  const options = { prefix: newPrefix(), account: 'k', requestsPerSec: 0, waitMaxMs: 1 };
  const busy = new RequestBudget({ ...options, redis: await connect() });
  const quiet = new RequestBudget({ ...options, redis: await connect() });
  let turn = 0;
  // Processes share their rates once in five seconds. The quiet one sends at most two requests a second.
  await waitUntil(async () => {
    for (let n = 0; n < 5; n += 1) await busy.admit('other');
    if ((turn += 1) % 10 === 0) await quiet.admit('other');
    return quiet.learn() !== undefined;
  });
  expect(quiet.requestsPerSec).toBeGreaterThanOrEqual(10);
  expect(busy.requestsPerSec).toBe(0);
});

it('a single refusal teaches no limit, and a second one within a minute does', async () => {
  // Without Redis each process learns by itself.
  const redis = await connect();
  const ended = once(redis, 'end');
  redis.disconnect();
  await ended;
  const budget = new RequestBudget({ redis, prefix: newPrefix(), account: 'k', requestsPerSec: 0, waitMaxMs: 1 });
  for (let n = 0; n < 400; n += 1) await budget.admit('other');
  expect(budget.learn()).toBeUndefined();
  expect(budget.learn()).toBeGreaterThanOrEqual(5);
});

it('a node that throttles the few requests of a quiet second teaches no limit', async () => {
  const budget = new RequestBudget({
    redis: await connect(),
    prefix: newPrefix(),
    account: 'k',
    requestsPerSec: 0,
    waitMaxMs: 1,
  });
  for (let n = 0; n < 3; n += 1) expect(await budget.admit('other')).toBe(true);
  expect(budget.learn()).toBeUndefined();
  expect(budget.requestsPerSec).toBe(0);
});

it('answers of a node never change a configured limit', async () => {
  const budget = new RequestBudget({
    redis: await connect(),
    prefix: newPrefix(),
    account: 'k',
    requestsPerSec: 5,
    waitMaxMs: 1,
  });
  expect(budget.learn()).toBeUndefined();
  expect(budget.requestsPerSec).toBe(5);
});

describe('the URL of a node', () => {
  let server: Server;
  const asked: { readonly url: string; readonly authorization: string | undefined }[] = [];
  let port = 0;

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push({ url: request.url ?? '', authorization: request.headers.authorization });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });

  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('with a user, a password, a path and a query is asked below its path, with all of them and no password in a name', async () => {
    const url = `http://us%40er:p%3Ass@127.0.0.1:${port.toString()}/rpc/?token=abc`;
    const node = new TronNode({
      fullUrl: url,
      solidUrl: url,
      apiKey: undefined,
      readTimeoutMs: 5000,
      broadcastTimeoutMs: 5000,
      headStallSec: 30,
      headAgeMaxSec: 0,
    });
    await node.postFull('wallet/getaccount', {});
    await node.postSolid('walletsolidity/getaccount', {});
    const authorization = `Basic ${Buffer.from('us@er:p:ss').toString('base64')}`;
    expect(asked).toEqual([
      { url: '/rpc/wallet/getaccount?token=abc', authorization },
      { url: '/rpc/walletsolidity/getaccount?token=abc', authorization },
    ]);
    expect(`${node.name} ${node.witness}`).not.toMatch(/ss|token/);
  });

  it('without any of that stays unchanged', () => {
    expect(urlAt('https://api.trongrid.io', 'wallet/getblock')).toBe('https://api.trongrid.io/wallet/getblock');
    expect(authorizationOf('https://api.trongrid.io')).toEqual({});
  });
});
