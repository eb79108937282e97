/** The fee limit of a transaction that spends rented energy. Pure. */
import { burnPrice } from './conversion.js';
import { sun, type Energy, type Sun } from './units.js';

/** The chain's rules for fee limits. */
export interface FeeLimitRules {
  readonly energyFeeSun: bigint;
  /** The highest fee limit that the chain accepts; undefined if it is unknown. TRON: getMaxFeeLimit. */
  readonly maxFeeLimitSun?: bigint | undefined;
}

export interface FeeLimit {
  /** The least fee limit of a transaction that spends all of the energy, and never more than the chain accepts. */
  readonly feeLimitSun: Sun;
  /** True if the chain accepts no fee limit that is high enough: the energy takes several transactions. */
  readonly isFeeLimitCapped: boolean;
}

/** TRON: a call may use fee_limit ÷ energy price, rented energy included, and a fee_limit above the highest is refused. */
export function feeLimitFor(amount: Energy, { energyFeeSun, maxFeeLimitSun }: FeeLimitRules): FeeLimit {
  const needed = burnPrice(amount, energyFeeSun);
  if (maxFeeLimitSun === undefined || needed <= maxFeeLimitSun) return { feeLimitSun: needed, isFeeLimitCapped: false };
  return { feeLimitSun: sun(maxFeeLimitSun), isFeeLimitCapped: true };
}
