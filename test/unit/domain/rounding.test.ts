// The rounding direction of each amount, and the inclusive side of each bound.
import fc from 'fast-check';
import { usdBalanceOf, usdOfCredits, withMargin } from '../../../src/domain/conversion.js';
import { deployerPart } from '../../../src/domain/energy-share.js';
import { fewestUses, mostUses } from '../../../src/domain/price.js';
import { energy, rateE8, sun, type Credits, type Energy, type Sun } from '../../../src/domain/units.js';
import { creditsOfWorth, judge, JUMP_PERCENT, PEG_MIN, valuedAt } from '../../../src/modules/deposits/judgement.js';
import { energyOfSun, sunForEnergy } from '../../../src/modules/pool/energy-ratio.js';

it('rounds the credits of a deposit down', () => {
  expect(creditsOfWorth(9_999_999n)).toBe(0n);
  expect(creditsOfWorth(10_000_000n)).toBe(1n);
  expect(creditsOfWorth(19_999_999n)).toBe(1n);
});

it('rounds the energy of a simulation with its margin up', () => {
  expect([1n, 10n, 65_001n].map((used) => withMargin(used as Energy))).toEqual([2n, 11n, 71_502n]);
});

it('rounds the dollars of a balance to cents and those of a price to six digits, half up', () => {
  expect([49_999n, 50_000n, 149_999n].map((amount) => usdBalanceOf(amount as Credits))).toEqual([
    '0.00',
    '0.01',
    '0.01',
  ]);
  expect([-49_999n, -50_000n].map((amount) => usdBalanceOf(amount as Credits))).toEqual(['0.00', '-0.01']);
  expect([4n, 5n, 14n].map((amount) => usdOfCredits(amount as Credits))).toEqual(['0.000000', '0.000001', '0.000001']);
});

it('needs one more use where a rental costs as much as burning', () => {
  expect([99, 100, 101, 199, 200].map((price) => fewestUses(sun(price), sun(100), 86_400 * 9))).toEqual([
    1, 2, 2, 2, 3,
  ]);
  expect(fewestUses(sun(100), sun(0), 86_400)).toBeUndefined();
});

it('gives a rental one more use with each whole day', () => {
  expect([300, 86_399, 86_400, 172_799, 172_800].map(mostUses)).toEqual([1, 1, 2, 2, 3]);
});

it('rounds the share of a contract’s deployer down, and keeps it within the call', () => {
  const shareOf = (callerPercent: bigint) => deployerPart(energy(7), { callerPercent, limit: 100n, available: 100n });
  expect([-1n, 0n, 50n, 100n, 101n].map(shareOf)).toEqual([7n, 7n, 3n, 0n, 0n]);
});

it('holds a deposit that one of two nodes reports, whatever its rate', () => {
  const held = { status: 'held', reason: 'one_node' };
  expect(judge('TRX', { rate: undefined, isAgreed: false })).toMatchObject(held);
  expect(judge('USDT', { rate: { rate: rateE8(1), median: rateE8(1) }, isAgreed: false })).toMatchObject(held);
  expect(judge('TRX', { rate: { rate: rateE8(1), median: rateE8(100) }, isAgreed: false })).toMatchObject(held);
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
  /** TRON: contract calls count whole TRX only. */
  const usable = (amount: bigint): Sun => sun(amount - (amount % 1_000_000n));
  const whole = fc.bigInt({ min: 1n, max: 50_000_000_000n });
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 100_000_000n }), whole, whole, (sold, limit, weight) => {
      const ratio = { totalEnergyLimit: limit, totalEnergyWeight: weight };
      const amount = sunForEnergy(energy(sold), ratio, 0);
      expect(energyOfSun(usable(amount), ratio)).toBeGreaterThanOrEqual(sold);
    }),
  );
});
