// The most energy that one order could get from the free stake of several wallets.
import { LEGS_MAX } from '../../../src/domain/order-state.js';
import { energy, sun } from '../../../src/domain/units.js';
import { sunForEnergy, sunOfOneEnergy } from '../../../src/modules/pool/energy-ratio.js';
import { largestSale } from '../../../src/modules/pool/sellable.js';

/** Three energy for each TRX. */
const RATIO = { totalEnergyLimit: 3_000_000n, totalEnergyWeight: 1_000_000n };
const TRX = 1_000_000n;
const row = (sunPerEnergy: bigint) => ({ durationMaxSec: 3600, sunPerEnergy });
const sale = (free: readonly bigint[], sunPerEnergy: bigint, floor: bigint) =>
  largestSale(free, { row: row(sunPerEnergy), floor: sun(floor), ratio: RATIO, marginBps: 0 });

test('a delegation has one energy to spare, because nodes round differently', () => {
  expect(sunForEnergy(energy(300), RATIO, 0)).toBe(101n * TRX);
  expect(sunForEnergy(energy(299), RATIO, 0)).toBe(100n * TRX);
});

test('the stake of one energy is rounded up', () => {
  expect(sunOfOneEnergy(RATIO)).toBe(333_334n);
});

test('the largest sale of one wallet is the most that its stake delivers', () => {
  expect(sale([100n * TRX], 1n, 0n)).toBe(299n);
  expect(sale([100n * TRX - 1n], 1n, 0n)).toBe(296n);
  expect(sale([], 1n, 0n)).toBe(0n);
});

test('each further wallet costs an order the stake of one energy', () => {
  // 200 TRX and 333 333 sun are 200 whole TRX beside the rounding of the second leg; one sun less are 199.
  expect(sale([150n * TRX, 50n * TRX + 333_334n], 1n, 0n)).toBe(599n);
  expect(sale([150n * TRX, 50n * TRX + 333_333n], 1n, 0n)).toBe(596n);
});

test('an order spreads over as many wallets as its price pays for', () => {
  const free = [100n * TRX, 100n * TRX + 333_334n];
  // The price of 599 energy is 599 sun: it pays for two legs of 299 sun each, and for one of 300 sun.
  expect(sale(free, 1n, 299n)).toBe(599n);
  expect(sale(free, 1n, 300n)).toBe(299n);
});

test('an order spreads over at most as many wallets as it may have legs', () => {
  const free = Array.from({ length: LEGS_MAX + 1 }, () => 100n * TRX + 333_334n);
  expect(sale(free, 1n, 0n)).toBe(sale(free.slice(0, LEGS_MAX), 1n, 0n));
});
