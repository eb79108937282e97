// The rounding direction of each amount, and the inclusive side of each bound.
import fc from 'fast-check';
import { withMargin } from '../../src/domain/conversion.js';
import { energy, rateE8, type Energy } from '../../src/domain/units.js';
import { creditsOfWorth, judge, JUMP_PERCENT, PEG_MIN, valuedAt } from '../../src/modules/deposits/judgement.js';
import { energyOfSun, sunForEnergy } from '../../src/modules/pool/energy-ratio.js';

it('rounds the credits of a deposit down', () => {
  expect(creditsOfWorth(9_999_999n)).toBe(0n);
  expect(creditsOfWorth(10_000_000n)).toBe(1n);
  expect(creditsOfWorth(19_999_999n)).toBe(1n);
});

it('rounds the energy of a simulation with its margin up', () => {
  expect([1n, 10n, 65_001n].map((used) => withMargin(used as Energy))).toEqual([2n, 11n, 71_502n]);
});

it('a dollar token has its peg at 0.99, and is never worth more than a dollar', () => {
  const at = (rate: bigint) =>
    judge('USDT', { rate: { rate: rateE8(rate), median: rateE8(100_000_000) }, isAgreed: true });
  expect(at(PEG_MIN)).toEqual({ status: 'creditable', rate: PEG_MIN });
  expect(at(PEG_MIN - 1n)).toEqual({ status: 'pending', reason: 'below_peg', rate: undefined });
  expect(at(100_000_001n)).toEqual({ status: 'creditable', rate: 100_000_000n });
  expect(valuedAt('TRX', rateE8(100_000_001))).toBe(100_000_001n);
});

it('doubts a TRX rate beyond a tenth of its median, above and below', () => {
  const median = 30_000_000n;
  const tenth = (median * JUMP_PERCENT) / 100n;
  const at = (rate: bigint) =>
    judge('TRX', { rate: { rate: rateE8(rate), median: rateE8(median) }, isAgreed: true }).status;
  expect([median - tenth - 1n, median - tenth, median + tenth, median + tenth + 1n].map(at)).toEqual([
    ...['held', 'creditable', 'creditable', 'held'],
  ]);
});

it('delegates at least the sold energy, at any ratio of the network', () => {
  const whole = fc.bigInt({ min: 1n, max: 50_000_000_000n });
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 100_000_000n }), whole, whole, (sold, limit, weight) => {
      const ratio = { totalEnergyLimit: limit, totalEnergyWeight: weight };
      expect(energyOfSun(sunForEnergy(energy(sold), ratio, 0), ratio)).toBeGreaterThanOrEqual(sold);
    }),
  );
});
