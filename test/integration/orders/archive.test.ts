// Archived orders: readers see no difference, and frequent statements do not read the archive.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { CostRecorder } from '../../../src/modules/costs/cost-recorder.js';
import { OrderArchive } from '../../../src/modules/orders/order-archive.js';
import { LegEnds } from '../../../src/modules/pool/leg-ends.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { archive, judge, numberAll, orderInTheEnd } from '../../support/worker/archive-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  SteppedWorker,
  openFixture,
  orderOf,
  receivers,
  rent,
  settledOrder,
  fixtureDatabaseUrl,
  START_LIMIT_MS,
  txsOf,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

let worker: SteppedWorker;
beforeEach(async () => {
  worker = await SteppedWorker.open();
});

const whereIs = async (key: string): Promise<string | undefined> => {
  const [row] = await api.database.query<{ table: string }>(
    `SELECT tableoid::regclass::text AS table FROM orders WHERE key = $1`,
    [key],
  );
  return row?.table;
};

/** Returns the project's view of an order, alone and in its lists. */
async function answers(key: string): Promise<unknown> {
  const paths = [
    `/v1/orders/${key}`,
    '/v1/orders?limit=100',
    '/v1/orders?status=delivered',
    `/v1/orders?receive_address=${receivers[0]!}`,
  ];
  const read = [];
  for (const path of paths) {
    const { status, body } = await customer.get(path);
    expect({ path, status }).toEqual({ path, status: 200 });
    read.push(body);
  }
  return read;
}

it('finds an ended order as before, by key and in lists, and verify finds nothing', async () => {
  const key = await orderInTheEnd(worker);
  const before = await answers(key);
  const asked = { receive_address: receivers[0]!, energy: 50_000, duration_sec: 60 };
  const replay = () => customer.post('/v1/orders', asked, { 'Idempotency-Key': key });
  const replayed = await replay();
  expect(await archive()).toBe(1);
  expect(await whereIs(key)).toMatch(/^archived_orders_\d+$/);
  expect(await answers(key)).toEqual(before);
  const again = await replay();
  expect([again.status, again.body]).toEqual([replayed.status, replayed.body]);
  const other = await customer.post('/v1/orders', { ...asked, energy: 60_000 }, { 'Idempotency-Key': key });
  expect(other.body).toMatchObject({ error: 'IDEMPOTENCY_KEY_REUSED' });
  for (const depth of ['everything', 'newer'] as const) {
    expect(findingsOf(await verifyRecords(api.database, { depth }))).toEqual([]);
  }
  expect(await archive()).toBe(0);
});

it('a quote of an archived order stays used', async () => {
  const key = await orderInTheEnd(worker);
  const quote = randomUUID();
  await api.database.query(`UPDATE orders SET quote_id = $2 WHERE key = $1`, [key, quote]);
  await judge(key);
  expect(await archive()).toBe(1);
  const taken = (id: string) =>
    api.database.query(
      `SELECT created FROM take_order($1, $1, 'another', sha256('x'), 'rental', $2, clock_timestamp() - interval '1 minute', $3, 65000,
         3600, 2925000, 8775000, 30000000, 65000000, 1, NULL, 'r')`,
      [customer.merchant, id, receivers[0]],
    );
  await expect(taken(quote)).rejects.toThrow('QUOTE_ALREADY_USED');
  await expect(taken(randomUUID())).rejects.toThrow('QUOTE_EXPIRED');
});

it('the act that ended an archived order ends no other order of the same receiver', async () => {
  const running = await rent(receivers[0]!, 50_000, 600);
  await worker.followChain();
  await worker.advance();
  const over = await orderInTheEnd(worker);
  const [act] = await txsOf(over, 'reclaim');
  const { id } = await orderOf(over);
  expect(await archive()).toBe(1);
  const { id: runningId } = await orderOf(running);
  const author = { actor: 'the operator', reason: 'a reason' };
  await expect(worker.part(LegEnds).close(runningId, undefined, act!.txid, author)).rejects.toThrow(
    `belongs to the service itself, to order ${id.toString()}`,
  );
});

describe('an order stays where it is', () => {
  it('while it runs', async () => {
    const key = await settledOrder(worker);
    // Everything else about the order is finished.
    await worker.part(CostRecorder).workBetweenBlocks(0n, 1_000_000);
    await numberAll();
    await judge(key);
    await archive();
    expect(await whereIs(key)).toBe('open_orders');
  });

  it('until it is judged', async () => {
    const key = await orderInTheEnd(worker);
    await api.database.query(`UPDATE orders SET judged = false WHERE key = $1`, [key]);
    expect(await archive()).toBe(0);
  });

  it('until its events are numbered', async () => {
    const key = await orderInTheEnd(worker);
    await api.database.query(
      `INSERT INTO event (project_id, order_id, type) SELECT project_id, id, 'order.created' FROM orders WHERE key = $1`,
      [key],
    );
    expect(await archive()).toBe(0);
    await numberAll();
    expect(await archive()).toBe(1);
  });

  it('while it needs the operator’s attention', async () => {
    const key = await orderInTheEnd(worker);
    await api.database.query(`UPDATE orders SET needs_attention = true WHERE key = $1`, [key]);
    await judge(key);
    expect(await archive()).toBe(0);
  });

  it('until its retention has passed, and is found however many stay', async () => {
    const running = [await rent(receivers[1]!), await rent(receivers[2]!), await rent(receivers[3]!)];
    for (const each of running) await judge(each);
    const key = await orderInTheEnd(worker);
    const archiving = new OrderArchive(api.database);
    expect(await archiving.step(3, 2)).toEqual({ archived: 0, isMore: false });
    expect(await archive()).toBe(1);
    expect(await whereIs(key)).toMatch(/^archived_/);
    for (const each of running) expect(await whereIs(each)).toBe('open_orders');
  });

  it('and does not keep later ones while it is dated ahead by a clock of that time', async () => {
    const ahead = [await rent(receivers[1]!), await rent(receivers[2]!), await rent(receivers[3]!)];
    const key = await orderInTheEnd(worker);
    await api.database.query(`UPDATE orders SET created_at = created_at + interval '1 year' WHERE key = ANY ($1)`, [
      ahead,
    ]);
    expect(await archive()).toBe(1);
    expect(await whereIs(key)).toMatch(/^archived_/);
  });
});

describe('the archive', () => {
  it.each(['orders', 'leg', 'chain_tx'])('keeps its rows unchanged, and accepts only open rows: %s', async (table) => {
    const { id } = await orderOf(await orderInTheEnd(worker));
    await archive();
    const of = table === 'orders' ? 'id' : 'order_id';
    const run = (text: string) => api.database.query(text, [id]);
    await expect(run(`UPDATE ${table} SET archived = false WHERE ${of} = $1`)).rejects.toThrow('append-only');
    await expect(run(`UPDATE archived_${table} SET archived = true WHERE ${of} = $1`)).rejects.toThrow('append-only');
    await expect(run(`DELETE FROM ${table} WHERE ${of} = $1`)).rejects.toThrow('append-only');
    const [row] = await api.database.query<{ columns: string }>(
      `SELECT string_agg(attname, ', ' ORDER BY attnum) AS columns FROM pg_attribute
        WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
      [table],
    );
    const values = `OVERRIDING SYSTEM VALUE SELECT ${row!.columns} FROM archived_${table} WHERE ${of} = $1`;
    await expect(run(`INSERT INTO archived_${table} (${row!.columns}) ${values}`)).rejects.toThrow('append-only');
  });

  it('deletes no open row that changed after it was copied', async () => {
    const { id } = await orderOf(await orderInTheEnd(worker));
    const columns = `id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at,
      closed_at, closed_by_txid, closed_reason, top_up`;
    const moved = (change: string) =>
      asAdmin(fixtureDatabaseUrl(), async (client) => {
        await client.query('BEGIN');
        await client.query('SELECT add_archive_range($1)', [id.toString()]);
        await client.query(
          `INSERT INTO archived_leg (${columns}, archived) OVERRIDING SYSTEM VALUE SELECT ${columns}, true FROM open_leg WHERE order_id = $1`,
          [id.toString()],
        );
        await client.query('SET LOCAL session_replication_role = replica');
        await client.query(change, [id.toString()]);
        await client.query('SET LOCAL session_replication_role = origin');
        try {
          return (await client.query('DELETE FROM open_leg WHERE order_id = $1', [id.toString()])).rowCount;
        } finally {
          await client.query('ROLLBACK');
        }
      });
    await expect(
      moved("UPDATE open_leg SET changed_at = changed_at + interval '1 second' WHERE order_id = $1"),
    ).rejects.toThrow('append-only');
    expect(await moved('SELECT $1')).toBe(1);
  });
});
