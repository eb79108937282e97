// Short administrative connections to the shared Postgres.
import pg from 'pg';

/** Longer than a busy machine needs: what hangs is to be seen, what is slow is not a fault. */
const CONNECT_LIMIT_MS = 60_000;
const ADMIN_LIMIT_MS = 60_000;

/** Runs `work` on a connection of its own, which is closed in any case. Every statement has a limit. */
export async function asAdmin<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: pastPooler(url),
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: ADMIN_LIMIT_MS,
    application_name: 'energy-test-admin',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The same server and user, another database. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** The server itself, where the URL is of the pooler that the tests go through: a session of one's own keeps what it sets. */
export function pastPooler(url: string): string {
  const port = process.env['TEST_POOLER_PORT'];
  // A URL of several hosts is none to URL, and leads to no pooler.
  if (port === undefined || !URL.canParse(url)) return url;
  const changed = new URL(url);
  if (changed.port !== port) return url;
  const server = new URL(fromSetup('TEST_DATABASE_URL'));
  changed.host = server.host;
  return changed.href;
}

/** A variable that the global set-up has set; without it the tests were not started through Jest's configuration. */
export function fromSetup(
  name: 'TEST_DATABASE_URL' | 'TEST_DATABASE_PREFIX' | 'TEST_ROLE_PASSWORD' | 'TEST_REDIS_URL',
): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests with jest.config.js`);
  return value;
}
