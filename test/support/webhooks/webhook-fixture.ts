// Database, Redis and API for tests of webhooks. Its chain is unreachable.
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { HmacCustomer } from '../api/client.js';
import { AUTHOR, makeCustomer, openApi, type TestApi } from '../api/factory.js';
import { openLog } from '../log.js';
import { settings } from '../cli.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

export const URL_OF_SHOP = 'https://shop.example.com/energy?token=abc';

export interface WebhookFixture {
  readonly api: TestApi;
  readonly redis: TestRedis;
  readonly env: Record<string, string>;
  readonly newCustomer: () => Promise<HmacCustomer>;
  /** Creates a webhook. Its URL is never requested unless `more` names another. */
  readonly newWebhook: (customer: HmacCustomer, more?: object) => Promise<{ id: string; secret: string }>;
  readonly numberAll: () => Promise<void>;
  readonly freeze: (customer: HmacCustomer, isFrozen?: boolean) => Promise<void>;
  /** Emits two events by freezing and unfreezing the project. */
  readonly happen: (customer: HmacCustomer) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openWebhookFixture(extra: Record<string, string> = {}): Promise<WebhookFixture> {
  const [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  const env = settings(store.url, { REDIS_URL: redis.url, LOG_LEVEL: 'silent', DATABASE_POOL_MAX: '8', ...extra });
  const api = await openApi(env);
  const numberAll = async (): Promise<void> => {
    const numberer = new Numberer(api.database, new Metrics(), openLog('silent'));
    while ((await numberer.numberBatch()) > 0);
  };
  const freeze = (customer: HmacCustomer, isFrozen = true): Promise<void> =>
    api.ledger.setFrozen(customer.merchant, isFrozen, AUTHOR);
  return {
    api,
    redis,
    env,
    newCustomer: async () => {
      const { merchant, apiKey } = await makeCustomer(api);
      return new HmacCustomer(api.baseUrl, merchant, apiKey);
    },
    newWebhook: async (customer, more = {}) => {
      const answer = await customer.post('/v1/webhooks', { url: URL_OF_SHOP, ...more });
      expect(answer.status).toBe(201);
      return answer.body;
    },
    numberAll,
    freeze,
    happen: async (customer) => {
      await freeze(customer);
      await freeze(customer, false);
      await numberAll();
    },
    close: async () => {
      await api.close();
      await redis.close();
      await store.drop();
    },
  };
}
