/** Tells if each connection keeps a session of its own. A pooler in transaction mode hands one to several clients. */
import { StartError } from '../../domain/errors.js';

/** The statement that `asks` send; each resolves with its answer. */
export const SESSION_ID = 'SELECT pg_backend_pid() AS pid';
/** One round shows a pooler that hands out the last returned session; more are for one that takes turns. */
const ROUNDS = 4;

/** Returns true unless two open connections are served by the same session, or one by several. */
export async function haveOwnSessions(asks: readonly (() => Promise<number>)[]): Promise<boolean> {
  const served = asks.map(() => new Set<number>());
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const [index, ask] of asks.entries()) served[index]?.add(await ask());
  }
  const sessions = new Set(served.flatMap((pids) => [...pids]));
  return sessions.size === asks.length && served.every((pids) => pids.size === 1);
}

/**
 * Throws StartError if a lock, a setting or an announcement to the session would be lost, or reach other clients.
 * `need`: what the process needs the session for.
 */
export async function assertOwnSessions(asks: readonly (() => Promise<number>)[], need: string): Promise<void> {
  if (await haveOwnSessions(asks)) return;
  throw new StartError(
    'DATABASE_SETTINGS',
    `A pooler in transaction mode is between this process and Postgres, and ${need} a session of their own. ` +
      'Set DATABASE_DIRECT_URL to the database itself (docs/high-availability.md). Nothing was done.',
  );
}
