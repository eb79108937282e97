// How much is delegated for what is sold, and when a running rental has too little.
import { missingEnergy, shortBelowE6, TOP_UP_LEGS_MAX } from '../../src/fulfilment/plan/running-rentals.js';
import type { ClaimedLeg, ClaimedOrder } from '../../src/fulfilment/loop/claimed-order.js';
import { energy, sun } from '../../src/domain/units.js';
import { energyOfSun, marginFor, sunForEnergy } from '../../src/pool/energy-ratio.js';

const DAY_SEC = 86_400;
const RATIO = { totalEnergyLimit: 180_000_000_000n, totalEnergyWeight: 20_000_000_000n };
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
  ({ status: 'active', isTopUp: false, amountSun, ...given }) as ClaimedLeg;
const order = (legs: readonly ClaimedLeg[], given: Partial<ClaimedOrder> = {}) =>
  ({
    kind: 'rental',
    status: 'delivered',
    isSettled: true,
    energy: SOLD,
    endsAtMs: 10_000_000,
    legs,
    ...given,
  }) as ClaimedOrder;

it('the index finds exactly those that are short', () => {
  const standing = (amountSun * 1_000_000n) / SOLD;
  for (const percent of [100n, 101n]) {
    expect(standing < shortBelowE6(grown(percent))).toBe(false);
    expect(missingEnergy(order([leg()]), grown(percent), 0)).toBeUndefined();
  }
  for (const percent of [102n, 150n, 1000n]) {
    expect(standing < shortBelowE6(grown(percent))).toBe(true);
    expect(missingEnergy(order([leg()]), grown(percent), 0)).toBeGreaterThan(0n);
  }
});

it('what is added brings it beyond what was sold, by more each time', () => {
  const ratio = grown(200n);
  const standing = energyOfSun(amountSun, ratio);
  expect(missingEnergy(order([leg()]), ratio, 0)).toBe(51_000n - standing);
  const topped = [leg(), leg({ isTopUp: true, status: 'released', amountSun: sun(1) })];
  expect(missingEnergy(order(topped), ratio, 0)).toBe(52_000n - standing);
});

it.each<[string, ClaimedOrder]>([
  ['is not settled', order([leg()], { isSettled: false })],
  ['was refunded', order([leg({ status: 'released' })], { status: 'refunded' })],
  ['ends within three minutes', order([leg()], { endsAtMs: 180_000 })],
  ['has a top-up on its way', order([leg(), leg({ status: 'placed', isTopUp: true, amountSun: sun(1_000_000) })])],
  ['is being reclaimed', order([leg({ status: 'reclaiming' })])],
  [
    'was topped up as often as any is',
    order([leg(), ...Array.from({ length: TOP_UP_LEGS_MAX }, () => leg({ isTopUp: true, status: 'released' }))]),
  ],
])('nothing is added to one that %s', (_what, given) => {
  expect(missingEnergy(given, grown(300n), 0)).toBeUndefined();
});
