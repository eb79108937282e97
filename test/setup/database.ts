// A database for one test file, copied from the migrated template.
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { until } from '../../packages/local/src/wait.js';
import { Sealer, type SealPurpose } from '../../src/platform/support/seal.js';
import { asAdmin, databaseUrl, fromSetup } from './admin.js';
import { keepSaid, noteSecret, noteWebhookSecret, sealKeysFor, type Kind } from './canary.js';

const CLOSING_LIMIT_MS = 3_000;
/** Rows kept of each table. Rows beyond this number hold more data of the same kind. */
const KEPT_ROWS_MAX = 20_000;

export interface TestDatabase {
  readonly url: string;
  /** Drops the database. Throws when a connection to it is still open: the code under test leaked it. */
  drop(): Promise<void>;
}

/**
 * Creates a migrated database without rows for the caller alone. Call `drop` in afterAll, after closing all
 * connections.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = fromSetup('TEST_DATABASE_URL');
  const prefix = fromSetup('TEST_DATABASE_PREFIX');
  const name = `${prefix}_${randomBytes(5).toString('hex')}`;
  await asAdmin(adminUrl, async (client) => {
    // Copying files is faster than the default, which writes every page to the WAL.
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${prefix}_template STRATEGY file_copy`);
    // The right to temporary tables belongs to the database, so that the copy does not inherit the template's REVOKE.
    await client.query(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`);
  });
  const url = databaseUrl(adminUrl, name);
  return {
    url,
    drop: async () => {
      await asAdmin(url, async (client) => {
        await noteSealed(client);
        await keepRows(client);
      });
      await asAdmin(adminUrl, async (client) => {
        const leaked = await connectionsLeft(client, name);
        await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
        if (leaked.length > 0) {
          throw new Error(`connections leaked to the test database:\n${leaked.join('\n')}`);
        }
      });
    },
  };
}

/**
 * Length of nonce and tag. Bulk rows of tests hold shorter fillers: skipping them saves a try with every key of the
 * run.
 */
const SEALED_BYTES_MIN = 28;

const SEALED = {
  'API key': 'api-key',
  'pool key': 'pool-key',
  'webhook secret': 'webhook-secret',
} as const satisfies Partial<Record<Kind, SealPurpose>>;

/** Notes every sealed secret of the database, so that the search also finds secrets that no test has read. */
async function noteSealed(client: pg.Client): Promise<void> {
  const found = await client.query<{ kind: keyof typeof SEALED; sealed: Buffer; context: string }>(
    `SELECT kind, sealed, context FROM (
         SELECT 'API key' AS kind, unnest(ARRAY[sealed, previous_sealed]) AS sealed, id::text AS context FROM api_key
         UNION ALL SELECT 'pool key', key_sealed, address FROM pool_wallet
         UNION ALL SELECT 'webhook secret', unnest(ARRAY[secret_sealed, previous_secret_sealed]), id::text FROM webhook_endpoint
       ) each WHERE octet_length(sealed) > ${SEALED_BYTES_MIN.toString()}`,
  );
  for (const [kind, purpose] of Object.entries(SEALED) as [keyof typeof SEALED, SealPurpose][]) {
    const rows = found.rows.filter((row) => row.kind === kind);
    for (const current of rows.length === 0 ? [] : await sealKeysFor(purpose)) {
      const sealer = new Sealer({ current });
      for (const { sealed, context } of rows) {
        const secret = sealer.open(sealed, context);
        if (secret === undefined) continue;
        if (kind === 'webhook secret') noteWebhookSecret(secret.toString());
        else noteSecret(kind, kind === 'API key' ? secret.toString() : secret);
      }
    }
  }
}

/** Keeps all tables as text for the search. Sealed columns are kept as ciphertext. */
async function keepRows(client: pg.Client): Promise<void> {
  const tables = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`,
  );
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ text: string }>(
      `SELECT t::text AS text FROM (SELECT * FROM "${name}" LIMIT ${KEPT_ROWS_MAX.toString()}) t`,
    );
    if (rows.length > 0) keepSaid(`table ${name}`, rows.map(({ text }) => text).join('\n'));
  }
}

/** Lists open connections. A connection that is closing gets a moment to finish. */
async function connectionsLeft(client: pg.Client, name: string): Promise<string[]> {
  let left: string[] = [];
  const none = async (): Promise<true | undefined> => {
    const { rows } = await client.query<{ line: string }>(
      `SELECT concat_ws(' ', application_name, state, left(query, 200)) AS line
         FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
      [name],
    );
    left = rows.map((row) => row.line);
    return left.length === 0 ? true : undefined;
  };
  await until(none, CLOSING_LIMIT_MS, 'closing').catch((error: unknown) => {
    if (left.length === 0) throw error;
  });
  return left;
}
