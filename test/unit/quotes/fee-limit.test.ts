// The fee limit of rented energy, and the chain's highest fee limit as nodes name it.
import fc from 'fast-check';
import { feeLimitFor } from '../../../src/domain/fee-limit.js';
import { energy } from '../../../src/domain/units.js';
import { agreedParameters, readChainParameters } from '../../../src/platform/chain/chain-parameters.js';

const ANY = { min: 1n, max: 10n ** 12n };
const BOUNDS = {
  energyFeeSun: ANY,
  transactionFeeSunPerByte: ANY,
  createAccountFeeSun: ANY,
  systemContractFeeSun: ANY,
};
const FEES = {
  getEnergyFee: 100,
  getTransactionFee: 1000,
  getCreateAccountFee: 100_000,
  getCreateNewAccountFeeInSystemContract: 1_000_000,
};

const read = (more: Readonly<Record<string, unknown>>) => {
  const entries = Object.entries({ ...FEES, ...more }).map(([key, value]) => ({ key, value }));
  return readChainParameters('node', { chainParameter: entries }, BOUNDS);
};

it('never exceeds the chain’s highest, and is what all of the energy needs up to it', () => {
  const amounts = fc.bigInt({ min: 1n, max: 100_000_000n });
  const fees = fc.bigInt({ min: 1n, max: 1000n });
  fc.assert(
    fc.property(amounts, fees, fc.bigInt({ min: 1n, max: 10n ** 11n }), (amount, energyFeeSun, maxFeeLimitSun) => {
      const needed = amount * energyFeeSun;
      const { feeLimitSun, isFeeLimitCapped } = feeLimitFor(energy(amount), { energyFeeSun, maxFeeLimitSun });
      expect(feeLimitSun).toBe(needed < maxFeeLimitSun ? needed : maxFeeLimitSun);
      expect(isFeeLimitCapped).toBe(needed > maxFeeLimitSun);
      expect(feeLimitFor(energy(amount), { energyFeeSun })).toEqual({ feeLimitSun: needed, isFeeLimitCapped: false });
    }),
  );
});

it('is not capped where the energy needs exactly the chain’s highest', () => {
  const at = (maxFeeLimitSun: bigint) => feeLimitFor(energy(65_000), { energyFeeSun: 100n, maxFeeLimitSun });
  expect(at(6_500_000n)).toEqual({ feeLimitSun: 6_500_000n, isFeeLimitCapped: false });
  expect(at(6_499_999n)).toEqual({ feeLimitSun: 6_499_999n, isFeeLimitCapped: true });
});

it('the highest fee limit may be left out, but must be positive and named once', () => {
  expect(read({}).maxFeeLimitSun).toBeUndefined();
  expect(read({ getMaxFeeLimit: 15_000_000_000 }).maxFeeLimitSun).toBe(15_000_000_000n);
  expect(() => read({ getMaxFeeLimit: -1 })).toThrow('getMaxFeeLimit');
  const twice = [...Object.entries(FEES), ['getMaxFeeLimit', 5], ['getMaxFeeLimit', 6]];
  const chainParameter = twice.map(([key, value]) => ({ key, value }));
  expect(() => readChainParameters('node', { chainParameter }, BOUNDS)).toThrow('getMaxFeeLimit');
});

it('nodes that name different highest fee limits still agree on prices: most of them decide, or the lowest', () => {
  const named = (...highest: readonly (number | undefined)[]) =>
    agreedParameters(highest.map((each) => read(each === undefined ? {} : { getMaxFeeLimit: each }))).maxFeeLimitSun;
  expect(named(undefined, undefined)).toBeUndefined();
  expect(named(undefined, 7)).toBe(7n);
  expect(named(9, 7, 9)).toBe(9n);
  expect(named(9, 7)).toBe(7n);
});
