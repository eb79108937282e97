// `migrate down` behind a pooler, which keeps connections open under the names of ended clients.
import pg from 'pg';
import { cliWith, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(() => database.drop());

const cli = (...words: string[]) => cliWith(settings(database.url, { DATABASE_DIRECT_URL: database.url }))(...words);
const down = () => cli('migrate', 'down', '--database', new URL(database.url).pathname.slice(1), '--yes');

/** A connection that PgBouncer leaves open under the name of a process. */
async function named(name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, application_name: name });
  await client.connect();
  return client;
}

test('connections that a pooler left open do not prevent a migration down', async () => {
  const left = await named('energy-api');
  try {
    const { code, err, out } = await down();
    expect({ code, err, out }).toMatchObject({ code: 0, out: expect.stringMatching(/\w+17600/) as string });
    // And up again, for the tables that every test database has at its end.
    expect((await cli('migrate')).code).toBe(0);
  } finally {
    await left.end();
  }
});

test('a process that uses its connections through a pooler counts as running', async () => {
  const used = await named('energy-worker');
  const working = setInterval(() => void used.query('SELECT 1'), 500);
  try {
    const { code, err } = await down();
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining('The service is running (energy-worker). Stop it first.') as string,
    });
  } finally {
    clearInterval(working);
    await used.end();
  }
});
