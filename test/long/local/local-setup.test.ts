// The tests' foundation: separate databases and Redis numbers, and detection of leaked connections.
import { Redis } from 'ioredis';
import pg from 'pg';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describe('the test database', () => {
  test('two test files never see each other', async () => {
    const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    const first = await connect(one.url);
    const second = await connect(two.url);
    await first.query('CREATE TABLE only_here (id int)');
    const seen = await second.query(`SELECT to_regclass('only_here') AS found`);
    expect(seen.rows).toEqual([{ found: null }]);
    await Promise.all([first.end(), second.end()]);
    await Promise.all([one.drop(), two.drop()]);
  });

  test('a copy has the schema that the migrations make', async () => {
    const database = await createTestDatabase();
    const client = await connect(database.url);
    const tables = await client.query(`SELECT to_regclass('migrations') IS NOT NULL AS migrated`);
    expect(tables.rows).toEqual([{ migrated: true }]);
    await client.end();
    await database.drop();
  });

  test('a connection left open fails the drop, and the database is dropped all the same', async () => {
    const database = await createTestDatabase();
    const client = await connect(database.url);
    await client.query('SELECT 42');
    await expect(database.drop()).rejects.toThrow(/leaked[^]*SELECT 42/);
    await expect(connect(database.url)).rejects.toThrow(/does not exist/);
    await client.end().catch(() => undefined);
  });
});

describe('the test Redis', () => {
  test('two test files never see each other', async () => {
    const [one, two] = await Promise.all([createTestRedis(), createTestRedis()]);
    const first = new Redis(one.url);
    const second = new Redis(two.url);
    await first.set('only', 'here');
    expect(await second.get('only')).toBeNull();
    first.disconnect();
    second.disconnect();
    await Promise.all([one.close(), two.close()]);
  });

  test('a connection left open fails the close', async () => {
    const redis = await createTestRedis();
    const client = new Redis(redis.url);
    await client.ping();
    await expect(redis.close()).rejects.toThrow(/leaked/);
    client.disconnect();
  });
});
