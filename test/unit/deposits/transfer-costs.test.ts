// The cost of a transfer: its bandwidth, its energy, and the TRX burnt for what is missing.
import {
  bandwidthOf,
  feeLimitOf,
  payTokenTransfer,
  payTrxTransfer,
  type AddressFunds,
} from '../../../src/modules/deposits/transfer-costs.js';
import { energyAfterNextStep } from '../../../src/platform/chain/dynamic-energy.js';
import type { TransferPrices } from '../../../src/platform/chain/transfer-prices.js';

const PRICES: TransferPrices = {
  energyFeeSun: 100n,
  transactionFeeSunPerByte: 1000n,
  createAccountFeeSun: 100_000n,
  systemContractFeeSun: 1_000_000n,
  freeNetLimit: 600n,
  dynamicStep: 2000n,
  dynamicMax: 34_000n,
};
const purse = (more: Partial<AddressFunds> = {}): AddressFunds => ({
  isOnChain: true,
  trxSun: 60_000_000n,
  energy: 0n,
  freeNet: 600n,
  stakedNet: 0n,
  ...more,
});

it.each([
  ['short', 127, 1 + 1 + 127 + 67 + 64],
  ['usual', 211, 1 + 2 + 211 + 67 + 64],
  ['long', 16_383, 1 + 2 + 16_383 + 67 + 64],
  ['longer', 16_384, 1 + 3 + 16_384 + 67 + 64],
])('the bandwidth of a %s transaction counts its signature and its result', (_what, bytes, expected) => {
  expect(bandwidthOf('00'.repeat(bytes))).toBe(BigInt(expected));
});

describe('a transfer of TRX', () => {
  const pay = (from: AddressFunds, bandwidth: bigint, createsAccount = false) =>
    payTrxTransfer(from, { bandwidth, createsAccount }, PRICES);

  it('takes all of its bandwidth from stake, from the free points or from TRX', () => {
    expect(pay(purse({ stakedNet: 270n }), 270n)).toMatchObject({
      bandwidthSun: 0n,
      after: { stakedNet: 0n, freeNet: 600n },
    });
    expect(pay(purse({ stakedNet: 269n }), 270n)).toMatchObject({
      bandwidthSun: 0n,
      after: { stakedNet: 269n, freeNet: 330n },
    });
    expect(pay(purse({ stakedNet: 269n, freeNet: 269n }), 270n)).toMatchObject({
      bandwidthSun: 270_000n,
      after: { stakedNet: 269n, freeNet: 269n, trxSun: 59_730_000n },
    });
  });

  it('that creates its receiver costs 1.1 TRX, or 1 with staked bandwidth, and no free points', () => {
    expect(pay(purse(), 270n, true)).toEqual({
      bandwidthSun: 100_000n,
      creationSun: 1_000_000n,
      after: purse({ trxSun: 58_900_000n }),
    });
    expect(pay(purse({ stakedNet: 270n }), 270n, true)).toMatchObject({ bandwidthSun: 0n, creationSun: 1_000_000n });
  });
});

describe('a transfer of the token', () => {
  const need = { energy: 64_285n, penalty: 49_635n };
  const pay = (from: AddressFunds, isRented = false) =>
    payTokenTransfer(from, { bandwidth: 345n, need, isRented }, PRICES);

  it('burns TRX for the energy missing after the next step, if the sender can', () => {
    const cost = pay(purse());
    expect(cost).toMatchObject({ rentEnergy: 64_460n, energySun: 6_428_500n, missingSun: 0n });
    expect(cost.after).toEqual(purse({ trxSun: 60_000_000n - 6_446_000n, freeNet: 255n }));
  });

  it('burns nothing if the energy is rented, or must be', () => {
    expect(pay(purse(), true).after.trxSun).toBe(60_000_000n);
    expect(pay(purse({ trxSun: 6_445_999n }))).toMatchObject({ energySun: undefined, after: { trxSun: 6_445_999n } });
  });

  it('uses the available energy', () => {
    expect(pay(purse({ energy: 70_000n }))).toMatchObject({
      rentEnergy: 0n,
      energySun: 0n,
      after: { trxSun: 60_000_000n, energy: 5715n },
    });
    expect(pay(purse({ energy: 60_000n }))).toMatchObject({ rentEnergy: 4460n, energySun: 428_500n });
  });

  it('lacks TRX if neither points nor TRX pay for its bandwidth', () => {
    expect(pay(purse({ trxSun: 45_000n, freeNet: 344n }))).toMatchObject({
      bandwidthSun: 345_000n,
      missingSun: 300_000n,
    });
    expect(pay(purse({ trxSun: 0n })).missingSun).toBe(0n);
  });
});

describe('the fee limit', () => {
  it('covers the next step of the dynamic factor, up to its maximum', () => {
    expect(energyAfterNextStep({ energy: 12_000n, penalty: 2000n }, PRICES)).toBe(14_400n);
    expect(energyAfterNextStep({ energy: 43_000n, penalty: 33_000n }, PRICES)).toBe(44_000n);
    expect(energyAfterNextStep({ energy: 45_000n, penalty: 35_000n }, PRICES)).toBe(45_000n);
    expect(feeLimitOf({ energy: 12_000n, penalty: 2000n }, PRICES)).toBe(1_440_000n);
  });

  it('covers the next step of another contract that a quiet one calls', () => {
    const quiet = { ...PRICES, isQuiet: true };
    expect(energyAfterNextStep({ energy: 12_000n, penalty: 2000n, factor: 0n }, quiet)).toBe(14_400n);
    expect(energyAfterNextStep({ energy: 10_000n, penalty: 0n, factor: 0n }, quiet)).toBe(10_000n);
  });

  it('follows the current price, at least a tenth above the simulation', () => {
    const need = { energy: 130_285n, penalty: 100_635n };
    expect(feeLimitOf(need, { ...PRICES, energyFeeSun: 420n })).toBe(143_314n * 420n);
  });
});
