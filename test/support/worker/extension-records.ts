// Reads the records of extended orders on the fulfilment fixture, and changes them with triggers off.
import type { HmacCustomer } from '../api/client.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { api, fixtureDatabaseUrl } from './fulfilment-fixture.js';
import { asAdmin } from '../../setup/admin.js';

export async function chargesOf(key: string): Promise<{ entry: string; credits: bigint }[]> {
  return api.database.query(
    `SELECT regexp_replace(e.entry_key, '^charge:\\d+', 'charge:ID') AS entry, e.credits FROM credit_entry e JOIN orders o ON o.id = e.order_id
      WHERE o.key = $1 ORDER BY e.id`,
    [key],
  );
}

/** Runs a statement with triggers off, as a manual change of the database would. */
export async function byHand(statement: string, values: unknown[]): Promise<void> {
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(statement, values);
  });
}

export async function foundByVerify(): Promise<string[]> {
  const { checks } = await verifyRecords(api.database);
  return checks.filter(({ count }) => count > 0).map(({ check }) => check);
}

/** An extension in a test; each member has a default. */
export interface ExtensionAsked {
  /** Seconds. */
  readonly by?: number;
  readonly uses?: number;
  readonly under?: string;
  readonly as?: HmacCustomer;
}
