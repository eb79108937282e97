// Chain, database and API for tests of auto-delegations, with rows as a worker would leave them. No worker runs.
import type { Answer, Customer } from './client.js';
import { HmacCustomer } from './client.js';
import { makeCustomer } from './factory.js';
import { openOrderFixture, type OrderFixture } from './order-fixture.js';

export const LIMIT = 4;
/** Prices: 45 sun per energy up to an hour, 65 up to a day. One TRX is 0.30 dollars: three credits per sun. */
export const KEEP = 65_000;
export const LEAST = { keep_energy: KEEP, daily_cap_credits: 1_000_000_000 };

/** Columns as a worker leaves them. */
export const WORKED = `asleep = true, failures = 3, used_at = '2026-11-20T12:00:00Z', due_at = NULL, fence = 7, purchases = 5,
  usable_energy = 12345, checked_at = '2026-11-20T12:00:03.412Z', spent_credits = 900,
  spent_on = (clock_timestamp() AT TIME ZONE 'UTC')::date`;
export const BUYING = 'open_order_id = 77';
export const PAUSED = `pause_reason = 'INSUFFICIENT_CREDITS', paused_at = '2026-11-20T11:58:00Z'`;

export const pathOf = (address: string): string => `/v1/auto-delegations/${address}`;

export const put = (customer: HmacCustomer, address: string, body: object = LEAST): Promise<Answer> =>
  customer.request('PUT', pathOf(address), {}, JSON.stringify(body));

export async function made(customer: HmacCustomer, address: string, more: object = {}): Promise<Answer['body']> {
  const answer = await put(customer, address, { ...LEAST, ...more });
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body;
}

interface Row {
  readonly api_key_id: string;
  readonly asleep: boolean;
  readonly failures: number;
  readonly fence: bigint;
  readonly is_due: boolean;
  readonly used_at: Date | null;
  readonly pause_reason: string | null;
  readonly spent_credits: bigint;
  readonly open_order_id: bigint | null;
}

export interface AutoDelegationFixture {
  readonly fixture: OrderFixture;
  readonly newCustomer: () => Promise<HmacCustomer>;
  /** An activated account that no other test uses. */
  readonly receiver: () => string;
  readonly rowOf: (customer: Pick<Customer, 'merchant'>, address: string) => Promise<Row | undefined>;
  /** Changes a row as a worker would. */
  readonly leave: (customer: Pick<Customer, 'merchant'>, address: string, changes: string) => Promise<void>;
}

export async function openAutoDelegationFixture(): Promise<AutoDelegationFixture> {
  const fixture = await openOrderFixture({ AUTO_DELEGATIONS_PER_PROJECT: LIMIT.toString() });
  const { database } = fixture.api;
  let receivers = 0;
  return {
    fixture,
    newCustomer: async () => {
      const { merchant, apiKey } = await makeCustomer(fixture.api);
      return new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
    },
    receiver: () => fixture.receiver((receivers += 1)),
    rowOf: async ({ merchant }, address) => {
      const [row] = await database.query<Row>(
        `SELECT *, due_at <= clock_timestamp() AS is_due FROM auto_delegation WHERE project_id = $1 AND address = $2`,
        [merchant, address],
      );
      return row;
    },
    leave: async ({ merchant }, address, changes) => {
      await database.query(`UPDATE auto_delegation SET ${changes} WHERE project_id = $1 AND address = $2`, [
        merchant,
        address,
      ]);
    },
  };
}
