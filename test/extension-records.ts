// What the records of the protocol stage say of extended orders, and hands that change them past every trigger.
import { verifyRecords } from '../src/verify/verify.js';
import { api, stageDatabaseUrl } from './protocol-stage.js';
import { asAdmin } from './setup/admin.js';

export async function chargesOf(key: string): Promise<{ entry: string; credits: bigint }[]> {
  return api.database.query(
    `SELECT regexp_replace(e.entry_key, '^charge:\\d+', 'charge:ID') AS entry, e.credits FROM credit_entry e JOIN orders o ON o.id = e.order_id
      WHERE o.key = $1 ORDER BY e.id`,
    [key],
  );
}

/** As a hand at the keyboard of the database would: past every trigger. */
export async function byHand(statement: string, values: unknown[]): Promise<void> {
  await asAdmin(stageDatabaseUrl(), async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(statement, values);
  });
}

export async function foundByVerify(): Promise<string[]> {
  const { checks } = await verifyRecords(api.database);
  return checks.filter(({ count }) => count > 0).map(({ check }) => check);
}
