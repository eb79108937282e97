import { burnOutlook } from '../../../src/modules/simulation/burn-outlook.js';
import type { AccountResources } from '../../../src/platform/chain/tron.client.js';
import { sun } from '../../../src/domain/units.js';

const TRANSFER = {
  ownerAddress: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  contractAddress: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  functionSelector: 'transfer(address,uint256)',
  parameter: '00'.repeat(64),
};
const BYTES = 345;

const resources = (staked: number, free: number): AccountResources => ({
  energyUsed: 0n,
  energyLimit: 0n,
  netUsed: 100n,
  netLimit: 100n + BigInt(staked),
  freeNetUsed: 600n - BigInt(free),
  freeNetLimit: 600n,
  totalEnergyLimit: 1n,
  totalEnergyWeight: 1n,
  totalNetLimit: 1n,
  totalNetWeight: 1n,
});

const outlook = (read: AccountResources | undefined, call: Parameters<typeof burnOutlook>[0] = TRANSFER) =>
  burnOutlook(call, {
    energyBurnSun: sun(6_428_500),
    feeLimitSun: sun(7_071_400),
    resources: read,
    transactionFeeSunPerByte: 1000n,
  });

it.each([
  ['free bandwidth covers it', 0, BYTES, BYTES, 0],
  ['staked bandwidth covers it', BYTES, 0, BYTES, 0],
  ['one byte is missing', 0, BYTES - 1, BYTES - 1, BYTES * 1000],
  ['both together would cover it, and none alone', 200, 200, 200, BYTES * 1000],
  ['more is used than the limit now allows', -50, 0, 0, BYTES * 1000],
])('burns all of the bandwidth or none: %s', (_what, staked, free, available, burnt) => {
  expect(outlook(resources(staked, free))).toEqual({
    bandwidth_needed: BYTES,
    bandwidth_available: available,
    bandwidth_burn_sun: burnt,
    activation_burn_sun: 0,
    total_burn_sun: 6_428_500 + burnt,
  });
});

it('counts all of the bandwidth as burnt when the resources are unknown', () => {
  expect(outlook(undefined)).toEqual({
    bandwidth_needed: BYTES,
    bandwidth_burn_sun: BYTES * 1000,
    activation_burn_sun: 0,
    total_burn_sun: 6_428_500 + BYTES * 1000,
  });
});

it('counts raw data as long as the same call by selector and arguments', () => {
  const { ownerAddress, contractAddress } = TRANSFER;
  const data = `a9059cbb${TRANSFER.parameter}`;
  expect(outlook(undefined, { ownerAddress, contractAddress, data }).bandwidth_needed).toBe(BYTES);
  expect(outlook(undefined, { ownerAddress, contractAddress }).bandwidth_needed).toBeLessThan(BYTES - 68);
});
