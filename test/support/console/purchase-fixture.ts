// A service with both consoles, projects whose owners may buy, and the requests of purchases.
import { randomUUID } from 'node:crypto';
import type { HmacCustomer } from '../api/client.js';
import { openTestProjectFixture, type TestProjectFixture } from '../api/test-project-fixture.js';
import { seedTestCanaries } from '../cli.js';
import { openConsole, type Account, type Answer, type TestConsole } from './console-fixture.js';

export const PURCHASES_LIMIT_MS = 120_000;
/** 65 000 energy for an hour at 45 sun each, at 0.30 USD per TRX. */
export const PRICE = 8_775_000;
const CAP = 100 * PRICE;

/** A project and its owner. */
export interface Buyer {
  readonly of: HmacCustomer;
  readonly by: Account;
}

export interface PurchaseFixture {
  readonly service: TestProjectFixture;
  readonly merchants: TestConsole;
  readonly operators: TestConsole;
  /** Creates a project with credits and without a cap. */
  readonly project: (balance?: bigint, isTest?: boolean) => Promise<HmacCustomer>;
  /** Makes the one owner of all projects an owner of this one, too. */
  readonly join: (of: HmacCustomer) => Promise<Account>;
  /** Opens a project with that owner and a cap. */
  readonly opened: (options?: {
    readonly balance?: bigint;
    readonly isTest?: boolean;
    readonly cap?: number;
  }) => Promise<Buyer>;
  readonly wanted: () => { receive_address: string; energy: number; duration_sec: number };
  readonly buy: (buyer: Buyer, change?: object) => Promise<Answer>;
  readonly query: <Row extends object>(text: string, params?: readonly unknown[]) => Promise<Row[]>;
  /** The project's charges, the oldest first. */
  readonly charges: (of: HmacCustomer) => Promise<{ entry_key: string; credits: bigint }[]>;
  readonly close: () => Promise<void>;
}

export const formKey = (): string => `console_${randomUUID()}`;
export const purchasePath = (of: HmacCustomer, rest = ''): string => `/api/projects/${of.merchant}/purchases${rest}`;
export const refusalOf = ({ status, body }: Answer): [number, string] => [status, body.error as string];
/** Sets the cap; undefined for none. */
export const setCap = async ({ of, by }: Buyer, credits: number | undefined): Promise<Answer> =>
  by.browser.post(purchasePath(of, '/cap'), credits === undefined ? {} : { daily_cap_credits: credits });

/** `extra` adds settings for the API. */
export async function openPurchaseFixture(extra: Record<string, string> = {}): Promise<PurchaseFixture> {
  const service = await openTestProjectFixture(extra);
  const url = service.env['DATABASE_URL']!;
  await seedTestCanaries(url);
  const merchants = await openConsole(url, 'merchant', { RATE_SOURCES: 'static' });
  const operators = await openConsole(url, 'operator');
  const query: PurchaseFixture['query'] = (text, params = []) => service.api.database.query(text, params);
  const project: PurchaseFixture['project'] = (balance = 10_000_000_000n, isTest = false) =>
    service.customer({ balance, isTest });
  const by = await merchants.signedIn('owner', (await project()).merchant);
  const join: PurchaseFixture['join'] = async ({ merchant }) => {
    const text = `INSERT INTO membership (person_id, audience, project_id, role) VALUES ($1, 'merchant', $2, 'owner')`;
    await query(text, [by.id, merchant]);
    return by;
  };
  const wanted = () => ({ receive_address: service.receiver(), energy: 65_000, duration_sec: 3600 });
  return {
    ...{ service, merchants, operators, project, join, wanted, query },
    opened: async ({ balance, isTest, cap = CAP } = {}) => {
      const of = await project(balance, isTest);
      await join(of);
      const set = await setCap({ of, by }, cap);
      expect([set.status, set.text]).toEqual([200, expect.any(String)]);
      return { of, by };
    },
    buy: async ({ of, by }, change = {}) =>
      by.browser.post(purchasePath(of), { ...wanted(), key: formKey(), credits: PRICE, ...change }),
    charges: async (of) =>
      query(`SELECT entry_key, credits FROM credit_entry WHERE project_id = $1 AND kind = 'charge' ORDER BY id`, [
        of.merchant,
      ]),
    close: async () => {
      await operators.close();
      await merchants.close();
      await service.close();
    },
  };
}
