/**
 * Reviews the access that a restored dump revives: ends all sessions, and lists keys, people and secrets for an
 * operator to check. If the damaged database is available, only the differences are listed.
 */
import { Injectable } from '@nestjs/common';
import pg from 'pg';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { raiseToldNumbers } from '../../platform/database/told-numbers.js';

const CONNECT_MS = 10_000;
const QUERY_MS = 60_000;

/**
 * Runs in both databases. Secrets are compared by a hash of their sealed form; the secrets themselves are never shown.
 */
const ACCESS = `
  SELECT 'API key' AS kind, k.id::text AS id, p.name || ', ' || k.name AS name,
         CASE WHEN k.revoked_at IS NULL THEN 'works, secret ' || left(encode(sha256(k.sealed), 'hex'), 8)
              ELSE 'revoked' END AS state
    FROM api_key k JOIN project p ON p.id = k.project_id
  UNION ALL
  SELECT 'person', m.person_id || ' ' || coalesce(m.project_id::text, 'operators'),
         r.email || ', ' || coalesce(p.name, 'operators'), m.role
    FROM membership m JOIN person r ON r.id = m.person_id LEFT JOIN project p ON p.id = m.project_id
  UNION ALL
  SELECT 'password and second factor', r.id::text, r.audience || ' ' || r.email,
         'change ' || r.credentials || CASE WHEN r.totp_since IS NULL THEN ', no second factor' ELSE '' END
    FROM person r WHERE EXISTS (SELECT FROM membership m WHERE m.person_id = r.id)
  UNION ALL
  SELECT 'recovery codes', r.id::text, r.audience || ' ' || r.email, count(*) || ' left'
    FROM recovery_code c JOIN person r ON r.id = c.person_id GROUP BY r.id
  UNION ALL
  SELECT 'webhook secret', w.id::text, p.name || ', ' || w.url,
         CASE WHEN w.deleted_at IS NULL THEN 'works, secret ' || coalesce(left(encode(sha256(w.secret_sealed), 'hex'), 8), 'none')
              ELSE 'deleted' END
    FROM webhook_endpoint w JOIN project p ON p.id = w.project_id
  UNION ALL
  SELECT 'invitation', i.id::text, i.audience || ' ' || i.email, 'open, ' || i.role
    FROM invitation i WHERE i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > clock_timestamp()
  ORDER BY 1, 3, 2`;

interface AccessRow {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

/** `before`: the state in the damaged database; "not there" if the row was gone. Undefined without that database. */
export interface RestoredAccess extends AccessRow {
  readonly before?: string;
}

const GONE = 'not there';
const NO_ACCESS = new Set(['revoked', 'deleted']);

@Injectable()
export class RestoredAccessReview {
  constructor(private readonly database: Database) {}

  /**
   * Ends every session of both consoles, and raises the numbers of new rows above those that lost rows may have had.
   * Returns the number of sessions, and the step.
   */
  async recordRestore(author: Author): Promise<{ ended: number; raisedBy: number }> {
    return this.database.transaction(async (tx) => {
      const ended = (await tx.query(`DELETE FROM console_session RETURNING id`)).length;
      const raisedBy = await raiseToldNumbers(tx);
      await recordAct(tx, author, { action: 'console.after-restore', subject: 'all', detail: { ended, raisedBy } });
      return { ended, raisedBy };
    });
  }

  /** Lists the access that this database grants; with `lostUrl` only its differences from the damaged database. */
  async list(lostUrl: string | undefined): Promise<RestoredAccess[]> {
    const here = await this.database.query<AccessRow>(ACCESS);
    if (lostUrl === undefined) return here.filter(({ state }) => !NO_ACCESS.has(state));
    const lost = new Map((await readLost(lostUrl)).map((row) => [keyOf(row), row]));
    const changed = here.flatMap((row): RestoredAccess[] => {
      const before = lost.get(keyOf(row))?.state ?? GONE;
      lost.delete(keyOf(row));
      return before === row.state || (NO_ACCESS.has(row.state) && before === GONE) ? [] : [{ ...row, before }];
    });
    // Access granted after the dump is lost with it: its owner must request it again.
    const missing = [...lost.values()].map(({ state, ...row }) => ({ ...row, state: GONE, before: state }));
    return [...changed, ...missing];
  }
}

const keyOf = ({ kind, id }: AccessRow): string => `${kind} ${id}`;

async function readLost(connectionString: string): Promise<AccessRow[]> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    application_name: 'energy after-restore',
  });
  // A connection that breaks later also rejects the query.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('BEGIN TRANSACTION READ ONLY');
    return (await client.query<AccessRow>(ACCESS)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
