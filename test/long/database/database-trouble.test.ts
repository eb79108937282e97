// A reachable database that cannot work: disk full, out of memory, failing files, read-only. Callers are told to retry
// with their key, no order is taken twice, and the service recovers by itself.
import { Registry } from 'prom-client';
import { messageOf } from '../../../src/domain/errors.js';
import { until } from '../../../packages/local/src/wait.js';
import { Database, isConnectionFault } from '../../../src/platform/database/database.js';
import { watchDatabase } from '../../../src/platform/database/database-gauges.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { asAdmin } from '../../setup/admin.js';

let fixture: OrderFixture;
let customer: Customer;
let made = 0;

beforeAll(async () => {
  fixture = await openOrderFixture();
  customer = await makeCustomer(fixture.api);
});

afterAll(() => fixture.close());

const body = () => ({ receive_address: fixture.receiver(0), energy: 65_000 });
const byHand = (...statements: string[]): Promise<void> =>
  asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    for (const statement of statements) await client.query(statement);
  });

/** Makes every insert into `orders` fail with this SQLSTATE, at the statement or at the commit. */
async function whileFailing(state: string, when: 'statement' | 'commit', work: () => Promise<void>): Promise<void> {
  await byHand(
    `CREATE FUNCTION fail_by_hand() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'by hand' USING ERRCODE = '${state}'; END $$`,
    when === 'statement'
      ? `CREATE TRIGGER fail_by_hand BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fail_by_hand()`
      : `CREATE CONSTRAINT TRIGGER fail_by_hand AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_by_hand()`,
  );
  try {
    await work();
  } finally {
    await byHand(`DROP TRIGGER fail_by_hand ON orders`, `DROP FUNCTION fail_by_hand`);
  }
}

const TROUBLES = [
  ['53100', 'disk_full'],
  ['53200', 'out_of_memory'],
  ['53400', 'no_resources'],
  ['58030', 'io_error'],
  ['58000', 'io_error'],
] as const;

it.each(
  TROUBLES.flatMap(([state, fault]) => (['statement', 'commit'] as const).map((when) => [state, when, fault] as const)),
)(
  'SQLSTATE %s at the %s is a 503 that names the key, is counted, and the same key buys once afterwards',
  async (state, when, fault) => {
    const registry = new Registry();
    watchDatabase(registry, fixture.api.app.get(Database));
    made += 1;
    const key = `trouble-${made.toString()}`;
    await whileFailing(state, when, async () => {
      const answer = await customer.post('/v1/orders', body(), withKey(key));
      expect(answer.status).toBe(503);
      expect(answer.body).toMatchObject({
        error: 'SERVICE_UNAVAILABLE',
        key,
        msg: expect.stringContaining('It is unknown if this purchase was made.'),
      });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(await registry.getSingleMetricAsString('pg_faults_total')).toMatch(
        new RegExp(`fault="${fault}"\\} [1-9]`),
      );
      expect((await customer.get('/v1/balance')).status).toBe(200);
    });
    expect((await customer.post('/v1/orders', body(), withKey(key))).status).toBe(202);
    expect((await customer.post('/v1/orders', body(), withKey(key))).headers['idempotency-replayed']).toBe('true');
  },
);

it('a server that accepts no writes answers purchases 503 and reads as before, is not ready, and recovers by itself', async () => {
  const name = new URL(fixture.env['DATABASE_URL']!).pathname.slice(1);
  const reconnect = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`;
  await byHand(`ALTER DATABASE ${name} SET default_transaction_read_only = on`, reconnect);
  try {
    const why = (): Promise<string> =>
      fixture.api.app
        .get(Database)
        .checkWritable()
        .then(() => 'ready', messageOf);
    await until(async () => ((await why()).includes('accepts no writes') ? true : undefined), 5000, 'not being ready');
    const answer = await customer.post('/v1/orders', body(), withKey('read-only'));
    expect([answer.status, answer.body.error, answer.body.key]).toEqual([503, 'SERVICE_UNAVAILABLE', 'read-only']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect((await customer.get('/v1/balance')).status).toBe(200);
  } finally {
    await byHand(
      'SET default_transaction_read_only = off',
      `ALTER DATABASE ${name} RESET default_transaction_read_only`,
    );
  }
  // No reconnect is forced: each connection that gets the refusal is closed.
  const buy = async (): Promise<number> => (await customer.post('/v1/orders', body(), withKey('read-only'))).status;
  await until(async () => ((await buy()) < 300 ? true : undefined), 10_000, 'selling again');
});

it.each(['EMFILE', 'ENFILE'])('%s counts as a connection that never came', (code) => {
  expect(isConnectionFault(Object.assign(new Error(`connect ${code}`), { code }))).toBe(true);
});
