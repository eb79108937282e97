// The duration of refills and extensions by the measured uses of an address. The chain makes a block only on request.
import { jest } from '@jest/globals';
import { UseObserver } from '../../../src/modules/auto-delegations/use-observer.js';
import { addressToHex } from '../../../src/platform/chain/address.js';
import type { Block } from '../../../src/platform/chain/block.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { autoRow, leaveUses, nextBlock, ordersOf, refill, setAuto } from '../../support/worker/refill-fixture.js';
import { foundByVerify } from '../../support/worker/extension-records.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  SteppedWorker,
  openFixtureWithCalls,
  SOLID_LAG,
  START_LIMIT_MS,
  useEnergy,
} from '../../support/worker/fulfilment-fixture.js';

jest.setTimeout(30_000);

const DAY_SEC = 86_400;
const DAY_MS = DAY_SEC * 1000;
const WEEK = [4, 4, 4, 4, 4, 4, 4, 4];
/** Credits of 130 000 energy for a day, and for seven: three credits per sun. */
const [DAY_CREDITS, WEEK_CREDITS] = [130_000 * 65 * 3, 130_000 * 315 * 3];

let next = 0;
let caller = callers[0]!;

beforeAll(() => openFixtureWithCalls({ DATABASE_POOL_MAX: '12' }), START_LIMIT_MS);
beforeEach(() => {
  caller = callers[next++]!;
});
afterEach(async () => {
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

type Settings = Parameters<typeof setAuto>[1];

/** Sets an auto-delegation without a duration, of an address with these uses until today, and buys its first refill. */
async function boughtAfter(daily: readonly number[], settings: Settings = {}, spent = 'spent_credits = 0') {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const { timestampMs } = await worker.chain().head();
  const all = { duration_sec: DAY_SEC, auto_duration: true, daily_cap_credits: 10 ** 12, ...settings };
  const id = await setAuto(caller.address, all);
  await leaveUses(id, timestampMs, daily);
  await api.database.query(`UPDATE auto_delegation SET ${spent} WHERE id = $1`, [id]);
  await refill(worker);
  return { worker, id, orders: await ordersOf(id) };
}

describe('a refill without a duration of the request', () => {
  it('is for a day before uses were measured', async () => {
    const { id, orders } = await boughtAfter([4]);
    expect(orders).toMatchObject([{ duration_sec: DAY_SEC }]);
    const { body } = await customer.get(`/v1/orders/auto_${id.toString()}_1`);
    expect(body).toMatchObject({ expected_uses: 1 });
  });

  it('is for the duration with the cheapest use, and priced by the measured uses', async () => {
    const { id, orders } = await boughtAfter(WEEK);
    expect(orders).toMatchObject([{ duration_sec: 7 * DAY_SEC, credits: BigInt(WEEK_CREDITS) }]);
    const { body } = await customer.get(`/v1/orders/auto_${id.toString()}_1`);
    expect(body).toMatchObject({ expected_uses: 7, price_per_use_sun: 130_000 * 45 });
    expect(await foundByVerify()).toEqual([]);
  });

  it('is for a day where longer rentals are above the highest price', async () => {
    const { orders } = await boughtAfter(WEEK, { max_sun_per_energy: 149 });
    expect(orders).toMatchObject([{ duration_sec: DAY_SEC }]);
  });

  it('leaves the daily cap to as many uses as were measured', async () => {
    const enough = WEEK_CREDITS + 4 * DAY_CREDITS;
    const { orders } = await boughtAfter(WEEK, { daily_cap_credits: enough });
    expect(orders).toMatchObject([{ duration_sec: 7 * DAY_SEC }]);
    caller = callers[next++]!;
    const { orders: shorter } = await boughtAfter(WEEK, { daily_cap_credits: enough - 1 });
    expect(shorter).toMatchObject([{ duration_sec: 3 * DAY_SEC }]);
  });

  it('leaves that of the cap which the present UTC day has left', async () => {
    const cap = { daily_cap_credits: WEEK_CREDITS + 4 * DAY_CREDITS };
    const spentOn = (day: string) =>
      `spent_credits = 1, spent_on = (clock_timestamp() AT TIME ZONE 'UTC')::date - ${day}`;
    const { orders: yesterday } = await boughtAfter(WEEK, cap, spentOn('1'));
    expect(yesterday).toMatchObject([{ duration_sec: 7 * DAY_SEC }]);
    caller = callers[next++]!;
    const { orders: today } = await boughtAfter(WEEK, cap, spentOn('0'));
    expect(today).toMatchObject([{ duration_sec: 3 * DAY_SEC }]);
  });

  it('is for a day if another cap does not allow longer, without a pause', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const { timestampMs } = await worker.chain().head();
    const id = await setAuto(caller.address, {
      duration_sec: DAY_SEC,
      auto_duration: true,
      daily_cap_credits: 10 ** 12,
    });
    await leaveUses(id, timestampMs, WEEK);
    const capped = (cap: string) =>
      api.database.query(`UPDATE credit_account SET daily_cap_credits = ${cap} WHERE project_id = $1`, [
        customer.merchant,
      ]);
    await capped(`spent_credits + ${DAY_CREDITS}`);
    try {
      await refill(worker);
      expect(await ordersOf(id)).toMatchObject([{ duration_sec: DAY_SEC, credits: BigInt(DAY_CREDITS) }]);
      expect(await autoRow(id)).toMatchObject({ pause_reason: null });
    } finally {
      await capped('NULL');
    }
  });

  it('is extended for the duration with the cheapest use', async () => {
    const { worker, id } = await boughtAfter([4]);
    await worker.advance();
    await nextBlock(worker);
    await nextBlock(worker, SOLID_LAG + 1);
    const [before] = await ordersOf(id);
    const endsAtMs = before!.ends_at!.getTime();
    await leaveUses(id, endsAtMs - 60_000, WEEK);
    await api.database.query(`UPDATE auto_delegation SET idle_after_sec = $2 WHERE id = $1`, [id, 3 * DAY_SEC]);
    await devnet.control('mine', { blocks: [{ timestamp: endsAtMs - 60_000 }] });
    await nextBlock(worker);
    const [after] = await ordersOf(id);
    expect(after!.ends_at!.getTime() - endsAtMs).toBe(7 * DAY_MS);
    const { body } = await customer.get(`/v1/orders/${before!.key}`);
    expect(body.extensions).toMatchObject([{ duration_sec: 7 * DAY_SEC, expected_uses: 7 }]);
  });
});

it('a duration of the request stays, whatever was measured', async () => {
  const { orders } = await boughtAfter(WEEK, { auto_duration: false, duration_sec: 3 * DAY_SEC });
  expect(orders).toMatchObject([{ duration_sec: 3 * DAY_SEC }]);
});

it('uses are counted once for each block, by the UTC day of the chain’s clock', async () => {
  const { worker, id } = await boughtAfter([4]);
  await api.database.query('UPDATE auto_delegation SET uses_on = NULL, daily_uses = NULL WHERE id = $1', [id]);
  const { timestampMs } = await worker.chain().head();
  const midnight = (days: number) => (Math.floor(timestampMs / DAY_MS) + days) * DAY_MS;
  const useAt = async (timestamp: number): Promise<void> => {
    // A transaction expires a minute after the head that it was built on.
    await devnet.control('mine', { blocks: [{ timestamp: timestamp - 3000 }] });
    await useEnergy(caller, 1);
    await devnet.control('mine', { blocks: [{ timestamp }] });
    await worker.followChain();
  };
  await useAt(midnight(1));
  await useAt(midnight(1) + 6000);
  await worker.followChain();
  expect(await autoRow(id)).toMatchObject({ daily_uses: [2] });
  await useAt(midnight(2) - 3000);
  await useAt(midnight(2) + 3000);
  expect(await autoRow(id)).toMatchObject({ daily_uses: [1, 3] });
  await useAt(midnight(5) + 3000);
  expect(await autoRow(id)).toMatchObject({ daily_uses: [1, 0, 0, 1, 3] });
  await useAt(midnight(60));
  expect((await autoRow(id)).daily_uses).toEqual([1, ...Array.from({ length: 30 }, () => 0)]);
});

describe('uses in blocks of the head', () => {
  const FIRST = 1_000_000;
  /** A block in which the caller calls a contract. `fork` tells blocks of one number apart. */
  const blockOf = (number: number, fork = 'aa'): Block =>
    ({
      ...{ number, id: number.toString(16).padStart(16, '0') + fork.repeat(24), timestampMs: Date.UTC(2020, 5, 1) },
      transactions: [{ caller: addressToHex(caller.address) }],
    }) as unknown as Block;

  it('are counted once if another block replaces the block of a use', async () => {
    const worker = await SteppedWorker.open();
    const id = await setAuto(caller.address);
    const observer = worker.part(UseObserver);
    await observer.observeBlocks([blockOf(FIRST)]);
    await observer.observeBlocks([blockOf(FIRST, 'bb')]);
    expect(await autoRow(id)).toMatchObject({ daily_uses: [1], used_block: BigInt(FIRST) });
    await observer.observeBlocks([blockOf(FIRST + 1, 'bb')]);
    expect(await autoRow(id)).toMatchObject({ daily_uses: [2] });
  });

  it('wait for a database that fails, which no block does', async () => {
    const worker = await SteppedWorker.open();
    const id = await setAuto(caller.address);
    const observer = worker.part(UseObserver);
    let failures = 1;
    aroundStatements(worker.part(Database), ['mark_auto_delegations_used'], {
      before: () => {
        if (failures-- > 0) throw new Error('connection lost');
      },
    });
    await observer.observeBlocks([blockOf(FIRST), blockOf(FIRST + 1)]);
    expect(await autoRow(id)).toMatchObject({ used_block: null });
    await observer.observeBlocks([]);
    expect(await autoRow(id)).toMatchObject({ daily_uses: [2], used_block: BigInt(FIRST + 1) });
  });

  it('wait for a locked row, those of the newest 64 blocks at most', async () => {
    const worker = await SteppedWorker.open();
    const id = await setAuto(caller.address);
    const observer = worker.part(UseObserver);
    const blocks = Array.from({ length: 70 }, (_, index) => blockOf(FIRST + index));
    await api.database.transaction(async (tx) => {
      await tx.query('SELECT FROM auto_delegation WHERE id = $1 FOR UPDATE', [id]);
      await observer.observeBlocks(blocks);
    });
    expect(await autoRow(id)).toMatchObject({ used_block: null });
    await observer.observeBlocks([]);
    expect(await autoRow(id)).toMatchObject({ daily_uses: [64], used_block: BigInt(FIRST + 69) });
  });
});
