/** Converts between sun and energy by the chain's rules, so that a receiver gets at least the energy that was sold. */
import { invariant } from '../../domain/errors.js';
import { SUN_PER_TRX, divCeil, type Energy, type Sun } from '../../domain/units.js';

/** The network's two numbers that govern every delegation. TRON: getaccountresource of any account. */
export interface EnergyRatio {
  /** TotalEnergyLimit: energy per day of the whole network. */
  readonly totalEnergyLimit: bigint;
  /** TotalEnergyWeight: whole TRX staked for energy in the network. */
  readonly totalEnergyWeight: bigint;
}

/** TRON: a delegation is at least 1 TRX. */
export const DELEGATION_MIN_SUN = SUN_PER_TRX as Sun;

/** TRON (calculateGlobalEnergyLimitV2): floor(sun / 10^6 × limit / weight). */
export function energyOfSun(amount: Sun, ratio: EnergyRatio): Energy {
  invariant(ratio.totalEnergyWeight > 0n, 'the network has stake');
  return ((amount * ratio.totalEnergyLimit) / (SUN_PER_TRX * ratio.totalEnergyWeight)) as Energy;
}

/** Returns the sun worth one energy, rounded up: the most that one further rounding down can lose. */
export function sunOfOneEnergy(ratio: EnergyRatio): Sun {
  return divCeil(SUN_PER_TRX * ratio.totalEnergyWeight, ratio.totalEnergyLimit) as Sun;
}

const DAY_SEC = 86_400;

/**
 * Returns the margin of a rental of this length, in 1/10 000. The setting covers one day; each further day begun adds
 * the same amount, because the ratio drifts while the rental runs.
 */
export function marginFor(durationSec: number, marginBpsPerDay: number): number {
  return marginBpsPerDay * Math.max(1, Math.ceil(durationSec / DAY_SEC));
}

/**
 * Returns the sun to delegate for `wanted` energy, rounded up to whole TRX. It adds one energy because nodes compute in
 * floating point, and `marginBps` / 10 000 against the drift of the ratio until inclusion.
 *
 * TRON (RepositoryImpl.calculateGlobalEnergyLimit): contract calls count whole TRX of an account's stake only, although
 * its EnergyLimit counts the fraction too.
 */
export function sunForEnergy(wanted: Energy, ratio: EnergyRatio, marginBps: number): Sun {
  invariant(ratio.totalEnergyLimit > 0n, 'the network has energy');
  const exact = divCeil((wanted + 1n) * SUN_PER_TRX * ratio.totalEnergyWeight, ratio.totalEnergyLimit);
  const amount = divCeil(exact * (10_000n + BigInt(marginBps)), 10_000n);
  return (divCeil(amount, SUN_PER_TRX) * SUN_PER_TRX) as Sun;
}
