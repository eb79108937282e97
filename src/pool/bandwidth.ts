/**
 * Bandwidth as capacity, counted in transactions of the size of a delegation: what a wallet's staked bandwidth and the
 * TRX that it may burn still pay for. Pure; integer arithmetic only.
 */
import { divCeil, type Sun } from '../money/units.js';

/** TRON: a delegation or its reclaim with one signature takes at most so many bytes of bandwidth. */
export const TRANSACTION_BYTES = 282n;

/** A delegation and its reclaim. */
export const TRANSACTIONS_PER_LEG = 2n;

const BPS = 10_000n;

/** What a leg's two transactions cost when TRX are burnt for them, times `bps` / 10 000; 0 = no floor. */
export function priceFloor(feeSunPerByte: bigint, bps: number): Sun {
  return divCeil(TRANSACTIONS_PER_LEG * TRANSACTION_BYTES * feeSunPerByte * BigInt(bps), BPS) as Sun;
}
