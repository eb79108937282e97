// The amount delegated for a sold energy, and the shortfall of a running rental.
import { TOP_UP_LEGS_MAX } from '../../../src/domain/order-state.js';
import {
  isMadeUpFor,
  isPastTopUps,
  shortBelowE6,
  topUpFor,
} from '../../../src/modules/fulfilment/plan/running-rentals.js';
import type { ClaimedLeg, ClaimedOrder, ReceiverUsage } from '../../../src/modules/fulfilment/loop/claimed-order.js';
import { energy, sun } from '../../../src/domain/units.js';
import { bandwidthOfSun, sunForBandwidth } from '../../../src/modules/pool/bandwidth-stake.js';
import { energyOfSun, marginFor, sunForEnergy } from '../../../src/modules/pool/energy-ratio.js';

const DAY_SEC = 86_400;
const RATIO = {
  ...{ totalEnergyLimit: 180_000_000_000n, totalEnergyWeight: 20_000_000_000n },
  ...{ totalNetLimit: 43_200_000_000n, totalNetWeight: 27_000_000_000n },
};
const grown = (percent: bigint) => ({ ...RATIO, totalEnergyWeight: (RATIO.totalEnergyWeight * percent) / 100n });

it.each([
  [300, 20],
  [3600, 20],
  [DAY_SEC, 20],
  [DAY_SEC + 1, 40],
  [30 * DAY_SEC, 600],
])('a rental of %i s has a margin of %i in ten thousand', (durationSec, margin) => {
  expect(marginFor(durationSec, 20)).toBe(margin);
});

const SOLD = energy(50_000);
const amountSun = sunForEnergy(SOLD, RATIO, 20);
const leg = (given: Partial<ClaimedLeg> = {}) =>
  ({ kind: 'rental', status: 'active', isTopUp: false, amountSun, ...given }) as ClaimedLeg;
const order = (legs: readonly ClaimedLeg[], given: Partial<ClaimedOrder> = {}) =>
  ({
    id: 1n,
    kind: 'rental',
    status: 'delivered',
    isSettled: true,
    energy: SOLD,
    endsAtMs: 10_000_000,
    legs,
    ...given,
  }) as ClaimedOrder;

it('the index finds exactly the short rentals', () => {
  const standing = (amountSun * 1_000_000n) / SOLD;
  for (const percent of [100n, 101n]) {
    expect(standing < shortBelowE6(grown(percent), 'ENERGY')).toBe(false);
    expect(topUpFor(order([leg()]), grown(percent), 0, 'ENERGY')).toBeUndefined();
  }
  for (const percent of [102n, 150n, 1000n]) {
    expect(standing < shortBelowE6(grown(percent), 'ENERGY')).toBe(true);
    expect(topUpFor(order([leg()]), grown(percent), 0, 'ENERGY')?.units).toBeGreaterThan(0n);
  }
});

it('a top-up brings it beyond the sold energy, by more each time', () => {
  const ratio = grown(200n);
  const standing = energyOfSun(amountSun, ratio);
  expect(topUpFor(order([leg()]), ratio, 0, 'ENERGY')).toEqual({ units: 51_000n - standing, cause: 'stake' });
  const topped = [leg(), leg({ isTopUp: true, status: 'released', amountSun: sun(1) })];
  expect(topUpFor(order(topped), ratio, 0, 'ENERGY')).toEqual({ units: 52_000n - standing, cause: 'stake' });
});

it.each<[string, ClaimedOrder]>([
  ['is not settled', order([leg()], { isSettled: false })],
  ['was refunded', order([leg({ status: 'released' })], { status: 'refunded' })],
  ['ends within a minute', order([leg()], { endsAtMs: 60_000 })],
  ['has a top-up on its way', order([leg(), leg({ status: 'placed', isTopUp: true, amountSun: sun(1_000_000) })])],
  ['is being reclaimed', order([leg({ status: 'reclaiming' })])],
  [
    'has reached the limit of top-ups',
    order([leg(), ...Array.from({ length: TOP_UP_LEGS_MAX }, () => leg({ isTopUp: true, status: 'released' }))]),
  ],
])('adds nothing to a rental that %s', (_what, given) => {
  expect(topUpFor(given, grown(300n), 0, 'ENERGY')).toBeUndefined();
});

/** A rental of the same receiver that used 40 000 and ended during this one. */
const ended = (rentals: ReceiverUsage['rentals']): ReceiverUsage => ({
  newestTopUp: undefined,
  rentals,
  deliveries: [],
  reclaims: [
    {
      ...{ txId: 1n, readBlock: 1, block: 2, blockAtMs: 0 },
      ...{ used: 40_000n, limit: 100_000n, pool: 100_000n, sold: 50_000n, taken: 50_000n },
    },
  ],
});
const running = (id: bigint, endsAtMs: number, standingSun = amountSun) => ({
  ...{ id, endsAtMs, standingSun },
  energy: SOLD,
  canBeToppedUp: true,
});

it('adds the energy that a reclaim cost, with headroom, beyond the delegated surplus', () => {
  const given = order([leg()], { usage: ended([running(1n, 10_000_000)]) });
  const lost = 20_001n;
  const beyond = energyOfSun(amountSun, RATIO) - SOLD;
  expect(topUpFor(given, RATIO, 0, 'ENERGY')).toEqual({ units: (lost * 102n + 99n) / 100n - beyond, cause: 'usage' });
  expect(isMadeUpFor(given, RATIO, 0)).toBe(false);
  const topped = [leg(), leg({ isTopUp: true, amountSun: sunForEnergy(energy(lost), RATIO, 0) })];
  expect(topUpFor(order(topped, { usage: given.usage }), RATIO, 0, 'ENERGY')).toBeUndefined();
  expect(isMadeUpFor(order(topped, { usage: given.usage }), RATIO, 0)).toBe(true);
});

it('the rental that ends last is topped up, and another one only if that one can get no more', () => {
  const usage = ended([running(1n, 10_000_000), running(2n, 20_000_000)]);
  expect(topUpFor(order([leg()], { usage }), RATIO, 0, 'ENERGY')).toBeUndefined();
  expect(isMadeUpFor(order([leg()], { usage }), RATIO, 0)).toBe(false);
  expect(topUpFor(order([leg()], { id: 2n, usage }), RATIO, 0, 'ENERGY')?.cause).toBe('usage');
  const past = ended([running(1n, 10_000_000), { ...running(2n, 20_000_000), canBeToppedUp: false }]);
  expect(topUpFor(order([leg()], { usage: past }), RATIO, 0, 'ENERGY')?.cause).toBe('usage');
});

it('counts the surplus of another running rental, and owes no recovered usage', () => {
  const rich = sunForEnergy(energy(90_000), RATIO, 0);
  const covered = ended([running(1n, 10_000_000), running(2n, 5_000_000, rich)]);
  expect(topUpFor(order([leg()], { usage: covered }), RATIO, 0, 'ENERGY')).toBeUndefined();
  expect(isMadeUpFor(order([leg()], { usage: covered }), RATIO, 0)).toBe(true);
  const later = 500_000_000;
  const alone = order([leg()], { endsAtMs: later * 2, usage: ended([running(1n, later * 2)]) });
  expect(topUpFor(alone, RATIO, later, 'ENERGY')).toBeUndefined();
});

describe('the bandwidth of a running rental', () => {
  const UNITS = 10_000n;
  const bandwidthSun = sunForBandwidth(UNITS, RATIO, 20);
  const bandwidthLeg = (given: Partial<ClaimedLeg> = {}) =>
    leg({ kind: 'bandwidth', amountSun: bandwidthSun, ...given });
  const bundle = (legs: readonly ClaimedLeg[]) => order(legs, { bandwidth: UNITS });
  /** Only the stake for bandwidth grows. */
  const wider = { ...RATIO, totalNetWeight: RATIO.totalNetWeight * 2n };

  it('is topped up by its own ratio, and energy by its own', () => {
    const sold = bundle([leg(), bandwidthLeg()]);
    expect(topUpFor(sold, RATIO, 0, 'BANDWIDTH')).toBeUndefined();
    const standing = bandwidthOfSun(bandwidthSun, wider);
    expect(topUpFor(sold, wider, 0, 'BANDWIDTH')).toEqual({ units: 10_200n - standing, cause: 'stake' });
    expect(topUpFor(sold, wider, 0, 'ENERGY')).toBeUndefined();
    expect(topUpFor(sold, grown(200n), 0, 'BANDWIDTH')).toBeUndefined();
    expect(topUpFor(order([leg()]), wider, 0, 'BANDWIDTH')).toBeUndefined();
    const standingE6 = (bandwidthSun * 1_000_000n) / UNITS;
    expect(standingE6 < shortBelowE6(RATIO, 'BANDWIDTH')).toBe(false);
    expect(standingE6 < shortBelowE6(wider, 'BANDWIDTH')).toBe(true);
  });

  it('has a limit of top-ups and an end of its own', () => {
    const used = Array.from({ length: TOP_UP_LEGS_MAX }, () => leg({ isTopUp: true, status: 'released' }));
    expect(topUpFor(bundle([leg(), bandwidthLeg(), ...used]), wider, 0, 'BANDWIDTH')).toBeDefined();
    const closed = bundle([leg({ status: 'reclaimed', isClosed: true }), bandwidthLeg()]);
    const both = { ...grown(200n), totalNetWeight: wider.totalNetWeight };
    expect(isPastTopUps(closed, both, 0, 'ENERGY')).toBe(true);
    expect(isPastTopUps(closed, both, 0, 'BANDWIDTH')).toBe(false);
    expect(topUpFor(closed, both, 0, 'ENERGY')).toBeUndefined();
    expect(topUpFor(closed, both, 0, 'BANDWIDTH')).toBeDefined();
    const under = bundle([leg(), bandwidthLeg(), leg({ status: 'placed', isTopUp: true, amountSun: sun(1_000_000) })]);
    expect(topUpFor(under, wider, 0, 'BANDWIDTH')).toBeDefined();
    const onItsWay = bundle([
      leg(),
      bandwidthLeg(),
      bandwidthLeg({ status: 'placed', isTopUp: true, amountSun: sun(1_000_000) }),
    ]);
    expect(topUpFor(onItsWay, wider, 0, 'BANDWIDTH')).toBeUndefined();
  });

  it('is short of nothing on a chain without bandwidth', () => {
    expect(shortBelowE6({ ...RATIO, totalNetLimit: 0n, totalNetWeight: 0n }, 'BANDWIDTH')).toBe(0n);
  });
});
