// A database clock that was set back, or a successor with an earlier clock. Work that the later clock postponed, leased
// or held is due immediately; no other lease changes.
import 'reflect-metadata';
import { ClockWatch } from '../../../src/modules/fulfilment/loop/clock-watch.js';
import { reclaimRestMs } from '../../../src/modules/fulfilment/plan/reclaim-pace.js';
import { asAdmin } from '../../setup/admin.js';
import {
  api,
  clearFixture,
  closeFixture,
  devnet,
  SteppedWorker,
  openFixture,
  receivers,
  sentOrder,
  settledOrder,
  fixtureDatabaseUrl,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
afterEach(async () => {
  await devnet.control('faults/clear', {});
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

describe('a database clock that was set back', () => {
  const byHand = (text: string, values: unknown[] = []): Promise<unknown> =>
    asAdmin(fixtureDatabaseUrl(), (client) => client.query(text, values));
  const putAhead = (key: string, by: string): Promise<unknown> =>
    byHand(
      `UPDATE orders SET next_run_at = clock_timestamp() + $2::interval, lease_until = clock_timestamp() + $2::interval WHERE key = $1`,
      [key, by],
    );
  const restFor = (key: string, time: string): Promise<unknown> =>
    byHand(`UPDATE orders SET next_run_at = clock_timestamp() + $2::interval WHERE key = $1`, [key, time]);

  /** Simulates a clock that was ahead by this interval at its last reading. */
  const setBack = (by: string): Promise<unknown> =>
    byHand(`UPDATE clock_mark SET seen_at = clock_timestamp() + $1::interval`, [by]);

  it('delays no order for longer than the longest wait, even if nobody saw the later clock', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    await putAhead(key, '30 minutes');
    expect(await worker.orderClaims().claimDue(64)).toEqual([]);
    expect(await worker.part(ClockWatch).checkClock()).toMatchObject({ setBackSec: 0, woken: 1 });
    expect((await worker.orderClaims().claimDue(64)).map((order) => order.status)).toEqual(['placed']);
  });

  it('holds no wallet for longer than the longest hold, even if no worker saw the later clock', async () => {
    const worker = await SteppedWorker.open();
    const isHeldAfter = async (by: string): Promise<boolean> => {
      await byHand(`UPDATE pool_wallet SET delivery_held_until = clock_timestamp() + $1::interval`, [by]);
      await worker.health().resumeWallets();
      const held = await api.database.query(`SELECT id FROM pool_wallet WHERE delivery_held_until IS NOT NULL`);
      return held.length > 0;
    };
    expect([await isHeldAfter('59 minutes'), await isHeldAfter('61 minutes')]).toEqual([true, false]);
  });

  it.each(['40 seconds', '2 minutes', '1 day'])('by %s: what the later clock put off is due at once', async (by) => {
    const worker = await SteppedWorker.open();
    const [sent, settled] = [await sentOrder(worker), await settledOrder(worker, receivers[1])];
    for (const key of [sent, settled]) await putAhead(key, by);
    await setBack(by);
    expect(await worker.orderClaims().claimDue(64)).toEqual([]);
    const { setBackSec, woken } = await worker.part(ClockWatch).checkClock();
    expect([setBackSec > 30, woken]).toEqual([true, 2]);
    expect(await worker.orderClaims().claimDue(64)).toHaveLength(2);
    // Only once: from then on the set-back clock counts.
    expect(await worker.part(ClockWatch).checkClock()).toMatchObject({ setBackSec: 0, woken: 0 });
  });

  it('is noticed by one of many workers, and a claim under way stays with its worker', async () => {
    const worker = await SteppedWorker.open();
    const [claimed, waiting] = [await sentOrder(worker), await sentOrder(worker, receivers[1])];
    await byHand(`UPDATE orders SET next_run_at = clock_timestamp() WHERE key = $1`, [claimed]);
    expect(await worker.orderClaims().claimDue(1)).toHaveLength(1);
    await putAhead(waiting, '2 minutes');
    await setBack('2 minutes');
    const answers = await Promise.all(Array.from({ length: 4 }, () => worker.part(ClockWatch).checkClock()));
    expect(answers.map(({ woken }) => woken).sort()).toEqual([0, 0, 0, 1]);
    expect(answers.filter(({ setBackSec }) => setBackSec > 0)).toHaveLength(1);
  });

  it('keeps no wallet held and no top-up waiting until it catches up', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    await byHand(`UPDATE orders SET top_up_after = clock_timestamp() + interval '1 hour' WHERE key = $1`, [key]);
    await byHand(
      `UPDATE pool_wallet SET delivery_fault = 'by hand', delivery_held_until = clock_timestamp() + interval '1 hour'`,
    );
    await setBack('1 hour');
    await worker.part(ClockWatch).checkClock();
    await worker.health().resumeWallets();
    const held = await api.database.query(
      `SELECT id FROM pool_wallet WHERE delivery_held_until IS NOT NULL OR delivery_fault IS NOT NULL
        UNION ALL SELECT id FROM orders WHERE top_up_after IS NOT NULL`,
    );
    expect(held).toEqual([]);
  });

  it('lets a reclaim that failed often be retried at once', () => {
    const failed = { purpose: 'reclaim', attempts: 9, deaths: 9, recent: 9, lastAgeSec: 10 } as const;
    expect(reclaimRestMs(failed)).toBeGreaterThan(60_000);
    expect(reclaimRestMs({ ...failed, lastAgeSec: -3600 })).toBe(0);
  });

  it('leaves waits within their bounds alone', async () => {
    const worker = await SteppedWorker.open();
    const [sent, settled] = [await sentOrder(worker), await settledOrder(worker, receivers[1])];
    await putAhead(sent, '2 minutes');
    // A reclaim rests without a lease.
    await restFor(settled, '59 minutes');
    expect(await worker.part(ClockWatch).checkClock()).toMatchObject({ setBackSec: 0, woken: 0 });
    await restFor(settled, '61 minutes');
    expect(await worker.part(ClockWatch).checkClock()).toMatchObject({ setBackSec: 0, woken: 1 });
  });

  it('does not keep a rental from ending whose lease was written under a later clock', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    const [row] = await api.database.query<{ ends_at: Date }>('SELECT ends_at FROM orders WHERE key = $1', [key]);
    await byHand(
      `UPDATE orders SET next_run_at = NULL, lease_until = clock_timestamp() + interval '1 hour' WHERE key = $1`,
      [key],
    );
    expect(await worker.orderClaims().claimEnded(row!.ends_at.getTime(), 10)).toHaveLength(1);
  });

  it('does not keep a wallet from being read', async () => {
    const worker = await SteppedWorker.open();
    while (await worker.poolSync().syncNext());
    await byHand(`UPDATE pool_wallet SET synced_at = clock_timestamp() + interval '1 day'`);
    expect(await worker.poolSync().syncNext()).toBe(true);
  });
});
