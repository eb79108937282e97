// A service for tests of orders: chain, Postgres, Redis, one API in this process, a filled pool. No worker runs.
import { OrderTermination } from '../../../src/modules/fulfilment/plan/order-termination.js';
import { FulfilmentEvents } from '../../../src/modules/fulfilment/fulfilment-events.js';
import type { ClaimedOrder } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { openLog } from '../log.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import type { Answer, Customer } from './client.js';
import { retryWithoutConnection } from '../database/pool-retry.js';
import { fillPool, openApi, serviceEnv, type TestApi } from './factory.js';
import { startOrderChain, type OrderChain } from '../chain/order-chain.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';

export interface OrderFixture {
  readonly chain: OrderChain;
  readonly api: TestApi;
  /** The settings of `api`, for further processes of the same service. */
  readonly env: Record<string, string>;
  readonly receiver: (index?: number) => string;
  /** Returns the ref of a quote for the first receiver, by default of 65 000 energy. */
  readonly quoteRef: (customer: Customer, energy?: number) => Promise<string>;
  /** Refunds an undelivered order as the worker does. */
  readonly refund: (customer: Customer, key: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Opens the service. `extra` adds or replaces settings of its API. */
export async function openOrderFixture(extra: Record<string, string> = {}): Promise<OrderFixture> {
  const [chain, store, redis] = await Promise.all([startOrderChain(), createTestDatabase(), createTestRedis()]);
  const env = serviceEnv(store.url, redis.url, chain);
  const api = await openApi({ ...env, ...extra });
  await fillPool(api, chain);
  return {
    chain,
    api,
    env,
    receiver: (index = 0) => chain.receivers[index % chain.receivers.length]!,
    quoteRef: async (customer, energy = 65_000) => {
      const answer = await customer.post('/v1/quotes', { receive_address: chain.receivers[0], energy });
      expect(answer.status).toBe(200);
      return answer.body.ref as string;
    },
    refund: (customer, key) => refundOrder(api, customer.merchant, key),
    close: async () => {
      await api.close();
      await chain.stop();
      await redis.close();
      await store.drop();
    },
  };
}

/** Refunds an undelivered order as the worker does: releases its capacity and returns its charge. */
export async function refundOrder(api: TestApi, projectId: string, key: string): Promise<void> {
  const ending = new OrderTermination(api.database, api.ledger, new FulfilmentEvents(new Metrics(), openLog('silent')));
  const [row] = await retryWithoutConnection(async () =>
    api.database.query<{ id: bigint; fence: number; credits: bigint }>(
      'SELECT id, fence, credits FROM orders WHERE project_id = $1 AND key = $2',
      [projectId, key],
    ),
  );
  const legs = await retryWithoutConnection(async () =>
    api.database.query<{ id: bigint }>('SELECT id FROM leg WHERE order_id = $1', [row!.id]),
  );
  const order = { ...row!, projectId } as unknown as ClaimedOrder;
  await retryWithoutConnection(async () => ending.releaseLegs(order, legs as never));
  await retryWithoutConnection(async () => ending.refund(order, 'It could not be delivered.'));
}

/** Marks an order delivered and settled, for tests without a worker. */
export async function settleOrder(api: TestApi, orderId: bigint): Promise<void> {
  await api.database.transaction(async (tx) => {
    await tx.query(`SET LOCAL session_replication_role = replica`);
    await tx.query(
      `UPDATE orders SET status = 'delivered', settled = true, delivered_energy = energy, delivered_at = created_at,
         ends_at = created_at + duration_sec * interval '1 second', next_run_at = NULL
        WHERE id = $1 AND status = 'reserved'`,
      [orderId],
    );
  });
}

export const withKey = (key: string) => ({ 'Idempotency-Key': key });

export async function balanceOf(customer: Customer): Promise<number> {
  const answer = await customer.get('/v1/balance');
  expect(answer.status).toBe(200);
  return answer.body.credits_balance as number;
}

export function expectRefusal(answer: Answer, status: number, code: string): void {
  const { error, ok, msg } = answer.body as { error: unknown; ok: unknown; msg: unknown };
  expect({ status: answer.status, error, ok }).toEqual({ status, error: code, ok: false });
  expect(typeof msg).toBe('string');
}
