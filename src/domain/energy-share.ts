/** Computes the share of energy that a contract's deployer pays for calls by others. Pure. */
import type { Energy } from './units.js';

/** TRON: values of SmartContract and of the deployer's account. */
export interface EnergySharing {
  /** consume_user_resource_percent: the callers' share of each call, 0 … 100. */
  readonly callerPercent: bigint;
  /** origin_energy_limit: the deployer's maximum for one call. */
  readonly limit: bigint;
  /** The deployer's remaining staked energy. The deployer never burns TRX for a caller. */
  readonly available: bigint;
}

/** The sharing of a contract whose callers pay everything. */
export const NO_SHARING: EnergySharing = { callerPercent: 100n, limit: 0n, available: 0n };

/**
 * Returns the deployer's part of a call by another account that uses `total`. TRON (ReceiptCapsule.payEnergyBill): the
 * percentage of the total is rounded down, then bounded by the deployer's energy and by the limit.
 */
export function deployerPart(total: Energy, { callerPercent, limit, available }: EnergySharing): Energy {
  const percent = callerPercent < 0n ? 100n : callerPercent > 100n ? 0n : 100n - callerPercent;
  const part = [(total * percent) / 100n, limit, available].reduce((least, each) => (each < least ? each : least));
  return (part > 0n ? part : 0n) as Energy;
}

/** Returns the caller's part. */
export function callerPart(total: Energy, sharing: EnergySharing): Energy {
  return (total - deployerPart(total, sharing)) as Energy;
}
