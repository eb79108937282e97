/** Checks that each connection keeps a session of its own. A pooler in transaction mode hands one to several clients. */
import { StartError } from '../../domain/errors.js';

interface Client {
  query(text: string): Promise<unknown>;
}

/** One round shows a pooler that hands out the last returned session; more are for one that takes turns. */
const ROUNDS = 4;

/**
 * Throws StartError if two open connections are served by the same session, or one by several: a lock or a setting of
 * the session would then be lost, or belong to other clients.
 */
export async function assertOwnSessions(clients: readonly Client[]): Promise<void> {
  const served = clients.map(() => new Set<number>());
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const [index, client] of clients.entries()) {
      const [row] = (await client.query('SELECT pg_backend_pid() AS pid')) as { pid: number }[];
      if (row !== undefined) served[index]?.add(row.pid);
    }
  }
  const sessions = new Set(served.flatMap((pids) => [...pids]));
  if (sessions.size === clients.length && served.every((pids) => pids.size === 1)) return;
  throw new StartError(
    'DATABASE_SETTINGS',
    'A pooler in transaction mode is between this process and Postgres, and migrations need a session of their own. ' +
      'Set DATABASE_DIRECT_URL to the database itself (docs/high-availability.md). Nothing was done.',
  );
}
