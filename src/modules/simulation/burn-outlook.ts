/** The TRX that a call burns besides its energy: bandwidth and activation. Pure. */
import type { ContractCall } from '../../platform/chain/contract-call.js';
import { bandwidthOfCall } from '../../platform/chain/transaction-size.js';
import type { AccountResources } from '../../platform/chain/tron.client.js';
import { toJsonInteger, type Sun } from '../../domain/units.js';

export interface BurnFigures {
  /** Cost of the call's energy, as if the sender had none. */
  readonly energyBurnSun: Sun;
  readonly feeLimitSun: Sun;
  /** Of the sender; undefined if no node reported them in time. */
  readonly resources: AccountResources | undefined;
  readonly transactionFeeSunPerByte: bigint;
}

/** Members of a simulation's answer. */
export interface BurnOutlook {
  readonly bandwidth_needed: number;
  readonly bandwidth_available?: number;
  readonly bandwidth_burn_sun: number;
  readonly activation_burn_sun: number;
  readonly total_burn_sun: number;
}

/** The selector of a function, before its arguments. */
const SELECTOR_BYTES = 4;

/**
 * Returns the bandwidth that the signed call takes, and the TRX that it burns in all. Without a reading of the sender's
 * resources it counts all bandwidth as burnt.
 */
export function burnOutlook(call: ContractCall, figures: BurnFigures): BurnOutlook {
  const { energyBurnSun, feeLimitSun, resources, transactionFeeSunPerByte } = figures;
  const needed = bandwidthOfCall({ dataBytes: dataBytesOf(call), callValueSun: call.callValue ?? 0n, feeLimitSun });
  const available = resources === undefined ? undefined : bandwidthOf(resources);
  const isCovered = available !== undefined && available >= BigInt(needed);
  const burn = isCovered ? 0n : BigInt(needed) * transactionFeeSunPerByte;
  return {
    bandwidth_needed: needed,
    ...(available !== undefined && { bandwidth_available: toJsonInteger(available) }),
    bandwidth_burn_sun: toJsonInteger(burn),
    // TRON: a contract that sends TRX to a new account pays for it with energy, which the simulation counts.
    activation_burn_sun: 0,
    total_burn_sun: toJsonInteger(energyBurnSun + burn),
  };
}

/** TRON: one source pays for the whole transaction, staked or free bandwidth. They are never added up. */
function bandwidthOf({ netLimit, netUsed, freeNetLimit, freeNetUsed }: AccountResources): bigint {
  const staked = netLimit - netUsed;
  const free = freeNetLimit - freeNetUsed;
  const better = staked > free ? staked : free;
  return better > 0n ? better : 0n;
}

function dataBytesOf({ data, functionSelector, parameter = '' }: ContractCall): number {
  if (data !== undefined) return data.length / 2;
  return functionSelector === undefined ? 0 : SELECTOR_BYTES + parameter.length / 2;
}
