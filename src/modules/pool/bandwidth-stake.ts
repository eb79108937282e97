/**
 * Bandwidth that a wallet sells from its own stake. Its own transactions come first: they pay for every delivery and
 * reclaim, of either resource. Pure; integer arithmetic only.
 */
import { divCeil, SUN_PER_TRX, sun, type Sun } from '../../domain/units.js';
import { DELEGATION_MIN_SUN } from './energy-ratio.js';

/** The network's two numbers that govern every delegation of bandwidth. TRON: getaccountresource of any account. */
interface BandwidthRatio {
  /** TotalNetLimit: units per day of the whole network. */
  readonly totalNetLimit: bigint;
  /** TotalNetWeight: whole TRX staked for bandwidth in the network. */
  readonly totalNetWeight: bigint;
}

/** A wallet's stake for bandwidth, as one node returns it. */
interface BandwidthStake extends BandwidthRatio {
  /** What the chain would let the wallet delegate now. */
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
