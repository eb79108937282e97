// The stake for bandwidth that a wallet sells beside its own transactions.
import fc from 'fast-check';
import { SUN_PER_TRX } from '../../../src/domain/units.js';
import { bandwidthLostBy, sellableBandwidthSun } from '../../../src/modules/pool/bandwidth-stake.js';

const RATIO = { totalNetLimit: 43_200_000_000n, totalNetWeight: 27_000_000_000n };
const stake = fc.bigInt({ min: 0n, max: 10n ** 15n });
const units = fc.bigInt({ min: 0n, max: 10n ** 9n });
const ratio = fc.record({
  totalNetLimit: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  totalNetWeight: fc.bigInt({ min: 1n, max: 10n ** 12n }),
});

test.each([
  ['all of it, if nothing is kept', 1000n, 0n, 1000n],
  ['the rest beside the kept units', 1000n, 160n, 900n],
  ['nothing, if all units are kept', 1000n, 1600n, 0n],
  ['nothing below the least delegation of the chain', 1000n, 1599n, 0n],
])('a wallet sells %s', (_, trx, keptUnits, expected) => {
  const reading = { ...RATIO, canDelegateSun: trx * SUN_PER_TRX, keptUnits };
  expect(sellableBandwidthSun(reading)).toBe(expected * SUN_PER_TRX);
});

test('a chain without a limit for bandwidth sells nothing', () => {
  const empty = { totalNetLimit: 0n, totalNetWeight: 0n };
  expect(sellableBandwidthSun({ ...empty, canDelegateSun: 10n ** 12n, keptUnits: 0n })).toBe(0n);
  expect(bandwidthLostBy(sellableBandwidthSun({ ...empty, canDelegateSun: 0n, keptUnits: 0n }), empty)).toBe(0n);
});

test('the kept units remain when all that is for sale is delegated', () => {
  fc.assert(
    fc.property(stake, units, ratio, (canDelegateSun, keptUnits, given) => {
      const sold = sellableBandwidthSun({ ...given, canDelegateSun, keptUnits });
      expect(sold >= 0n && sold <= canDelegateSun).toBe(true);
      if (sold === 0n) return;
      const left = ((canDelegateSun - sold) * given.totalNetLimit) / (SUN_PER_TRX * given.totalNetWeight);
      expect(left).toBeGreaterThanOrEqual(keptUnits);
      // The wallet counts at least what the chain takes from its limit.
      const whole = (canDelegateSun * given.totalNetLimit) / (SUN_PER_TRX * given.totalNetWeight);
      expect(bandwidthLostBy(sold, given)).toBeGreaterThanOrEqual(whole - left - 1n);
      expect(bandwidthLostBy(sold, given) * SUN_PER_TRX * given.totalNetWeight).toBeGreaterThanOrEqual(
        sold * given.totalNetLimit,
      );
    }),
  );
});
