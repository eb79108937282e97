// The rentals to an auto-delegated address by the records and one reading of it: pure rules.
import type { LegToAddress } from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import type { EnergyReading } from '../../../src/modules/auto-delegations/energy-readings.js';
import { isCredible, isJustDelegated, rentalsOf } from '../../../src/modules/auto-delegations/rentals.js';
import { EXTENSIONS_MAX } from '../../../src/domain/order-state.js';
import { energy } from '../../../src/domain/units.js';

const BLOCK = 100;
const ENERGY = energy(100_000n);
/** The stake of one TRX gives one energy. */
const ratio = { totalEnergyLimit: 1_000_000n, totalEnergyWeight: 1_000_000n };
const sunOf = (amount: bigint): bigint => amount * 1_000_000n;

const readingOf = (limit: bigint): EnergyReading => ({ limit, used: 0n, ratio, block: BLOCK });

const leg = (more: Partial<LegToAddress> = {}): LegToAddress => ({
  ...{ auto_id: 1n, order_id: 1n, is_own: true, energy: ENERGY, ends_at: null, undoing: false, settled: true },
  ...{ is_sound: true, extensions: 0, amount_sun: sunOf(ENERGY), delegated_in: BigInt(BLOCK), is_reclaim_sent: false },
  ...more,
});

const extendable = (more: Partial<LegToAddress>) => rentalsOf([leg(more)], readingOf(ENERGY))[0]!.extendable;

it('a rental is extended once it is settled, if it is sound and gives nearly all of its energy', () => {
  expect(extendable({})).toBe('yes');
  expect(extendable({ settled: false })).toBe('later');
  expect(extendable({ is_sound: false })).toBe('no');
  expect(extendable({ amount_sun: sunOf(99_000n) })).toBe('yes');
  expect(extendable({ amount_sun: sunOf(98_999n) })).toBe('no');
});

it('a rental is extended as often as allowed, and not once more', () => {
  expect(extendable({ extensions: EXTENSIONS_MAX - 1 })).toBe('yes');
  expect(extendable({ extensions: EXTENSIONS_MAX })).toBe('no');
});

it('the legs of an order are one rental, of which those after the reading are pending', () => {
  const half = { amount_sun: sunOf(50_000n) };
  const ends = new Date(5000);
  const legs = [
    leg({ ...half, ends_at: ends }),
    leg({ ...half, ends_at: ends, delegated_in: BigInt(BLOCK + 1) }),
    leg({ ...half, order_id: 2n, is_own: false, delegated_in: null }),
  ];
  expect(rentalsOf(legs, readingOf(ENERGY))).toMatchObject([
    { orderId: 1n, isOwn: true, standing: 50_000n, coming: 50_000n, endsAtMs: 5000, extendable: 'no' },
    { orderId: 2n, isOwn: false, standing: 0n, coming: 50_000n, endsAtMs: undefined },
  ]);
});

it('the pending energy of a rental that is reclaimed or undone does not count', () => {
  const pending = leg({ delegated_in: null });
  for (const more of [{ is_reclaim_sent: true }, { undoing: true }]) {
    expect(rentalsOf([{ ...pending, ...more }], readingOf(ENERGY))).toMatchObject([{ coming: 0n, isReclaimed: true }]);
  }
});

it('a reading is credible down to a thousandth less than our certain delegations give', () => {
  const reclaimed = leg({ order_id: 2n, is_reclaim_sent: true });
  const later = leg({ order_id: 3n, delegated_in: BigInt(BLOCK + 1) });
  for (const legs of [[leg()], [leg(), reclaimed, later]]) {
    expect([99_900n, 99_899n].map((limit) => isCredible(readingOf(limit), legs))).toEqual([true, false]);
  }
  expect(isCredible(readingOf(0n), [])).toBe(true);
});

it('a delegation is new while the newest known block is its own or an earlier one', () => {
  expect([BLOCK - 1, BLOCK, BLOCK + 1].map((head) => isJustDelegated([leg()], head))).toEqual([true, true, false]);
  expect(isJustDelegated([leg({ delegated_in: null })], BLOCK)).toBe(false);
});
