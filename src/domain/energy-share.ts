/** How a contract's deployer shares in the energy of calls that others make. Pure. */
import type { Energy } from './units.js';

/** TRON: of SmartContract and the deployer's account. */
export interface EnergySharing {
  /** consume_user_resource_percent: what callers pay of each call, 0 … 100. */
  readonly callerPercent: bigint;
  /** origin_energy_limit: the most that the deployer pays of one call. */
  readonly limit: bigint;
  /** Staked energy that the deployer has left; it never burns TRX for a caller. */
  readonly available: bigint;
}

/** The sharing of a contract whose callers pay all. */
export const NO_SHARING: EnergySharing = { callerPercent: 100n, limit: 0n, available: 0n };

/**
 * What the deployer pays of a call by anybody else that uses `total`. TRON (ReceiptCapsule.payEnergyBill): the
 * percentage is taken of the total and rounded down, then bounded by the deployer's energy and by the limit.
 */
export function deployerPart(total: Energy, { callerPercent, limit, available }: EnergySharing): Energy {
  const percent = callerPercent < 0n ? 100n : callerPercent > 100n ? 0n : 100n - callerPercent;
  const part = [(total * percent) / 100n, limit, available].reduce((least, each) => (each < least ? each : least));
  return (part > 0n ? part : 0n) as Energy;
}

/** What is left to the caller. */
export function callerPart(total: Energy, sharing: EnergySharing): Energy {
  return (total - deployerPart(total, sharing)) as Energy;
}
