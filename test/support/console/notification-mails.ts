// The notification mails of one person: makes them due, and reads their state.
import { until } from '../../../packages/local/src/wait.js';
import type { Database } from '../../../src/platform/database/database.js';
import type { Account } from './console-fixture.js';

export const MAIL_LIMIT_MS = 60_000;

export interface MailState {
  readonly position: bigint;
  readonly noted: readonly string[];
  readonly failures: number;
  /** Mails of the last hour. */
  readonly lately: number;
}

/** Ends the collecting minute, or the pause after a failure. */
export async function hastenMails(database: Database, { id }: Pick<Account, 'id'>): Promise<void> {
  await until(
    async () => {
      const rows = await database.query(
        `UPDATE notification SET due_at = clock_timestamp() WHERE lease_until IS NULL
            AND membership_id IN (SELECT id FROM membership WHERE person_id = $1) RETURNING membership_id`,
        [id],
      );
      return rows.length > 0 ? true : undefined;
    },
    MAIL_LIMIT_MS,
    'the mail under way',
    50,
  );
}

/** Makes the mail due if it has failed exactly `failures` times in a row and is not being retried. */
export async function hastenAfter(database: Database, { id }: Pick<Account, 'id'>, failures: number): Promise<void> {
  await database.query(
    `UPDATE notification SET due_at = clock_timestamp() WHERE lease_until IS NULL AND failures = $2
        AND membership_id IN (SELECT id FROM membership WHERE person_id = $1)`,
    [id, failures],
  );
}

export async function mailState(database: Database, { id }: Pick<Account, 'id'>): Promise<MailState> {
  const [row] = await database.query<MailState>(
    `SELECT n.position, n.noted, n.failures, cardinality(n.mailed_at) AS lately FROM notification n
       JOIN membership m ON m.id = n.membership_id WHERE m.person_id = $1`,
    [id],
  );
  return row!;
}
