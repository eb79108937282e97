// Short-lived administrative connections to the shared Postgres.
import pg from 'pg';

/** Longer than a slow machine needs, so that only a hanging server fails. */
const CONNECT_LIMIT_MS = 60_000;
const ADMIN_LIMIT_MS = 60_000;

/** Runs `work` on its own connection and always closes it. Every statement has a time limit. */
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

/** Returns the URL of another database on the same server, with the same user. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** Replaces the host of a pooler URL by the server's own: session settings do not survive a transaction-mode pooler. */
export function pastPooler(url: string): string {
  const port = process.env['TEST_POOLER_PORT'];
  // `URL` cannot parse a URL of several hosts, and such a URL never names the pooler.
  if (port === undefined || !URL.canParse(url)) return url;
  const changed = new URL(url);
  if (changed.port !== port) return url;
  const server = new URL(fromSetup('TEST_DATABASE_URL'));
  changed.host = server.host;
  return changed.href;
}

/** Reads a variable of Jest's global set-up. Throws when the tests run without jest.config.js. */
export function fromSetup(
  name: 'TEST_DATABASE_URL' | 'TEST_DATABASE_PREFIX' | 'TEST_ROLE_PASSWORD' | 'TEST_REDIS_URL',
): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests by their npm script`);
  return value;
}
