/**
 * What people did to the service, with who and why, in the transaction that did it. Append-only by trigger; when it was
 * and by which role of the database, a trigger writes.
 */
import { systemUser } from '../base/system-user.js';
import type { Queryable } from './database.js';

/** Who acts, as they say themselves, and for what reason; both are kept for ever. */
export interface Author {
  readonly actor: string;
  readonly reason: string;
}

const INSERT = {
  name: 'audit-insert',
  text: `INSERT INTO audit_log (actor, action, subject, reason, detail, os_user) VALUES ($1, $2, $3, $4, $5, $6)`,
};

/** Records one act on `subject` (an id). `detail` holds what it changed and nothing secret; bigints become strings. */
export async function recordAct(
  tx: Queryable,
  author: Author,
  action: string,
  subject: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const json = JSON.stringify(detail, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
  await tx.query(INSERT, [author.actor, action, subject, author.reason, json, systemUser()]);
}
