/** How sun turns into energy on chain, and how much to delegate so that a receiver gets at least what was sold. */
import { invariant } from '../domain/errors.js';
import { SUN_PER_TRX, divCeil, type Energy, type Sun } from '../domain/units.js';

/** The network's two numbers that rule every delegation. TRON: getaccountresource of any account. */
export interface EnergyRatio {
  /** TotalEnergyLimit: energy per day of the whole network. */
  readonly totalEnergyLimit: bigint;
  /** TotalEnergyWeight: whole TRX staked for energy by everyone. */
  readonly totalEnergyWeight: bigint;
}

/** TRON: a delegation is at least 1 TRX. */
export const DELEGATION_MIN_SUN = SUN_PER_TRX as Sun;

/** TRON (calculateGlobalEnergyLimitV2): floor(sun / 10^6 × limit / weight). */
export function energyOfSun(amount: Sun, ratio: EnergyRatio): Energy {
  invariant(ratio.totalEnergyWeight > 0n, 'the network has stake');
  return ((amount * ratio.totalEnergyLimit) / (SUN_PER_TRX * ratio.totalEnergyWeight)) as Energy;
}

/** Sun worth one energy, rounded up: what one more rounding-down can lose. */
export function sunOfOneEnergy(ratio: EnergyRatio): Sun {
  return divCeil(SUN_PER_TRX * ratio.totalEnergyWeight, ratio.totalEnergyLimit) as Sun;
}

const DAY_SEC = 86_400;

/**
 * The margin of a rental of this length, in 1/10 000: the setting's for a day or less, and so much more for each day
 * begun, because the ratio goes on drifting while it runs.
 */
export function marginFor(durationSec: number, marginBpsPerDay: number): number {
  return marginBpsPerDay * Math.max(1, Math.ceil(durationSec / DAY_SEC));
}

/**
 * What to delegate for `wanted` energy: rounded up, one energy of slack since nodes compute in floating point, and
 * `marginBps` / 10 000 more against the drift of the ratio until inclusion.
 */
export function sunForEnergy(wanted: Energy, ratio: EnergyRatio, marginBps: number): Sun {
  invariant(ratio.totalEnergyLimit > 0n, 'the network has energy');
  const exact = divCeil((wanted + 1n) * SUN_PER_TRX * ratio.totalEnergyWeight, ratio.totalEnergyLimit);
  const amount = divCeil(exact * (10_000n + BigInt(marginBps)), 10_000n) as Sun;
  return amount < DELEGATION_MIN_SUN ? DELEGATION_MIN_SUN : amount;
}
