/**
 * Bandwidth that a wallet sells from its own stake. Its own transactions come first: they pay for every delivery and
 * reclaim, of either resource. Pure; integer arithmetic only.
 */
import type { LegKind } from '../../domain/order-state.js';
import { divCeil, SUN_PER_TRX, sun, type Energy, type Sun } from '../../domain/units.js';
import { DELEGATION_MIN_SUN, energyOfSun, sunForEnergy, sunOfOneEnergy, type EnergyRatio } from './energy-ratio.js';

/** The network's two numbers that govern every delegation of bandwidth. TRON: getaccountresource of any account. */
export interface BandwidthRatio {
  /** TotalNetLimit: units per day of the whole network. */
  readonly totalNetLimit: bigint;
  /** TotalNetWeight: whole TRX staked for bandwidth in the network. */
  readonly totalNetWeight: bigint;
}

/** The network's totals for both resources. */
export interface NetworkTotals extends EnergyRatio, BandwidthRatio {}

/** The chain computes both resources alike, each from its own two numbers. */
export const inPlaceOfEnergy = ({ totalNetLimit, totalNetWeight }: BandwidthRatio): EnergyRatio => ({
  totalEnergyLimit: totalNetLimit,
  totalEnergyWeight: totalNetWeight,
});

/** Returns the sun to delegate for `units` of bandwidth; as `sunForEnergy`. */
export function sunForBandwidth(units: bigint, ratio: BandwidthRatio, marginBps: number): Sun {
  return sunForEnergy(units as Energy, inPlaceOfEnergy(ratio), marginBps);
}

/** Returns the sun worth one unit of bandwidth, rounded up. */
export function sunOfOneUnit(ratio: BandwidthRatio): Sun {
  return sunOfOneEnergy(inPlaceOfEnergy(ratio));
}

/** Returns the units of bandwidth that a delegated amount yields, rounded down as the chain does. */
export function bandwidthOfSun(amount: Sun, ratio: BandwidthRatio): bigint {
  return energyOfSun(amount, inPlaceOfEnergy(ratio));
}

/** Returns the sun that a further leg of this kind may lack, because the amount of each leg rounds down. */
export function legSlackSun(kind: LegKind, totals: NetworkTotals): Sun {
  if (kind === 'activation') return sun(0);
  return kind === 'bandwidth' ? sunOfOneUnit(totals) : sunOfOneEnergy(totals);
}

/** A wallet's stake for bandwidth, as one node returns it. */
interface BandwidthStake extends BandwidthRatio {
  /** The most that the chain would let the wallet delegate now. */
  readonly canDelegateSun: bigint;
  /** Units that the wallet keeps for its own transactions. */
  readonly keptUnits: bigint;
}

/** Returns the stake that can be sold: what could be delegated, without the stake of the kept units. */
export function sellableBandwidthSun({ canDelegateSun, keptUnits, ...ratio }: BandwidthStake): Sun {
  if (ratio.totalNetLimit <= 0n) return sun(0);
  const kept = divCeil(keptUnits * SUN_PER_TRX * ratio.totalNetWeight, ratio.totalNetLimit);
  const left = canDelegateSun - kept;
  return sun(left >= DELEGATION_MIN_SUN ? left : 0n);
}

/** Returns the units that a stake yields, rounded up: at least what the wallet loses when it delegates the stake. */
export function bandwidthLostBy(stakeSun: Sun, { totalNetLimit, totalNetWeight }: BandwidthRatio): bigint {
  return totalNetWeight <= 0n ? 0n : divCeil(stakeSun * totalNetLimit, SUN_PER_TRX * totalNetWeight);
}
