// Opens this version's services on an older schema, which they would refuse. The missing migrations are marked as run
// meanwhile; no process of the service runs then. The services must use only features of the older schema: anything
// else fails with an error.
import pg from 'pg';
import { MIGRATION_NAMES } from '../../../src/platform/database/data-source.js';

const CONNECTION_LIMIT_MS = 10_000;
const STATEMENT_LIMIT_MS = 30_000;

export async function onEarlierSchema<T>(databaseUrl: string | undefined, open: () => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECTION_LIMIT_MS,
    query_timeout: STATEMENT_LIMIT_MS,
  });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: number }>(
      `INSERT INTO migrations (timestamp, name) SELECT right(ours, 13)::bigint, ours FROM unnest($1::text[]) AS ours
        WHERE NOT EXISTS (SELECT FROM migrations WHERE name = ours) RETURNING id`,
      [MIGRATION_NAMES],
    );
    try {
      return await open();
    } finally {
      await client.query('DELETE FROM migrations WHERE id = ANY ($1)', [rows.map(({ id }) => id)]);
    }
  } finally {
    await client.end();
  }
}
