// Concurrent work while an order moves to the archive and afterwards, and the guards of archived rows.
import 'reflect-metadata';
import type { Client } from 'pg';
import { CostRecorder } from '../../../src/modules/costs/cost-recorder.js';
import type { Credits } from '../../../src/domain/units.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { archive, orderInTheEnd } from '../../support/worker/archive-fixture.js';
import { HmacCustomer } from '../../support/api/client.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  SteppedWorker,
  openFixture,
  orderOf,
  receivers,
  fixtureDatabaseUrl,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';
import { ledgerOn } from '../../support/api/services.js';
import { asAdmin } from '../../setup/admin.js';
import { untilWaiting } from '../../setup/waiting.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

let worker: SteppedWorker;
beforeEach(async () => {
  worker = await SteppedWorker.open();
});

/**
 * Places an order under this key with the request of its existing order, if there is one. A new purchase is refused.
 */
const take = (key: string) =>
  api.database.query<{ created: boolean; order_id: bigint; same_request: boolean }>(
    `SELECT created, order_id, same_request FROM take_order($1, $1, $2,
       coalesce((SELECT request_hash FROM order_key k JOIN orders o ON o.id = k.order_id WHERE k.key = $2), sha256('x')),
       'rental', NULL, NULL, $3, 65000, 3600, 2925000, 8775000, 30000000, 65000000, 1, 'CAPACITY_UNAVAILABLE', 'r')`,
    [customer.merchant, key, receivers[0]],
  );

/** Runs `work` while a transaction archives one order. That transaction commits once `work` is done or waits for it. */
async function whileMoved<T>(work: () => Promise<T>): Promise<T> {
  return asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('BEGIN');
    const { rows } = await client.query('SELECT archived FROM archive_orders(0, clock_timestamp(), 200)');
    expect(rows).toEqual([{ archived: 1 }]);
    const done = work();
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    done.then(end, end);
    await untilWaiting(api.database, 1, () => isOver);
    await client.query('COMMIT');
    return done;
  });
}

/** Runs `work` with triggers off. */
async function byForce(work: (client: Client) => Promise<unknown>): Promise<void> {
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('BEGIN');
    await client.query('SET LOCAL session_replication_role = replica');
    await work(client);
    await client.query('COMMIT');
  });
}

describe('while an order is moved', () => {
  it('its key is replayed', async () => {
    const key = await orderInTheEnd(worker);
    const { id } = await orderOf(key);
    expect(await whileMoved(() => take(key))).toEqual([{ created: false, order_id: id, same_request: true }]);
    expect(await take(key)).toEqual([{ created: false, order_id: id, same_request: true }]);
  });

  it('it is compensated', async () => {
    const { id } = await orderOf(await orderInTheEnd(worker));
    const author = { actor: 'the operator', reason: 'a reason' };
    const compensate = () => ledgerOn(api.database).compensate(id, 1n as Credits, author);
    expect(await whileMoved(compensate)).toMatchObject({ number: 1 });
    expect(await compensate()).toMatchObject({ number: 2 });
  });

  it('another one is bought, although a range of the archive is locked', async () => {
    await orderInTheEnd(worker);
    await archive();
    await asAdmin(fixtureDatabaseUrl(), async (client) => {
      await client.query('BEGIN');
      await client.query('LOCK TABLE archived_orders_0 IN ACCESS EXCLUSIVE MODE');
      const asked = `SELECT created FROM take_order($1, $1, 'beside', sha256('x'), 'rental', gen_random_uuid(), NULL, $2, 65000, 3600, 2925000,
        8775000, 30000000, 65000000, 1, 'CAPACITY_UNAVAILABLE', 'r')`;
      const bought = api.database.query(asked, [customer.merchant, receivers[0]]);
      await expect(bought).rejects.toThrow('CAPACITY_UNAVAILABLE');
      await client.query('ROLLBACK');
    });
  });
});

it('rejects the extension of an archived order, with the reason', async () => {
  const key = await orderInTheEnd(worker);
  const caller = new HmacCustomer(api.baseUrl, customer.merchant, customer.apiKey);
  const extend = (own: string) =>
    caller.post(`/v1/orders/${key}/extensions`, { duration_sec: 300 }, { 'Idempotency-Key': own });
  expect((await extend('before')).body).toMatchObject({ error: 'NOT_EXTENDABLE' });
  await archive();
  expect((await extend('after')).body).toMatchObject({ error: 'NOT_EXTENDABLE' });
});

it('finds no archived order by the key of its extension', async () => {
  const key = await orderInTheEnd(worker);
  const { id } = await orderOf(key);
  expect(await archive()).toBe(1);
  await asAdmin(fixtureDatabaseUrl(), (client) =>
    client.query(`INSERT INTO order_key (project_id, key, order_id, extension) VALUES ($1, 'its-extension', $2, 1)`, [
      customer.merchant,
      id,
    ]),
  );
  expect((await customer.get(`/v1/orders/${key}`)).body).toMatchObject({ id: Number(id) });
  expect((await customer.get('/v1/orders/its-extension')).status).toBe(404);
});

describe('an order stays where it is', () => {
  it('until the costs of its transactions are recorded', async () => {
    const key = await orderInTheEnd(worker);
    const { id } = await orderOf(key);
    await byForce((client) => client.query('UPDATE open_chain_tx SET fee_sun = NULL WHERE order_id = $1', [id]));
    expect(await archive()).toBe(0);
    await worker.part(CostRecorder).workBetweenBlocks(0n, 1_000_000);
    expect(await archive()).toBe(1);
  });

  it('until the blocks of its given-up transactions are searched', async () => {
    const { id } = await orderOf(await orderInTheEnd(worker));
    const searched = (at: string) =>
      byForce((client) =>
        client.query(
          `UPDATE reconcile_state SET scanned_at = (SELECT max(expires_at) FROM open_chain_tx WHERE order_id = $1) ${at}`,
          [id],
        ),
      );
    await byForce((client) =>
      client.query(
        `UPDATE open_chain_tx SET status = 'dead', evidence = '{}' WHERE order_id = $1 AND purpose = 'reclaim'`,
        [id],
      ),
    );
    await searched(`- interval '1 second'`);
    expect(await archive()).toBe(0);
    await searched(`+ interval '1 second'`);
    expect(await archive()).toBe(1);
  });

  it('without the key that prevents a second purchase', async () => {
    const { id } = await orderOf(await orderInTheEnd(worker));
    await byForce((client) => client.query('DELETE FROM order_key WHERE order_id = $1', [id]));
    expect(await archive()).toBe(0);
  });
});

describe('the partitions', () => {
  it.each(['orders', 'leg', 'chain_tx'])('cannot be emptied: %s', async (table) => {
    await orderInTheEnd(worker);
    await archive();
    for (const part of [`open_${table}`, `archived_${table}`, `archived_${table}_0`]) {
      await asAdmin(fixtureDatabaseUrl(), async (client) => {
        await client.query('BEGIN');
        await expect(client.query(`TRUNCATE ${part} CASCADE`)).rejects.toThrow('append-only');
        await client.query('ROLLBACK');
      });
    }
  });

  it.each([
    ['open_leg', 'leg_guard'],
    ['open_orders', 'open_orders_no_truncate'],
    ['archived_orders_0', 'archived_orders_final'],
    ['archived_orders_0', 'archived_orders_0_no_truncate'],
  ])('verify finds a guard that is off: %s %s', async (table, trigger) => {
    await orderInTheEnd(worker);
    await archive();
    const guards = async () => {
      const report = await verifyRecords(api.database, { depth: 'newer' });
      return findingsOf(report).filter(({ check }) => check === 'guards');
    };
    expect(await guards()).toEqual([]);
    const turn = (how: string) =>
      asAdmin(fixtureDatabaseUrl(), (client) => client.query(`ALTER TABLE ${table} ${how} TRIGGER ${trigger}`));
    await turn('DISABLE');
    try {
      expect(await guards()).toMatchObject([{ subject: expect.stringContaining(trigger) }]);
    } finally {
      await turn('ENABLE');
    }
  });
});
