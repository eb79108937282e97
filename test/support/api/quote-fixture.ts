// A service for tests of quotes and simulations: the local chain behind a faulty node, database, Redis, API and a
// client.
import type { Customer } from './client.js';
import { makeCustomer, openApi, type TestApi } from './factory.js';
import { openFaultyNode, type FaultyNode } from '../nodes/faulty-node.js';
import { settings } from '../cli.js';
import { WHO, startQuoteChain, type QuoteChain } from '../chain/quote-chain.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

export interface QuoteFixture {
  readonly chain: QuoteChain;
  readonly node: FaultyNode;
  readonly database: TestDatabase;
  readonly redis: TestRedis;
  readonly api: TestApi;
  readonly customer: Customer;
  /** Starts another API of the same service with other settings. The caller closes it. */
  readonly another: (env?: Record<string, string>) => Promise<TestApi>;
  readonly close: () => Promise<void>;
}

export async function openQuoteFixture(env: Record<string, string> = {}): Promise<QuoteFixture> {
  const [chain, database, redis] = await Promise.all([startQuoteChain(), createTestDatabase(), createTestRedis()]);
  const node = await openFaultyNode(chain.fullUrl);
  const common = settings(database.url, {
    REDIS_URL: redis.url,
    TRON_FULL_NODE_URLS: node.url,
    TRON_SOLIDITY_NODE_URLS: chain.solidUrl,
    TRON_READ_TIMEOUT_MS: '1000',
    TOKEN_CONTRACT: WHO.token,
    SIZING_HOLDER: WHO.bank,
    MARKET_REFRESH_SEC: '1',
    RATE_LIMIT_PER_MINUTE: '100000',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const another = (extra: Record<string, string> = {}) => openApi({ ...common, ...extra });
  const api = await another();
  return {
    chain,
    node,
    database,
    redis,
    api,
    customer: await makeCustomer(api),
    another,
    close: async () => {
      await api.close();
      await node.close();
      await chain.stop();
      await database.drop();
      await redis.close();
    },
  };
}

/** Repeats `ask` until `isDone`, for at most about twenty seconds. Returns the last answer. */
export async function until<T>(ask: () => Promise<T> | T, isDone: (answer: T) => boolean): Promise<T> {
  let last = await ask();
  for (let look = 0; look < 200 && !isDone(last); look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    last = await ask();
  }
  return last;
}
