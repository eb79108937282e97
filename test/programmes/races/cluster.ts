// The cluster of the races: two API processes on one Postgres and one Redis, the local chain, a pool that sells energy
// and bandwidth, no worker. Services in the test's own process create fixtures, end orders and read the records.
import type { Ledger } from '../../../src/modules/billing/ledger.js';
import type { Database } from '../../../src/platform/database/database.js';
import type { Answer, Customer } from '../../support/api/client.js';
import { fillPool, openApi, serviceEnv, startApi, type ApiProcess, type TestApi } from '../../support/api/factory.js';
import { sellBandwidth } from '../../support/api/bandwidth-sale.js';
import { startOrderChain, type OrderChain } from '../../support/chain/order-chain.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';

export interface RaceCluster {
  readonly services: TestApi;
  readonly ledger: Ledger;
  readonly database: Database;
  readonly chain: OrderChain;
  readonly env: Record<string, string>;
  /** Base URLs of the two processes under test. */
  readonly urls: readonly [string, string];
  readonly close: () => Promise<void>;
}

/** One row of the result table. */
export interface Row {
  readonly race: string;
  readonly done: string;
  readonly wanted: string;
  readonly found: string;
}

export async function openCluster(poolMax: number): Promise<RaceCluster> {
  const [chain, store, redis] = await Promise.all([startOrderChain(), createTestDatabase(), createTestRedis()]);
  const closings = [() => chain.stop(), () => redis.close(), () => store.drop()];
  const env = {
    ...serviceEnv(store.url, redis.url, chain),
    DATABASE_POOL_MAX: poolMax.toString(),
    MARKET_REFRESH_SEC: '1',
  };
  const services = await openApi({ ...env, DATABASE_POOL_MAX: '8' });
  closings.unshift(() => services.close());
  await fillPool(services, chain);
  await sellBandwidth({ api: services, chain });
  const apis: ApiProcess[] = [await startApi(env), await startApi(env)];
  closings.unshift(async () => {
    await Promise.all(apis.map((api) => api.process.stop()));
  });
  return {
    services,
    ledger: services.ledger,
    database: services.database,
    chain,
    env,
    urls: [apis[0]!.baseUrl, apis[1]!.baseUrl],
    close: async () => {
      for (const close of closings) await close();
    },
  };
}

/** Sends `count` concurrent requests, alternating between the two processes. */
export async function volley(
  cluster: RaceCluster,
  customer: Customer,
  count: number,
  request: (at: Customer, index: number) => Promise<Answer>,
): Promise<Answer[]> {
  const sides = cluster.urls.map((url) => customer.at(url));
  return Promise.all(Array.from({ length: count }, (_, index) => request(sides[index % 2]!, index)));
}

/** Counts the answers by status and error code: `1 × 202, 99 × 409 QUOTE_ALREADY_USED`. */
export function tally(answers: readonly Answer[]): string {
  const counts = new Map<string, number>();
  for (const { status, body } of answers) {
    const code = (body as { error?: string } | undefined)?.error;
    const name = status >= 400 ? `${status.toString()} ${code ?? '?'}` : status.toString();
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${count.toString()} × ${name}`)
    .join(', ');
}

export interface Books {
  readonly orders: number;
  readonly charges: number;
  readonly refunds: number;
  readonly balance: bigint;
  /** Sum of the entries. */
  readonly entries: bigint;
}

/** Returns the records of one project. */
export async function recordsOf(cluster: RaceCluster, projectId: string): Promise<Books> {
  const [row] = await cluster.database.query<{
    orders: number;
    charges: number;
    refunds: number;
    balance: bigint;
    entries: bigint;
  }>(
    `SELECT (SELECT count(*)::int FROM orders WHERE project_id = $1) AS orders,
            (SELECT count(*)::int FROM credit_entry WHERE project_id = $1 AND kind = 'charge') AS charges,
            (SELECT count(*)::int FROM credit_entry WHERE project_id = $1 AND kind = 'refund') AS refunds,
            (SELECT balance_credits FROM credit_account WHERE project_id = $1) AS balance,
            (SELECT coalesce(sum(credits), 0)::bigint FROM credit_entry WHERE project_id = $1) AS entries`,
    [projectId],
  );
  if (row === undefined) throw new Error('the database answered nothing');
  return row;
}
