/** Checks at a start that named statements stay with their connection. A pooler in transaction mode loses them. */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { StartError } from '../../domain/errors.js';
import { sqlStateOf } from './database.js';

/** One round shows a pooler that hands out the last returned connection; more are for one that takes turns. */
const ROUNDS = 4;
/** `prepared statement … does not exist`, and `… already exists`. */
const LOST = new Set(['26000', '42P05']);

/**
 * Throws StartError if a statement that one client named is missing there later, or known to another client. Otherwise
 * a client would run the SQL that another version of a process prepared under the same name.
 */
export async function checkNamedStatements(clients: readonly Pick<pg.ClientBase, 'query'>[]): Promise<void> {
  // A random name, because the pooler's connections keep the names of earlier starts.
  const name = `named_${randomBytes(8).toString('hex')}`;
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const client of clients) {
      try {
        await client.query({ name, text: 'SELECT 1' });
      } catch (error) {
        if (!LOST.has(sqlStateOf(error) ?? '')) throw error;
        throw new StartError(
          'DATABASE_SETTINGS',
          'A pooler in transaction mode is between this process and Postgres, and loses prepared statements. ' +
            'Set PG_NAMED_STATEMENTS=off, and DATABASE_DIRECT_URL to the database itself (docs/high-availability.md).',
        );
      }
    }
  }
}
